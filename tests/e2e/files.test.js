// Files, in and out: what is saved can be opened again, what others wrote can be read, and a bad file changes nothing.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ONE_REFUND, openLab } from './lab.js';
import { filesOf } from './files.js';

/** A finished run whose agent died once behind the refund. */
async function finished(path = '?speed=max#v=1&scenario=crash-resume&seed=7', options = {}) {
  const opened = await openLab({ path, ...options });
  await opened.lab.run();
  await opened.lab.finish();
  return { ...opened, files: filesOf(opened.page) };
}

async function fresh(options = {}) {
  const opened = await openLab(options);
  return { ...opened, files: filesOf(opened.page) };
}

/** What stands in the page of the run, to see that nothing has changed. */
async function session(page) {
  return page.evaluate(() => ({
    state: document.querySelector('.status .state')?.textContent,
    records: [...document.querySelectorAll('[data-record]')].map((row) => row.textContent),
    books: document.querySelector('[aria-label="Outside world"]')?.textContent,
    storage: { ...localStorage },
  }));
}

/** Three lines as a Python program of the course wrote them. */
const PYTHON = await readFile(new URL('../traces/python.jsonl', import.meta.url), 'utf8');

for (const way of ['pick', 'drop']) {
  test(`a trace that another program wrote can be read and judged, by ${way}`, async () => {
    const { page, files } = await fresh();
    await files[way]('python.jsonl', PYTHON);
    await page.getByText('python.jsonl: 3 records, 3 with something missing').waitFor();
    assert.equal(await page.locator('[data-record]').count(), 3);
    await page.locator('[data-record="1"]').click();
    const record = page.getByRole('region', { name: 'Record', exact: true });
    await record.getByText('0.061').waitFor();
    await record.getByText('Missing: until').waitFor();
    await page.getByRole('searchbox', { name: 'Search the records' }).fill('0.0001481');
    await page.getByText('1 record', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Report' }).click();
    await page.getByRole('region', { name: 'Checks' }).waitFor();
    await page.getByRole('region', { name: 'Diagnosis' }).waitFor();
  });

  test(`a run comes back from its file with the same log, by ${way}`, async () => {
    const { files, lab, page } = await finished();
    await files.open();
    const log = await files.save('Trace');
    const run = await files.save('Run');
    assert.match(run.name, /^T-.*\.run\.json$/);
    const other = await fresh();
    await other.files[way](run.name, run.bytes);
    await other.lab.stands('done');
    await other.files.dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await other.lab.books(), ONE_REFUND);
    await other.files.open();
    assert.deepEqual((await other.files.save('Trace')).bytes, log.bytes);
    assert.deepEqual((await other.files.save('Run')).bytes, run.bytes);
    // It is kept there like any other.
    await other.page.reload();
    await other.lab.stands('done');
    assert.equal(await other.lab.records.count(), await lab.records.count());
    // Where it is already, it is shown and written over nothing.
    await files[way](run.name, run.bytes);
    await page.getByRole('navigation', { name: 'Runs beside each other' }).waitFor();
    await files.dialog.waitFor({ state: 'detached' });
    await lab.stands('done');
    await files.open();
    assert.deepEqual((await files.save('Trace')).bytes, log.bytes);
  });

  test(`a checkpoint is resumed in a new run, by ${way}`, async () => {
    const { files, lab } = await fresh();
    await lab.run();
    await lab.stands('waiting');
    await files.open();
    const checkpoint = await files.save('Checkpoint');
    const other = await fresh();
    await other.files[way](checkpoint.name, checkpoint.bytes);
    const card = other.files.dialog.locator('.card');
    await card.getByText(/The checkpoint of ticket T-1001, after step \d/).waitFor();
    const choice = card.getByRole('combobox', { name: 'Whose world does it meet?' });
    const present = await other.page.locator('.scenario-choice select').inputValue();
    assert.equal(await choice.inputValue(), present);
    await card.getByRole('button', { name: 'Set up a run from it' }).click();
    await other.files.dialog.waitFor({ state: 'detached' });
    await other.lab.stands('ready');
    await other.lab.run();
    await other.lab.finish();
    assert.deepEqual(await other.lab.books(), ONE_REFUND);
    assert.deepEqual(await other.lab.brokenInvariants(), []);
    await other.page.locator('.record.is-resume').first().waitFor();
  });
}

test('a ticket with a name of thousands of letters stays within the window', async () => {
  const { files } = await fresh();
  await files.drop('long.json', state({ task_id: 'T'.repeat(5000) }));
  const card = files.dialog.locator('.card');
  await card.getByText('The checkpoint of ticket TTT').waitFor();
  for (const place of [files.dialog, files.dialog.locator('.parts'), card]) {
    const [inner, outer] = await place.evaluate((of) => [of.scrollWidth, of.clientWidth]);
    assert.ok(inner <= outer, `${inner} of ${outer}`);
  }
});

// --- Files that are no good ----------------------------------------------------------------------------------------------------

const state = (fields) =>
  JSON.stringify({
    task_id: 'T-1001',
    messages: [],
    step: 2,
    input_tokens: 10,
    output_tokens: 5,
    cost_usd: 0.0001,
    llm_calls: 2,
    plan: { steps: [], version: 1, needs_replan: false },
    seen_calls: [],
    fingerprints: [],
    stale_steps: 0,
    status: 'running',
    final: null,
    ...fields,
  });
const BAD = {
  'an empty file': ['a.jsonl', '', /^a.jsonl: line 1: the file is empty/],
  'only spaces': ['a.jsonl', ' \n \n', /^a.jsonl: line 1: the file is empty/],
  null: ['a.json', 'null', /^a.json: line 1: expected an object, found null/],
  'no text': ['a.bin', new Uint8Array([0x89, 0x50, 0xff, 0x00]), /^a.bin: line 1: .*not UTF-8/],
  'a list': ['a.json', '[{"type": "stop"}]', /^a.json: line 1: this is a JSON array/],
  'a scenario': ['a.json', '{"id": "x", "script": []}', /^a.json: This is a scenario. Import it/],
  'an export': ['a.json', '{"resourceSpans": []}', /^a.json: This is an OpenTelemetry export/],
  'a checkpoint that was cut': [
    'a.json',
    state({}).replaceAll(',', ',\n').slice(0, 150),
    /^a.json, line \d+: \$.*not valid JSON at line/,
  ],
  'a checkpoint of another version': [
    'a.json',
    state({ version: 9 }).replaceAll(',', ',\n'),
    /^a.json, line 16: \$\.version: this is version 9; this program reads version 1/,
  ],
  'a checkpoint of a run that is over': [
    'a.json',
    state({ status: 'done' }),
    /^a.json, line 1: \$\.status: the run of this checkpoint is over \(done\)/,
  ],
  'a wrong type in a checkpoint': [
    'a.json',
    state({ step: 'five' }).replaceAll(',', ',\n'),
    /^a.json, line 3: \$\.step: expected a whole number/,
  ],
  'a run of another version': [
    'a.json',
    '{\n"format": "crashlab run",\n"version": 2\n}',
    /^a.json, line 3: \$\.version: this is version 2; this program reads version 1/,
  ],
  'a run that lacks something': [
    'a.json',
    '{\n"format": "crashlab run",\n"version": 1\n}',
    /^a.json, line 1: \$\.off: missing/,
  ],
  'a replay without its run': [
    'a.json',
    '{"format": "crashlab replay", "version": 7}',
    /^a.json: .*version 7/,
  ],
};

test('a file that is no good is refused with its line, and the run stays as it is', async () => {
  const { page, files } = await finished();
  const before = await session(page);
  for (const [what, [name, content, says]] of Object.entries(BAD)) {
    for (const way of ['pick', 'drop']) {
      await files[way](name, content);
      await files.complaint.waitFor();
      assert.match((await files.complaint.innerText()).trim(), says, `${what}, by ${way}`);
      await files.close();
      assert.deepEqual(await session(page), before, what);
    }
  }
});

test('fifty megabytes that are no trace are refused, and those that are one can be left while they are read', async () => {
  const { page, files, lab } = await finished();
  const before = await session(page);
  const hand = (line, times) =>
    page.evaluate(
      ([line, times]) => {
        const file = new File(Array(times).fill(line), 'large.jsonl');
        dispatchEvent(new CustomEvent('crashlab:file', { detail: file }));
        return file.size;
      },
      [line, times],
    );
  assert.ok((await hand('{"type": "x"\n', 4_000_000)) > 50_000_000);
  await files.complaint.waitFor({ timeout: 60_000 });
  assert.match(await files.complaint.innerText(), /^large.jsonl: line 1: /);
  await files.close();
  assert.deepEqual(await session(page), before);

  const record = `{"ts": 1.5, "run_id": "r", "step": 1, "type": "replan", "reason": "${'because '.repeat(60)}"}\n`;
  assert.ok((await hand(record, 100_000)) > 50_000_000);
  await page.getByRole('progressbar', { name: 'Read' }).waitFor();
  await page.getByRole('button', { name: 'Back to the run' }).click();
  await page.getByRole('button', { name: 'Back to the run' }).waitFor({ state: 'detached' });
  await lab.stands('done');
  assert.deepEqual(await session(page), before);

  // Whose first line is no good is read to its end before anything is shown.
  await hand(`${record}{"type": "x"\n`.repeat(900) + record.repeat(99), 100);
  await files.complaint.waitFor({ timeout: 60_000 });
  assert.match(await files.complaint.innerText(), /^large.jsonl: line 2: /);
  await files.close();
  assert.deepEqual(await session(page), before);
});

test('a trace that was cut keeps its whole lines and names the cut one', async () => {
  const { page, files } = await fresh();
  await files.pick('cut.jsonl', PYTHON.slice(0, -30));
  await page.getByText('3 records, 2 with something missing or unknown, 1 line that').waitFor();
  await page.locator('[data-record="2"]').click();
  const record = page.getByRole('region', { name: 'Record', exact: true });
  await record.getByText('Line 3 of the file.').waitFor();
  await record.getByText(/It cannot be read: the last line was cut/).waitFor();
});

test('a trace of another program leaves as it came, byte for byte', async () => {
  const { page, files } = await fresh();
  const odd = `\uFEFF{"type":"replan","reason":"half \\ud83d, 👍🏽, \u202eback\u202c","own":{"n":123456789012345678901234567890,"e":1e400}}  \r\n\n${PYTHON}{"type":"thinking","words":["a","b"]}`;
  await files.drop('odd.jsonl', odd);
  await page.getByText('odd.jsonl: 5 records').waitFor();
  await page.locator('[data-record="0"]').click();
  const record = page.getByRole('region', { name: 'Record', exact: true });
  await record.getByText('123456789012345678901234567890').waitFor();
  await record.getByText('Not known here: own').waitFor();
  await page.locator('[data-record="4"]').click();
  await record.getByText('This program has no records of this type.').waitFor();
  await files.open();
  assert.deepEqual((await files.save('Trace')).bytes.toString(), odd);
  // What nobody has written down is not made up for a span.
  assert.ok(await files.dialog.getByRole('button', { name: 'OTLP file' }).isDisabled());
});

test('what is dragged over the page is told where it can be dropped', async () => {
  const { page, files } = await fresh();
  await files.drop('a.jsonl', PYTHON, ['dragenter', 'dragover']);
  await page.getByText('Drop a trace, a checkpoint or a run').waitFor();
  await page.evaluate(() => dispatchEvent(new DragEvent('dragleave', { relatedTarget: null })));
  await page.getByText('Drop a trace, a checkpoint or a run').waitFor({ state: 'hidden' });
});

test('a run that a file lies over is driven by nobody, and nothing of it is lost', async () => {
  const { page, lab, files } = await finished();
  const before = await session(page);
  await files.drop('python.jsonl', PYTHON);
  await page.getByText('python.jsonl: 3 records').waitFor();
  const run = page.getByRole('group', { name: 'Run', exact: true });
  for (const name of ['Run again', 'Step', 'Crash', 'Resume', 'Reset'])
    assert.ok(await run.getByRole('button', { name, exact: true }).isDisabled(), name);
  for (const key of ['Space', 's', 'x', 'r', 'a']) await page.keyboard.press(key);
  assert.equal(await page.getByText('A charge is refunded at most once').count(), 0);
  await page.getByRole('button', { name: 'Back to the run' }).click();
  await lab.stands('done');
  assert.deepEqual(await session(page), before);
});

test('a file that is dropped before anything can take it is not left to the browser', async () => {
  const { page } = await openLab({ path: '' });
  const left = await page.evaluate((text) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], 'early.jsonl'));
    const event = (sign) => new DragEvent(sign, { bubbles: true, cancelable: true, dataTransfer });
    return ['dragover', 'drop'].filter((sign) => document.body.dispatchEvent(event(sign)));
  }, PYTHON);
  assert.deepEqual(left, [], 'the browser would open the file itself');
  await page.getByText('early.jsonl: 3 records').waitFor();
});

// Reading a run: its past, its branches, what is searched and filtered, and links that lead to a record.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { drive, ONE_REFUND, openLab } from './lab.js';
import { openPage, waitUntilReady } from './support.js';

/** A finished run whose agent died once behind the refund. */
async function finished() {
  const opened = await openLab({
    path: '?speed=max#v=1&scenario=crash-resume&seed=7',
    contextOptions: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  await opened.lab.run();
  await opened.lab.finish();
  await opened.page.waitForFunction(() => document.querySelectorAll('[data-record]').length > 45);
  return opened;
}

const link = async (page) => {
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  return page.evaluate(() => navigator.clipboard.readText());
};

test('a hundred moves through the past leave the books as they were', async () => {
  const { page, lab } = await finished();
  const records = await lab.records.count();
  const slider = page.getByRole('slider', { name: 'Moment of the run' });
  await slider.focus();
  for (let moves = 0; moves < 50; moves++) await page.keyboard.press('ArrowLeft');
  await lab.stands('past');
  for (let moves = 0; moves < 50; moves++) await page.keyboard.press('ArrowRight');
  await lab.stands('done');
  assert.equal(await lab.records.count(), records);
  assert.deepEqual(await lab.books(), ONE_REFUND);
});

test('all panels follow the slider', async () => {
  const { page, lab } = await finished();
  const slider = page.getByRole('slider', { name: 'Moment of the run' });
  await slider.fill('0');
  await lab.stands('past');
  assert.equal((await lab.books()).refunds, 0);
  await lab.region('Storage').getByText('1 record,').waitFor();
  await lab.region('Memory').getByText('No plan yet.').waitFor();
});

test('a row of the books leads to its record, and the record to its row', async () => {
  const { page, lab } = await finished();
  const row = lab.world.locator('.refunds > li');
  await row.getByRole('button').click();
  const selected = page.locator('[data-record][aria-current="true"]');
  await selected.getByText('issue_refund').waitFor();
  assert.equal(await lab.world.locator('.total').innerText(), '0.00 USD', 'it is about to happen');
  assert.match(await row.getAttribute('class'), /lit/);
  await row.getByText('This is what the record leads to.').waitFor();
  await page
    .locator('.detail')
    .getByText(/RF-00001: 288\.00 USD/)
    .waitFor();
});

test('who acts in the past has a new run, and still the old future', async () => {
  const { page, lab } = await finished();
  const old = await lab.records.allInnerTexts();
  const asked = await page
    .locator('.record.is-approval_request > [data-record]')
    .getAttribute('data-record');
  await page.locator(`[data-record="${asked}"]`).click();
  await page.getByRole('button', { name: 'Branch from here' }).click();
  await page
    .getByRole('navigation', { name: 'Runs beside each other' })
    .getByText(`Branch 1 at record ${asked}`)
    .waitFor();
  await page.waitForFunction(
    (n) => document.querySelectorAll('[data-record]').length === n,
    Number(asked) + 1,
  );
  assert.equal((await lab.books()).refunds, 0);
  await lab.run();
  await lab.stands('waiting');
  await page.keyboard.press('d');
  await page.locator('.card.over').waitFor();
  assert.equal((await lab.books()).refunds, 0, 'denied this time');

  await page.getByRole('button', { name: 'Compare' }).click();
  const dialog = page.getByRole('dialog', { name: /First run and Branch/ });
  await dialog.getByText(/The same for \d+ records, then they part/).waitFor();
  assert.ok(await dialog.locator('.parting').evaluate((row) => row === document.activeElement));
  assert.match(await dialog.locator('.parting').innerText(), /denied|approved/);
  await dialog.getByText(/Only in First run/).waitFor();
  // The agent's state, path by path, as it is in the checkpoint.
  const paths = await dialog.locator('.ends section').first().locator('th').allInnerTexts();
  for (const path of ['plan.version', 'input_tokens', 'approvals[0].decision'])
    assert.ok(paths.includes(path), `${path} in ${paths}`);
  await dialog.getByRole('region', { name: 'The run', exact: true }).getByText('resumes').waitFor();
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'First run', exact: true }).click();
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);
  assert.deepEqual(await lab.records.allInnerTexts(), old);
});

test('a link in a fresh profile lands on its record', async () => {
  const { page, lab } = await finished();
  await lab.records.nth(36).click();
  await lab.stands('past');
  const there = await page.locator('[aria-current="true"] .text').innerText();
  const address = await link(page);

  const { page: fresh } = await openPage({ path: new URL(address).hash });
  const read = drive(fresh);
  await read.stands('past');
  await fresh.getByText('You are looking at record 36 of').waitFor();
  assert.equal(await fresh.locator('[aria-current="true"] .text').innerText(), there);
  await fresh.keyboard.press('Escape');
  await read.stands('done');
  assert.deepEqual(await read.books(), ONE_REFUND);
  assert.equal(await fresh.getByRole('alert').locator('.notice').count(), 0);
});

test('a link tells a real crash, a crash that was armed, and who decided what', async () => {
  const { page, lab, context } = await openLab({
    contextOptions: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  await lab.crashWhen('after the refund happened, before its answer');
  await lab.run();
  await lab.stands('waiting');
  await page.reload();
  await waitUntilReady(page);
  const again = drive(page);
  await again.stands('agent gone');
  await page.keyboard.press('r');
  await again.stands('waiting');
  await again.question.getByLabel(/Note/).fill('50 % & more: “ja”.');
  await again.question.getByRole('button', { name: /Approve/ }).click();
  await again.finish();
  const texts = await again.records.allInnerTexts();
  const address = await link(page);
  await context.close();
  const { page: fresh } = await openPage({ path: new URL(address).hash });
  await drive(fresh).stands('done');
  await fresh.waitForFunction(
    (n) => document.querySelectorAll('[data-record]').length === n,
    texts.length,
  );
  assert.deepEqual(await drive(fresh).records.allInnerTexts(), texts);
});

test('a link that was changed explains itself', async () => {
  const { page } = await finished();
  const address = await link(page);
  const hash = new URL(address).hash;
  const changes = {
    'its checksum does not fit': hash.replace(/to=\d+/, 'to=3'),
    'this page reads version 1': hash.replace('v=1', 'v=2'),
  };
  for (const [sentence, changed] of Object.entries(changes)) {
    const { page: other } = await openPage({ path: changed });
    await other.getByRole('alert').getByText(sentence).waitFor();
    await drive(other).stands('ready');
  }
});

/** The address of a link that says something else, and has the checksum for it. */
function withSum(fragment) {
  let sum = 0x811c9dc5;
  const said = [...fragment].filter(([key]) => key !== 'sum');
  const text = said.map(([key, value]) => `${key}=${value}`).join('\n');
  for (const byte of new TextEncoder().encode(text)) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  fragment.set('sum', sum.toString(16).padStart(8, '0'));
  return `#${fragment}`;
}

test('a link with a checksum for what cannot be says so in words', async () => {
  const start = { v: '1', scenario: 'crash-resume', seed: '7', to: '20' };
  const bad = {
    'This link says “8a:%E0%A4” was done': { did: '8a:%E0%A4' },
    'This link says “8a” was done': { did: '8a' },
    'The branch of this link, “x”, is not a number.': { branch: 'x' },
    'The moment of this link, “x”, is not a number.': { did: 'xc' },
  };
  for (const [sentence, change] of Object.entries(bad)) {
    const path = withSum(new URLSearchParams({ ...start, ...change }));
    const { page } = await openPage({ path });
    await page.getByRole('alert').getByText(sentence).waitFor();
    await drive(page).stands('ready');
  }
});

test('a new run has nothing of what was said about the one before', async () => {
  const { page, lab } = await openLab({ path: '#v=1&scenario=denied&seed=7' });
  await page.getByRole('slider', { name: 'Speed' }).fill('3');
  await lab.run();
  const status = page.locator('.status');
  await status.locator('[aria-live]').getByText('waits at step').waitFor({ state: 'attached' });
  await page.getByRole('combobox', { name: 'Scenario' }).selectOption('budget');
  await lab.stands('ready');
  assert.doesNotMatch(await status.textContent(), /waits/);
});

test('a link that switches off what there is not says so and is followed all the same', async () => {
  const { page } = await openPage({ path: '#v=1&scenario=budget&seed=1&off=nope,retries' });
  await page.getByRole('alert').getByText('no such mechanism').waitFor();
  assert.equal(await page.getByRole('switch', { name: 'Retries' }).isChecked(), false);
  assert.equal(await page.getByRole('switch', { checked: false }).count(), 1);
});

test('the arrows move record by record wherever the mouse is', async () => {
  const { page, lab } = await finished();
  await lab.records.nth(3).click();
  await lab.records.nth(20).hover();
  for (let moves = 0; moves < 5; moves++) await page.keyboard.press('ArrowDown');
  await page.getByText('You are looking at record 8 of').waitFor();
  assert.equal(await page.locator('[data-record="8"]').getAttribute('aria-current'), 'true');
});

test('words are searched in whole records, with a count and the next match', async () => {
  const { page, lab } = await finished();
  await page.keyboard.press('/');
  const search = page.getByRole('searchbox', { name: 'Search the records' });
  assert.ok(await search.evaluate((field) => field === document.activeElement));
  // Nothing of this stands in the list itself, only in the record.
  await search.fill('"approval_key":"T-1001');
  await page.getByText('2 records', { exact: true }).waitFor();
  await search.press('Enter');
  await page.getByText('1 of 2').waitFor();
  await search.press('Enter');
  await page.getByText('2 of 2').waitFor();
  await search.press('Enter');
  await page.getByText('1 of 2').waitFor();
  await lab.stands('past');
});

test('what is on the screen is found, however JSON is spaced', async () => {
  const { page, lab } = await finished();
  const search = page.getByRole('searchbox', { name: 'Search the records' });
  const found = page.locator('.trace-filter .found');
  const words = {
    'Hello Priya, you were right': /[12] records?$/,
    'approved by human:maya': /^1 record$/,
    'in doubt': /records?$/,
    'attempt 1 failed': /records?$/,
    '"amount": 288.00': /records$/,
    '"amount":288.00': /records$/,
    'amount: 288.00': /records$/,
    '"tool": "issue_refund", "args": {': /records?$/,
    '[(*\\': /^no record$/,
  };
  for (const [query, number] of Object.entries(words)) {
    await search.fill('');
    await found.waitFor({ state: 'detached' });
    await search.fill(query);
    await found.waitFor();
    assert.match(await found.innerText(), number, query);
  }
  // What a row shows of the record stands in the record too: the same ones, whatever the spaces are.
  await search.fill('Hello Priya, you were right');
  await search.press('Enter');
  const row = page.locator('[data-record][aria-current="true"]');
  assert.match(await row.innerText(), /Hello Priya, you were right/);
  await lab.stands('past');
});

test('a step filter with an empty field is open at that end', async () => {
  const { page, lab } = await finished();
  const all = await lab.records.count();
  const steps = await page
    .locator('.trace .step')
    .evaluateAll((all) =>
      all.flatMap((step) =>
        Array(step.querySelectorAll('[data-record]').length).fill(
          Number(step.ariaLabel.match(/\d+/)[0]),
        ),
      ),
    );
  const listed = (number) => page.getByText(`${number} of ${all} records`).waitFor();
  await page.getByRole('button', { name: 'Filter' }).click();
  const [from, to] = ['from', 'to'].map((name) => page.getByLabel(name, { exact: true }));
  const set = async (field, value) => {
    await field.fill(value);
    await field.press('Tab');
  };
  await set(from, '3');
  await listed(steps.filter((step) => step >= 3).length);
  await set(to, '4');
  await listed(steps.filter((step) => step === 3 || step === 4).length);
  await set(to, '');
  await listed(steps.filter((step) => step >= 3).length);
  await set(from, '');
  await page.getByText(`of ${all} records`).waitFor({ state: 'detached' });
  await set(to, '0');
  await listed(steps.filter((step) => step === 0).length);
});

test('types, steps and a stretch of the timeline filter the list', async () => {
  const { page, lab } = await finished();
  const shown = page.locator('.record:not(.aside) > [data-record]:visible');
  const all = await lab.records.count();
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('checkbox', { name: /^checkpoint/ }).uncheck();
  await page.keyboard.press('Escape');
  const checkpoints = await page.locator('.record.is-checkpoint').count();
  await page.getByText(`${all - checkpoints} of ${all} records`).waitFor();
  assert.equal(await shown.count(), all - checkpoints);
  await page.getByRole('button', { name: 'show all', exact: true }).click();
  await page.waitForFunction(
    (n) => document.querySelectorAll('.record:not(.aside)').length === n,
    all,
  );

  const canvas = page.locator('.timeline canvas');
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 105, box.y + 8);
  await page.mouse.down();
  await page.mouse.move(box.x + 205, box.y + 8, { steps: 4 });
  await page.mouse.up();
  const listed = page.locator('.trace-filter .listed');
  await listed.getByText(/\d+ of \d+ records/).waitFor();
  const [from, to] = (await page.locator('.scrub').innerText()).match(/\d+/g).map(Number);
  assert.ok(to - from >= 8 && to - from <= 11, `${from} to ${to}`);
  assert.equal(await shown.count(), to - from + 1);
  await page
    .locator('.scrub')
    .getByRole('button', { name: `${from}–${to}` })
    .click();
  await page.waitForFunction(
    (n) => document.querySelectorAll('.record:not(.aside)').length === n,
    all,
  );
});

test('a stretch of the timeline is listed by keys alone, and the help says how', async () => {
  const { page, lab } = await finished();
  const shown = page.locator('.record:not(.aside) > [data-record]:visible');
  const all = await lab.records.count();
  const listed = (number) => page.getByText(`${number} of ${all} records`).waitFor();
  await lab.records.nth(10).click();
  await page.getByRole('group', { name: /^Timeline/ }).focus();
  for (let more = 0; more < 3; more++) await page.keyboard.press('Shift+ArrowRight');
  await listed(4);
  await page.getByRole('status').getByText('Records 10 to 13 are listed').waitFor({
    state: 'attached',
  });
  // Back over where it began, to the other side.
  for (let more = 0; more < 5; more++) await page.keyboard.press('Shift+ArrowLeft');
  await page.locator('.scrub').getByText('8–10').waitFor();
  assert.equal(await shown.count(), 3);
  await page.keyboard.press('Escape');
  await page.waitForFunction(
    (n) => document.querySelectorAll('.record:not(.aside)').length === n,
    all,
  );
  assert.equal(await lab.state.textContent(), 'past', 'Escape took the stretch away alone');

  for (let more = 0; more < 6; more++) await page.keyboard.press('+');
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  const stretch = page.locator('.scrub').getByText(/0–\d+/);
  await stretch.waitFor();
  const end = Number((await stretch.innerText()).trim().slice(2));
  assert.ok(end > 2 && end < all - 1, `0 to ${end} of ${all}`);
  await listed(end + 1);

  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys and words' });
  for (const text of ['list what is in sight', 'match before', 'zoom; so does the wheel'])
    await help.getByText(text).waitFor();
});

test('calls and steps fold, by mouse and by keys', async () => {
  const { page, lab } = await finished();
  const call = page.locator('.record.call').first();
  await call.locator('> .fold').click();
  assert.equal(await call.locator('ol').getAttribute('hidden'), 'until-found');
  await call.locator('> [data-record]').click();
  await page.keyboard.press('ArrowRight');
  assert.equal(await call.locator('ol').getAttribute('hidden'), null);
  assert.equal(await lab.state.textContent(), 'past');
});

test('what is copied from the record parses, with exact numbers', async () => {
  const { page, lab } = await openLab({
    path: '?speed=max#v=1&scenario=double-charge&seed=9007199254740993',
    contextOptions: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  await lab.run();
  await lab.stands('waiting');
  await lab.records.nth(0).click();
  const record = page.getByRole('region', { name: 'Record', exact: true });
  const copied = async (name) => {
    await page.evaluate(() => navigator.clipboard.writeText(''));
    await record.getByRole('button', { name, exact: true }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== '');
    return page.evaluate(() => navigator.clipboard.readText());
  };
  assert.equal(await copied('Copy seed'), '9007199254740993');
  assert.equal(JSON.parse(await copied('Copy limits')).max_steps, 20);
  assert.equal(JSON.parse(await copied('Copy the record')).type, 'run_start');
});

/** A trace as other programs write it: so many records, each with a word of its own. */
function longTrace(records) {
  const types = ['llm_request', 'llm_call', 'tool_call', 'tool_result', 'checkpoint'];
  return Array.from({ length: records }, (_, i) => {
    const [step, type] = [Math.floor(i / 5), types[i % 5]];
    const call = type.startsWith('tool') ? { tool: 'look', call_id: `call_${step}`, ok: true } : {};
    const ts = 1772525400 + i / 4;
    return JSON.stringify({ ts, run_id: 'far', step, type, ...call, note: `word${i}word` });
  }).join('\n');
}

/** Shows a trace as whoever has one does. */
async function showTrace(page, text) {
  await page.mouse.move(20, 20);
  await page.evaluate(
    (text) =>
      dispatchEvent(new CustomEvent('crashlab:file', { detail: new File([text], 'far.jsonl') })),
    text,
  );
}

test('record 4,000 is found with the browser’s own find', async () => {
  const { page } = await openLab();
  await showTrace(page, longTrace(5000));
  await page.waitForFunction(() => document.querySelectorAll('[data-record]').length === 5000);
  const row = page.locator('[data-record="4000"]');
  assert.equal(await row.evaluate((r) => r.getBoundingClientRect().top > innerHeight), true);
  const found = await page.evaluate(() => {
    const isFound = window.find('word4000word');
    const node = getSelection().anchorNode;
    return isFound && node.parentElement.closest('[data-record]').dataset.record;
  });
  assert.equal(found, '4000');
  await row.evaluate((r) => r.scrollIntoView({ block: 'center' }));
  await row.click();
  assert.equal(await row.getAttribute('aria-current'), 'true');
  await page.locator('.status button').click();
  await page.getByRole('heading', { name: /Press Run/ }).waitFor();
});

test('a trace of another program is read, searched and filtered; what is none says so', async () => {
  const { page } = await openLab();
  await showTrace(page, `${longTrace(40)}\nnot json\n`);
  await page
    .getByText('far.jsonl: 41 records, 40 with something missing or unknown, 1 line that')
    .waitFor();
  await page.getByRole('searchbox', { name: 'Search the records' }).fill('word33word');
  await page.getByText('1 record', { exact: true }).waitFor();
  await page.getByRole('searchbox', { name: 'Search the records' }).press('Enter');
  assert.equal(await page.locator('[data-record="33"]').getAttribute('aria-current'), 'true');
  await page
    .getByRole('region', { name: 'Record', exact: true })
    .getByText('"word33word"')
    .waitFor();
  await page.getByRole('button', { name: 'Back to the run' }).click();
  await showTrace(page, 'nothing of this is a trace');
  await page.getByRole('alert').getByText('far.jsonl: line 1: ').waitFor();
});

/** A ticket with a question in its middle: twenty notes before it, fifty behind it. */
async function manyNotes() {
  const text = await readFile(
    new URL('../../src/lab/scenarios/twelve-questions.json', import.meta.url),
  );
  const { expect: _, ...scenario } = JSON.parse(text);
  const notes = (word, number) =>
    Array.from({ length: number }, (_, i) => ({
      tool: 'add_internal_note',
      args: { text: `${word} ${i}` },
    }));
  const [start, middle] = scenario.script;
  const voucher = { customer_id: 'C-61009', amount: 12.0, currency: 'USD' };
  const calls = [...notes('Before', 20), { tool: 'send_voucher', args: voucher }];
  return {
    ...scenario,
    id: 'many-notes',
    tools: { send_voucher: { irreversible: true } },
    script: [
      start,
      { ...middle, calls: [...calls, ...notes('After', 50)] },
      { when: { after: 'add_internal_note' }, say: 'All is noted.' },
    ],
  };
}

test('selection, folds and scroll stay while a hundred records arrive', async () => {
  const { page: first, context } = await openLab();
  await first.evaluate(
    (text) => localStorage.setItem('crashlab:yours/many-notes', text),
    JSON.stringify(await manyNotes()),
  );
  const { page, lab } = await openLab({
    context,
    path: '?speed=max#v=1&scenario=many-notes&seed=7',
  });
  await lab.run();
  await lab.stands('waiting');
  await page.waitForFunction(() => document.querySelectorAll('[data-record]').length >= 40);
  const list = page.locator('.trace .scroller');
  const place = () => list.evaluate((list) => list.scrollTop);
  const fold = page.locator('.record.call').first().locator('> .fold');
  await page.locator('[data-record="4"]').click();
  await fold.click();
  await list.hover();
  await page.mouse.wheel(0, 60);
  await page.waitForFunction(() => document.querySelector('.trace .scroller').scrollTop > 0);
  const [top, before] = [await place(), await lab.records.count()];
  await lab.leaveControls();
  await page.keyboard.press('a');
  await page.getByRole('button', { name: /\d+ new records/ }).waitFor();
  await page.waitForFunction(
    (n) => document.querySelectorAll('[data-record]').length >= n,
    before + 100,
  );
  assert.equal(await place(), top);
  assert.equal(await page.locator('[data-record="4"]').getAttribute('aria-current'), 'true');
  assert.equal(await fold.getAttribute('aria-expanded'), 'false');
  assert.equal(await lab.state.textContent(), 'past');
});

test('a link that is pasted into the open page is followed, and Back out of the lessons stays with the run', async () => {
  const { page, lab, url } = await openLab({ path: '?speed=max#v=1&scenario=denied&seed=7' });
  await lab.run();
  await lab.stands('waiting');
  await page.getByRole('link', { name: 'Lessons' }).click();
  await page.locator('.contents').waitFor();
  await page.goBack();
  await page.locator('.contents').waitFor({ state: 'detached' });
  assert.equal(await lab.state.textContent(), 'waiting');

  const reloaded = page.waitForEvent('load');
  await page.goto(new URL('?speed=max#v=1&scenario=loop-same&seed=7', url).href);
  await reloaded;
  await waitUntilReady(page);
  assert.equal(await page.getByRole('combobox', { name: 'Scenario' }).inputValue(), 'loop-same');
});

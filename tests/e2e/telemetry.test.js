// A run for other software: OTLP as a file and to a collector, a tool call as an MCP request.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { initSync, otlp_problems } from '../../www/study/crashlab.js';
import { filesOf } from './files.js';
import { openLab } from './lab.js';
import { forEverybody, LOOKS, optionsOf } from './sizes.js';

initSync({ module: await readFile(new URL('../../www/study/crashlab_bg.wasm', import.meta.url)) });

const ALLOWED = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Headers': 'content-type',
};
/** What the collector answers next, and what it was sent. */
const answers = [];
const bodies = [];
const headers = [];
const collector = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    if (request.method !== 'POST') {
      response.writeHead(204, answers[0]?.headers ?? ALLOWED).end();
      return;
    }
    bodies.push(body);
    headers.push(request.headers);
    const { status = 200, text = '{}', ...answer } = answers.shift() ?? {};
    const fields = { ...(answer.headers ?? ALLOWED), 'Content-Type': 'application/json' };
    response.writeHead(status, fields).end(text);
  });
});
await new Promise((resolve) => collector.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${collector.address().port}/v1/traces`;
after(() => {
  collector.close();
  collector.closeAllConnections();
});

async function finished(options = {}) {
  answers.length = bodies.length = headers.length = 0;
  const opened = await openLab({
    path: '?speed=max#v=1&scenario=crash-resume&seed=7',
    ...options,
  });
  await opened.lab.run();
  await opened.lab.finish();
  const files = filesOf(opened.page);
  await files.open();
  return { ...opened, files };
}

/** Sends to the collector, and gives what is said of it. */
async function send(files, address = url) {
  await files.dialog.getByRole('textbox', { name: 'Collector' }).fill(address);
  await files.dialog.getByRole('button', { name: 'Send' }).click();
  return files.dialog.locator('.said');
}

/** The browser itself complains about what it refuses; a test expects that. */
const forgive = (problems) =>
  problems.splice(0).forEach((problem) => assert.match(problem, /127\.0\.0\.1|localhost:9/));

const spansOf = (text) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans;

test('an OTLP file is valid, and has content only on request', async () => {
  const { files } = await finished();
  const plain = await files.save('OTLP file');
  assert.match(plain.name, /\.otlp\.json$/);
  const text = plain.bytes.toString();
  assert.deepEqual(otlp_problems(text), []);
  assert.equal(spansOf(text).filter((span) => !span.parentSpanId).length, 1);
  assert.ok(!text.includes('CH-90121'), 'no argument of a tool leaves the page');
  await files.dialog.getByRole('checkbox', { name: /With content/ }).check();
  const full = (await files.save('OTLP file')).bytes.toString();
  assert.deepEqual(otlp_problems(full), []);
  assert.ok(full.includes('CH-90121'));
  assert.equal(spansOf(full).length, spansOf(text).length);
});

test('a collector gets the same spans, and its answer is reported', async () => {
  const { files } = await finished();
  const field = files.dialog.getByRole('textbox', { name: 'Collector' });
  assert.equal(await field.inputValue(), 'http://localhost:4318/v1/traces');
  assert.equal(
    await files.dialog.getByRole('checkbox', { name: /With content/ }).isChecked(),
    false,
  );
  const said = await send(files);
  await said.getByText('The collector took the trace.').waitFor();
  assert.deepEqual(otlp_problems(bodies[0]), []);
  assert.equal(bodies[0], (await files.save('OTLP file')).bytes.toString());

  answers.push({ text: '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}' });
  await send(files);
  await said.getByText('The collector took the trace, but not 2 spans: too old').waitFor();
  await said.getByRole('button', { name: 'Save the OTLP file instead' }).waitFor();
});

test('a busy collector is asked again, which can be watched and cancelled', async () => {
  const { files, problems } = await finished();
  answers.push({ status: 503 });
  const said = await send(files);
  await said.getByText(/The collector is busy. Attempt 2 in \d+ s/).waitFor();
  await said.getByText('The collector took the trace.').waitFor();
  assert.equal(bodies.length, 2);
  answers.push({
    status: 429,
    headers: { ...ALLOWED, 'Retry-After': '20', 'Access-Control-Expose-Headers': 'Retry-After' },
  });
  await send(files);
  await said.getByText(/Attempt 2 in (20|19|18) s/).waitFor();
  await files.dialog.getByRole('button', { name: 'Cancel' }).click();
  await said.getByText('Cancelled.').waitFor();
  assert.equal(bodies.length, 3);
  answers.push({ status: 400, text: '{"message":"not like this"}' });
  await send(files);
  await said.getByText('The collector did not take the trace (400): not like this').waitFor();
  assert.equal(bodies.length, 4, 'only what is worth it is sent again');
  forgive(problems);
});

test('a header goes along, and what cannot be sent is said in place of the last answer', async () => {
  const { page, files, problems } = await finished();
  const header = files.dialog.getByRole('textbox', { name: 'Header, if it wants one' });
  await header.fill('x-mlflow-experiment-id: 0');
  const allowed = { 'Access-Control-Allow-Headers': 'content-type, x-mlflow-experiment-id' };
  answers.push({ headers: { ...ALLOWED, ...allowed } });
  const said = await send(files);
  const taken = said.getByText('The collector took the trace.');
  await taken.waitFor();
  assert.equal(headers[0]['x-mlflow-experiment-id'], '0');
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }));
  assert.ok(!kept.includes('mlflow'), 'the header is kept nowhere');

  for (const [address, message] of [
    ['collector', '`collector` is no address, such as'],
    [url.replace('//', '//maya:secret@'), 'Browsers send to no address with a name or a password'],
  ]) {
    await send(files, address);
    await said.getByText(message).waitFor();
    assert.equal(await taken.count(), 0);
  }
  await header.fill('Cookie: 1');
  await send(files);
  await said.getByText('Browsers let no page set the header Cookie.').waitFor();
  assert.equal(bodies.length, 1);
  forgive(problems);
});

test('where the browser refuses, the setting is named and the file offered', async () => {
  const { page, files, problems } = await finished();
  answers.push({ headers: {} });
  const said = await send(files);
  await said.getByText('cors.allowed_origins').waitFor();
  await said.getByText(new URL(page.url()).origin).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    said.getByRole('button', { name: 'Save the OTLP file instead' }).click(),
  ]);
  assert.match(download.suggestedFilename(), /\.otlp\.json$/);
  await send(files, 'http://localhost:9/v1/traces');
  await said.getByText('Nobody answers at localhost:9').waitFor();
  await send(files, 'http://collector.example/v1/traces');
  await said.getByText('The page sends only to https addresses').waitFor();
  forgive(problems);
});

test('a tool call is shown as an MCP request, with the tools and their annotations', async () => {
  const { page, files, lab } = await finished({
    contextOptions: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  await files.close();
  await page.locator('.record.is-tool_call > [data-record]').last().click();
  await page.getByRole('button', { name: 'MCP', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'This call as an MCP request' });
  await dialog.getByRole('button', { name: 'Copy the request' }).click();
  await dialog.locator('.copy.done').waitFor();
  const request = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
  assert.deepEqual([request.jsonrpc, request.method], ['2.0', 'tools/call']);
  assert.match(request.params._meta.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  await dialog.getByText('Nobody handed this run over').waitFor();
  const refund = dialog.getByRole('row', { name: /^issue_refund/ });
  assert.deepEqual(await refund.getByRole('cell').allInnerTexts(), ['no', 'yes', 'yes']);
  const reader = dialog.getByRole('row', { name: /^get_invoice/ });
  assert.deepEqual(await reader.getByRole('cell').allInnerTexts(), ['yes', 'no', 'yes']);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await lab.stands('past');
});

test('everything goes by keyboard alone', async () => {
  const { page, files } = await finished();
  await files.close();
  const focus = async (name) => {
    for (let turns = 0; turns < 60; turns++) {
      const found = await page.evaluate(() => {
        const { activeElement } = document;
        return (
          activeElement?.getAttribute('aria-label') ??
          activeElement?.closest('label')?.textContent ??
          activeElement?.textContent
        )?.trim();
      });
      if (found?.startsWith(name)) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`${name} cannot be reached`);
  };
  await focus('Files');
  await page.keyboard.press('Enter');
  await files.dialog.waitFor();
  await focus('Open a file…');
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.keyboard.press('Space'),
  ]);
  await chooser.setFiles({ name: 'a.json', mimeType: 'text/plain', buffer: Buffer.from('null') });
  await files.complaint.waitFor();
  await focus('Run');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.keyboard.press('Enter'),
  ]);
  assert.match(download.suggestedFilename(), /\.run\.json$/);
  await focus('With content');
  await page.keyboard.press('Space');
  await focus('Collector');
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(url);
  await page.keyboard.press('Enter');
  await files.dialog.getByText('The collector took the trace.').waitFor();
  assert.ok(bodies[0].includes('CH-90121'));
  await page.keyboard.press('Escape');
  await files.dialog.waitFor({ state: 'detached' });
});

/** What sticks out of a window over the page. */
const over = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('dialog :is(button, input, select, p, h4, li, progress)')]
      .filter((part) => part.checkVisibility())
      .filter((part) => part.getBoundingClientRect().right > innerWidth)
      .map((part) => part.outerHTML.slice(0, 80)),
  );

for (const look of LOOKS) {
  test(`files and MCP can be read by everybody, ${look.colorScheme}, ${look.fonts} fonts`, async () => {
    const { page, files } = await finished(optionsOf(look));
    const judge = async (what) => {
      const found = await forEverybody(page, { look: () => over(page) });
      assert.deepEqual(found, [], what);
    };
    await judge('the window');
    await files.pick('bad.json', `"${'x'.repeat(300)}"`);
    await files.complaint.waitFor();
    await judge('a complaint');
    const { bytes } = await files.save('Checkpoint');
    await files.pick('good.json', bytes.toString().replace('"done"', '"running"'));
    await files.dialog.locator('.card').waitFor();
    await judge('a checkpoint');
    await files.pick('t.jsonl', '{"type": "thinking", "words": 7}\n{"type": "sto');
    await files.dialog.waitFor({ state: 'detached' });
    await page.locator('[data-record="0"]').click();
    await judge('a trace of another program');
    await page.getByRole('button', { name: 'Back to the run' }).click();
    await page.locator('.record.is-tool_call > [data-record]').last().click();
    await page.getByRole('button', { name: 'MCP', exact: true }).click();
    await page.getByRole('dialog').getByRole('table').waitFor();
    await judge('a request');
  });
}

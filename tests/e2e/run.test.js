// One run from start to end, with the decisions a person can take.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ONE_REFUND, openLab } from './lab.js';

test('an approved refund happens once, and the customer is told', async () => {
  const { lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  const card = await lab.question.innerText();
  assert.match(card, /issue_refund/);
  assert.match(card, /288\.00/);
  assert.equal(await lab.question.getByLabel('Decided by').inputValue(), 'Maya Lindqvist');
  assert.equal((await lab.books()).refunds, 0, 'nothing moves before the decision');

  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);
  assert.deepEqual(await lab.brokenInvariants(), []);
});

test('a denial stands: no refund, and the customer hears what happens next', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByLabel(/Note/).fill('Ask finance first.');
  await lab.question.getByRole('button', { name: /Deny/ }).click();
  await page.locator('.card.over').waitFor();
  const books = await lab.books();
  assert.deepEqual(books, { refunded: '0.00 USD', refunds: 0, questions: 1, mails: 1 });
  assert.match(await lab.world.locator('.questions').innerText(), /denied[^]*Ask finance first\./);
});

test('one step is one effect, and the run can be paused and taken up again', async () => {
  const { page, lab } = await openLab({ path: '' });
  await lab.button('Step').click();
  await lab.records.nth(0).waitFor();
  assert.equal(await lab.records.count(), 1, 'the first effect writes run_start');
  await lab.button('Step').click();
  await page.waitForFunction(() => document.querySelectorAll('[data-record]').length === 2);
  assert.equal(await lab.state.textContent(), 'paused');

  await lab.run();
  await lab.button('Pause').click();
  await lab.stands('paused');
  await page.getByRole('slider', { name: 'Speed' }).fill('4');
  await lab.run();
  await lab.finish();
  assert.deepEqual(await lab.books(), ONE_REFUND);
});

test('looking at the past changes nothing and leads back to now', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.finish();
  const records = await lab.records.count();
  await lab.records.nth(5).click();
  await page.getByText(`You are looking at record 5 of ${records}.`).waitFor();
  assert.deepEqual(await lab.books(), { refunded: '0.00 USD', refunds: 0, questions: 0, mails: 0 });
  for (let moves = 0; moves < 20; moves++) await page.keyboard.press('ArrowDown');
  await page.getByText(`You are looking at record 25 of ${records}.`).waitFor();
  assert.equal(await page.locator('[data-record="25"]').getAttribute('aria-current'), 'true');

  await page.getByRole('button', { name: /Back to now/ }).click();
  await lab.stands('done');
  assert.equal(await lab.records.count(), records);
  assert.deepEqual(await lab.books(), ONE_REFUND);
});

test('a selected record stays selected and in its place while others arrive', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  const before = await lab.records.count();
  await lab.records.nth(4).click();
  const place = () => page.locator('.trace .scroller').evaluate((list) => list.scrollTop);
  const top = await place();
  await page.keyboard.press('a');
  const newer = page.getByRole('button', { name: /new records/ });
  await newer.waitFor();
  await page.waitForFunction((n) => document.querySelectorAll('[data-record]').length > n, before);
  await page.locator('.card.over').waitFor();
  assert.equal(await place(), top);
  assert.equal(await page.locator('[data-record="4"]').getAttribute('aria-current'), 'true');
  await newer.click();
  assert.equal(await newer.count(), 0);
});

test('trace and checkpoint can be taken home as files', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.finish();
  await lab.button('Files').click();
  const download = async (name) => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name, exact: true }).click(),
    ]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
  };
  const trace = await download('Trace');
  assert.match(trace.name, /\.jsonl$/);
  const lines = trace.text.trimEnd().split('\n');
  assert.equal(lines.length, await lab.records.count());
  assert.deepEqual(Object.keys(JSON.parse(lines[0])).slice(0, 4), ['ts', 'run_id', 'step', 'type']);
  const checkpoint = await download('Checkpoint');
  assert.match(checkpoint.name, /\.json$/);
  assert.equal(Object.keys(JSON.parse(checkpoint.text))[0], 'task_id');
});

test('text from people is shown as text, never as markup', async () => {
  const { page, lab } = await openLab();
  const hostile = '<img src=x onerror="document.title=`owned`"> ‮txt.exe & <b>bold</b>';
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByLabel('Decided by').fill(hostile);
  await lab.question.getByLabel(/Note/).fill(hostile);
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  await page.locator('.record.is-approval button').click();
  assert.ok((await lab.world.innerText()).includes('<b>bold</b>'));
  assert.ok((await page.getByLabel('The record as JSON').innerText()).includes('<b>bold</b>'));
  assert.equal(await page.locator('img, b').count(), 0);
  assert.equal(await page.title(), 'Crashlab');
});

test('the whole run goes by keyboard alone', async () => {
  const { page, lab } = await openLab();
  await page.keyboard.press('s');
  await lab.stands('paused');
  await page.keyboard.press('Space');
  await lab.stands('waiting');
  await page.keyboard.press('x');
  await lab.stands('agent gone');
  await page.keyboard.press('r');
  await lab.stands('waiting');
  await page.keyboard.press('a');
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);

  await page.keyboard.press('ArrowUp');
  await lab.stands('past');
  await page.keyboard.press('Escape');
  await lab.stands('done');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys and words' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
});

test('keys belong to the field while somebody types', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  const note = lab.question.getByLabel(/Note/);
  await note.focus();
  await page.keyboard.type('add x and r');
  assert.equal(await note.inputValue(), 'add x and r');
  assert.equal(await lab.state.textContent(), 'waiting');
});

for (const start of ['#', '?embed#'])
  test(`a link with a seed that is too large is told, and there is a run all the same (${start})`, async () => {
    const { page, lab } = await openLab({
      path: `${start}v=1&scenario=denied&seed=18446744073709551616`,
    });
    await page.getByText('is not a whole number from 0 to 18446744073709551615').waitFor();
    await lab.stands('ready');
  });

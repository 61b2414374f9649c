// What computes beside the page: its module is fetched and compiled once, however many workers run it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { filesOf } from './files.js';
import { openLab } from './lab.js';

const golden = new URL('../golden/', import.meta.url);

test('a search, a cancelled one, a report and a file compile the module once', async () => {
  const { page, lab } = await openLab({ path: '?speed=max#v=1&scenario=double-charge&seed=7' });
  // The page and its workers are heard here alike. The page's own module has arrived before.
  const fetched = [];
  page.on('request', (request) => {
    if (request.url().endsWith('.wasm')) fetched.push(request.url());
  });
  const workers = [];
  page.on('worker', (worker) => workers.push(worker));

  await lab.button('Explore').click();
  const explorer = page.getByRole('dialog', { name: 'Explore' });
  const figures = explorer.locator('.progress');
  await explorer.getByRole('button', { name: 'Every run' }).click();
  await explorer.getByLabel('Crashes, up to').selectOption('3');
  await explorer.getByRole('button', { name: 'Search', exact: true }).click();
  await explorer.getByRole('button', { name: 'Cancel', exact: true }).click();
  await figures.getByText('cancelled', { exact: true }).waitFor();
  await explorer.getByRole('button', { name: 'Crash matrix' }).click();
  await explorer.getByRole('button', { name: 'Fill the matrix' }).click();
  await figures.getByText('complete', { exact: true }).waitFor({ timeout: 60_000 });
  await page.keyboard.press('Escape');

  await lab.run();
  await lab.stands('waiting');
  await lab.button('Report').click();
  const report = page.getByRole('dialog', { name: 'How did this run do?' });
  await report.locator('.checks').waitFor();
  await page.keyboard.press('Escape');

  await filesOf(page).pick('trace.jsonl', await readFile(new URL('budget.jsonl', golden)));
  await page.getByText('This trace comes from a file').waitFor();

  assert.ok(workers.length >= 4, `${workers.length} workers`);
  assert.equal(fetched.length, 1, fetched.join('\n'));
});

test('a module that cannot be loaded is said, and loaded again', async () => {
  const { page, lab, problems } = await openLab();
  await page.route('**/*.wasm', (route) => route.abort());
  await lab.run();
  await lab.stands('waiting');
  const report = page.getByRole('dialog', { name: 'How did this run do?' });
  await lab.button('Report').click();
  await report.getByText('The part that computes could not be loaded').waitFor();
  await page.keyboard.press('Escape');
  await page.unroute('**/*.wasm');
  await lab.button('Report').click();
  await report.locator('.checks').waitFor();
  problems.splice(0);
});

test('a worker that dies is said, and the next one computes', async () => {
  const { page, lab } = await openLab();
  const script = /\/worker-\w+\.js$/;
  const body = "throw new Error('no more memory');";
  await page.route(script, (route) => route.fulfill({ contentType: 'text/javascript', body }));
  await lab.run();
  await lab.stands('waiting');
  const report = page.getByRole('dialog', { name: 'How did this run do?' });
  await lab.button('Report').click();
  await report.getByText('The part that computes has failed. ').waitFor();
  await page.keyboard.press('Escape');
  await page.unroute(script);
  await lab.button('Report').click();
  await report.locator('.checks').waitFor();
});

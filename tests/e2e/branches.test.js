// Runs beside each other: branches, their names, and what a reload keeps of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ONE_REFUND, openLab } from './lab.js';
import { waitUntilReady } from './support.js';

test('a reload keeps the runs beside each other, with their names', async () => {
  const { page, lab } = await openLab({ path: '?speed=max#v=1&scenario=denied&seed=7' });
  await lab.run();
  for (let turns = 0; turns < 5; turns++) {
    await lab.stands('waiting', 'done');
    if ((await lab.state.textContent()) === 'done') break;
    await page.keyboard.press('d');
    await lab.leaves('waiting');
  }
  const first = await lab.records.allInnerTexts();
  const branch = async () => {
    await lab.records.nth(5).click();
    await lab.stands('past');
    await page.getByRole('button', { name: 'Branch from here' }).click();
    await lab.stands('paused');
  };
  const runs = page.getByRole('navigation', { name: 'Runs beside each other' });
  const present = runs.locator('.present');
  await branch();
  assert.equal(await present.innerText(), 'Branch 1 at record 5');
  await branch();
  assert.equal(await present.innerText(), 'Branch 2 at record 5');

  await page.goto(page.url().split('#')[0]);
  await page.reload();
  await waitUntilReady(page);
  await lab.stands('agent gone');
  await runs.getByRole('button', { name: 'First run', exact: true }).waitFor();
  assert.equal(await present.innerText(), 'Branch 2 at record 5');
  const unfinished = page.getByRole('region', { name: 'Unfinished runs' });
  await unfinished.getByText('Branch 1 at record 5').waitFor();
  await runs.getByRole('button', { name: 'Compare' }).click();
  await page
    .getByRole('dialog', { name: /First run and Branch 2 at record 5/ })
    .getByText(/The same for \d+ records/)
    .waitFor();
  await page.keyboard.press('Escape');
  await runs.getByRole('button', { name: 'First run', exact: true }).click();
  await lab.stands('done');
  assert.deepEqual(await lab.records.allInnerTexts(), first);
  await runs.getByRole('button', { name: 'Forget Branch 2 at record 5' }).click();
  await runs.waitFor({ state: 'detached' });
});

test('many branches leave the trace its room', async () => {
  const { page, lab } = await openLab({
    path: '?speed=max#v=1&scenario=denied&seed=7',
    viewport: { width: 1024, height: 700 },
  });
  await lab.run();
  await lab.stands('waiting');
  for (let branches = 0; branches < 12; branches++) {
    await lab.records.nth(4).click();
    await lab.stands('past');
    await page.getByRole('button', { name: 'Branch from here' }).click();
    await page
      .locator('.runs .present')
      .getByText(`Branch ${branches + 1} at`)
      .waitFor();
  }
  const high = await page.locator('.trace .scroller').evaluate((list) => list.clientHeight);
  assert.ok(high > 150, `${high} pixels for the trace`);
  await page.getByRole('button', { name: 'Branch 11 at record 4', exact: true }).click();
  await page.locator('.runs .present').getByText('Branch 11 at').waitFor();
});

test('a branch goes on with a living agent while the old run waits', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  await lab.records.nth(10).click();
  await page.getByRole('button', { name: 'Branch from here' }).click();
  await lab.stands('paused');
  await page.getByRole('button', { name: 'First run', exact: true }).click();
  await lab.stands('waiting');
  await page.keyboard.press('a');
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);
});

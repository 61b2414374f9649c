// What is said of a run: mechanisms and their invariants, checks and a diagnosis, and every shipped scenario as it expects.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { openLab } from './lab.js';
import { forEverybody, LOOKS, optionsOf } from './sizes.js';

const folder = new URL('../../src/lab/scenarios/', import.meta.url);

/** Drives a run to its end as the scenario's person says, and resumes whatever dies. */
async function driveToEnd({ page, lab }, scenario) {
  const answers = scenario.person?.answers ?? [];
  await lab.run();
  for (let turns = 0, asked = 0; turns < 60; turns++) {
    await page.waitForFunction(() =>
      /^(waiting|agent gone)$|over/.test(
        `${document.querySelector('.status .state')?.textContent}${document.querySelector('.status .state.over') ? 'over' : ''}`,
      ),
    );
    const word = await lab.state.textContent();
    if (word === 'waiting') {
      const answer = answers[Math.min(asked++, answers.length - 1)] ?? 'denied';
      const before = await page.locator('.world .questions > li').count();
      await page.keyboard.press((answer.decision ?? answer) === 'approved' ? 'a' : 'd');
      await page.waitForFunction(
        (open) =>
          document.querySelector('.status .state')?.textContent !== 'waiting' ||
          document.querySelectorAll('.world .questions > li').length > open,
        before,
      );
    } else if (word === 'agent gone') {
      // At full speed the next agent may be gone before anybody sees it work.
      const resumes = page.locator('.record.is-resume');
      const before = await resumes.count();
      await page.keyboard.press('r');
      await resumes.nth(before).waitFor({ state: 'attached' });
    } else return word;
  }
  return assert.fail('The run did not end.');
}

async function openReport(page) {
  await page.getByRole('button', { name: 'Report', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'How did this run do?' });
  await dialog.locator('.checks').waitFor();
  return dialog;
}

const checksOf = (dialog) =>
  dialog
    .locator('.checks > ul > li')
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector('h4').textContent.trim(),
        row.querySelector('.verdict').textContent.trim(),
      ]),
    );

test('without idempotency a refund that times out is made twice; with it, once', async () => {
  const scenario = JSON.parse(await readFile(new URL('refund-timeout.json', folder), 'utf8'));
  const opened = await openLab({ path: '?speed=max#v=1&scenario=refund-timeout&seed=7' });
  const { page, lab } = opened;
  const idempotency = page.getByRole('switch', { name: 'Idempotent billing' });
  await idempotency.uncheck();
  assert.equal(await driveToEnd(opened, scenario), 'done');
  assert.equal((await lab.books()).refunds, 2);
  const broken = await lab.brokenInvariants();
  assert.equal(broken.length, 1);
  assert.match(broken[0], /refund/i);
  await page
    .locator('.invariants li.broken')
    .getByRole('button', { name: /^Record \d+$/ })
    .click();
  await lab.stands('past');
  await page.locator('[aria-current="true"]').getByText('issue_refund').waitFor();
  const dialog = await openReport(page);
  const twice = dialog.locator('.checks li.fail').filter({ hasText: 'refunded at most once' });
  assert.match(await twice.innerText(), /refunded 2 times/);
  await page.keyboard.press('Escape');

  await lab.leaveControls();
  await page.keyboard.press('Escape');
  await idempotency.check();
  await page.getByRole('button', { name: 'Start over with these switches' }).click();
  assert.equal(await driveToEnd(opened, scenario), 'done');
  assert.equal((await lab.books()).refunds, 1);
  assert.deepEqual(await lab.brokenInvariants(), []);
});

test('of a good run no check fails, and each names the records that prove it', async () => {
  const opened = await openLab({ path: '?speed=max#v=1&scenario=double-charge&seed=7' });
  const { page, lab } = opened;
  await lab.run();
  await lab.finish();
  const dialog = await openReport(page);
  const checks = await checksOf(dialog);
  assert.equal(checks.length, 8);
  for (const [name, verdict] of checks) assert.match(verdict, /^(pass|not applicable)$/, name);
  assert.ok(checks.filter(([, verdict]) => verdict === 'pass').length >= 6);
  assert.match(await dialog.locator('.diagnosis').innerText(), /done/);

  const link = dialog
    .locator('.checks li.pass')
    .filter({ hasText: 'refunded at most once' })
    .getByRole('button')
    .first();
  const [, number, type] = /Record (\d+), (\w+)/.exec(await link.getAttribute('aria-label'));
  await link.click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByText(`You are looking at record ${number} of`).waitFor();
  assert.match(await page.locator('[aria-current="true"]').innerText(), new RegExp(type));
});

test('of an unfinished run the report says where it died; how long one looked stands there too', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  await page.keyboard.press('a');
  await lab.stands('done');
  const dialog = await openReport(page);
  const times = dialog.locator('.decision-times tbody tr');
  assert.equal(await times.count(), 1);
  assert.match(await times.innerText(), /issue_refund[^]*approved[^]*\d s/);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Report');

  const { page: other, lab: dying } = await openLab();
  await dying.run();
  await dying.stands('waiting');
  await dying.button('Crash').click();
  await dying.stands('agent gone');
  const report = await openReport(other);
  await report.locator('.diagnosis').getByText('unfinished').waitFor();
});

test('a trace from a file is judged, and its records are read in the page', async () => {
  const { page } = await openLab();
  await page.getByRole('button', { name: 'Report', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'How did this run do?' });
  await dialog.getByText('There is no run yet.').waitFor();
  const golden = new URL('../golden/budget.jsonl', import.meta.url);
  await dialog.locator('input[type=file]').setInputFiles({
    name: 'theirs.jsonl',
    mimeType: 'application/jsonl',
    buffer: await readFile(golden),
  });
  await dialog.locator('.diagnosis').getByText('budget_usd').waitFor();
  await dialog.getByText('The trace of the file theirs.jsonl.').waitFor();
  await dialog.locator('.diagnosis').getByRole('button').first().click();
  await dialog.waitFor({ state: 'hidden' });
  await page.locator('[aria-current="true"]').waitFor();
});

for (const name of (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()) {
  const scenario = JSON.parse(await readFile(new URL(name, folder), 'utf8'));
  test(`${scenario.id} runs in the page and ends as it expects`, async () => {
    const opened = await openLab({ path: `?speed=max#v=1&scenario=${scenario.id}&seed=1` });
    const { status, refunds, questions, broken = [] } = scenario.expect;
    const ended = await driveToEnd(opened, scenario);
    if (status) assert.equal(ended, status);
    const books = await opened.lab.books();
    if (refunds !== undefined) assert.equal(books.refunds, refunds);
    if (questions !== undefined) assert.equal(books.questions, questions);
    assert.equal((await opened.lab.brokenInvariants()).length, broken.length);
  });
}

/** What sticks out of a window over the page. */
const over = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('dialog :is(button, select, p, table, svg)')]
      .filter((part) => part.checkVisibility())
      .filter((part) => part.getBoundingClientRect().right > innerWidth)
      .map((part) => part.outerHTML.slice(0, 80)),
  );

for (const look of LOOKS) {
  test(`what stands over the page can be read by everybody, ${look.colorScheme}, ${look.fonts} fonts`, async () => {
    const path = '?speed=max#v=1&scenario=two-questions&seed=7';
    const opened = await openLab({ path, ...optionsOf(look) });
    const { page } = opened;
    const judge = async (state) => {
      const found = await forEverybody(page, { within: 'dialog', look: () => over(page) });
      assert.deepEqual(found, [], state);
    };
    await driveToEnd(
      opened,
      JSON.parse(await readFile(new URL('two-questions.json', folder), 'utf8')),
    );
    await openReport(page);
    await judge('report');
    await page.keyboard.press('Escape');
    const tab = page.getByRole('navigation').getByRole('button', { name: 'Scenario' });
    if (await tab.isVisible()) await tab.click();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const editor = page.getByRole('dialog', { name: 'Scenario editor' });
    await judge('a shipped scenario');
    await editor.getByRole('button', { name: 'Duplicate to edit' }).click();
    await judge('a copy');
    await editor.getByRole('textbox').fill('{');
    await editor.locator('.verdict code').waitFor();
    await judge('a mistake');
  });
}

test('a fleet is plotted with jitter and without', async () => {
  const { page, lab } = await openLab({ path: '?speed=max#v=1&scenario=retry-storm&seed=1' });
  await lab.run();
  await lab.stands('done');
  const dialog = await openReport(page);
  const fleet = dialog.getByRole('region', { name: '50 agents and one service' });
  await fleet.locator('svg path.with').waitFor({ state: 'attached' });
  assert.match(
    await fleet.getByRole('img').getAttribute('aria-label'),
    /Without jitter .+ up to 50/,
  );
  await fleet.getByText('The figures as a table').click();
  assert.ok((await fleet.locator('tbody tr').count()) > 5);
  const [jittered, plain] = await fleet.locator('.legend li').allInnerTexts();
  assert.match(jittered, /all of 50 agents served/);
  assert.match(plain, /: \d+ requests.+; \d+ of 50 agents served/);
});

test('a mechanism says what breaks without it, and leads to where it shows', async () => {
  const { page } = await openLab();
  const one = page.locator('.mechanisms li').filter({ hasText: 'Idempotent billing' });
  await one.getByText('Without it').click();
  await one.getByText('A charge is refunded at most once').waitFor();
  await one.getByRole('button', { name: 'Where it shows' }).click();
  const menu = page.getByRole('combobox', { name: 'Scenario', exact: true });
  await page.waitForFunction(
    () => document.querySelector('.scenario-choice select')?.value === 'refund-timeout',
  );
  assert.equal(await menu.inputValue(), 'refund-timeout');
});

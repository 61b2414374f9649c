// The fault explorer in the page: matrix, search, the runs that they open, and replay files.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { dist } from '../../scripts/lib/paths.mjs';
import { drive } from './lab.js';
import { forEverybody, LOOKS, optionsOf } from './sizes.js';
import { openPage } from './support.js';

const tests = new URL('../', import.meta.url);
const golden = (name) => readFile(new URL(`golden/${name}`, tests), 'utf8');

/** Opens the explorer over a scenario. */
async function openExplorer({ scenario = 'double-charge', off = '', ...options } = {}) {
  const hash = `#v=1&scenario=${scenario}&seed=7${off && `&off=${off}`}`;
  const opened = await openPage({ path: `?speed=max${hash}`, ...options });
  await opened.page.getByRole('button', { name: 'Explore', exact: true }).click();
  const all = { ...opened, ...parts(opened.page) };
  await all.dialog.waitFor();
  return all;
}

function parts(page) {
  const dialog = page.getByRole('dialog', { name: 'Explore' });
  const button = (name) => dialog.getByRole('button', { name, exact: true });
  return {
    dialog,
    button,
    state: dialog.locator('.progress dd').first(),
    row: (name) => dialog.getByRole('row').filter({ has: page.getByText(name, { exact: true }) }),
    async fill() {
      await button('Fill the matrix').click();
      await dialog.locator('.progress').getByText('complete', { exact: true }).waitFor();
    },
    async search(bounds = {}) {
      await button('Every run').click();
      for (const [label, value] of Object.entries(bounds))
        await dialog.getByLabel(label).selectOption(String(value));
      await button('Search').click();
    },
    done: () =>
      dialog
        .locator('.progress')
        .getByText(/^(complete|stopped at .*)$/)
        .waitFor({ timeout: 90_000 }),
    figure: (name) =>
      dialog
        .locator('.progress dl > div')
        .filter({ has: page.getByText(name, { exact: true }) })
        .locator('dd')
        .innerText(),
  };
}

test('the matrix is filled with the numbers that are written down', async () => {
  const { dialog, fill } = await openExplorer();
  await dialog.getByText('One crash at every instant of this run').waitFor();
  await fill();
  const counts = await dialog
    .locator('.matrix tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) =>
        ['fine', 'broken', 'not_reached'].map(
          (verdict) => row.querySelectorAll(`.${verdict}`).length,
        ),
      ),
    );
  const expected = [
    ...(await golden('matrix.txt')).matchAll(/: (\d+) fine, (\d+) broken .*, (\d+) not/g),
  ];
  assert.deepEqual(
    counts,
    expected.map(([, ...numbers]) => numbers.map(Number)),
  );
  const shown = await dialog
    .locator('.matrix td')
    .evaluateAll((cells) => [
      ...new Set(cells.map((cell) => `${cell.className} ${cell.textContent.trim()}`)),
    ]);
  assert.deepEqual(shown.sort(), ['broken ✕', 'fine ✓', 'not_reached ·']);
  const [crashPoints] = counts[0];
  assert.equal(await dialog.locator('.matrix .instants th').count(), crashPoints);
  assert.match(
    await dialog.locator('.broke').innerText(),
    /Without “Durable approvals”: 5 crash points/,
  );
});

test('a red cell opens its run beside its twin, and both become runs of the playground', async () => {
  const { page, dialog, fill, row, button } = await openExplorer();
  await fill();
  await row('Durable approvals').locator('.broken').first().click();
  const story = dialog.getByRole('article', {
    name: 'Broken: Nobody is asked twice about one action',
  });
  await story.getByText(/The same for \d+ records, then they part/).waitFor();
  assert.match(
    await story.locator('.found').innerText(),
    /^A crash .+, without “Durable approvals”\. After \d+ steps: .+ The runs part at step \d+/,
  );
  const parting = story.locator('.parting');
  assert.match(await parting.innerText(), /crash/);
  assert.equal(await story.locator('.beside thead th').count(), 2);

  await button('Step by step').click();
  const steps = story.locator('.steps tbody tr');
  await steps
    .filter({ hasText: 'the agent dies' })
    .filter({ hasText: 'The twin parts here' })
    .waitFor();
  await steps.filter({ hasText: 'Broken here.' }).waitFor();
  await steps.filter({ hasText: 'From here on every future ends broken.' }).waitFor();
  assert.match(
    await story.locator('.futures figcaption').innerText(),
    /^At the start \d+ of \d+ futures end with this broken .+ The point of no return is step \d+/,
  );

  await button('Open in the playground').click();
  await dialog.waitFor({ state: 'hidden' });
  const lab = drive(page);
  await lab.stands('done');
  assert.deepEqual(
    (await lab.brokenInvariants()).map((text) => text.trim()),
    ['Nobody is asked twice about one action: broken'],
  );
  await page
    .getByRole('navigation', { name: 'Runs beside each other' })
    .getByText('Explored 1: Charged twice')
    .waitFor();
  await page.getByRole('button', { name: 'Compare' }).click();
  await page
    .getByRole('dialog', { name: 'Twin 1: Charged twice and Explored 1: Charged twice' })
    .getByText(/then they part/)
    .waitFor();
});

test('scenario and switches go with the run that is shown', async () => {
  const { page, dialog, search, done, button } = await openExplorer({ off: 'idempotency' });
  const play = async (scenario, broken) => {
    if (scenario) await dialog.getByLabel('Scenario to explore').selectOption(scenario);
    await search({ 'Crashes, up to': 1, 'Faults, up to': 0 });
    await done();
    await dialog.getByRole('row').filter({ hasText: broken }).getByRole('button').click();
    await button('Open in the playground').click();
    await dialog.waitFor({ state: 'hidden' });
  };
  const shown = async () => ({
    scenario: await page.locator('.scenario-choice select').inputValue(),
    off: await page
      .locator('.mechanisms input:not(:checked)')
      .evaluateAll((switches) => switches.length),
  });
  await play('', 'A refund does happen');
  assert.deepEqual(await shown(), { scenario: 'double-charge', off: 1 });
  await page.getByRole('button', { name: 'Explore', exact: true }).click();
  await play('approved-288', 'A refund does happen');
  assert.deepEqual(await shown(), { scenario: 'approved-288', off: 0 });
  const runs = page.getByRole('navigation', { name: 'Runs beside each other' });
  await runs.getByRole('button', { name: /^Explored 1: Charged twice$/ }).click();
  assert.deepEqual(await shown(), { scenario: 'double-charge', off: 1 });
  await runs.getByRole('button', { name: /^Explored 2: / }).click();
  assert.deepEqual(await shown(), { scenario: 'approved-288', off: 0 });
});

test('a row that is all fine leads to where something breaks', async () => {
  const { dialog, fill, row } = await openExplorer();
  await fill();
  assert.match(await row('Idempotent billing').locator('small').innerText(), /all fine/);
  await row('Idempotent billing').getByRole('button', { name: 'see where not' }).click();
  await dialog.locator('.progress').getByText('complete', { exact: true }).waitFor();
  assert.equal(await dialog.getByLabel('Scenario to explore').inputValue(), 'refund-timeout');
  assert.match(await row('Idempotent billing').locator('small').innerText(), /^\d+ broken$/);
});

test('the matrix is filled within the bounds that it shows, whatever was chosen for a search', async () => {
  const { dialog, button, fill, figure } = await openExplorer();
  await button('Every run').click();
  await dialog.getByLabel('Faults, up to').selectOption('2');
  await button('Crash matrix').click();
  assert.equal(await dialog.getByLabel('Faults beside the crash, up to').inputValue(), '0');
  await fill();
  assert.equal(await figure('States'), '33,643');
  await button('Every run').click();
  assert.equal(await dialog.getByLabel('Faults, up to').inputValue(), '2');
});

test('a cancel ends the search within a tenth of a second, and a limit is said', async () => {
  const { page, dialog, search, figure, done } = await openExplorer();
  const cancel = async () => {
    await search({ 'Crashes, up to': 3, 'Faults, up to': 2 });
    await page.waitForFunction(() => {
      const states = document.querySelectorAll('.explorer .progress dd')[1]?.textContent ?? '';
      return Number(states.replace(',', '')) > 3000;
    });
    return dialog.evaluate(async (dialog) => {
      const press = performance.now();
      dialog.querySelector('.start').click();
      while (dialog.querySelector('.progress dd').textContent !== 'cancelled')
        await new Promise((resolve) => setTimeout(resolve));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      return performance.now() - press;
    });
  };
  // On a machine that does much else the page may not get its turn at once, so the best of some counts.
  let ms = Infinity;
  for (let round = 0; round < 5 && ms >= 100; round++) ms = Math.min(ms, await cancel());
  assert.ok(ms < 100, `${ms} ms`);
  const states = await figure('States');
  await dialog.getByText(/^Cancelled\. .+ No invariant is broken so far\.$/).waitFor();
  await page.waitForTimeout(300);
  assert.equal(await figure('States'), states, 'nothing goes on');

  await search({ 'Stop at states': 100000 });
  await done();
  assert.equal(
    await dialog.locator('.progress dd').first().innerText(),
    'stopped at 100,000 states',
  );
  await dialog.getByText(/Stopped at 100,000 states/).waitFor();
  await dialog
    .getByText(/holds in all 100,\d+ states so far/)
    .first()
    .waitFor();
});

test('what a cancelled matrix has found can be opened', async () => {
  const { dialog } = await openExplorer();
  // With a fault beside the crash it takes its time.
  await dialog.getByLabel('Faults beside the crash, up to').selectOption('1');
  await dialog.evaluate(
    (dialog) =>
      new Promise((resolve) => {
        const look = new MutationObserver(() => {
          if (!dialog.querySelector('.matrix .broken')) return;
          look.disconnect();
          dialog.querySelector('.start').click();
          resolve();
        });
        look.observe(dialog, { childList: true, subtree: true });
        dialog.querySelector('.start').click();
      }),
  );
  await dialog.getByText(/^Cancelled\. \d+ of 16 rows/).waitFor();
  assert.ok((await dialog.locator('.matrix .waiting').count()) > 0);
  await dialog.locator('.matrix .broken').first().click();
  await dialog.getByRole('article', { name: /^Broken: / }).waitFor();
});

test('a search counts what is written down', async () => {
  const lines = [
    ...(await golden('states.txt')).matchAll(
      /^([\w-]+), 2 crashes, 1 faults, 1 decisions: (\d+) states, .* (\d+) runs/gm,
    ),
  ];
  for (const scenario of ['crash-backoff', 'double-charge']) {
    const { dialog, search, done, figure } = await openExplorer({ scenario });
    await search({ 'Crashes, up to': 2, 'Faults, up to': 1 });
    await done();
    const [, , states, runs] = lines.find(([, id]) => id === scenario);
    assert.equal((await figure('States')).replaceAll(',', ''), states);
    assert.equal((await figure('Runs')).replaceAll(',', ''), runs);
    assert.equal(await dialog.locator('.verdicts tr.broken').count(), 0);
  }
});

test('a run that is saved replays to the same log, here and as a test', async () => {
  const { page, dialog, search, done, button } = await openExplorer({
    scenario: 'refund-timeout',
    off: 'idempotency',
  });
  await search({ 'Crashes, up to': 1, 'Faults, up to': 0 });
  await done();
  const verdict = dialog.getByRole('row').filter({ hasText: 'A charge is refunded at most once' });
  assert.match(await verdict.innerText(), /broken in \d+ of [\d,]+ states/);
  await verdict.getByRole('button').click();
  await dialog.getByRole('article').waitFor();
  const downloads = [];
  page.on('download', (download) => downloads.push(download));
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    button('Save as a replay file').dblclick(),
  ]);
  assert.equal(saved.suggestedFilename(), 'refund-timeout-without-idempotency.json');
  const text = await readFile(await saved.path(), 'utf8');
  // The file that `cargo test` replays.
  assert.equal(text, await readFile(new URL('replays/without-idempotency.json', tests), 'utf8'));
  await dialog.getByText(/put the file into tests\/replays\//).waitFor();

  const open = (name, contents) =>
    dialog.locator('input[type=file]').setInputFiles({
      name,
      mimeType: 'application/json',
      buffer: Buffer.from(contents),
    });
  await open('mine.json', text);
  await dialog.getByText(/The same log, byte for byte:\s+15 records,\s+[\d,]+ bytes/).waitFor();
  assert.equal(downloads.length, 1, 'pressed twice, saved once');
  await dialog.getByText('Broken: A charge is refunded at most once.').waitFor();
  await open('cut.json', text.slice(0, 80));
  await dialog.getByText(/It does not replay:\s+this is not a replay file/).waitFor();
  const moved = JSON.parse(text);
  moved.choices[0].at = 'call_model/before';
  await open('moved.json', JSON.stringify(moved));
  await dialog
    .getByText(
      /at step 33 the recorded run stood at `call_model\/before`, and this one stands at `ask_approval issue_refund\/after`/,
    )
    .waitFor();
  await page.keyboard.press('Escape');
  await dialog.locator('.verdicts').waitFor();

  await open('mine.json', text);
  await button('Open in the playground').click();
  await dialog.waitFor({ state: 'hidden' });
  await page
    .getByRole('navigation', { name: 'Runs beside each other' })
    .getByText(/^Replayed \d+: /)
    .or(page.locator('.status .state'))
    .first()
    .waitFor();
  const lab = drive(page);
  await lab.stands('done');
  assert.ok(
    (await lab.brokenInvariants()).join().includes('A charge is refunded at most once: broken'),
    'the books come with it',
  );
});

test('a cell that is broken in several ways opens a run for each', async () => {
  const { dialog, fill, row } = await openExplorer({ scenario: 'budget-crashes' });
  await fill();
  await dialog.getByText('That needs no crash beside the scenario’s own.').first().waitFor();
  const cell = row('Checkpoints').locator('.broken[aria-label*=";"]').first();
  const label = await cell.getAttribute('aria-label');
  const names = label.replace('broken: ', '').split('; ');
  await cell.click();
  const title = dialog.locator('#run-title');
  await title.waitFor();
  const shown = (await title.innerText()).replace('Broken: ', '');
  assert.ok(names.includes(shown));
  for (const other of names.filter((name) => name !== shown)) {
    await dialog.locator('.found').getByRole('button', { name: other }).click();
    await title.getByText(`Broken: ${other}`, { exact: true }).waitFor();
  }
  await dialog.getByRole('button', { name: '← Back' }).click();
  await dialog.locator('.matrix').waitFor();
});

test('beside a run with all mechanisms stands the first thing that it does otherwise', async () => {
  const { dialog, fill, row } = await openExplorer();
  await fill();
  await row('The gate in code').locator('.broken').first().click();
  await dialog
    .getByText(/^Set up differently, then the same for \d+ records?, then they part/)
    .waitFor();
  assert.doesNotMatch(await dialog.locator('.parting').innerText(), /run_start/);
});

test('what was found stands beside what is chosen, and is there again when that is chosen again', async () => {
  const { page, dialog, search, done, button, fill } = await openExplorer();
  const said = dialog.locator('.said');
  await search({ 'Crashes, up to': 1, 'Faults, up to': 0 });
  await done();
  await said.getByText(/runs in .+ states\. No invariant is broken\.$/).waitFor();
  const found = await said.innerText();
  const menu = dialog.locator('details.off');
  await menu.locator('summary').click();
  await menu.getByLabel('The log as journal').uncheck();
  assert.equal(await said.innerText(), '');
  assert.equal(await dialog.locator('.verdicts').count(), 0);
  await menu.getByLabel('The log as journal').check();
  assert.equal(await said.innerText(), found);
  await dialog.locator('.verdicts').waitFor();

  // Escape closes what was opened last.
  await page.keyboard.press('Escape');
  assert.equal(await menu.getAttribute('open'), null);
  assert.ok(await dialog.isVisible());

  await button('Crash matrix').click();
  assert.equal(await said.innerText(), '');
  await fill();
  await button('Close').click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Explore', exact: true }).click();
  await dialog.waitFor();
  assert.equal(await dialog.locator('.matrix .broken').count(), 473);
  await said.getByText(/473 of 2,432 cells are broken\.$/).waitFor();
  await button('Every run').click();
  assert.equal(await said.innerText(), found);
});

test('a matrix says how far it is within a row as well', async () => {
  const { page, dialog, button } = await openExplorer();
  await dialog.getByLabel('Faults beside the crash, up to').selectOption('1');
  // Whatever was seen between two frames counts, so that it does not matter how fast this machine is.
  await page.evaluate(() => {
    /** @type {Record<string, Set<string>>} */
    const seen = (window.seen = {});
    new MutationObserver(() => {
      const figures = Object.fromEntries(
        [...document.querySelectorAll('.explorer .progress dl > div')].map((figure) =>
          [...figure.children].map(({ textContent }) => textContent),
        ),
      );
      if (figures.Rows) (seen[figures.Rows] ??= new Set()).add(figures.States);
    }).observe(document.querySelector('.explorer'), {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  await button('Fill the matrix').click();
  await page.waitForFunction(() => Object.values(window.seen).some(({ size }) => size >= 2));
  await button('Cancel').click();
});

test('the keyboard alone is enough', async () => {
  const { page } = await openPage({ path: '?speed=max#v=1&scenario=double-charge&seed=7' });
  const { dialog } = parts(page);
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
  const tabTo = async (wanted) => {
    for (let presses = 0; presses < 80; presses++) {
      if (wanted.test(await focused())) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`Tab never came to ${wanted}.`);
  };
  await tabTo(/^Explore$/);
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await tabTo(/^Fill the matrix$/);
  await page.keyboard.press('Enter');
  await dialog.locator('.progress').getByText('complete', { exact: true }).waitFor();
  assert.equal(await focused(), 'Fill the matrix');
  await tabTo(/^[✓✕]$/);
  await page.keyboard.press('Control+Home');
  const at = () =>
    page.evaluate(() => [
      document.activeElement.cellIndex,
      document.activeElement.parentElement.sectionRowIndex,
    ]);
  assert.deepEqual(await at(), [1, 0]);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  assert.deepEqual(await at(), [2, 1]);
  assert.equal(await page.locator('.matrix td[tabindex="0"]').count(), 1);
  await page.keyboard.press('Control+End');
  const [last] = await at();
  assert.equal(last, await page.locator('.matrix .instants th').count());
  await page.keyboard.press('Home');
  for (let row = 0; row < 14; row++) await page.keyboard.press('ArrowUp');
  assert.deepEqual(await at(), [1, 1]);
  assert.match(
    await dialog.locator('.readout').innerText(),
    /without “Retries in the loop”: broken/,
  );
  await page.keyboard.press('Enter');
  await dialog.getByRole('article').waitFor();
  await tabTo(/^Step by step$/);
  await page.keyboard.press('Enter');
  await dialog.locator('.steps tbody tr').first().waitFor();
  await page.keyboard.press('Escape');
  await dialog.locator('.matrix').waitFor();
  assert.deepEqual(await at(), [1, 1], 'back on the cell');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  assert.equal(await focused(), 'Explore');
});

test('the file that stands alone explores too, and an address opens the explorer', async () => {
  const url = pathToFileURL(join(dist, 'crashlab.html')).href;
  const { page } = await openPage({ url, path: '?explore#v=1&scenario=double-charge&seed=7' });
  const { dialog, fill } = parts(page);
  await fill();
  assert.equal(await dialog.locator('.matrix .broken').count(), 473);
});

/** What sticks out of the window of the explorer. */
const over = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('dialog :is(button, select, p, svg)')]
      .filter((part) => part.checkVisibility() && !part.closest('.scroll, .beside'))
      .filter((part) => part.getBoundingClientRect().right > innerWidth)
      .map((part) => part.outerHTML.slice(0, 80)),
  );

for (const look of LOOKS) {
  test(`the explorer can be read by everybody, ${look.colorScheme}, ${look.fonts} fonts`, async () => {
    const opened = await openExplorer(optionsOf(look));
    const { page, dialog, fill, row, button, search, done } = opened;
    const judge = async (state) => {
      const found = await forEverybody(page, { within: 'dialog', look: () => over(page) });
      assert.deepEqual(found, [], state);
    };
    await judge('nothing yet');
    await fill();
    await judge('the matrix');
    await row('Durable approvals').locator('.broken').first().click();
    await dialog.getByRole('article').waitFor();
    await judge('two traces');
    await button('Step by step').click();
    await judge('step by step');
    await button('← Back').click();
    await search({ 'Crashes, up to': 1 });
    await done();
    await judge('verdicts');
    await dialog.locator('input[type=file]').setInputFiles({
      name: 'mine.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{}'),
    });
    await dialog.getByText('It does not replay').waitFor();
    await judge('a bad file');
  });
}

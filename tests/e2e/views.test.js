// The views beside the plain run, in both themes and at every width: lessons, a filtered list, two runs compared, a trace from a file, the
// editor, a frame. Nothing sticks out, and axe finds nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violations } from './axe.js';
import { openLab } from './lab.js';
import { atSizes, LOOKS, optionsOf } from './sizes.js';

const tab = async (page, name) => {
  const button = page.getByRole('navigation', { name: 'Columns' }).getByRole('button', { name });
  if (await button.isVisible()) await button.click();
};

/** Walks through a lesson and calls `look` in each of its views. */
async function lesson({ page, lab }, look) {
  await page.locator('.contents').waitFor();
  await look('the list of lessons');
  await page.getByRole('link', { name: /A timeout does not tell/ }).click();
  await page.locator('.bet').waitFor();
  await look('a bet');
  await page.getByRole('button', { name: 'Two', exact: true }).click();
  await page.locator('.acts').waitFor();
  await lab.run();
  await lab.stands('waiting');
  await look('what is to be done');
  await tab(page, 'Trace');
  await look('the next thing over the trace');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  await page.locator('[data-record]').filter({ hasText: 'issue_refund, attempt 2' }).click();
  await tab(page, 'Lesson');
  await page.locator('.verdict').waitFor();
  await look('what the books say');
  await page.getByRole('button', { name: 'Why is that?' }).click();
  await look('why');
  await page.getByRole('button', { name: /src\/agent/ }).click();
  await page.getByRole('dialog').waitFor();
  await look('the source');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Now break it' }).click();
  await page.getByText('A hint').click();
  await page.getByText('All mechanisms').click();
  await look('a task');
}

/** Walks through what reads runs. */
async function reading({ page, lab }, look) {
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  await page.getByRole('button', { name: 'Filter' }).click();
  await look('the filter');
  await page.keyboard.press('Escape');
  await page.getByRole('searchbox', { name: 'Search the records' }).fill('nothing has this');
  await look('a search without a hit');
  await page.getByRole('searchbox', { name: 'Search the records' }).fill('');

  await page.locator('[data-record="4"]').click();
  await page.getByRole('button', { name: 'Branch from here' }).click();
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByRole('dialog').waitFor();
  await look('two runs compared');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });

  const trace = '{"ts":1,"run_id":"r","step":0,"type":"llm_call","thought":"Hello"}\n';
  await page.evaluate(
    (text) =>
      dispatchEvent(new CustomEvent('crashlab:file', { detail: new File([text], 'far.jsonl') })),
    trace,
  );
  await page.getByText('far.jsonl').waitFor();
  await look('a trace from a file');
  await tab(page, 'Scenario');
  await look('what waits behind it');
  await tab(page, 'Trace');
  await page.getByRole('button', { name: 'Back to the run' }).click();
  await tab(page, 'Scenario');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('dialog').waitFor();
  await look('the editor');
}

const WALKS = [
  { name: 'a lesson', path: '?speed=max#lessons', walk: lesson },
  { name: 'what reads runs', path: '?speed=max', walk: reading },
  {
    name: 'a lesson in a frame',
    path: '?embed&lesson=3&speed=max',
    walk: (opened, look) => look('a frame'),
  },
];

/** What sticks out of the page. */
const over = (page) =>
  page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    const controls = [...document.querySelectorAll('button, a')]
      .filter((one) => one.checkVisibility() && !one.closest('.scroller, [popover], pre'))
      .filter((one) => one.getBoundingClientRect().right > innerWidth + 1);
    return [
      ...(scrollWidth > innerWidth ? [`the page is ${scrollWidth} wide`] : []),
      ...(scrollHeight > innerHeight ? [`the page is ${scrollHeight} high`] : []),
      ...controls.map((one) => `“${one.textContent.trim()}” sticks out`),
    ];
  });

for (const { name, path, walk } of WALKS) {
  for (const look of LOOKS) {
    test(`nothing sticks out, ${look.fonts} fonts: ${name}`, async () => {
      const opened = await openLab({ path, ...optionsOf(look) });
      await walk(opened, async (state) => {
        const sizes = [390, 900, 1024, 1440, 2560].map((width) => [width, 900]);
        const found = await atSizes(opened.page, sizes, () => over(opened.page));
        assert.deepEqual(found, [], state);
      });
    });
  }
  for (const colorScheme of ['light', 'dark']) {
    test(`axe finds nothing, ${colorScheme}: ${name}`, async () => {
      const opened = await openLab({ path, ...optionsOf({ fonts: '', colorScheme }) });
      await walk(opened, async (state) => {
        const sizes = [390, 1440].map((width) => [width, 900]);
        const found = await atSizes(opened.page, sizes, () => violations(opened.page));
        assert.deepEqual(found, [], state);
      });
    });
  }
}

test('what cannot be loaded is said, and can be tried again', async () => {
  const { page, context, problems } = await openLab();
  await context.route('**/lessons-*.js', (route) => route.abort());
  const { page: second } = await openLab({ context });
  await second.getByRole('link', { name: 'Lessons' }).click();
  await second.getByRole('alert').getByText('A part of the page could not be loaded.').waitFor();
  assert.equal(new URL(second.url()).hash, '');
  await context.unroute('**/lessons-*.js');
  await second.getByRole('link', { name: 'Lessons' }).click();
  await second.locator('.contents').waitFor();

  await context.route('**/*.wasm', (route) => route.abort());
  await page.reload();
  await page.getByRole('alert').getByText('The agent could not be loaded.').waitFor();
  for (const problem of problems.splice(0)) assert.match(problem, /net::ERR_FAILED/);
});

test('a page whose scripts do not come says so after a while', async () => {
  const { page, context, problems } = await openLab();
  await context.route('**/main-*.js', (route) => route.abort());
  await page.reload();
  const late = page.getByText('Something may block the page’s scripts');
  await page.getByText('Loading the agent…').waitFor();
  assert.equal(await late.isVisible(), false);
  await page.evaluate(() => document.getAnimations().forEach((waiting) => waiting.finish()));
  await late.waitFor();
  for (const problem of problems.splice(0)) assert.match(problem, /net::ERR_FAILED/);
});

test('a run whose trace could not be loaded goes on, and the trace is loaded when asked for', async () => {
  const { page: before, context, problems } = await openLab();
  let requests = 0;
  await context.route('**/viewer-*.js', (route) => {
    requests++;
    return route.abort();
  });
  await before.close();
  const { page, lab } = await openLab({ context });
  await lab.run();
  await lab.stands('waiting');
  await page.getByRole('alert').getByText('A part of the page could not be loaded.').waitFor();
  assert.ok(requests <= 3, `asked ${requests} times: not with every drawing`);
  await context.unroute('**/viewer-*.js');
  await page.getByRole('button', { name: 'Try again' }).click();
  await lab.finish();
  assert.equal((await lab.books()).refunds, 1);
  for (const problem of problems.splice(0)) assert.match(problem, /net::ERR_FAILED/);
});

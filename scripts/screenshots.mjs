// `make screenshots`: the page in the states of a run, at three widths, light and dark, in screenshots/. The README's pictures are two of them.
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from './build.mjs';
import { install } from './install.mjs';
import { launchBrowser } from './lib/browser.mjs';
import { root } from './lib/paths.mjs';
import { main } from './lib/problem.mjs';
import { serve } from './serve.mjs';

const folder = join(root, 'screenshots');
/** The pictures of the README, by their names in docs/. */
const pictures = {
  'crashlab.png': 'wide-light-3-agent-gone.png',
  'lesson.png': 'wide-light-7-lessons-5-books.png',
};
const sizes = {
  wide: { width: 1440, height: 900 },
  medium: { width: 1024, height: 768 },
  phone: { width: 390, height: 844 },
};

await main(async () => {
  await install({ browser: true });
  await build();
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const server = await serve();
  const browser = await launchBrowser();
  let count = 0;
  try {
    for (const [size, viewport] of Object.entries(sizes)) {
      for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
        const context = await browser.newContext({ viewport, colorScheme });
        const page = await context.newPage();
        const look = async (state) => {
          count += 1;
          await page.evaluate(settled);
          await page.screenshot({ path: join(folder, `${size}-${colorScheme}-${state}.png`) });
        };
        await page.goto(`${server.url}?speed=max#v=1&scenario=double-charge&seed=7`);
        await walk(page, look);
        await page.goto(`${server.url}?speed=max&again#lessons`);
        await walkLesson(page, look);
        await page.goto(
          `${server.url}?speed=max&windows#v=1&scenario=refund-timeout&seed=7&off=idempotency`,
        );
        await walkWindows(page, look);
        await page.goto(`${server.url}?embed&lesson=5&speed=max`);
        await page.locator('.bet').waitFor();
        await look('8-frame');
        await context.close();
      }
    }
  } finally {
    await browser.close();
    await server.close();
  }
  for (const [name, picture] of Object.entries(pictures))
    await copyFile(join(folder, picture), join(root, 'docs', name));
  console.log(`screenshots: ${count}`);
});

/** What flashes by when something happens is over; what goes on for ever is not waited for. */
async function settled() {
  const ends = (animation) => Number.isFinite(animation.effect?.getComputedTiming().endTime);
  await Promise.allSettled(
    document
      .getAnimations()
      .filter(ends)
      .map(({ finished }) => finished),
  );
}

/** Goes through the states of a run and calls `look` in each. */
async function walk(page, look) {
  const stands = (word) =>
    page.waitForFunction(
      (wanted) => document.querySelector('.status .state')?.textContent === wanted,
      word,
    );
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  await look('1-ready');
  await page.keyboard.press('Space');
  await stands('waiting');
  await look('2-waiting');
  await page.getByRole('form', { name: /May the agent call/ }).waitFor();
  await page.keyboard.press('x');
  await stands('agent gone');
  await look('3-agent-gone');
  await page.keyboard.press('r');
  await stands('waiting');
  await page.keyboard.press('a');
  await stands('done');
  await look('4-done');
  await page.keyboard.press('ArrowUp');
  await look('5-past');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await look('6-help');
}

/** Goes through the steps of a lesson. */
async function walkLesson(page, look) {
  const tab = async (name) => {
    const button = page.getByRole('navigation', { name: 'Columns' }).getByRole('button', { name });
    if (await button.isVisible()) await button.click();
  };
  const stands = (word) =>
    page.waitForFunction(
      (wanted) => document.querySelector('.status .state')?.textContent === wanted,
      word,
    );
  await page.locator('.contents').waitFor();
  await look('7-lessons-1-list');
  await page.getByRole('link', { name: /A crash between/ }).click();
  await page.locator('.bet').waitFor();
  await look('7-lessons-2-bet');
  await page.getByRole('button', { name: 'Two', exact: true }).click();
  await page.locator('.acts').waitFor();
  await page.getByRole('button', { name: 'Crash when…' }).click();
  const moment = 'after the refund happened, before its answer';
  await page.getByRole('searchbox', { name: 'Find a moment' }).fill(moment);
  await page.locator('#crash-menu .gap').first().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await stands('waiting');
  await look('7-lessons-3-do');
  await tab('Trace');
  await look('7-lessons-4-next-thing');
  await page
    .getByRole('button', { name: /Approve/ })
    .first()
    .click();
  await stands('agent gone');
  await page.locator('.controls .resume').click();
  await stands('done');
  await tab('Lesson');
  await look('7-lessons-5-books');
  await page.getByRole('button', { name: 'Why is that?' }).click();
  await look('7-lessons-6-why');
  await page.getByRole('button', { name: /src\/agent/ }).click();
  await page.getByRole('dialog').waitFor();
  await look('7-lessons-7-source');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Now break it' }).click();
  await page.locator('.goals').waitFor();
  await look('7-lessons-8-task');
}

/** Breaks an invariant, and opens every window and what opens in them. */
async function walkWindows(page, look) {
  const tab = async (name) => {
    const button = page.getByRole('navigation', { name: 'Columns' }).getByRole('button', { name });
    if (await button.isVisible()) await button.click();
  };
  const open = async (name, title) => {
    await page.locator('.tools').getByRole('button', { name, exact: true }).click();
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.waitFor();
    return dialog;
  };
  const close = () => page.keyboard.press('Escape');
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
  await page.keyboard.press('Space');
  await page.getByRole('form', { name: /May the agent call/ }).waitFor();
  await page.keyboard.press('a');
  await page.locator('.card.over').waitFor();
  await tab('Scenario');
  await page.locator('.invariants li.broken').first().waitFor();
  await look('9-broken');
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('dialog', { name: 'Scenario editor' }).getByText('can be run').waitFor();
  await look('9-editor');
  await close();
  const report = await open('Report', 'How did this run do?');
  await report.getByRole('region', { name: 'Checks' }).waitFor();
  await look('9-report');
  await close();
  await open('Files', 'Files');
  await look('9-files');
  await close();
  const explorer = await open('Explore', 'Explore');
  await explorer.getByRole('button', { name: 'Fill the matrix', exact: true }).click();
  await explorer.locator('.progress').getByText('complete', { exact: true }).waitFor();
  await look('9-explorer-matrix');
  await explorer.locator('td').getByText('✕', { exact: true }).first().click();
  await explorer.getByRole('button', { name: 'Step by step' }).waitFor();
  await look('9-explorer-run');
  await explorer.getByRole('button', { name: 'Step by step' }).click();
  await look('9-explorer-steps');
  await close();
  await close();
  await tab('Trace');
  await page.evaluate(() => {
    const line = '{"ts": 0.0, "run_id": "r1", "step": 4, "type": "tool_retry", "attempt": 1}';
    const file = new File([line], 'elsewhere.jsonl');
    dispatchEvent(new CustomEvent('crashlab:file', { detail: file }));
  });
  await page.getByText('elsewhere.jsonl: 1 record').waitFor();
  await page.locator('[data-record="0"]').click();
  await look('9-file-trace');
}

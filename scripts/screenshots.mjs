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
      for (const colorScheme of ['light', 'dark']) {
        const context = await browser.newContext({ viewport, colorScheme });
        const page = await context.newPage();
        const look = async (state) => {
          count += 1;
          await page.screenshot({ path: join(folder, `${size}-${colorScheme}-${state}.png`) });
        };
        await page.goto(`${server.url}?speed=max#v=1&scenario=double-charge&seed=7`);
        await walk(page, look);
        await page.goto(`${server.url}?speed=max&again#lessons`);
        await walkLesson(page, look);
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

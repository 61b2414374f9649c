// Widths, themes and assistive technology, in the states a run goes through.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violations } from './axe.js';
import { drive, openLab } from './lab.js';
import { atSizes, LOOKS, optionsOf } from './sizes.js';
import { waitUntilReady } from './support.js';

/** Walks through the states of a run and calls `look` in each. */
async function walk({ page, lab }, look) {
  await look('ready');
  await lab.openCrashMenu();
  await look('crash menu');
  await page.keyboard.press('Escape');
  await lab.run();
  await lab.stands('waiting');
  await look('waiting');
  for (const name of ['Scenario', 'Places', 'Trace']) {
    const tab = page.getByRole('navigation').getByRole('button', { name });
    if (!(await tab.isVisible())) continue;
    await tab.click();
    await look(name);
  }
  await lab.button('Crash').click();
  await lab.stands('agent gone');
  await look('agent gone');
  await lab.finish();
  await look('done');
  await lab.leaveControls();
  await page.keyboard.press('ArrowUp');
  await lab.stands('past');
  await look('past');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await look('help');
}

/** Phones, on their side too, tablets, screens, and laptops at 200 %. */
const SIZES = [
  [390, 900],
  [800, 900],
  [900, 900],
  [1024, 900],
  [1440, 900],
  [2560, 900],
  [320, 568],
  [844, 390],
  [720, 450],
  [512, 384],
];
/** What sticks out of the page or of its line. */
const over = (page) =>
  page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    const buttons = [...document.querySelectorAll('button')]
      .filter((b) => b.checkVisibility() && !b.closest('.scroller, [popover]'))
      .filter((b) => {
        const { top, right, bottom } = b.getBoundingClientRect();
        const line = b.closest('.status')?.getBoundingClientRect();
        const isCut = line && (top < line.top || bottom > line.bottom);
        return isCut || right > innerWidth + 1;
      });
    return [
      ...(scrollWidth > innerWidth ? [`the page is ${scrollWidth} wide`] : []),
      ...(scrollHeight > innerHeight ? [`the page is ${scrollHeight} high`] : []),
      ...buttons.map((b) => `“${b.textContent.trim()}” sticks out`),
    ];
  });

for (const look of LOOKS) {
  test(`nothing sticks out, ${look.fonts} fonts`, async () => {
    const opened = await openLab(optionsOf(look));
    await walk(opened, async (state) => {
      const found = await atSizes(opened.page, SIZES, () => over(opened.page));
      assert.deepEqual(found, [], state);
    });
  });
}

for (const colorScheme of ['light', 'dark']) {
  test(`axe finds nothing, ${colorScheme}`, async () => {
    const opened = await openLab(optionsOf({ fonts: '', colorScheme }));
    await walk(opened, async (state) => {
      const sizes = [390, 1024, 1440].map((width) => [width, 900]);
      const found = await atSizes(opened.page, sizes, () => violations(opened.page));
      assert.deepEqual(found, [], state);
    });
  });
}

test('without storage the page says so and runs in memory', async () => {
  const { context } = await openLab();
  await context.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    };
  });
  const { page, lab } = await openLab({ context });
  await page.getByRole('alert').getByText('gone with it').waitFor();
  await lab.run();
  await lab.finish();
  assert.equal((await lab.books()).refunds, 1);
});

test('a run that storage had no room for goes on once there is room', async () => {
  const { page, context, problems } = await openLab();
  await context.addInitScript(() => {
    const setItem = Storage.prototype.setItem;
    Storage.prototype.setItem = function (key, value) {
      if (globalThis.isFull && key.includes('/log')) {
        throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
      }
      return setItem.call(this, key, value);
    };
  });
  await page.reload();
  await waitUntilReady(page);
  const lab = drive(page);
  await lab.run();
  await lab.stands('waiting');
  await page.evaluate(() => (globalThis.isFull = true));
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('storage_failed');
  await page.getByText('This end is not final').waitFor();
  await page.evaluate(() => (globalThis.isFull = false));
  await page.locator('.card').getByRole('button', { name: 'Resume' }).click();
  await lab.finish();
  assert.deepEqual(problems, []);
  const { refunds, questions } = await lab.books();
  assert.deepEqual({ refunds, questions }, { refunds: 1, questions: 1 });
});

for (const colorScheme of ['light', 'dark']) {
  test(`the timeline can be read in forced colours, ${colorScheme}`, async () => {
    const { page, lab } = await openLab({
      path: '?speed=max#v=1&scenario=crash-resume&seed=7',
      colorScheme,
      contextOptions: { forcedColors: 'active' },
    });
    await lab.run();
    await lab.finish();
    await lab.records.nth(20).click();
    await lab.stands('past');
    const { ink, ground, blocks } = await page.locator('.timeline canvas').evaluate((canvas) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      const rgb = (colour) => colour.match(/\d+/g).slice(0, 3).join();
      const { color, backgroundColor } = getComputedStyle(document.body);
      const colourAt = (x, y) => {
        const at = (y * width + x) * 4;
        return data[at + 3] > 250 ? data.slice(at, at + 3).join() : '';
      };
      const counts = { ink: 0, ground: 0, blocks: 0 };
      /** How far up each column is ink without a gap. */
      const up = new Array(width).fill(0);
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          const colour = colourAt(x, y);
          up[x] = colour === rgb(color) ? up[x] + 1 : 0;
          if (up[x] > 0) counts.ink++;
          if (colour === rgb(backgroundColor)) counts.ground++;
          // No mark is so large: it would be a label or a break that is painted over.
          if (x >= 5 && up.slice(x - 5, x + 1).every((high) => high >= 12)) counts.blocks++;
        }
      }
      return counts;
    });
    assert.ok(ink > 1000 && ground > 500, `${ink} of ink, ${ground} of ground: open marks, breaks`);
    assert.equal(blocks, 0);
    const [dot, word] = await lab.state.evaluate((state) => [
      getComputedStyle(state, '::before').borderTopColor,
      getComputedStyle(state).color,
    ]);
    assert.equal(dot, word, 'the sign beside the word');
  });
}

// Widths, themes and assistive technology, in the states a run goes through.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violations } from './axe.js';
import { drive, openLab } from './lab.js';
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

for (const width of [390, 800, 900, 1024, 1440, 2560]) {
  test(`nothing sticks out at ${width} px`, async () => {
    const opened = await openLab({ viewport: { width, height: 900 } });
    await walk(opened, async (state) => {
      const over = await opened.page.evaluate(() => ({
        page: document.documentElement.scrollWidth - innerWidth,
        below: document.documentElement.scrollHeight - innerHeight,
        buttons: [...document.querySelectorAll('button')]
          .filter((b) => b.checkVisibility() && b.getBoundingClientRect().right > innerWidth + 1)
          .filter((b) => !b.closest('.scroller, [popover]'))
          .map((b) => b.textContent.trim()),
      }));
      assert.deepEqual(over, { page: 0, below: 0, buttons: [] }, state);
    });
  });
}

for (const colorScheme of ['light', 'dark']) {
  for (const width of [390, 1024, 1440]) {
    test(`axe finds nothing, ${colorScheme}, ${width} px`, async () => {
      const opened = await openLab({
        colorScheme,
        viewport: { width, height: 900 },
        contextOptions: { reducedMotion: 'reduce' },
      });
      await walk(opened, async (state) => {
        const found = await violations(opened.page);
        assert.deepEqual(found, [], state);
      });
    });
  }
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

// What a reader does with the page and what they read from it, for the browser tests. Everything goes through what can be seen.
import assert from 'node:assert/strict';
import { openPage } from './support.js';

/** Opens the page as fast as it goes. */
export async function openLab(options = {}) {
  const opened = await openPage({ path: '?speed=max', ...options });
  return { ...opened, lab: drive(opened.page) };
}

/** @param {import('playwright-core').Page} page */
export function drive(page) {
  const button = (name) => page.getByRole('button', { name, exact: true });
  const region = (name) => page.getByRole('region', { name, exact: true });
  const world = region('Outside world');
  const state = page.locator('.status .state');

  return {
    button,
    region,
    world,
    state,
    records: page.locator('[data-record]'),
    question: page.getByRole('form', { name: /May the agent call/ }),

    run: () => button('Run').click(),
    /** Gives the keys to the page and not to a control. */
    leaveControls: () => page.evaluate(() => document.activeElement?.blur()),

    /** Waits until the run stands: waiting, agent gone, or a final status. */
    async stands(...words) {
      await page.waitForFunction(
        (wanted) => wanted.includes(document.querySelector('.status .state')?.textContent ?? ''),
        words,
      );
    },

    /** Waits until the run does not stand there any more. */
    async leaves(word) {
      await page.waitForFunction(
        (before) => document.querySelector('.status .state')?.textContent !== before,
        word,
      );
    },

    async openCrashMenu(filter = '') {
      await button('Crash when…').click();
      if (filter) await page.getByRole('searchbox', { name: 'Find a moment' }).fill(filter);
      return page.locator('#crash-menu .gap');
    },

    /** Arms a crash at the moment of exactly these words. */
    async crashWhen(label) {
      const moments = await this.openCrashMenu(label);
      await moments.filter({ hasText: label }).first().click();
      await page.locator('.status .armed').filter({ hasText: label }).waitFor();
    },

    /** Approves and resumes until the run is over. */
    async finish() {
      for (let turns = 0; turns < 10; turns++) {
        await this.stands('waiting', 'agent gone', 'done');
        const word = await state.textContent();
        if (word === 'done') return;
        if (word === 'agent gone') await page.locator('.controls .resume').click();
        else await this.question.getByRole('button', { name: /Approve/ }).click();
        await this.leaves(word);
      }
      assert.fail('The run did not end.');
    },

    /** What the world's books say. */
    async books() {
      return world.evaluate((panel) => ({
        refunded: panel.querySelector('.total')?.textContent,
        refunds: panel.querySelectorAll('.refunds > li').length,
        questions: panel.querySelectorAll('.questions > li').length,
        mails: panel.querySelectorAll('.mails > li').length,
      }));
    },

    async brokenInvariants() {
      return page.locator('.invariants li.broken summary').allTextContents();
    },
  };
}

export const ONE_REFUND = { refunded: '288.00 USD', refunds: 1, questions: 1, mails: 1 };

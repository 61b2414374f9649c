// Who learns: goes through a lesson with the keyboard alone, and reads what can be seen.
import assert from 'node:assert/strict';
import { drive } from './lab.js';

/** What a learner does with a keyboard, and what they read. */
export function learner(page) {
  const lab = drive(page);
  const isFocused = (locator) =>
    locator.evaluateAll((all) => all.some((element) => element === document.activeElement));

  return {
    page,
    lab,
    press: (key) => page.keyboard.press(key),

    /** Goes there with Tab, from wherever the focus is. */
    async reach(locator) {
      await locator.first().waitFor();
      for (let presses = 0; presses < 300; presses++) {
        if (await isFocused(locator.first())) return;
        await page.keyboard.press('Tab');
      }
      assert.fail(`${locator} cannot be reached with Tab`);
    },

    async choose(locator, key = 'Enter') {
      await this.reach(locator);
      await page.keyboard.press(key);
    },

    button: (name) => page.locator('.about').getByRole('button', { name, exact: true }),
    link: (name) => page.locator('.about').getByRole('link', { name }),
    toggle: (name) => page.locator('.knobs').getByRole('switch', { name }),
    part: (number) => page.locator('.goals > li').nth(number - 1),

    async switchOff(name) {
      await this.choose(this.toggle(name), 'Space');
      await page.locator('.knobs').getByRole('switch', { name, checked: false }).waitFor();
    },
    async switchOn(name) {
      await this.choose(this.toggle(name), 'Space');
      await page.locator('.knobs').getByRole('switch', { name, checked: true }).waitFor();
    },

    /** The keys of the page work wherever no field has the focus; on a button the space bar is the button's. */
    async run(...until) {
      await page.keyboard.press('s');
      await lab.leaves('ready');
      await lab.leaveControls();
      await page.keyboard.press('Space');
      await lab.stands(...until);
    },
    async answer(key, ...until) {
      await lab.question.waitFor();
      await page.keyboard.press(key);
      await lab.stands(...until);
    },
    async resume(...until) {
      await page.locator('.card.gone').waitFor();
      await this.another('resume', () => page.keyboard.press('r'));
      await lab.stands(...until);
    },
    /** Does something, and waits until the trace has one more record of a type. */
    async another(type, action) {
      const rows = page.locator(`.record.is-${type}`);
      const before = await rows.count();
      await action();
      await rows.nth(before).waitFor({ state: 'attached' });
    },
    async setUp(title) {
      const button = this.button(new RegExp(`^Set up “${title}`));
      await this.choose(button);
      await button.waitFor({ state: 'detached' });
      await lab.stands('ready');
    },
    async newRun() {
      await this.choose(this.button('Set up a new run'));
      await lab.stands('ready');
    },

    /** Arms a crash, in a step or in the first in which it can happen. */
    async arm(label, step = null) {
      await this.choose(page.getByRole('button', { name: 'Crash when…', exact: true }));
      const field = page.getByRole('searchbox', { name: 'Find a moment' });
      await this.reach(field);
      await page.keyboard.type(label);
      const moments =
        step === null
          ? page.locator('#crash-menu')
          : page.getByRole('region', { name: `Step ${step}`, exact: true });
      await this.choose(moments.locator('.gap').filter({ hasText: label }));
      await page.locator('.status .armed').filter({ hasText: label }).waitFor();
    },

    /** Goes back through the records until one is selected that fits. */
    async select(type, fits = () => true) {
      await lab.leaveControls();
      for (let presses = 0; presses < 120; presses++) {
        await page.keyboard.press('ArrowUp');
        const row = page.locator('[data-record][aria-current="true"]');
        const isOfType = await row.evaluate(
          (element, type) => element.closest('li').classList.contains(`is-${type}`),
          type,
        );
        if (isOfType && fits(await row.innerText())) return;
      }
      assert.fail(`There is no ${type} that fits.`);
    },

    verdict: () => page.locator('.verdict .says').innerText(),

    async calls() {
      const [, calls] = /([\d,]+) calls?/.exec(await lab.world.locator('.figures').innerText());
      return calls;
    },
  };
}

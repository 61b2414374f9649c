// What counts in a lesson: the run and the search that it has set up, in whichever tab, across reloads, and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drive, openLab } from './lab.js';
import { learner } from './learner.js';
import { waitUntilReady } from './support.js';

/** Opens a lesson, with what a test reads of it. */
async function openLesson(number, options = {}) {
  const { page, context } = await openLab({ path: `?speed=max#lesson=${number}`, ...options });
  const lesson = {
    page,
    context,
    lab: drive(page),
    me: learner(page),
    done: page.locator('.acts > .done'),
    astray: page.locator('.astray'),
    verdict: page.locator('.verdict'),
    again: page.getByRole('button', { name: 'Set it up again' }),
    bet: (name) => page.locator('.bet').getByRole('button', { name, exact: true }),
    go: (step) => page.locator('.lesson nav').getByRole('link', { name: step }).click(),
    async approve() {
      await lesson.lab.question.getByRole('button', { name: /Approve/ }).click();
    },
    async switch(name) {
      const all = page.locator('details.all');
      if (!(await all.evaluate((details) => details.open)))
        await all.locator('summary').first().click();
      await all.getByRole('switch', { name, exact: true }).click();
    },
  };
  await lesson.lab.stands('ready');
  return lesson;
}

test('a run with other mechanisms settles no bet, and the lesson says so', async () => {
  const { page, lab, me, done, astray, again, verdict, bet, approve, ...lesson } =
    await openLesson(3);
  await lesson.switch('Idempotent billing');
  await astray.getByText('“Idempotent billing” is off in this run').waitFor();
  assert.equal(await bet('Two').isDisabled(), true, 'a bet is about the run of the lesson');

  await lab.run();
  await lab.stands('waiting');
  await approve();
  await lab.stands('done');
  await page.locator('.acts').waitFor();
  await me.select('tool_call', (text) => /issue_refund, attempt 2/.test(text));
  await astray.waitFor();
  assert.equal(await done.count(), 0, 'nothing of it counts');
  assert.equal(await verdict.count(), 0);

  await again.click();
  await lab.stands('ready');
  await astray.waitFor({ state: 'detached' });
  await lesson.go('Bet');
  await bet('Two').click();
  await lab.run();
  await lab.stands('waiting');
  await approve();
  await lab.stands('done');
  await me.select('tool_call', (text) => /issue_refund, attempt 2/.test(text));
  await verdict.getByText('You said “Two”: now you know.').waitFor();
});

test('a lesson whose mechanism is switched off before the run does not trap its reader', async () => {
  const { lab, me, astray, again, verdict, bet, ...lesson } = await openLesson(2);
  await bet('Still 4').click();
  await lesson.switch('Retries in the loop');
  await astray.getByText('“Retries in the loop” is off in this run').waitFor();
  await lab.run();
  await lab.stands('done');
  await astray.getByText('“Retries in the loop” is off in this run').waitFor();
  await again.click();
  await lab.stands('ready');
  assert.equal(await astray.count(), 0);
  await lab.run();
  await lab.stands('done');
  await me.select('tool_retry');
  await verdict.getByText('You said “Still 4”, and so it was.').waitFor();
});

test('what a run can no longer show is said when it is over', async () => {
  const { lab, astray, again, bet } = await openLesson(6);
  await bet('Once').click();
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  await astray.getByText('This run is over, and went another way.').waitFor();
  await again.click();
  await lab.stands('ready');
  assert.equal(await astray.count(), 0);
});

test('a search with other bounds settles no bet', async () => {
  const { page, me, done, again, verdict, bet } = await openLesson(10);
  const dialog = page.getByRole('dialog', { name: 'Explore' });
  const search = async () => {
    await dialog.getByRole('button', { name: 'Search', exact: true }).click();
    await dialog
      .locator('.progress')
      .getByText('complete', { exact: true })
      .waitFor({ timeout: 90_000 });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  };
  await bet('None').click();
  await me.button('Open the explorer').click();
  await dialog.getByLabel('Crashes, up to').selectOption('0');
  await search();
  await page.getByText('That was another search.').waitFor();
  assert.equal(await done.count(), 0);
  assert.equal(await verdict.count(), 0);

  await again.click();
  assert.equal(await dialog.getByLabel('Crashes, up to').inputValue(), '1');
  await search();
  await verdict.getByText('You said “None”, and so it was.').waitFor();
});

test('Back closes the explorer, and the lesson beneath stays where it is', async () => {
  const { page, me, bet } = await openLesson(10);
  await bet('None').click();
  await page.locator('.acts').waitFor();
  const address = page.url();
  await me.button('Open the explorer').click();
  const dialog = page.getByRole('dialog', { name: 'Explore' });
  await dialog.waitFor();
  await page.evaluate(() => history.back());
  await dialog.waitFor({ state: 'detached' });
  await page.waitForURL(address);
  await page.locator('.acts').waitFor();
  assert.equal(await page.locator('.lesson nav [aria-current="step"]').innerText(), 'Do');
  await page.goBack();
  await page.locator('.bet').waitFor();
});

/** Lesson 2 with a bet, to its verdict. */
async function second({ lab, me, verdict, bet }) {
  await bet('Still 4').click();
  await lab.run();
  await lab.stands('done');
  await me.select('tool_retry');
  await verdict.waitFor();
}

test('two tabs keep each other’s progress, and show it', async () => {
  const first = await openLesson(2);
  const { page, lab, me, bet } = await openLesson(3, { context: first.context });
  await first.page.bringToFront();
  await second(first);
  await page.bringToFront();
  await bet('One').click();
  await page.goto(new URL('#lessons', page.url()).href);
  await page
    .locator('.contents li')
    .filter({ hasText: 'Retry in the loop' })
    .getByText('begun')
    .waitFor();
  await page.getByText('The books bore out 1 of 1 bet.').waitFor();
  const kept = await page.evaluate(() => JSON.parse(localStorage['crashlab:lessons']).lessons);
  assert.deepEqual(Object.keys(kept).sort(), ['retry', 'timeout']);
  assert.equal(kept.retry.books, 4);
  assert.equal(kept.timeout.bet, 1);

  await first.page.goto(new URL('#lessons', first.page.url()).href);
  await me.button('Forget my progress').click();
  await first.page.locator('.score').waitFor({ state: 'detached' });
  await lab.stands('ready');
});

test('progress that was forgotten can be had back, and an old run settles nothing', async () => {
  const lesson = await openLesson(2);
  const { page, lab, me } = lesson;
  await second(lesson);
  await page.evaluate(() => (location.hash = 'lessons'));
  await me.button('Forget my progress').click();
  const undo = me.button('Undo');
  assert.ok(
    await undo.evaluate((button) => button === document.activeElement),
    'the focus is on Undo',
  );
  await undo.click();
  await page.getByText('The books bore out 1 of 1 bet.').waitFor();

  await me.button('Forget my progress').click();
  await page.evaluate(() => (location.hash = 'lesson=2&step=task'));
  await page.locator('.acts').waitFor();
  await lab.stands('ready');
  assert.equal(await page.locator('.acts > .done').count(), 0);
  await page.reload();
  await waitUntilReady(page);
  await page.locator('.acts').waitFor();
  assert.equal(await page.locator('.verdict').count(), 0, 'the old run says nothing');
});

test('what leaves no trace in a run is not undone by a reload', async () => {
  const { page, lab, me, done, astray, verdict, bet } = await openLesson(4);
  await bet('Somewhat more').click();
  await lab.run();
  await lab.stands('agent gone');
  const json = lab.region('Storage').getByRole('button', { name: 'JSON' });
  await json.click();
  await done.nth(1).waitFor();
  await page.reload();
  await waitUntilReady(page);
  await lab.stands('agent gone');
  await done.nth(1).waitFor();
  assert.equal(await done.count(), 2, 'the run has died, and its checkpoint was read');
  await me.resume('agent gone');
  await me.resume('done');
  assert.equal(await astray.count(), 0);
  await verdict.waitFor();
});

test('an answer that was given to no agent is there when the new one comes', async () => {
  const { page, lab, bet } = await openLesson(7);
  await bet('Once').click();
  await lab.run();
  await lab.stands('agent gone');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.question.waitFor({ state: 'detached' });
  await lab.button('Resume').click();
  await lab.stands('done');
  const at = (type) => page.locator(`.record.is-${type} time`).first().innerText();
  assert.equal(await at('approval'), await at('resume'));
});

test('the right answer of the ninth lesson is right before its run, too', async () => {
  const { page, lab, me, verdict, bet, approve } = await openLesson(9);
  await bet('298.00 USD').click();
  await lab.run();
  await lab.stands('waiting');
  await me.another('approval_request', approve);
  await lab.stands('waiting');
  await approve();
  await lab.stands('done');
  await verdict.getByText('You said “298.00 USD”, and so it was.').waitFor();
  await page.evaluate(() => (location.hash = 'lesson=9&step=task'));
  await me.part(1).waitFor();
  await me.select('tool_call', (text) => text.includes('issue_refund'));
  await page.locator('.goals > .met').waitFor();
  await lab.button('Reset').click();
  await lab.stands('ready');
  await me.button('Keys from the intent').click();
  await page.locator('.goals > .met').nth(1).waitFor();
});

test('a task is not met with something missing that is not its business', async () => {
  const lesson = await openLesson(2);
  const { page, lab, me } = lesson;
  await second(lesson);
  await page.evaluate(() => (location.hash = 'lesson=2&step=task'));
  await me.part(1).waitFor();
  await lesson.switch('Jitter');
  await page.getByText('“Jitter” is off, and the task does without that.').waitFor();
  await me.toggle('Retries in the loop').click();
  await lab.run();
  await lab.stands('done');
  assert.equal(await page.locator('.goals > .met').count(), 0);
  await page.getByRole('button', { name: 'Switch on', exact: true }).click();
  await lab.stands('ready');
  await lab.run();
  await page.locator('.goals > .met').waitFor();
});

test('an address that names no lesson is said once, in the list', async () => {
  const { page } = await openLab();
  for (const wrong of ['11', '0', '1e0', '-1', '99']) {
    await page.evaluate((number) => (location.hash = `lesson=${number}`), wrong);
    await page.getByRole('alert').getByText(`There is no lesson ${wrong}: there are 10.`).waitFor();
    assert.equal(await page.getByText('There is no lesson').count(), 1);
  }
  await page.evaluate(() => (location.hash = 'lesson='));
  await page.getByText('There is no lesson').waitFor({ state: 'detached' });
  await page.locator('.contents').waitFor();
});

test('while the lessons are on their way, the page says so', async () => {
  const { page } = await openLab();
  let arrive;
  const held = new Promise((resolve) => (arrive = resolve));
  await page.route(/\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('link', { name: 'Lessons' }).click();
  await page.getByText('Loading the lessons…').waitFor();
  arrive();
  await page.locator('.contents').waitFor();
  assert.equal(await page.getByText('Loading the lessons…').count(), 0);
});

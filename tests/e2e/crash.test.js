// The agent dies, in the lab and for real, and another takes the run up from what is stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drive, ONE_REFUND, openLab } from './lab.js';
import { openPage, waitUntilReady } from './support.js';

const REFUNDED = 'after the refund happened, before its answer';

test('a crash after the refund and before its answer leaves one refund', async () => {
  const { lab } = await openLab();
  await lab.crashWhen(REFUNDED);
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('agent gone');
  await lab.region('Memory').getByText('Everything it knew is gone.').waitFor();
  const books = await lab.books();
  assert.equal(books.refunds, 1, 'the world keeps what happened');

  await lab.button('Resume').click();
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);
  assert.deepEqual(await lab.brokenInvariants(), []);
});

for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
  test(`a crash ${share * 100} % into the moments of the run ends in one refund and one question`, async () => {
    const { page, lab } = await openLab();
    const moments = await lab.openCrashMenu();
    const moment = moments.nth(Math.floor((await moments.count()) * share));
    await moment.click();
    await page.locator('.status .armed').waitFor();
    await lab.run();
    await lab.finish();
    assert.match(await page.locator('.card.over').innerText(), /Crashed once, resumed once/);
    assert.deepEqual(await lab.books(), ONE_REFUND);
    assert.deepEqual(await lab.brokenInvariants(), []);
  });
}

test('an armed crash can be taken away', async () => {
  const { page, lab } = await openLab();
  await lab.crashWhen(REFUNDED);
  await page.locator('.status .armed').click();
  await page.locator('.status .armed').waitFor({ state: 'detached' });
  await lab.run();
  await lab.finish();
  assert.match(await page.locator('.card.over').innerText(), /Crashed never/);
});

test('a reload in the middle is a crash, and the run is offered and resumed', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  await lab.openCrashMenu();
  const reloaded = page.waitForEvent('load');
  await page.getByRole('button', { name: /Crash for real/ }).click();
  await reloaded;
  await waitUntilReady(page);
  await page.getByText(/T-1001 stopped at step \d+, its agent is gone\. Resume\?/).waitFor();
  await lab.region('Memory').getByText('Everything it knew is gone.').waitFor();
  assert.equal((await lab.books()).questions, 1, 'the question is still in the inbox');

  await page
    .locator('.run-status')
    .getByRole('button', { name: /Resume/ })
    .click();
  await lab.leaves('agent gone');
  await lab.finish();
  assert.deepEqual(await lab.books(), ONE_REFUND);
});

test('closing the tab is a crash too, and another tab takes the run up', async () => {
  const { page, lab, context } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  await page.close();

  const { lab: next, page: tab } = await openLab({ context });
  await next.stands('agent gone');
  await tab.keyboard.press('r');
  await next.leaves('agent gone');
  await next.finish();
  assert.deepEqual(await next.books(), ONE_REFUND);
});

test('a decision taken while the agent is dead is not lost, and nobody is asked again', async () => {
  const { lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  await lab.button('Crash').click();
  await lab.stands('agent gone');
  await lab.world.getByRole('button', { name: 'Approve' }).click();
  await lab.world.getByText(/approved by/).waitFor();
  await lab.button('Resume').click();
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);
});

test('a finished run is still there after a reload, and nothing is offered', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.finish();
  await page.reload();
  await waitUntilReady(page);
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);
  assert.equal(await page.getByText('its agent is gone').count(), 0);
});

test('a run that was never begun leaves nothing behind', async () => {
  const { page, lab } = await openLab();
  await page.reload();
  await waitUntilReady(page);
  await lab.stands('ready');
  assert.equal(await page.getByText('its agent is gone').count(), 0);
});

test('an unfinished run is offered beside another scenario, and can be forgotten', async () => {
  const { page, lab } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  await page.getByRole('combobox', { name: 'Scenario' }).selectOption('denied');
  const offers = page.getByRole('region', { name: 'Unfinished runs' });
  await offers.getByText('its agent is gone. Resume?').waitFor();
  await offers.getByRole('button', { name: 'Forget' }).click();
  await offers.waitFor({ state: 'detached' });
});

test('a second tab takes the run over, and the first may write nothing more', async () => {
  const { page, lab, context } = await openLab();
  await lab.run();
  await lab.stands('waiting');

  const { page: second } = await openPage({ context, path: '?speed=max' });
  const other = drive(second);
  await second.getByText('is in another tab').waitFor();
  await second.getByRole('button', { name: 'Take over' }).click();
  await other.stands('waiting');
  await other.finish();
  assert.deepEqual(await other.books(), ONE_REFUND);

  await lab.stands('taken over');
  await page.getByText('No longer this tab’s run').waitFor();
  assert.equal(await lab.button('Step').isDisabled(), true);
});

test('who has lost the run decides nothing in it', async () => {
  const { page, lab, context } = await openLab();
  await lab.run();
  await lab.stands('waiting');
  const { page: second } = await openPage({ context, path: '?speed=max' });
  const other = drive(second);
  await second.getByRole('button', { name: 'Take over' }).click();
  await other.stands('waiting');
  await lab.stands('taken over');
  await page.bringToFront();
  await lab.leaveControls();
  await page.keyboard.press('d');
  await page.keyboard.press('a');
  await second.bringToFront();
  await other.finish();
  assert.deepEqual(await other.books(), ONE_REFUND);
});

test('a question that was lost with its agent is nobody’s to decide', async () => {
  const { page, lab } = await openLab({
    path: '?speed=max#v=1&scenario=double-charge&off=durable_approvals&seed=7',
  });
  await lab.run();
  await lab.stands('waiting');
  await page.keyboard.press('x');
  await lab.stands('agent gone');
  await page.getByText('issue_refund: the question was lost with its agent').waitFor();
  assert.equal(await page.getByRole('button', { name: /^(Approve|Deny)/ }).count(), 0);
  await lab.button('Resume').click();
  await lab.finish();
  const broken = await lab.brokenInvariants();
  assert.equal(broken.length, 1);
  assert.match(broken[0], /Nobody is asked twice about one action/);
});

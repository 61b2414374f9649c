// The shipped scenarios, as their texts promise.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ONE_REFUND, openLab } from './lab.js';

const scenario = (id) => openLab({ path: `?speed=max#v=1&scenario=${id}&seed=7` });

test('crash-resume dies behind the refund and ends with one', async () => {
  const { lab } = await scenario('crash-resume');
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('agent gone');
  assert.equal((await lab.books()).refunds, 1);
  await lab.button('Resume').click();
  await lab.stands('done');
  assert.deepEqual(await lab.books(), ONE_REFUND);
});

test('budget stops before the call that it cannot pay, and says the figures', async () => {
  const { page, lab } = await scenario('budget');
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('budget_usd');
  assert.deepEqual(await lab.books(), { ...ONE_REFUND, mails: 0 });
  const record = await page.getByLabel('The record as JSON').innerText();
  assert.match(record, /"used": [\d.]+[^]*"next_call": [\d.]+/);
});

test('denied ends without a refund, and tells the customer', async () => {
  const { page, lab } = await scenario('denied');
  await lab.run();
  await lab.stands('waiting');
  await page.keyboard.press('d');
  await page.locator('.card.over').waitFor();
  assert.deepEqual(await lab.books(), {
    refunded: '0.00 USD',
    refunds: 0,
    questions: 1,
    mails: 1,
  });
});

test('a link sets scenario, mechanisms and seed; one that does not fit says so', async () => {
  const { page, lab } = await openLab({
    path: '?speed=max#v=1&scenario=denied&off=idempotency,journal&seed=9007199254740993',
  });
  assert.equal(await page.getByRole('combobox', { name: 'Scenario' }).inputValue(), 'denied');
  assert.equal(await page.getByRole('switch', { checked: false }).count(), 2);
  await lab.button('Step').click();
  const first = page.getByLabel('The record as JSON');
  await first.getByText('9007199254740993').waitFor();

  await page.goto('about:blank');
  await page.goto(new URL('#v=9&scenario=denied', (await openLab()).url).href);
  await page.getByRole('alert').getByText('this page reads version 1').waitFor();
});

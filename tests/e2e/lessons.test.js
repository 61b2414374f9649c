// The lessons, walked from the bet to the last part of the task with the keyboard alone: what the page says of a bet is compared with
// the books that can be seen, and no part of a task is met before it is done.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLab } from './lab.js';
import { learner } from './learner.js';
import { waitUntilReady } from './support.js';

const isDone = (item) => item.evaluate((li) => li.classList.contains('met'));

/** Per lesson: the bet, whether the books bear it out, what is done, what the books say, and the parts of the task. */
const LESSONS = [
  {
    title: 'The loop and its trace',
    bet: '4 to 7 times',
    right: true,
    async act(me) {
      await me.run('waiting');
      await me.answer('a', 'done');
      await me.press('ArrowUp');
    },
    books: async (me) => `${await me.calls()} model calls`,
    task: [
      (me) => me.select('tool_call', (text) => text.includes('issue_refund')),
      async (me) => {
        await me.newRun();
        await me.run('waiting');
        await me.press('x');
        await me.resume('waiting');
        await me.answer('a', 'done');
      },
    ],
  },
  {
    title: 'Retry in the loop, or through the model',
    bet: '7, one more for each failure',
    right: false,
    async act(me) {
      await me.run('done');
      await me.select('tool_retry');
    },
    books: async (me) => `${await me.calls()} model calls`,
    task: [
      async (me) => {
        await me.switchOff('Retries in the loop');
        await me.run('done');
      },
      async (me) => {
        await me.switchOn('Retries in the loop');
        await me.arm('before the wait begins');
        await me.run('agent gone');
        await me.resume('done');
      },
    ],
  },
  {
    title: 'A timeout does not tell you whether it happened',
    bet: 'Two',
    right: false,
    async act(me) {
      await me.run('waiting');
      await me.answer('a', 'done');
      await me.select('tool_call', (text) => /issue_refund, attempt 2/.test(text));
    },
    books: async (me) => `${(await me.lab.books()).refunds} refund`,
    task: [
      async (me) => {
        await me.switchOff('Idempotent billing');
        await me.run('waiting');
        await me.answer('a', 'done');
      },
      async (me) => {
        await me.switchOff('Retries in the loop');
        await me.run('waiting');
        await me.answer('a', 'done');
      },
    ],
  },
  {
    title: 'What is in a checkpoint, and one field too few',
    bet: 'Somewhat more',
    right: true,
    async act(me) {
      await me.run('agent gone');
      await me.choose(me.lab.region('Storage').getByRole('button', { name: 'JSON' }));
      await me.lab.leaveControls();
      await me.resume('agent gone');
      await me.resume('done');
    },
    async books(me) {
      const [, usd] = /([\d.]+) USD/.exec(await me.lab.world.locator('.figures').innerText());
      return `${usd} USD, of 0.015`;
    },
    task: [
      async (me) => {
        await me.switchOn('Counters in the checkpoint');
        await me.run('agent gone');
        await me.resume('agent gone');
        await me.resume('budget_usd');
      },
      async (me) => {
        await me.switchOff('The log as journal');
        await me.run('agent gone');
        await me.resume('agent gone');
        await me.resume('budget_usd');
      },
    ],
  },
  {
    title: 'A crash between the effect and its record',
    bet: 'None',
    right: false,
    async act(me) {
      await crashBehindTheRefund(me);
    },
    books: async (me) => `${(await me.lab.books()).refunds} refund`,
    task: [
      async (me) => {
        await me.switchOff('Idempotent billing');
        await crashBehindTheRefund(me);
        assert.equal(await isDone(me.part(1)), false, 'one net still holds');
        await me.switchOff('The world is read again');
        await crashBehindTheRefund(me);
      },
      async (me) => {
        await me.switchOn('Idempotent billing');
        await crashBehindTheRefund(me);
      },
    ],
  },
  {
    title: 'The gate is code',
    bet: 'Not at all',
    right: false,
    async act(me) {
      await me.run('waiting');
      await me.answer('d', 'done');
      await me.select('llm_call', (text) => text.includes('APPROVAL NEEDED'));
    },
    books: async (me) => `${(await me.lab.books()).questions} question`,
    task: [
      async (me) => {
        await me.switchOff('The gate in code');
        await me.run('done');
      },
      async (me) => {
        await me.setUp('Approved 288');
        await me.switchOn('The gate in code');
        await me.switchOff('Exact arguments');
        await me.run('waiting');
        await me.answer('a', 'done');
      },
    ],
  },
  {
    title: 'Approvals that survive',
    bet: 'Once',
    right: true,
    async act(me) {
      await me.run('agent gone');
      await me.lab.question.waitFor();
      await me.press('a');
      await me.lab.question.waitFor({ state: 'detached' });
      await me.resume('done');
    },
    books: async (me) => `${(await me.lab.books()).questions} question`,
    task: [
      async (me) => {
        await me.switchOff('Durable approvals');
        await me.run('agent gone');
        await me.resume('waiting');
        await me.answer('a', 'done');
      },
      async (me) => {
        await me.switchOn('Durable approvals');
        await me.run('agent gone');
        for (let crashes = 0; crashes < 2; crashes++) {
          await me.resume('waiting');
          await me.press('x');
        }
        await me.resume('waiting');
        await me.answer('a', 'done');
      },
    ],
  },
  {
    title: 'Budgets and loops',
    bet: 'Twenty, the limit of steps',
    right: false,
    async act(me) {
      await me.run('repeated_call');
      await me.select('guard');
    },
    books: async (me) => `${await me.calls()} model calls`,
    task: [
      async (me) => {
        await me.switchOff('Loop guard');
        await me.run('max_steps');
      },
      async (me) => {
        await me.switchOn('Loop guard');
        await me.switchOff('Counters in the checkpoint');
        await me.arm('before the model is asked', 2);
        await me.run('agent gone');
        await me.resume('repeated_call');
      },
      async (me) => {
        await me.switchOn('Counters in the checkpoint');
        await me.setUp('Out of budget');
        await me.run('waiting');
        await me.answer('a', 'budget_usd');
        assert.equal(await isDone(me.part(3)), false, 'the record is not selected yet');
        await me.select('stop');
      },
    ],
  },
  {
    title: 'Reading a trace to find the cause',
    bet: '149.00 USD',
    right: false,
    async act(me) {
      await me.run('waiting');
      await me.another('approval_request', () => me.press('a'));
      await me.lab.stands('waiting');
      await me.answer('a', 'done');
    },
    books: async (me) => (await me.lab.books()).refunded,
    task: [
      (me) => me.select('tool_call', (text) => text.includes('issue_refund')),
      async (me) => {
        await me.choose(me.button('Idempotent billing'));
        await me.page.getByText('that one was on in the lesson’s run').waitFor();
        assert.equal(await isDone(me.part(2)), false);
        await me.choose(me.button('Keys from the intent'));
      },
      async (me) => {
        await me.switchOn('Keys from the intent');
        await me.run('waiting');
        await me.answer('a', 'done');
      },
    ],
  },
  {
    title: 'All crashes at once',
    bet: 'One or two',
    right: false,
    async act(me) {
      await search(me, 'Open the explorer');
      await me.press('Escape');
    },
    books: async () => 'none of the invariants',
    task: [
      async (me) => {
        await me.choose(me.button('Open the explorer'));
        const dialog = explorer(me);
        await me.choose(dialog.getByText('All mechanisms on'));
        await me.choose(dialog.getByRole('checkbox', { name: 'Idempotent billing' }), 'Space');
        await startSearch(me);
        await me.press('Escape');
      },
      async (me) => {
        await me.choose(me.button('Search without it'));
        const row = explorer(me).getByRole('row').filter({ hasText: 'refunded at most once' });
        await me.choose(row.getByRole('button', { name: /steps/ }));
        await me.choose(explorer(me).getByRole('button', { name: 'Open in the playground' }));
        await explorer(me).waitFor({ state: 'detached' });
        assert.equal((await me.lab.books()).refunds, 2);
        await me.page.reload();
        await waitUntilReady(me.page);
        assert.equal((await me.lab.books()).refunds, 2, 'a reload opens the run again');
      },
      async (me) => {
        await me.choose(me.button('Open the explorer'));
        await explorer(me).getByLabel('Crashes, up to').focus();
        await me.page.keyboard.press('2');
        await startSearch(me);
        await me.press('Escape');
      },
    ],
  },
];

const explorer = (me) => me.page.getByRole('dialog', { name: 'Explore' });

async function search(me, button) {
  await me.choose(me.button(button));
  await startSearch(me);
}

async function startSearch(me) {
  await me.choose(explorer(me).getByRole('button', { name: 'Search', exact: true }));
  const state = explorer(me).locator('.progress').getByText('complete', { exact: true });
  await state.waitFor({ timeout: 90_000 });
}

async function crashBehindTheRefund(me) {
  await me.arm('after the refund happened, before its answer');
  await me.run('waiting');
  await me.answer('a', 'agent gone');
  await me.resume('done');
}

LESSONS.forEach(({ title, bet, right, act, books, task }, place) => {
  const number = place + 1;
  test(`lesson ${number} by keyboard, from the bet to the last part of its task: ${title}`, async () => {
    const { page } = await openLab({ path: '?speed=max#lessons' });
    const me = learner(page);
    await me.choose(me.link(new RegExp(title)));
    await page.getByRole('heading', { name: title }).waitFor();
    await me.lab.stands('ready');

    await me.choose(me.button(bet));
    await page.locator('.acts').waitFor();
    assert.equal(await page.locator('.acts > .done').count(), 0, 'nothing is done yet');
    assert.equal(await page.locator('.verdict').count(), 0, 'the books have not spoken');
    await act(me);
    await page.locator('.verdict').waitFor();
    assert.equal(await page.locator('.acts > li:not(.done)').count(), 0);
    // The panels show the past while a record is selected.
    await me.press('Escape');
    assert.equal(await me.verdict(), `The books say ${await books(me)}.`);
    assert.match(
      await page.locator('.verdict').innerText(),
      new RegExp(`You said “${bet}”${right ? ', and so it was' : ': now you know'}`),
    );

    await me.choose(me.button('Why is that?'));
    await me.choose(me.button('Now break it'));
    await me.part(1).waitFor();
    for (const [n, part] of task.entries()) {
      assert.equal(
        await isDone(me.part(n + 1)),
        false,
        `part ${n + 1} is not met before it is done`,
      );
      await part(me);
      await page.locator(`.goals > li:nth-child(${n + 1}).met`).waitFor();
    }
    await page.locator('.verdict').getByText('Done.').waitFor();

    await me.choose(me.link('All lessons'));
    await page.locator('.contents li.done').filter({ hasText: title }).waitFor();
    assert.match(await page.locator('.score').innerText(), right ? /1 of 1 bet\./ : /0 of 1 bet\./);
  });
});

test('the first lesson needs no reading: who runs at once is led on, without a bet', async () => {
  const { page, lab } = await openLab();
  await page.getByRole('link', { name: 'Take the first lesson' }).click();
  await page.getByRole('group', { name: /How often will the model/ }).waitFor();
  await lab.run();
  await lab.stands('waiting');
  await page.locator('.acts').waitFor();
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  await page.keyboard.press('ArrowUp');
  await page.locator('.verdict').getByText('You made no bet.').waitFor();
});

test('Back leads from step to step, to the list, and out of the lessons', async () => {
  const { page, lab } = await openLab();
  const heading = (name) => page.locator('.about').getByRole('heading', { name, exact: true });
  await page.getByRole('link', { name: 'Lessons' }).click();
  await heading('Lessons').waitFor();
  await page.getByRole('link', { name: /A timeout does not tell/ }).click();
  await page.getByRole('button', { name: 'Two', exact: true }).click();
  await page.locator('.acts').waitFor();
  const step = () => page.locator('.lesson nav [aria-current="step"]').innerText();
  assert.equal(await step(), 'Do');

  await page.goBack();
  await page.locator('.bet').waitFor();
  assert.equal(await step(), 'Bet');
  assert.equal(await page.getByRole('button', { name: 'Two', pressed: true }).count(), 1);
  await page.goBack();
  await page.locator('.contents').waitFor();
  await page.goBack();
  await heading('Charged twice').waitFor({ state: 'detached' });
  await page.locator('.scenario').waitFor();
  await page.goForward();
  await page.locator('.contents').waitFor();
  await page.getByRole('button', { name: 'Close the lessons' }).click();
  await page.locator('.scenario').waitFor();
  assert.equal(new URL(page.url()).hash, '');
  await lab.stands('ready');
});

test('a step that has not been come to is not shown, and a lesson that is not there is said', async () => {
  const { page } = await openLab({ path: '?speed=max#lesson=3&step=why' });
  await page.locator('.acts').waitFor();
  await page.evaluate(() => (location.hash = 'lesson=11'));
  await page.getByRole('alert').getByText('There is no lesson 11').waitFor();
  await page.locator('.contents').waitFor();
});

/** The third lesson up to the first part of its task. */
async function half(me) {
  const { page } = me;
  await me.choose(me.button('One'));
  await LESSONS[2].act(me);
  await page.locator('.verdict').waitFor();
  await page.evaluate(() => (location.hash = 'lesson=3&step=task'));
  await me.part(1).waitFor();
  await LESSONS[2].task[0](me);
  await page.locator('.goals > .met').waitFor();
}

test('progress survives a reload, in the middle of a task, and can be forgotten', async () => {
  const { page } = await openLab({ path: '?speed=max#lesson=3' });
  const me = learner(page);
  await half(me);
  await page.reload();
  await waitUntilReady(page);
  await page.locator('.goals > .met').waitFor();
  assert.equal(await page.locator('.goals > .met').count(), 1);
  await me.lab.stands('done');
  assert.equal((await me.lab.books()).refunds, 2, 'the run of before is there');

  await me.link('All lessons').click();
  await page.getByText('The books bore out 1 of 1 bet.').waitFor();
  await page.getByRole('button', { name: 'Forget my progress' }).click();
  assert.equal(await page.locator('.score').count(), 0);
  await page.reload();
  await waitUntilReady(page);
  await page.locator('.contents').waitFor();
  assert.equal(await page.locator('.score').count(), 0);
});

test('a reload before the run leaves missing what is missing in the lesson', async () => {
  const { page, lab } = await openLab({ path: '?speed=max#lesson=4' });
  await page.getByRole('button', { name: 'Somewhat more', exact: true }).click();
  await page.locator('.acts').waitFor();
  await page.reload();
  await waitUntilReady(page);
  await page.locator('.acts').waitFor();
  await page.getByText('All mechanisms').click();
  await page.getByRole('switch', { name: 'Counters in the checkpoint', checked: false }).waitFor();
  await lab.run();
  await lab.stands('agent gone');
});

test('a crash for real in a lesson is taken up where it stood', async () => {
  const { page, lab } = await openLab({ path: '?speed=max#lesson=7' });
  await page.getByRole('button', { name: 'Once', exact: true }).click();
  await lab.run();
  await lab.stands('agent gone');
  await page.reload();
  await waitUntilReady(page);
  await lab.stands('agent gone');
  assert.equal(await page.locator('.acts > .done').count(), 1, 'the crash is in the log');
});

test('without storage, and with a damaged one, the lessons say so and go on', async () => {
  const { page, context } = await openLab();
  await page.evaluate(() => (localStorage['crashlab:lessons'] = '{"version": 1, "lessons": 7'));
  await page.goto('about:blank');
  const { page: second } = await openLab({ context, path: '?speed=max#lessons' });
  await second.getByText('cannot be read. The lessons start over').waitFor();
  await second.locator('.contents').waitFor();

  await context.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    };
  });
  const { page: third, lab } = await openLab({ context, path: '?speed=max#lesson=3' });
  await third.getByRole('button', { name: 'Two', exact: true }).click();
  await third.getByText('Your progress is not kept').waitFor();
  await lab.run();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /Approve/ }).click();
  await lab.stands('done');
  await third.locator('.acts > .done').nth(2).waitFor();
});

test('a lesson shows the part of the core that it is about', async () => {
  const { page } = await openLab({ path: '?speed=max#lesson=3' });
  const me = learner(page);
  await half(me);
  await me.link('Why').click();
  await me.button(/src\/agent\/answers\.rs, line \d+/).click();
  const dialog = page.getByRole('dialog', { name: 'What a failed call is followed by' });
  assert.match(await dialog.locator('mark').innerText(), /^\s*pub\(super\) fn tool_failed/);
  assert.ok(
    await dialog.locator('mark').evaluate((mark) => {
      const [top, bottom] = [mark.getBoundingClientRect().top, innerHeight];
      return top > 0 && top < bottom / 2;
    }),
    'it stands in sight',
  );
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
});

test('a link names a lesson by its id, and one with its number leads to the same', async () => {
  const { page } = await openLab();
  const head = page.locator('#lesson-head');
  for (const fragment of ['#lesson=timeout', '#lesson=3']) {
    await page.evaluate((fragment) => (location.hash = fragment), fragment);
    await head.getByText('A timeout does not tell you whether it happened').waitFor();
    await page.evaluate(() => (location.hash = '#lessons'));
    await head.getByText('Lessons', { exact: true }).waitFor();
  }
  await page
    .locator('.contents')
    .getByRole('link', { name: /A timeout does not/ })
    .click();
  await head.getByText('A timeout does not').waitFor();
  assert.equal(new URL(page.url()).hash, '#lesson=timeout');
});

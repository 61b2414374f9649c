import code from 'source:src/agent/guards.rs#course-guards';
import { plural } from '../../ui/format.js';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'budgets',
  title: 'Budgets and loops',
  minutes: 8,
  scenario: 'loop-same',
  situation:
    'Greta wants a sowing calendar that the shop does not have. The model searches for it, does not find it, and searches again with the same words. It would never stop by itself.',
  bet: {
    ask: 'How many model calls will be paid before something stops it?',
    of: (now) => now.calls,
    says: (figure) => plural(Number(figure), 'model call'),
    options: [
      { says: 'One', fits: (calls) => calls === 1 },
      { says: 'Three', fits: (calls) => calls === 3 },
      { says: 'Twenty, the limit of steps', fits: (calls) => calls === 20 },
      { says: 'All that the budget allows', fits: (calls) => calls > 20 },
    ],
  },
  acts: [
    { say: 'Press **Run** ([[Space]]), and let it finish.', done: (now) => now.over },
    {
      say: 'Select the `guard` record: it says which limit was reached, and which call would have gone beyond it.',
      looks: true,
      at: ({ type }) => type === 'guard',
    },
  ],
  why: [
    'Before each model call the loop looks at its guards: steps, money, tokens, time, and three signs of going in circles (the same call too often, two calls in turn, steps that teach nothing new). The call that would have come next was not paid for.',
    'What is compared is tool and canonical arguments, so another order of keys is the same call. All these counts are in the checkpoint. Without that a crash would give the agent a fresh start in its circle.',
  ],
  code: { says: 'The guards about the run’s course', at: code },
  goals: [
    {
      say: 'Let it circle until the limit of steps stops it, and compare the bill.',
      hint: 'Switch **Loop guard** off, and run.',
      met: (now) => now.isBroken('no_circles') && now.view.status === 'max_steps',
    },
    {
      say: 'Loop guard on again: make it circle all the same, until **The agent does not go in circles** breaks.',
      hint: 'The guard can only count what it remembers. Switch **Counters in the checkpoint** off, choose “before the model is asked” in step 2 (the ⌄ beside **Crash**), run and resume. If it dies sooner, the new agent begins to count sooner, and the circle is one round too short.',
      met: (now) => now.isOn('loop_guard') && now.isBroken('no_circles'),
    },
    {
      say: 'The last net is money. In “Out of budget”, with everything on: approve the refund, and select the record that says what the next call could have cost.',
      hint: 'Switch on again what you have switched off. The record is the last one, `stop`: the limit is compared with what was used **and** the most that the next call can cost, before it is made.',
      scenario: 'budget',
      met: (now) =>
        now.off.length === 0 &&
        now.view.status === 'budget_usd' &&
        now.endedWell &&
        now.selected?.type === 'stop',
    },
  ],
  switches: ['loop_guard', 'saved_guards', 'budget_guard'],
  end: 'A budget that is checked after the call has been paid is an invoice. These are checked before.',
};

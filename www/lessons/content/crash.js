import code from 'source:src/agent/run.rs#resume';
import { ON_REFUNDS } from '../bets.js';
import { AFTER_REFUND, diedAt, isArmedAt } from '../crash-points.js';

/** The agent has died after the refund and before its answer. @param {import('../now.js').Now} now */
const diedAfterRefund = ({ records }) => diedAt(records, AFTER_REFUND);

/** @type {import('../types.js').Lesson} */
export default {
  id: 'crash',
  title: 'A crash between the effect and its record',
  minutes: 7,
  scenario: 'double-charge',
  situation:
    'Priya was charged 288.00 USD twice, and the agent refunds the second charge. It dies at the worst of all moments: billing has paid, and the answer is still on its way. A new agent starts from what is in storage.',
  bet: {
    ask: 'How many refunds will there be when the new agent is through?',
    ...ON_REFUNDS,
  },
  acts: [
    {
      say: 'Open **Crash when…** (the ⌄ beside **Crash**), type “refund”, and choose “after the refund happened, before its answer”.',
      done: (now) => isArmedAt(now.armed, AFTER_REFUND) || diedAfterRefund(now),
    },
    { say: 'Press **Run** ([[Space]]).', done: (now) => now.begun },
    {
      say: '**Approve** the refund ([[A]]), and the agent dies right after it.',
      done: diedAfterRefund,
    },
    {
      say: 'Look at **Outside world**: billing has paid. The log knows that it was asked to, and not that it has. Now press **Resume** ([[R]]).',
      done: (now) => now.view.resumes > 0,
    },
    { say: 'Let it finish.', done: (now) => diedAfterRefund(now) && now.over },
  ],
  why: [
    'The log has a `tool_call` without its `tool_result`. The new agent cannot know what became of it, and does not guess: the call is **in doubt**, as the `resume` record says. It is sent again under the same key, and billing answers with the refund that there is.',
    'That is why the intent is written before the call, and not only the result after it. With no intent in the log, a refund would stand in the books that no trace knows of, and nobody would look for it.',
  ],
  code: { says: 'What becomes of a call that a crash has cut off', at: code },
  goals: [
    {
      say: 'Make the same crash cost 288.00 USD more. One switch alone is not enough.',
      hint: 'Two nets hold the second refund: billing that recognises the key, and billing that compares the version of the invoice. Switch off **Idempotent billing** and **The world is read again**.',
      met: (now) => diedAfterRefund(now) && now.isBroken('refunded_once'),
    },
    {
      say: 'Put exactly one of the two back. The same crash, and one refund.',
      hint: 'Arm the crash again: each run begins without one. Either switch will do; compare how the two runs continue.',
      met: (now) =>
        diedAfterRefund(now) &&
        now.endedWell &&
        now.world.refunds.length === 1 &&
        now.isOn('idempotency') !== now.isOn('reread_world'),
    },
  ],
  switches: ['idempotency', 'reread_world'],
  end: 'With the key, the new agent gets the first answer. With the version alone, it is refused and told what has changed, looks, and finds its own refund. Two nets of different make: it takes two faults to fall through.',
};

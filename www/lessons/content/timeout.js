import code from 'source:src/agent/answers.rs#failed-call';
import { ON_REFUNDS } from '../bets.js';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'timeout',
  title: 'A timeout does not tell you whether it happened',
  minutes: 6,
  scenario: 'refund-timeout',
  situation:
    'A seed box was skipped in time and charged all the same: 42.50 USD have to go back. The agent sends the refund to billing and hears nothing for ten seconds. It sends the request again.',
  bet: {
    ask: 'How many refunds will stand in billing’s books?',
    ...ON_REFUNDS,
  },
  acts: [
    { say: 'Press **Run**, or [[Space]].', done: (now) => now.begun },
    { say: '**Approve** the refund ([[A]]).', done: (now) => now.decided('approved') },
    { say: 'Let it finish.', done: (now) => now.over },
    {
      looks: true,
      say: 'Select the second `tool_call` of `issue_refund`. Its key is the key of the first.',
      at: ({ type, tool, attempt }) =>
        type === 'tool_call' && tool === 'issue_refund' && attempt !== null && attempt > 1,
    },
  ],
  why: [
    'A timeout says that no answer came. Whether the request was lost on the way there, or the answer on the way back, looks the same from here. This time billing had paid before its answer was lost, so the second request was about a refund that existed already.',
    'It did no harm because both requests carried the same **idempotency key**, made from what is meant: refund this charge. Billing knew the key and answered with the first result. Without that promise from the other side nobody may repeat such a call.',
  ],
  code: { says: 'What a failed call is followed by', at: code },
  goals: [
    {
      say: 'Make it fail: two refunds for one charge.',
      hint: 'Take away what made the second request harmless: **Idempotent billing**.',
      met: (now) => now.isBroken('refunded_once'),
    },
    {
      say: 'Billing stays forgetful. Make the second refund impossible all the same, and bring the run to its end.',
      hint: 'If a request must not be sent twice, do not send it twice: switch **Retries in the loop** off as well. The agent then hands the ticket to a person.',
      met: (now) =>
        now.endedWell &&
        !now.isOn('idempotency') &&
        now.decided('approved') &&
        now.world.refunds.length === 1,
    },
  ],
  switches: ['idempotency', 'retries'],
  end: 'Either the other side recognises a repeated request, or you do not repeat it and ask somebody who can look.',
};

import code from 'source:src/agent/approval.rs#standing-approval';
import { plural } from '../../ui/format.js';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'approvals',
  title: 'Approvals that survive',
  minutes: 6,
  scenario: 'crash-question',
  situation:
    'The agent asks you about a refund of 18.00 USD. Right then it dies, and you do not notice: the question lies in your inbox. You answer it while nobody is there to hear the answer.',
  bet: {
    ask: 'A new agent takes up the run. How often will you have been asked?',
    of: (now) => now.asked,
    says: (figure) => plural(Number(figure), 'question'),
    options: [
      { says: 'Once', fits: (asked) => asked === 1 },
      { says: 'Twice', fits: (asked) => asked === 2 },
      { says: 'Three times', fits: (asked) => asked > 2 },
    ],
  },
  acts: [
    {
      say: 'Press **Run** ([[Space]]), and the agent dies right after its question.',
      done: (now) => now.view.crashes > 0,
    },
    {
      say: 'Do not resume it yet. **Approve** the refund ([[A]]) while it is dead.',
      done: (now) => now.view.phase === 'crashed' && now.decided('approved'),
    },
    {
      say: 'Now **resume** ([[R]]).',
      done: (now) => now.view.resumes > 0 && now.decided('approved'),
    },
    { say: 'Let it finish.', done: (now) => now.over && now.world.refunds.length > 0 },
  ],
  why: [
    'Question and answer do not live in the agent. They lie in an inbox, under a key made from the run, the tool and the exact arguments. The new agent arrives at the same call, makes the same key, and finds the answer waiting.',
    'The decision is written to the log before the tool runs. So a crash after it does not ask again either, and the trace says who decided and when. A person’s attention is the dearest thing in the run, and it is not spent twice.',
  ],
  code: { says: 'Which decision covers a call', at: code },
  goals: [
    {
      say: 'Have yourself asked the same thing twice.',
      hint: 'Switch **Durable approvals** off: then the inbox forgets with the agent. Approve before or after the resume, as you like.',
      met: (now) => now.isBroken('asked_once'),
    },
    {
      say: 'Switch it on again and be mean: three crashes or more in one run, one question, one refund.',
      hint: 'It dies once by itself. Resume it, press [[X]] while the question is open, resume, press [[X]] again.',
      met: (now) =>
        now.endedWell && now.view.crashes >= 3 && now.asked === 1 && now.world.refunds.length === 1,
    },
  ],
  switches: ['durable_approvals'],
  end: 'A click that lands while the agent is dead is not lost, and a question that was answered is not asked again.',
};

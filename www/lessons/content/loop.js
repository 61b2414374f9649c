import code from 'source:src/agent/next.rs#next-effect';
import { plural } from '../../ui/format.js';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'loop',
  title: 'The loop and its trace',
  minutes: 5,
  scenario: 'happy-path',
  situation:
    'A customer’s plan was renewed yesterday, and she had meant to cancel it. An agent works on her ticket: a model says what to do, and a loop around it does it. You are the person who is asked before money moves.',
  bet: {
    ask: 'How often will the model be called for this one ticket?',
    of: (now) => now.calls,
    says: (figure) => plural(Number(figure), 'model call'),
    options: [
      { says: 'Once', fits: (calls) => calls === 1 },
      { says: '2 or 3 times', fits: (calls) => calls >= 2 && calls <= 3 },
      { says: '4 to 7 times', fits: (calls) => calls >= 4 && calls <= 7 },
      { says: 'More often', fits: (calls) => calls > 7 },
    ],
  },
  acts: [
    { say: 'Press **Run**, or [[Space]].', done: (now) => now.begun },
    {
      say: 'The agent wants to refund money. Read what exactly, and **approve** it, or press [[A]].',
      done: (now) => now.decided('approved'),
    },
    {
      say: 'Let it finish. The last thing is the answer to the customer.',
      done: (now) => now.over,
    },
    {
      say: 'Look back: press [[↑]], or a line of the trace. All panels show that moment. [[Esc]] leads back to now.',
      looks: true,
      done: (now) => now.over && now.selected !== null,
    },
  ],
  why: [
    'The model does nothing by itself. It reads the whole conversation, says what it wants, and falls silent. The loop checks that, does it, adds the result to the conversation and asks again. So a ticket costs as many calls as it has turns, and a late call has more to read than an early one.',
    'Whatever leaves the loop is written down **before** it happens (`tool_call`) and **after** (`tool_result`), and nothing is decided on a result that is not written yet. What is not in the trace cannot be debugged, billed or judged.',
  ],
  code: { says: 'What the loop wants next, in one function', at: code },
  goals: [
    {
      say: 'Find the money: select the record with which the refund went out.',
      hint: 'It is the `tool_call` of `issue_refund`. The refund in **Outside world** leads to it, too.',
      met: ({ selected, world }) =>
        selected !== null && world.refunds.some(({ record }) => record === selected.index),
    },
    {
      say: 'Run it again and crash the agent once, wherever you like ([[X]]). Resume it ([[R]]) and bring it to its end: one refund, and no invariant broken.',
      hint: 'At a slow speed there is more time to press [[X]]. While your question is open, there is all the time in the world.',
      met: (now) => now.endedWell && now.view.crashes > 0 && now.world.refunds.length === 1,
    },
  ],
  switches: [],
  end: 'The same books, with and without a crash. How that can be is what the other lessons are about.',
};

import code from 'source:src/agent/next.rs#gate';
import { plural } from '../../ui/format.js';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'gate',
  title: 'The gate is code',
  minutes: 6,
  scenario: 'prompt-only',
  situation:
    'The prompt says in capitals that no refund may be made before a team lead has approved it. The customer begs for 312.00 USD today, and the model finds the case clear enough to go ahead. You know what the prompt does not: she has opened a dispute at her bank, and a refund would pay her twice.',
  bet: {
    ask: 'The model does not mean to ask. How often will you be asked?',
    of: (now) => now.asked,
    says: (figure) => plural(Number(figure), 'question'),
    options: [
      { says: 'Not at all', fits: (asked) => asked === 0 },
      { says: 'Once', fits: (asked) => asked === 1 },
      { says: 'Twice', fits: (asked) => asked === 2 },
    ],
  },
  acts: [
    { say: 'Press **Run** ([[Space]]).', done: (now) => now.begun },
    {
      say: 'You are asked all the same. **Deny** it ([[D]]).',
      done: (now) => now.decided('denied'),
    },
    { say: 'Let it finish: the customer hears where her ticket is.', done: (now) => now.over },
    {
      say: 'Select the `llm_call` of step 1, and read its `thought`.',
      looks: true,
      at: ({ type, step }) => type === 'llm_call' && step === 1,
    },
  ],
  why: [
    'A prompt is a request, and a model may talk itself out of it, as this one does in its thought. The gate does not read thoughts. It stands in the loop, before the call, and asks about every tool that is marked as irreversible.',
    'You were shown the exact arguments and not the model’s account of them. Your “no” comes back to it as an observation, and stands: the same call is not asked about again.',
  ],
  code: { says: 'What every call passes before it is sent', at: code },
  goals: [
    {
      say: 'Let the refund through with nobody asked.',
      hint: 'Switch **The gate in code** off. The prompt is still there, in capitals.',
      met: (now) => now.isBroken('approved_exactly') && now.asked === 0,
    },
    {
      say: 'A gate can stand there and be too wide. In “Approved 288, asks for 2,880” the gate is on and you approve 288.00 USD: make 2,880.00 go out on that one yes.',
      hint: 'Switch **The gate in code** on again and **Exact arguments** off: then a yes is a yes to the tool, whatever the amount.',
      scenario: 'approved-288',
      met: (now) =>
        now.isOn('approval_gate') && now.isBroken('approved_exactly') && now.decided('approved'),
    },
  ],
  switches: ['approval_gate', 'exact_arguments'],
  end: 'An approval is of one action with these arguments, not of a tool, a plan or a promise.',
};

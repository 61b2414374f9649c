import code from 'source:src/agent/identity.rs#idempotency-key';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'cause',
  title: 'Reading a trace to find the cause',
  minutes: 8,
  scenario: 'replanned-refund',
  off: ['intent_keys'],
  secret: true,
  situation:
    'Yusuf is owed 149.00 USD for a parcel that was lost. Billing has a bad day: an answer is lost, then it is down for a while. And one mechanism is missing in this run; nobody tells you which.',
  bet: {
    ask: 'How much money will leave the house?',
    of: (now) => now.world.refunded_total,
    says: (figure) => String(figure),
    options: [
      { says: 'Nothing', fits: (total) => total === '0.00 USD' },
      { says: '149.00 USD', fits: (total) => total === '149.00 USD' },
      { says: '298.00 USD', fits: (total) => total === '298.00 USD' },
    ],
  },
  acts: [
    { say: 'Press **Run** ([[Space]]).', done: (now) => now.begun },
    {
      say: '**Approve** what you are asked, each time ([[A]]).',
      done: (now) => now.decided('approved'),
    },
    {
      say: 'Let it finish. Something under **Invariants** is red.',
      done: (now) => now.over && now.isBroken('refunded_once'),
    },
  ],
  why: [
    'Start at the symptom and walk back. The symptom: one charge, two refunds. The invariant names the record at which it broke; each row in the books knows the record that caused it.',
    'You were asked twice about the same arguments, and yet **Nobody is asked twice about one action** holds. A yes serves one action, and the key says which action a request is: the second one came under another key, so your first yes did not cover it.',
    'So compare the two requests. Both are about the same charge, so the second should have been recognised. What differs between them is what was used to recognise it. A trace that leaves out keys, attempts or the switches it ran with cannot answer that question.',
  ],
  code: { says: 'What a request is recognised by', at: code },
  goals: [
    {
      say: 'Select the record that sent the **second** refund out.',
      hint: 'Press the second refund in **Outside world**, or “Record …” at the broken invariant.',
      met: ({ selected, world }) =>
        selected !== null && world.refunds.length > 1 && world.refunds[1].record === selected.index,
    },
    {
      say: 'Compare its `idempotency_key` with that of the first request. Which mechanism is missing?',
      hint: 'The keys end in the step and the id of the call. The same charge was asked for by another call, so it got another key.',
      choices: ['idempotency', 'intent_keys', 'retries', 'reread_world'],
    },
    {
      say: 'Put it back, and run it again: the same bad day, and one refund.',
      hint: 'Switch **Keys from the intent** on. You are asked once this time: the approval is of the same action.',
      met: (now) => now.endedWell && now.decided('approved') && now.world.refunds.length === 1,
    },
  ],
  switches: ['intent_keys'],
  end: 'The model had no way to know. It planned the same refund in good faith, under a new call id; whether that is a second refund is decided by what the key is made of.',
};

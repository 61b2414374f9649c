import code from 'source:src/agent/state.rs#saved-state';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'checkpoint',
  title: 'What is in a checkpoint, and one field too few',
  minutes: 7,
  scenario: 'budget-crashes',
  off: ['saved_guards'],
  situation:
    'Ruth’s list has eight plants to look up, and the run may cost 0.015 USD. The agent will die twice on the way. Its checkpoints have the whole conversation in them, but somebody left the counters out: what was spent, and what was tried.',
  bet: {
    ask: 'What will the provider have billed in the end?',
    of: (now) => now.cost,
    says: (figure) => `${figure} USD, of 0.015`,
    options: [
      { says: 'Less than the limit', fits: (cost) => cost <= 0.015 },
      { says: 'Somewhat more', fits: (cost) => cost > 0.015 && cost <= 0.03 },
      { says: 'Three times the limit, one for each life', fits: (cost) => cost > 0.03 },
    ],
  },
  acts: [
    {
      say: 'Press **Run** ([[Space]]). It dies by itself, at its third model call.',
      done: (now) => now.view.crashes > 0,
    },
    {
      say: 'In **Storage**, look at the checkpoint as **JSON**: read `messages`, and then `cost_usd`.',
      looks: true,
      done: (now) => now.showsCheckpoint && now.view.storage.generations.length > 0,
    },
    {
      say: 'Press **Resume** ([[R]]), and **Resume** again when it has died again.',
      done: (now) => now.view.resumes > 1,
    },
    { say: 'Let it finish.', done: (now) => now.over },
  ],
  why: [
    'A checkpoint is everything that the agent has to know, and not only what was said. The conversation was complete, so the work went on without a gap. But each new agent read `cost_usd: 0` and believed it: three lives, three purses.',
    'Nobody sees such a hole while nothing crashes. So the rule is: what a decision depends on is saved with what was decided. Spending, steps, calls that were tried, approvals, attempts. A resume is never a refund.',
  ],
  code: { says: 'The fields that are left out without “Counters in the checkpoint”', at: code },
  goals: [
    {
      say: 'Make that impossible: two crashes, two resumes, and the meter stays within the budget.',
      hint: 'Switch **Counters in the checkpoint** on, and run. A call that was in doubt counts with what it could have cost, so the run stops a little early.',
      met: (now) => now.over && now.isOn('saved_guards') && now.view.crashes > 1 && !now.anyBroken,
    },
    {
      say: 'Keep the counters, and cheat the books in another way: the agent has to record less than the provider has billed.',
      hint: 'The checkpoint is only written after a step. What happened since is in the log, if recovery reads it: switch **The log as journal** off.',
      met: (now) => now.isOn('saved_guards') && now.isBroken('spend_recorded'),
    },
  ],
  switches: ['saved_guards', 'journal', 'checkpoints'],
  end: 'State is the checkpoint **and** the log after it. Each of them alone forgets something that was paid for.',
};

import code from 'source:src/agent/retry.rs#backoff';
import { plural } from '../../ui/format.js';

/** @type {import('../types.js').Lesson} */
export default {
  id: 'retry',
  title: 'Retry in the loop, or through the model',
  minutes: 6,
  scenario: 'flaky-tool',
  situation:
    'A bookkeeper wants to know which card paid two invoices. The invoice service is tired: of five requests it answers three with “503 Service Unavailable”. Nothing was done then, so asking again is safe.',
  bet: {
    ask: 'The ticket takes four model calls when nothing fails. How many does it take today?',
    of: (now) => now.calls,
    says: (figure) => plural(Number(figure), 'model call'),
    options: [
      { says: 'Still 4', fits: (calls) => calls === 4 },
      { says: '5 or 6', fits: (calls) => calls === 5 || calls === 6 },
      { says: '7, one more for each failure', fits: (calls) => calls === 7 },
    ],
  },
  acts: [
    {
      say: 'Press **Run**, or [[Space]]. Nobody has to be asked this time.',
      done: (now) => now.begun,
    },
    { say: 'Let it finish.', done: (now) => now.over },
    {
      say: 'Select a `tool_retry` in the trace: it says what failed, and how long the loop waits.',
      looks: true,
      at: ({ type }) => type === 'tool_retry',
    },
  ],
  why: [
    'The loop repeats a call that did not run, a few times, and waits longer each time. The model hears of it only if all attempts fail. A blip costs seconds, and no tokens.',
    'If every failure goes to the model, it has to read the whole conversation again, only to say “try again”. Half of each wait is drawn by lot, so that many agents that failed together do not come back together.',
  ],
  code: { says: 'How long the loop waits, and when it gives up', at: code },
  goals: [
    {
      say: 'Make the model pay for every blip, and look at what the provider’s meter says.',
      hint: 'Switch **Retries in the loop** off, and run.',
      met: (now) => now.over && now.isBroken('blips_hidden') && now.calls > (now.first.calls ?? 0),
    },
    {
      say: 'Put the retries back, and kill the agent while it waits. After the resume it must not begin to count anew: the ticket ends, and costs what it cost at first.',
      hint: 'Open **Crash when…** (the ⌄ beside **Crash**), choose “before the wait begins”, run, and resume. Read `attempt` in the records after the resume.',
      met: (now) =>
        now.endedWell &&
        now.isOn('retries') &&
        now.calls === now.first.calls &&
        now.records.some(
          ({ type }, place) => type === 'crash' && now.records[place - 1]?.type === 'tool_retry',
        ),
    },
  ],
  switches: ['retries'],
  end: 'Attempts and deadlines of waits are in the log. Otherwise a flaky service and a flaky agent would retry for ever.',
};

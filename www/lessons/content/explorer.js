import code from 'source:src/lab/explore/mod.rs#expand-state';

/** @type {import('../../explorer/index.js').OpenOptions} */
const EVERYTHING = {
  view: 'search',
  scenario: 'refund-timeout',
  crashes: 1,
  faults: 1,
  decisions: 1,
  off: [],
};

/** @type {import('../types.js').Lesson} */
export default {
  id: 'explorer',
  title: 'All crashes at once',
  minutes: 8,
  scenario: 'refund-timeout',
  search: EVERYTHING,
  situation:
    'You have crashed agents where it seemed worth it. The explorer crashes this one at every instant, with every fault and every answer of the person. It says that nothing can go wrong, or it shows the shortest run in which something does.',
  bet: {
    ask: 'All mechanisms on, and in each run up to one crash, one fault and one other decision. How many invariants will break in some run?',
    of: (now) => now.search?.broken.length ?? 0,
    says: (figure) => `${figure === 0 ? 'none' : figure} of the invariants`,
    options: [
      { says: 'None', fits: (broken) => broken === 0 },
      { says: 'One or two', fits: (broken) => broken === 1 || broken === 2 },
      { says: 'More', fits: (broken) => broken > 2 },
    ],
  },
  acts: [
    {
      say: 'Open the explorer and press **Search**.',
      tool: { says: 'Open the explorer', options: EVERYTHING },
      done: ({ search }) => search !== null && search.off.length === 0,
    },
    {
      say: 'Wait until it has tried every run, look at the figures, and read the verdicts.',
      tool: { says: 'Open the explorer', options: EVERYTHING },
      done: ({ search }) => search !== null && search.whole && search.off.length === 0,
    },
  ],
  why: [
    'The agent does no I/O and reads no clock, so a state of the whole world is a value. The explorer copies it and makes both choices, continue and crash, again and again, and joins what has become equal: runs that lead to the same state are continued once. How many states that were, and how many a second, stands over the verdicts.',
    'A test tries the runs that somebody thought of. A search within bounds tries all of them, and its silence says something: not that the code is right, but that no run within these bounds breaks these invariants.',
  ],
  code: { says: 'How the explorer goes from a state to all that can follow', at: code },
  goals: [
    {
      say: 'Take **Idempotent billing** away in the explorer and search again. It has to find two refunds for one charge.',
      hint: 'Open “All mechanisms on” beside the bounds, take the tick away, and press **Search**.',
      tool: { says: 'Open the explorer', options: EVERYTHING },
      met: ({ search }) =>
        search !== null &&
        search.off.includes('idempotency') &&
        search.broken.includes('refunded_once'),
    },
    {
      say: 'Press the number of steps beside the broken invariant, and take that run to the playground.',
      hint: 'The button stands over the shortest run. Its crashes and faults are the whole recipe.',
      tool: {
        says: 'Search without it',
        options: { ...EVERYTHING, off: ['idempotency'], start: true },
      },
      met: (now) => now.begun && !now.isOn('idempotency') && now.isBroken('refunded_once'),
    },
    {
      say: 'Now have it shown that this is impossible: everything on, up to **two** crashes, and no invariant broken.',
      hint: 'Choose 2 at “Crashes, up to”, put every tick back, and let it try all runs.',
      tool: { says: 'Open the explorer', options: EVERYTHING },
      met: ({ search }) =>
        search !== null &&
        search.whole &&
        search.crashes >= 2 &&
        search.off.length === 0 &&
        search.broken.length === 0,
    },
  ],
  switches: [],
  end: 'What you have done by hand in these lessons, a machine does before lunch, for every instant. Give it your own scenario next.',
};

/** The lessons, in their order. */
import loop from './content/loop.js';
import retry from './content/retry.js';
import timeout from './content/timeout.js';
import checkpoint from './content/checkpoint.js';
import crash from './content/crash.js';
import gate from './content/gate.js';
import approvals from './content/approvals.js';
import budgets from './content/budgets.js';
import cause from './content/cause.js';
import explorer from './content/explorer.js';

/** @type {import('./types.js').Lesson[]} */
export const LESSONS = [
  loop,
  retry,
  timeout,
  checkpoint,
  crash,
  gate,
  approvals,
  budgets,
  cause,
  explorer,
];

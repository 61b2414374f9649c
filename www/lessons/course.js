/** The lessons, in their order. */
import loop from './01-loop.js';
import retry from './02-retry.js';
import timeout from './03-timeout.js';
import checkpoint from './04-checkpoint.js';
import crash from './05-crash.js';
import gate from './06-gate.js';
import approvals from './07-approvals.js';
import budgets from './08-budgets.js';
import cause from './09-cause.js';
import explorer from './10-explorer.js';

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

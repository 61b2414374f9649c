/** The results of searches, by what was asked. They are kept until the page is closed, so that the same question costs nothing. */
import { count } from '../ui/format.js';

/**
 * @typedef {import('./searcher.js').SearchOptions} SearchOptions
 * @typedef {object} Found
 * @property {SearchOptions} options
 * @property {import('./progress.js').Progress} progress
 * @property {import('./searcher.js').MatrixView | null} matrix
 * @property {import('./searcher.js').SearchVerdict[] | null} verdicts
 */

const MOST = 16;

/** By question, the newest last. @type {Map<string, Found>} */
const kept = new Map();

/** @param {string} view @param {SearchOptions} options */
export const keyOf = (view, options) => JSON.stringify([view, options]);

/** @param {string} key */
export const recall = (key) => kept.get(key) ?? null;

/** @param {string} key @param {Found} found */
export function keep(key, found) {
  kept.delete(key);
  kept.set(key, found);
  const [oldest] = kept.keys();
  if (kept.size > MOST) kept.delete(oldest);
}

/** Every state within the bounds has been seen. @param {Found} found */
export const isWhole = ({ progress }) => progress.state === 'done' && !progress.hitLimit;

/** @param {Found} found */
export function summary(found) {
  const { progress, matrix, verdicts, options } = found;
  const how = progress.state === 'cancelled' ? 'Cancelled. ' : '';
  const said = progress.hitLimit
    ? `Stopped at ${progress.limit(options.states)}.`
    : progress.summary();
  const soFar = isWhole(found) ? '' : ' so far';
  if (matrix) {
    const cells = matrix.columns.flatMap(({ cells }) => cells ?? []);
    const broken = cells.filter(({ verdict }) => verdict === 'broken').length;
    return `${how}${said} ${count(broken)} of ${count(cells.length)} cells are broken${soFar}.`;
  }
  if (!verdicts) return `${how}${said}`;
  const broken = verdicts.filter(({ verdict }) => verdict === 'broken').map(({ name }) => name);
  return broken.length === 0
    ? `${how}${said} No invariant is broken${soFar}.`
    : `${how}${said} Broken${soFar}: ${broken.join('; ')}.`;
}

/** What runs in the browser's storage are called, so that a reload does not make them all the same. */
import { keyOf } from '../store.js';

const KEY = keyOf('names');
/** What a run is called that nobody has named. */
const FIRST = 'First run';

/** @returns {Record<string, unknown>} */
function read() {
  try {
    return { ...JSON.parse(localStorage.getItem(KEY) ?? '{}') };
  } catch {
    return {};
  }
}

let known = read();

/** @param {string} run_id */
export function nameOf(run_id) {
  const name = known[run_id];
  return typeof name === 'string' ? name : FIRST;
}

/**
 * The name of a run: the one it has, which is kept, or the one it had before it was read from storage.
 * @param {string} run_id
 * @param {string} name
 * @param {(run_id: string) => boolean} isKept
 */
export function settleName(run_id, name, isKept) {
  if (name === FIRST || known[run_id] === name) return nameOf(run_id);
  const others = Object.entries(read()).filter(([id]) => id !== run_id && isKept(id));
  known = { ...Object.fromEntries(others), [run_id]: name };
  try {
    localStorage.setItem(KEY, JSON.stringify(known));
  } catch {
    // Storage is full: it is called so until the page is closed.
  }
  return name;
}

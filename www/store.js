/**
 * What the page remembers about itself, not about any run: speed, the last run, the chosen scenario. The runs are the engine's.
 * If storage is absent, full or damaged, only the preferences are lost.
 *
 * @typedef {object} Preferences
 * @property {number} speed  An index into the engine's `SPEEDS`.
 * @property {string | null} last_run
 * @property {string | null} scenario
 * @property {string[]} off  The mechanisms that are switched off.
 */

/** The page is a frame in another page. It keeps its runs in memory, and the rest under keys of its own. */
export const embedded = new URLSearchParams(location.search).has('embed');

/** A key in the browser's storage. @param {string} name */
export const keyOf = (name) => `crashlab:${embedded ? 'embed/' : ''}${name}`;

const KEY = keyOf('ui');

/** @returns {Preferences} */
export function load() {
  /** @type {Record<string, unknown>} */
  let found = {};
  try {
    const parsed = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    if (typeof parsed === 'object' && parsed !== null) found = parsed;
  } catch {
    // It cannot be read: the defaults apply.
  }
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : null);
  return {
    speed: typeof found.speed === 'number' && Number.isInteger(found.speed) ? found.speed : 1,
    last_run: text(found.last_run),
    scenario: text(found.scenario),
    off: Array.isArray(found.off) ? found.off.filter((id) => typeof id === 'string') : [],
  };
}

/** @param {Partial<Preferences>} change */
export function save(change) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...load(), ...change }));
  } catch {
    // The page works without them; the engine reports what is wrong with the storage.
  }
}

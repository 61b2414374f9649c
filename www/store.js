/**
 * What the page remembers about itself, not about any run: speed, the last run, the chosen scenario. The runs are the engine's.
 * Storage that is absent, full or damaged costs the preferences and nothing else.
 *
 * @typedef {object} Preferences
 * @property {number} speed  An index into the engine's `SPEEDS`.
 * @property {string | null} last_run
 * @property {string | null} scenario
 * @property {string[]} off  The mechanisms that are switched off.
 */

/** The page is a frame in another page. It keeps its own things apart, and its runs in memory. */
export const embedded = new URLSearchParams(location.search).has('embed');

/** The key of something that is kept. @param {string} name */
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
    // Nothing readable: the defaults serve.
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
    // The page goes on without; the engine says what is wrong with the storage.
  }
}

/**
 * What a link says: which scenario with which mechanisms and seed, in the fragment, and how fast, in the query.
 *
 * @typedef {object} Link
 * @property {string | null} scenario
 * @property {string[]} off  The mechanisms that are switched off.
 * @property {string | null} seed
 * @property {'max' | null} speed
 * @property {string | null} complaint  A sentence, if the link cannot be followed.
 */

const VERSION = '1';

/**
 * @param {Location | URL} location
 * @returns {Link}
 */
export function read(location) {
  const query = new URLSearchParams(location.search);
  const fragment = new URLSearchParams(location.hash.slice(1));
  const version = fragment.get('v');
  const seed = fragment.get('seed');
  /** @type {Link} */
  const link = {
    scenario: fragment.get('scenario'),
    off: (fragment.get('off') ?? '').split(',').filter(Boolean),
    seed,
    speed: query.get('speed') === 'max' ? 'max' : null,
    complaint: null,
  };
  if (link.scenario !== null && version !== VERSION) {
    link.complaint = `This link is of version ${version ?? 'nothing'}; this page reads version ${VERSION}.`;
  } else if (seed !== null && !/^\d{1,20}$/.test(seed)) {
    link.complaint = `The seed of this link, “${seed}”, is not a number.`;
  }
  return link.complaint ? { ...link, scenario: null, off: [], seed: null } : link;
}

/**
 * @param {{ scenario: string, off: string[], seed: string | null }} run
 * @returns {string}
 */
export function write({ scenario, off, seed }) {
  const fragment = new URLSearchParams({ v: VERSION, scenario });
  if (off.length > 0) fragment.set('off', off.join(','));
  if (seed !== null) fragment.set('seed', seed);
  return `${location.href.split(/[?#]/)[0]}#${fragment}`;
}

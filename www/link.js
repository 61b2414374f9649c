/**
 * What a link says: which run, and which of its records. A run is a function of its scenario, mechanisms, seed and of what was done
 * to it, so the link carries these in its fragment, with a version and a checksum.
 *
 * @typedef {[halfStep: number, act: string, approver?: string, note?: string]} Deed  As the engine writes it.
 * @typedef {object} Link
 * @property {string | null} scenario
 * @property {string[]} off  The mechanisms that are switched off.
 * @property {string | null} seed
 * @property {{ deeds: Deed[], moment: number } | null} done  What was done to the run, and how many half steps it went.
 * @property {number} branch
 * @property {number | null} at  The record that was looked at.
 * @property {string | null} is  What that record was, as `signOf` says it.
 * @property {string | null} complaint  A sentence, if the link cannot be followed.
 */

const VERSION = '1';
const LARGEST_SEED = 2n ** 64n - 1n;
/** @type {Record<string, string>} */
const LETTERS = { crash: 'c', vanish: 'v', resume: 'r', tab: 't', approved: 'a', denied: 'd' };

/**
 * @param {Location | URL} location
 * @returns {Link}
 */
export function read(location) {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const seed = fragment.get('seed');
  const halfStep = fragment.get('to');
  const at = fragment.get('at');
  /** @type {Link} */
  const link = {
    scenario: fragment.get('scenario'),
    off: (fragment.get('off') ?? '').split(',').filter(Boolean),
    seed,
    done: null,
    branch: 0,
    at: at === null ? null : Number(at),
    is: fragment.get('is'),
    complaint: null,
  };
  if (link.scenario === null) return link;
  try {
    check(fragment);
    link.branch = number('branch', fragment.get('branch') ?? '0');
    if (halfStep !== null) {
      link.done = { deeds: deedsOf(fragment.get('did') ?? ''), moment: number('place', halfStep) };
      if (at !== null) number('record', at);
    }
  } catch (error) {
    link.complaint = /** @type {Error} */ (error).message;
  }
  return link.complaint ? { ...link, scenario: null, off: [], seed: null, done: null } : link;
}

/**
 * @param {Pick<Link, 'off' | 'seed' | 'done' | 'branch' | 'at' | 'is'> & { scenario: string }} run
 * @returns {string}
 */
export function write({ scenario, off, seed, done, branch, at, is }) {
  const fragment = new URLSearchParams({ v: VERSION, scenario });
  if (off.length > 0) fragment.set('off', off.join(','));
  if (seed !== null) fragment.set('seed', seed);
  if (branch > 0) fragment.set('branch', String(branch));
  if (done) {
    if (done.deeds.length > 0) fragment.set('did', done.deeds.map(textOf).join('.'));
    fragment.set('to', String(done.moment));
    if (at !== null) fragment.set('at', String(at));
    if (is !== null) fragment.set('is', is);
  }
  fragment.set('sum', sumOf(fragment));
  return `${location.href.split(/[?#]/)[0]}#${fragment}`;
}

/**
 * A sentence, if others cannot follow the link.
 * @param {{ id: string, own?: boolean }[]} scenarios
 * @param {string} id
 * @param {string} [checkpoint]  With which the run began.
 */
export function doubt(scenarios, id, checkpoint) {
  if (checkpoint)
    return 'The link is copied, but a link has no room for the checkpoint with which this run began: it leads to a run from the beginning. Save the run as a file instead.';
  if (scenarios.some((one) => one.id === id && !one.own)) return null;
  return 'The link is copied, and it leads to a scenario of your own, which only this browser has. To follow it, others need the file too: export it in the editor.';
}

/**
 * Sentences about what this page does not have and the link names.
 * @param {Link} link
 * @param {{ scenarios: { id: string }[], mechanisms: { id: string }[] }} known
 */
export function complaints({ complaint, scenario, off }, { scenarios, mechanisms }) {
  if (complaint) return [complaint];
  if (scenario === null) return [];
  if (!scenarios.some(({ id }) => id === scenario))
    return [`This link names a scenario “${scenario}” that is not here.`];
  const unknown = off.filter((wanted) => !mechanisms.some(({ id }) => id === wanted));
  return unknown.map((id) => `This link switches off “${id}”, and there is no such mechanism.`);
}

/**
 * Replays the run of a link, and selects the record that it names. False: it has no run, or one that cannot be replayed.
 * @param {Link} link
 * @param {object} parts
 * @param {import('./page/scenarios.js').Scenarios} parts.scenarios
 * @param {import('./page/setup.js').Setup} parts.setup
 * @param {import('./page/shown-run.js').ShownRun} parts.shownRun
 * @param {import('./page/selection.js').Selection} parts.selection
 * @param {import('./page/notices.js').Notices} parts.notices
 */
export async function follow(
  { scenario, done, seed, branch, at, is },
  { scenarios, setup, shownRun, selection, notices },
) {
  if (scenario === null || seed === null || !done) return false;
  const { json } = await scenarios.load(scenario);
  const mechanisms = Object.fromEntries(setup.mechanisms.map(({ id }) => [id, !setup.off.has(id)]));
  if (!shownRun.replay({ scenario: json, mechanisms, seed, branch }, done)) return false;
  if (at === null) return true;
  const { records } = selection;
  const record = records[at];
  if (!record)
    notices.complain(`This link names record ${at}, and this run has ${records.length}.`);
  else if (is !== null && signOf(record) !== is)
    notices.complain(
      `Record ${at} is another than when this link was made: the scenario has changed since.`,
    );
  if (record) selection.select(at);
  return true;
}

/**
 * A short hash of a record: the same for the same record of the same run.
 * @param {import('./pkg/crashlab.js').RecordView} record
 */
export function signOf({ type, step, at_s, tool, attempt }) {
  return hash([type, step, at_s, tool, attempt].join(' '));
}

/** @param {URLSearchParams} fragment */
function check(fragment) {
  const version = fragment.get('v');
  if (version !== VERSION)
    throw new Error(
      `This link is of version ${version ?? 'nothing'}; this page reads version ${VERSION}.`,
    );
  const seed = fragment.get('seed');
  if (seed !== null && !(/^\d{1,20}$/.test(seed) && BigInt(seed) <= LARGEST_SEED))
    throw new Error(
      `The seed of this link, “${seed}”, is not a whole number from 0 to ${LARGEST_SEED}.`,
    );
  const sum = fragment.get('sum');
  // A link with a whole run is made by the page; others may be written by hand, without a checksum.
  if (sum === null && !fragment.has('to')) return;
  if (sum !== sumOf(fragment))
    throw new Error(
      'This link was changed or cut on its way: its checksum does not fit what it says. Ask for it again.',
    );
}

/** @param {URLSearchParams} fragment */
function sumOf(fragment) {
  const said = [...fragment].filter(([key]) => key !== 'sum');
  return hash(said.map(([key, value]) => `${key}=${value}`).join('\n'));
}

/** FNV-1a, 32 bits. @param {string} text */
function hash(text) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text))
    value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value.toString(16).padStart(8, '0');
}

/** A deed as a link has it. @param {Deed} deed */
function textOf([halfStep, act, ...texts]) {
  const plain = (/** @type {string} */ text) => encodeURIComponent(text).replaceAll('.', '%2E');
  return [`${halfStep}${LETTERS[act]}`, ...texts.map((text) => plain(text ?? ''))].join(':');
}

/**
 * @param {string} text
 * @returns {Deed[]}
 */
function deedsOf(text) {
  return text
    .split('.')
    .filter(Boolean)
    .map((one) => {
      const [head, ...texts] = one.split(':');
      const act = Object.keys(LETTERS).find((word) => LETTERS[word] === head.slice(-1));
      const said = texts.map(decoded);
      // A decision has an approver.
      const lacks = (act === 'approved' || act === 'denied') && !said[0];
      if (!act || lacks || said.includes(null))
        throw new Error(
          `This link says “${one}” was done, and this page does not know what that is.`,
        );
      return /** @type {Deed} */ ([number('moment', head.slice(0, -1)), act, ...said]);
    });
}

/** A text as it was before `textOf`; null if it cannot have come from there. @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * @param {string} what
 * @param {string} text
 */
function number(what, text) {
  if (!/^\d{1,9}$/.test(text))
    throw new Error(`The ${what} of this link, “${text}”, is not a number.`);
  return Number(text);
}

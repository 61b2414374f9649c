/** What the page shows first: what its link says, or else what the last visit left. */
import { FASTEST } from '../run/pace.js';
import { isElsewhere, isKept, storageWarning } from '../run/saved.js';
import * as store from '../store.js';

/** Without a link. @type {import('../link.js').Link} */
const NOTHING = {
  scenario: null,
  off: [],
  seed: null,
  done: null,
  branch: 0,
  at: null,
  is: null,
  complaint: null,
};

/**
 * @param {object} parts
 * @param {import('../run/present.js').PresentRun} parts.present
 * @param {import('../run/driver.js').Driver} parts.driver
 * @param {import('./setup.js').Setup} parts.setup
 * @param {import('./scenarios.js').Scenarios} parts.scenarios
 * @param {import('./selection.js').Selection} parts.selection
 * @param {import('./shown-run.js').ShownRun} parts.shownRun
 * @param {import('./notices.js').Notices} parts.notices
 * @param {import('./display.js').Display} parts.display
 * @param {() => Promise<void>} parts.refreshOffers
 */
export async function openPage(parts) {
  const { present, driver, setup, scenarios, notices, display } = parts;
  // Without a link, the module that reads one is not loaded.
  const link = location.hash.length > 1 ? await import('../link.js') : null;
  const wanted = link?.read(location) ?? NOTHING;
  const preferences = store.load();
  const { scenario: lastScenario, last_run: lastRun } = preferences;
  display.isNew = !store.embedded && lastScenario === null && lastRun === null;
  driver.speed = speedOf(preferences);
  const isLinked = scenarios.has(wanted.scenario);
  setup.begin({
    own: preferences.off,
    off: isLinked ? wanted.off : null,
    seed: isLinked ? wanted.seed : null,
  });
  const known = { scenarios: scenarios.all, mechanisms: setup.mechanisms };
  for (const complaint of link?.complaints(wanted, known) ?? []) notices.complain(complaint);

  if (isLinked && (await link?.follow(wanted, parts))) {
    // The replayed run is in storage now, and a reload opens it from there.
    history.replaceState(null, '', location.pathname + location.search);
  } else if (isLinked || !(await openLast(lastRun, parts))) {
    const chosen = isLinked ? wanted.scenario : lastScenario;
    await prepareFirst(chosen, isLinked, parts);
  }
  if (!present.view) throw new Error(notices.all.at(-1)?.text ?? 'There is no scenario.');
  const warning = store.embedded ? null : storageWarning();
  if (warning)
    notices.complain(`${warning} Runs are kept in this page only, and are gone with it.`);
  await parts.refreshOffers();
}

/**
 * Opens the run of the last visit, unless another tab has it.
 * @param {string | null} run_id
 * @param {Pick<Parameters<typeof openPage>[0], 'shownRun' | 'notices'>} parts
 */
async function openLast(run_id, { shownRun, notices }) {
  if (run_id === null) return false;
  const isFree = notices.attempt(() => isKept(run_id)) && !(await isElsewhere(run_id));
  return isFree && shownRun.open(run_id);
}

/** @param {store.Preferences} preferences */
function speedOf({ speed }) {
  const isFastest = new URLSearchParams(location.search).get('speed') === 'max';
  return isFastest ? FASTEST : Math.min(Math.max(speed, 0), FASTEST);
}

/**
 * Prepares the chosen scenario, or else the first one that can be read.
 * @param {string | null} chosen
 * @param {boolean} isLinked
 * @param {Pick<Parameters<typeof openPage>[0], 'setup' | 'scenarios' | 'notices'>} parts
 */
async function prepareFirst(chosen, isLinked, { setup, scenarios, notices }) {
  const first = scenarios.all[0].id;
  const wanted = chosen !== null && scenarios.has(chosen) ? chosen : first;
  setup.about = await scenarios.load(wanted).catch((error) => {
    notices.complain(error);
    return scenarios.load(first);
  });
  // A link names the mechanisms that are off.
  if (!isLinked) setup.switchAsNamed(setup.about);
  setup.prepare();
}

/**
 * Saved runs: those in the browser's storage that this page does not have open.
 *
 * @typedef {import('../pkg/crashlab.js').SavedRun & { elsewhere: boolean }} Offer  `elsewhere`: its agent is alive in another tab.
 */
import { forget_run, saved_runs, storage_warning } from '../pkg/crashlab.js';
import { embedded } from '../store.js';
import { written } from './writer.js';

/** Whether a run is in the browser's storage. @param {string} run_id */
export const isKept = (run_id) => saved_runs().some((run) => run.run_id === run_id);

/** Whether another tab is writing a run. @param {string} run_id */
export const isElsewhere = async (run_id) => (await written([run_id])).size > 0;

/** A sentence, if this browser cannot keep runs. */
export const storageWarning = () => storage_warning() ?? null;

/** Whether new runs are kept in this browser. */
export const areKept = () => !embedded && storageWarning() === null;

export class SavedRuns {
  /** @type {Offer[]} */
  offers = [];
  #present;
  #background;

  /** @param {import('./present.js').PresentRun} present @param {import('./background.js').BackgroundRuns} background */
  constructor(present, background) {
    this.#present = present;
    this.#background = background;
  }

  /** Lists again what is in storage. */
  async refresh() {
    const present = this.#present;
    await present.freed;
    if (embedded) return;
    const isOpen = (/** @type {string} */ run_id) =>
      this.#background.has(run_id) || (!present.prepared && run_id === present.view?.run_id);
    const runs = saved_runs().filter(({ run_id }) => !isOpen(run_id));
    const elsewhere = await written(runs.map(({ run_id }) => run_id));
    this.offers = runs.map((run) => ({ ...run, elsewhere: elsewhere.has(run.run_id) }));
  }

  /** Whether a run is in storage. @param {string} run_id */
  has(run_id) {
    return isKept(run_id);
  }

  /** Deletes a run from storage and from the background. @param {string} run_id */
  forget(run_id) {
    this.#background.remove(run_id);
    forget_run(run_id);
  }
}

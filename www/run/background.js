/** Background runs: those that this page keeps alive beside the present one, to return to or to compare with. */
import { Lab } from '../pkg/crashlab.js';
import { Growing } from './growing.js';

/** @typedef {import('./present.js').RunState & { lab: Lab }} BackgroundRun */

export class BackgroundRuns {
  /** By run id. @type {Map<string, BackgroundRun>} */
  byId = new Map();

  /** @param {string} run_id */
  has(run_id) {
    return this.byId.has(run_id);
  }

  /** @param {string} run_id @param {BackgroundRun | null} run */
  add(run_id, run) {
    if (run) this.byId.set(run_id, run);
  }

  /** Takes a run out, to become the present one. @param {string} run_id */
  remove(run_id) {
    const run = this.byId.get(run_id) ?? null;
    this.byId.delete(run_id);
    return run;
  }

  /**
   * Opens a run of the browser's storage in the background.
   * @param {string} run_id
   * @param {string} name
   */
  open(run_id, name) {
    const lab = Lab.open(run_id);
    const records = lab.records(0);
    const growing = new Growing();
    this.add(run_id, { lab, records, growing, lasting: true, continues: true, name });
  }

  /** What a comparison shows of a run. @param {string} run_id */
  summary(run_id) {
    const run = this.byId.get(run_id);
    if (!run) return null;
    const { lab, name, records } = run;
    return { name, records, view: lab.view(0, 0), last: lab.record(records.length - 1) };
  }
}

/** Changes which run is the present one. A run that has begun is kept in the background, never written over. */
import { Lab } from '../pkg/crashlab.js';
import { areKept, isKept } from './saved.js';

/**
 * @typedef {Omit<import('../pkg/crashlab.js').LabOptions, 'storage'>} RunOptions
 * @typedef {{ deeds: unknown[], moment: number }} Done  What was done to a run, and how many half steps it went.
 * @typedef {object} ReplayOptions
 * @property {string} [name]
 * @property {boolean} [lasting]  Whether the run goes to the browser's storage.
 * @property {boolean} [exact]  Under its own id, even if there is a run of that id: then only in this page.
 */

export class RunSwitcher {
  #present;
  #background;
  #saved;

  /**
   * @param {import('./present.js').PresentRun} present
   * @param {import('./background.js').BackgroundRuns} background
   * @param {import('./saved.js').SavedRuns} saved
   */
  constructor(present, background, saved) {
    this.#present = present;
    this.#background = background;
    this.#saved = saved;
  }

  /** Opens a run of the browser's storage. @param {string} run_id */
  open(run_id) {
    const present = this.#present;
    present.replace(Lab.open(run_id), { continues: true });
    present.refresh();
    present.foundDead = present.view?.phase === 'crashed';
  }

  /**
   * Does to a new run what was done to another, as a link or a file says.
   * @param {RunOptions} options
   * @param {Done} done
   * @param {ReplayOptions} [how]
   */
  replay(options, done, how = {}) {
    const present = this.#present;
    const run_id = present.prepared ? null : present.view?.run_id;
    this.#replay(options, done, run_id ?? null, () => present.name, how);
  }

  /**
   * A new run that repeats the present one up to a record and is free from there on.
   * @param {number} record
   * @param {string} scenario  JSON text.
   */
  branchAt(record, scenario) {
    const present = this.#present;
    const { view, done } = present;
    if (!view || !done) return;
    const { seed, mechanisms, run_id } = view;
    const options = {
      scenario,
      seed,
      mechanisms: Object.fromEntries(mechanisms.map(({ id, on }) => [id, on])),
      checkpoint: present.origin,
    };
    const upToRecord = { deeds: done.deeds, records: record + 1 };
    this.#replay(
      options,
      upToRecord,
      run_id,
      (branch) => `Branch ${branch} at record ${record}`,
      {},
    );
  }

  /**
   * @param {RunOptions} options
   * @param {object} done
   * @param {string | null} run_id  Of the present run, if it is to be kept in the background.
   * @param {(branch: number) => string} nameOf
   * @param {ReplayOptions} how
   */
  #replay(options, done, run_id, nameOf, { name, lasting = areKept(), exact = false }) {
    const present = this.#present;
    let branch = options.branch ?? 0;
    for (; this.#isTaken({ ...options, branch }); branch++) {
      if (!exact) continue;
      lasting = false;
      break;
    }
    const storage = /** @type {'local' | 'memory'} */ (lasting ? 'local' : 'memory');
    const next = Lab.replay({ ...options, storage, branch }, JSON.stringify(done));
    name ??= nameOf(branch);
    if (run_id !== null) this.#background.add(run_id, present.release());
    present.replace(next, { lasting, branch, name, continues: false });
    present.refresh();
    void present.own(false);
  }

  /** Whether there is a run of these options already. @param {RunOptions} options */
  #isTaken(options) {
    const run_id = Lab.run_id_of({ ...options, storage: 'memory' });
    return isKept(run_id) || this.#background.has(run_id) || run_id === this.#present.view?.run_id;
  }

  /** Returns to a background run. @param {string} run_id */
  switchTo(run_id) {
    const present = this.#present;
    const run = this.#background.remove(run_id);
    if (!run) return;
    const { lab, ...state } = run;
    if (present.view && !present.prepared)
      this.#background.add(present.view.run_id, present.release());
    present.replace(lab, state);
    present.refresh();
    void present.own(false);
  }

  /** Throws the present run away. */
  discard() {
    const { prepared, taken, view } = this.#present;
    this.#present.stop();
    if (view && !prepared && !taken) this.#saved.forget(view.run_id);
  }
}

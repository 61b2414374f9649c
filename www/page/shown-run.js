/** Which run the page shows: one from storage, from the background, from a link or a file, or a branch of the present one. */
import * as store from '../store.js';

/**
 * @typedef {import('../run/switching.js').RunOptions} RunOptions
 * @typedef {import('../run/switching.js').Done} Done
 * @typedef {import('../run/switching.js').ReplayOptions} ReplayOptions
 */

export class ShownRun {
  /** The background run that the present one is compared with. @type {string | null} */
  comparedWith = null;
  #present;
  #switcher;
  #saved;
  #setup;
  #selection;
  #armedCrash;
  #notices;
  #commands;
  #refreshOffers;
  #draw;

  /**
   * @param {object} parts
   * @param {import('../run/present.js').PresentRun} parts.present
   * @param {import('../run/switching.js').RunSwitcher} parts.switcher
   * @param {import('../run/saved.js').SavedRuns} parts.saved
   * @param {import('./setup.js').Setup} parts.setup
   * @param {import('./selection.js').Selection} parts.selection
   * @param {import('./armed-crash.js').ArmedCrash} parts.armedCrash
   * @param {import('./notices.js').Notices} parts.notices
   * @param {import('./commands.js').Commands} parts.commands
   * @param {() => void} parts.refreshOffers
   * @param {() => void} parts.draw
   */
  constructor(parts) {
    this.#present = parts.present;
    this.#switcher = parts.switcher;
    this.#saved = parts.saved;
    this.#setup = parts.setup;
    this.#selection = parts.selection;
    this.#armedCrash = parts.armedCrash;
    this.#notices = parts.notices;
    this.#commands = parts.commands;
    this.#refreshOffers = parts.refreshOffers;
    this.#draw = parts.draw;
  }

  /** Opens a run from storage. @param {string} run_id @returns {boolean} Whether it worked. */
  open(run_id) {
    this.#selection.clear();
    const isOpen = this.#notices.attempt(() => this.#switcher.open(run_id));
    if (!isOpen || !this.#present.view) return false;
    this.#adopt();
    this.#selection.follows++;
    this.#refreshOffers();
    return true;
  }

  /** Opens a run from storage and resumes it. @param {string} run_id */
  resume(run_id) {
    if (this.open(run_id)) this.#commands.resume();
  }

  /** @param {string} run_id */
  forget(run_id) {
    this.#notices.attempt(() => this.#saved.forget(run_id));
    this.#refreshOffers();
  }

  /**
   * Does to a new run what was done to another.
   * @param {RunOptions} options
   * @param {Done} done
   * @param {ReplayOptions} [how]
   */
  replay(options, done, how) {
    return this.replayAll([{ options, done, how }]);
  }

  /**
   * Replays several runs: the last one is shown, and the others are in the background.
   * @param {{ options: RunOptions, done: Done, how?: ReplayOptions }[]} runs
   */
  replayAll(runs) {
    const isReplayed = this.#notices.attempt(() => {
      for (const { options, done, how } of runs) this.#switcher.replay(options, done, how);
    });
    if (isReplayed) this.#arrive();
    return isReplayed;
  }

  /** Replays the run of a file. @param {import('../study/crashlab.js').OpenedRun} opened */
  replayFile({ scenario, mechanisms, seed, branch, checkpoint, done }) {
    const options = { scenario, mechanisms, seed, branch, checkpoint: checkpoint ?? undefined };
    return this.replay(options, done, { name: 'From a file', exact: true });
  }

  /** A new run from the record that is looked at; the present one goes to the background. */
  branch() {
    const { selected } = this.#selection;
    const { about } = this.#setup;
    if (selected === null || !about) return;
    if (this.#notices.attempt(() => this.#switcher.branchAt(selected, about.json))) this.#settle();
  }

  /** @param {string} run_id */
  switchTo(run_id) {
    if (this.#notices.attempt(() => this.#switcher.switchTo(run_id))) this.#arrive();
  }

  /** @param {string | null} run_id */
  compareWith(run_id) {
    this.comparedWith = run_id;
    this.#draw();
  }

  /** The present run is another one, perhaps of another scenario. */
  #arrive() {
    this.#adopt();
    this.#settle();
  }

  #adopt() {
    this.#selection.foreign = null;
    this.#setup.adopt();
  }

  #settle() {
    const { view, lasting } = this.#present;
    this.#setup.adoptOrigin();
    this.#armedCrash.gaps = null;
    this.#selection.restart();
    if (view && lasting) store.save({ last_run: view.run_id });
    this.#draw();
  }
}

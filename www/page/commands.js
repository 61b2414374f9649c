/** What the keys and buttons of the run do, and when they do nothing. */
import * as store from '../store.js';

export class Commands {
  #present;
  #driver;
  #setup;
  #switcher;
  #selection;
  #notices;
  #refreshOffers;

  /**
   * @param {object} parts
   * @param {import('../run/present.js').PresentRun} parts.present
   * @param {import('../run/driver.js').Driver} parts.driver
   * @param {import('./setup.js').Setup} parts.setup
   * @param {import('../run/switching.js').RunSwitcher} parts.switcher
   * @param {import('./selection.js').Selection} parts.selection
   * @param {import('./notices.js').Notices} parts.notices
   * @param {() => void} parts.refreshOffers
   */
  constructor(parts) {
    this.#present = parts.present;
    this.#driver = parts.driver;
    this.#setup = parts.setup;
    this.#switcher = parts.switcher;
    this.#selection = parts.selection;
    this.#notices = parts.notices;
    this.#refreshOffers = parts.refreshOffers;
  }

  /** Runs or pauses; a run that is over is followed by a new one. */
  toggle() {
    const { view, taken } = this.#present;
    const phase = view?.phase;
    if (this.#driver.running) return this.#driver.pause();
    if (taken || this.#selection.covered) return;
    if (phase === 'stopped') this.#setup.prepare();
    if (phase === 'stopped' || phase === 'running') this.#drive(() => this.#driver.run());
  }

  step() {
    const { view, taken } = this.#present;
    const isReady = view?.phase === 'running' && !taken && !this.#selection.covered;
    if (isReady) this.#drive(() => this.#driver.step());
  }

  /** @param {() => void} action */
  #drive(action) {
    action();
    const { view, prepared } = this.#present;
    if (view && !prepared) store.save({ last_run: view.run_id });
  }

  crash() {
    const { view, prepared, taken } = this.#present;
    const isAlive = view?.phase === 'running' || view?.phase === 'waiting_for_person';
    if (isAlive && !prepared && !taken && !this.#selection.covered) this.#driver.crash();
  }

  /** A reload ends the page, and the agent with it. */
  crashForReal() {
    location.reload();
  }

  resume() {
    const present = this.#present;
    if (!present.view || !present.resumable || this.#selection.covered) return;
    this.#selection.backToNow();
    present.foundDead = false;
    store.save({ last_run: present.view.run_id });
    void this.#driver.resume();
  }

  /** Throws the run away and prepares a new one with what is chosen now. */
  reset() {
    if (this.#selection.covered) return;
    this.#notices.attempt(() => this.#switcher.discard());
    this.#setup.prepare();
    this.#refreshOffers();
  }
}

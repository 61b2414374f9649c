/**
 * Set-up: the scenario and the mechanisms that the next run begins with, and the prepared run that follows from them.
 *
 * @typedef {import('../pkg/crashlab.js').ScenarioInfo} ScenarioInfo
 */
import { mechanisms } from '../pkg/crashlab.js';
import { areKept } from '../run/saved.js';
import * as store from '../store.js';

export class Setup {
  /** @type {import('../pkg/crashlab.js').MechanismInfo[]} */
  mechanisms = [];
  /** What the chosen scenario is about. @type {ScenarioInfo | null} */
  about = null;
  /** The mechanisms that are off in the next run. */
  off = new Set(/** @type {string[]} */ ([]));
  /** Those that the reader has switched off, whatever a scenario or a lesson says. @type {Set<string>} */
  #own = new Set();
  /** @type {string | null} */
  #seed = null;
  /** A checkpoint of another run with which the next one begins. @type {string | undefined} */
  #checkpoint;
  /** Counts choices, so that only the latest one takes effect. */
  #choice = 0;
  #present;
  #switcher;
  #scenarios;
  #notices;
  #selection;
  #armedCrash;
  #refreshOffers;
  #draw;

  /**
   * @param {object} parts
   * @param {import('../run/present.js').PresentRun} parts.present
   * @param {import('../run/switching.js').RunSwitcher} parts.switcher
   * @param {import('./scenarios.js').Scenarios} parts.scenarios
   * @param {import('./notices.js').Notices} parts.notices
   * @param {import('./selection.js').Selection} parts.selection
   * @param {import('./armed-crash.js').ArmedCrash} parts.armedCrash
   * @param {() => void} parts.refreshOffers  The run before may be one of those that are offered now.
   * @param {() => void} parts.draw
   */
  constructor(parts) {
    this.#present = parts.present;
    this.#switcher = parts.switcher;
    this.#scenarios = parts.scenarios;
    this.#notices = parts.notices;
    this.#selection = parts.selection;
    this.#armedCrash = parts.armedCrash;
    this.#refreshOffers = parts.refreshOffers;
    this.#draw = parts.draw;
  }

  /**
   * The first set-up after the page opens. Mechanisms that this version does not have are left out.
   * @param {{ own: string[], off: string[] | null, seed: string | null }} first  `off`: null leaves it to the reader.
   */
  begin({ own, off, seed }) {
    this.mechanisms = mechanisms();
    const known = (/** @type {string[]} */ ids) =>
      new Set(ids.filter((id) => this.mechanisms.some((one) => one.id === id)));
    this.#own = known(own);
    this.off = off ? known(off) : this.#own;
    this.#seed = seed;
  }

  /**
   * @param {string} id
   * @param {Iterable<string>} [off]  The mechanisms that are off in it; else those that the reader has switched off.
   */
  async choose(id, off) {
    const choice = ++this.#choice;
    try {
      const about = await this.#scenarios.load(id);
      // A later choice takes precedence.
      if (choice !== this.#choice) return;
      this.use(about, { off });
    } catch (error) {
      this.#notices.complain(error);
    }
  }

  /**
   * Sets up a scenario, which need not be one of the list, with the mechanisms that it names.
   * @param {ScenarioInfo} about
   * @param {{ off?: Iterable<string>, checkpoint?: string }} [how]
   */
  use(about, { off, checkpoint } = {}) {
    this.#choice++;
    this.#checkpoint = checkpoint;
    this.about = about;
    this.#selection.foreign = null;
    this.#seed = null;
    this.switchAsNamed(about, off);
    store.save({ scenario: about.id, last_run: null });
    this.prepare();
    this.#refreshOffers();
  }

  /**
   * Sets the switches. What a scenario or a lesson wants of them ends with it.
   * @param {ScenarioInfo} about
   * @param {Iterable<string>} [off]
   */
  switchAsNamed(about, off) {
    this.off = off ? new Set(off) : this.#own;
    const named = JSON.parse(about.json).mechanisms;
    if (!named) return;
    this.off = new Set(this.off);
    for (const [id, on] of Object.entries(named))
      if (on) this.off.delete(id);
      else this.off.add(id);
  }

  /**
   * @param {string} id
   * @param {boolean} on
   */
  switchMechanism(id, on) {
    if (on) this.off.delete(id);
    else this.off.add(id);
    store.save({ off: [...this.#own] });
    if (this.#present.prepared) this.prepare();
    else this.#draw();
  }

  /** The present run has other mechanisms than the switches say. */
  get switchesPending() {
    const { view, prepared } = this.#present;
    if (!view || prepared) return false;
    return view.mechanisms.some(({ id, on }) => on === this.off.has(id));
  }

  /** Takes scenario and switches from the present run. */
  adopt() {
    const { view, scenario } = this.#present;
    if (!view) return;
    this.about = scenario;
    this.adoptOrigin();
    this.#choice++;
    this.off = new Set(view.mechanisms.filter(({ on }) => !on).map(({ id }) => id));
  }

  /** The next run begins with the checkpoint of the present one, if that has one. */
  adoptOrigin() {
    this.#checkpoint = this.#present.origin;
  }

  /** Prepares a run with what is chosen now. */
  prepare() {
    const present = this.#present;
    // An unfinished run stays and is offered; a finished one would only fill the storage.
    if (present.view?.phase === 'stopped') this.#notices.attempt(() => this.#switcher.discard());
    this.#armedCrash.reset();
    this.#notices.announcement = '';
    this.#selection.clear();
    this.#selection.follows++;
    const { about } = this;
    if (!about) return;
    const options = {
      scenario: about.json,
      mechanisms: Object.fromEntries([...this.off].map((id) => [id, false])),
      checkpoint: this.#checkpoint,
      ...(this.#seed === null ? {} : { seed: this.#seed }),
    };
    this.#notices.attempt(() => present.prepare(options, areKept()));
  }
}

/**
 * The present run: the engine's object, what the page last read from it, and what can be done to it. Only one tab writes it, by a Web
 * Lock.
 *
 * @typedef {import('../pkg/crashlab.js').Lab} Lab
 * @typedef {import('../pkg/crashlab.js').LabOptions} LabOptions
 * @typedef {import('../pkg/crashlab.js').LabView} LabView
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 * @typedef {object} RunState  A run without its engine object: what the page knows of it.
 * @property {string} name  What it is called beside others.
 * @property {RecordView[]} records
 * @property {Growing} growing
 * @property {boolean} lasting
 * @property {boolean} continues
 * @typedef {object} PresentEvents
 * @property {() => void} changed  There is something new to show.
 * @property {(error: unknown) => void} failed
 * @property {() => void} stop  Whatever drives the run has to stop.
 */
import { Lab as Engine } from '../pkg/crashlab.js';
import { Growing } from './growing.js';
import { isKept } from './saved.js';
import { Writer } from './writer.js';

export const FIRST_NAME = 'First run';

export class PresentRun {
  /** @type {LabView | null} */
  view = null;
  /** @type {RecordView[]} */
  records = [];
  /** Nothing has happened yet and nothing is stored. */
  prepared = false;
  /** The run is in the browser's storage, or will be when it begins. */
  lasting = true;
  /** Another tab has taken the run over. */
  taken = false;
  /** The agent was already dead when the run was opened from storage. */
  foundDead = false;
  /** After a crash or a question the run continues by itself, as it was not driven step by step. */
  continues = false;
  name = FIRST_NAME;
  /** Which of the runs of the same input it is. */
  branch = 0;

  /** @type {Lab | null} */
  #lab = null;
  /** With what a prepared run will begin. @type {LabOptions | null} */
  #options = null;
  #growing = new Growing();
  #writer = new Writer(() => {
    this.taken = true;
    this.#events.stop();
    this.refresh();
  });
  /** Settled when other tabs may take the previous run. */
  freed = Promise.resolve();
  #frame = 0;
  #events;

  /** @param {PresentEvents} events */
  constructor(events) {
    this.#events = events;
  }

  // --- Which run it is ---------------------------------------------------------------------------------------------------------

  /**
   * A run in which a crash can be armed. It is kept in memory until something happens.
   * @param {Omit<LabOptions, 'storage'>} options
   * @param {boolean} lasting
   */
  prepare(options, lasting) {
    this.replace(Engine.start({ ...options, storage: 'memory' }), { lasting });
    this.#options = { ...options, storage: lasting ? 'local' : 'memory' };
    this.prepared = true;
    this.refresh();
  }

  /** The first effect makes a prepared run a stored one: same scenario, same seed, same armed crash. */
  begin() {
    if (!this.#lab) return false;
    if (!this.prepared) return true;
    const { seed, armed } = this.#lab.view(0, 0);
    return this.attempt(() => {
      const options = { .../** @type {LabOptions} */ (this.#options), seed };
      const { lasting, next } = this.#start(options);
      this.replace(next, { lasting });
      if (armed) next.arm(armed.index, armed.when);
      this.view = this.#growing.complete(next.view(0, 0));
      void this.own(false);
    });
  }

  /**
   * Starts a run, in memory if storage refuses it.
   * @param {LabOptions} options
   */
  #start(options) {
    try {
      return { next: Engine.start(options), lasting: this.lasting };
    } catch (error) {
      const { code } = /** @type {{ code?: string }} */ (error);
      if (code !== 'storage' || options.storage === 'memory') throw error;
      this.#events.failed(error);
      return { next: Engine.start({ ...options, storage: 'memory' }), lasting: false };
    }
  }

  /**
   * Makes another run the present one, and lets other tabs take the previous one.
   * @param {Lab} next
   * @param {Partial<RunState> & { branch?: number }} state
   */
  replace(next, { lasting = true, continues = this.continues, ...state }) {
    this.#events.stop();
    this.freed = this.#writer.release();
    this.#options = null;
    this.#install(next);
    this.prepared = false;
    this.foundDead = false;
    this.lasting = lasting;
    this.continues = continues;
    this.name = state.name ?? this.name;
    this.branch = state.branch ?? 0;
    this.records = state.records ?? [];
    this.#growing = state.growing ?? this.#growing;
  }

  /** @param {Lab} next */
  #install(next) {
    this.#lab?.free();
    this.#lab = next;
    this.view = null;
    this.records = [];
    this.#growing = new Growing();
    this.branch = 0;
    this.name = FIRST_NAME;
    this.taken = false;
  }

  /**
   * Gives the run away, alive: it is not freed when another one replaces it.
   * @returns {RunState & { lab: Lab } | null}
   */
  release() {
    if (!this.#lab) return null;
    const { records, lasting, name, continues } = this;
    const released = { lab: this.#lab, growing: this.#growing, records, lasting, name, continues };
    this.#lab = null;
    return released;
  }

  /**
   * Makes this tab the run's writer, unless the run is to show what happens without one.
   * @param {boolean} steal
   */
  async own(steal) {
    // A run in memory has no second writer.
    if (!this.view || !this.lasting) return;
    if (this.view.mechanisms.some(({ id, on }) => id === 'single_writer' && !on)) return;
    await this.#writer.take(this.view.run_id, { steal });
  }

  /** Stops whatever drives the run. */
  stop() {
    this.#events.stop();
  }

  // --- What happens to it ------------------------------------------------------------------------------------------------------

  tick() {
    const tick = /** @type {Lab} */ (this.#lab).tick();
    if (tick.type === 'fenced') this.taken = true;
    return tick;
  }

  crash() {
    this.attempt(() => this.#lab?.crash());
  }

  /**
   * Whether a new agent can take the run over: the previous one is gone, or storage was full, which is the only end that is not
   * final.
   */
  get resumable() {
    const { taken, view } = this;
    return !taken && (view?.phase === 'crashed' || view?.status === 'storage_failed');
  }

  /** Starts a new agent from what is in storage. @returns {Promise<boolean>} Whether it worked. */
  async resume() {
    const run_id = this.view?.run_id;
    if (!this.#lab || !run_id) return false;
    const isOurs = this.#writer.holds;
    await this.own(true);
    return this.attempt(() => {
      // Another tab may have written more since this tab read the run.
      if (!isOurs && isKept(run_id)) this.#install(Engine.open(run_id));
      this.#lab?.resume();
      this.#growing.forgetAgent();
    });
  }

  /**
   * @param {string} approval_key
   * @param {'approved' | 'denied'} decision
   * @param {string} approver
   * @param {string} note
   */
  decide(approval_key, decision, approver, note) {
    this.attempt(() => this.#lab?.decide(approval_key, decision, approver, note));
  }

  /**
   * @param {number} index
   * @param {'before' | 'after'} when
   */
  arm(index, when) {
    this.attempt(() => this.#lab?.arm(index, when));
    this.refresh();
  }

  disarm() {
    this.attempt(() => this.#lab?.disarm());
    this.refresh();
  }

  // --- What can be read from it ------------------------------------------------------------------------------------------------

  /** What the run is about. */
  get scenario() {
    return this.#lab?.scenario() ?? null;
  }

  /** The checkpoint with which the run began, if it did. */
  get origin() {
    return this.#lab?.origin();
  }

  /**
   * What was done to the run, for a link or a file; null if nothing has happened.
   * @returns {import('../link.js').Link['done']}
   */
  get done() {
    return this.#lab && !this.prepared ? JSON.parse(this.#lab.deeds_json()) : null;
  }

  gaps() {
    return this.#lab?.gaps() ?? [];
  }

  /** @param {number} record */
  viewAt(record) {
    return this.#lab?.view_at(record) ?? null;
  }

  /** @param {number} record */
  detail(record) {
    return this.#lab?.record(record) ?? null;
  }

  logText() {
    return this.#lab?.log_jsonl() ?? '';
  }

  checkpointText() {
    return this.#lab?.checkpoint_json() ?? '';
  }

  /** Reads what there is to show. */
  refresh() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const current = this.#lab;
    if (current) {
      this.attempt(() => {
        const { messages, rows } = this.#growing;
        this.view = this.#growing.complete(current.view(messages, rows));
        // A resume can leave a torn record out.
        if (this.records.length > this.view.record_count) this.records = [];
        this.records.push(...current.records(this.records.length));
      });
    }
    this.#events.changed();
  }

  /** Refreshes with the next frame, however often that is asked for until then. */
  refreshSoon() {
    this.#frame ||= requestAnimationFrame(() => this.refresh());
  }

  /**
   * @param {() => unknown} action
   * @returns {boolean} Whether it worked; if not, the driver has been stopped and the failure reported.
   */
  attempt(action) {
    try {
      action();
      return true;
    } catch (error) {
      this.#events.stop();
      this.#events.failed(error);
      return false;
    }
  }
}

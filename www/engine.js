/**
 * The driver of the page. The Rust engine says what happened and how long its answer takes; this waits, asks for the next tick,
 * keeps one writer per run by a Web Lock, and tells its listener when there is something new to show. It decides nothing.
 *
 * @typedef {import('./pkg/crashlab.js').LabOptions} LabOptions
 * @typedef {import('./pkg/crashlab.js').LabView} LabView
 * @typedef {import('./pkg/crashlab.js').RecordView} RecordView
 * @typedef {import('./pkg/crashlab.js').SavedRun} SavedRun
 * @typedef {import('./pkg/crashlab.js').Tick} Tick
 * @typedef {SavedRun & { elsewhere: boolean }} Offer  `elsewhere`: its agent is alive in another tab.
 */
import init, * as lab from './pkg/crashlab.js';

/** How virtual time is shown: divided by `factor`, with `beat_ms` between an answer and the next effect. */
export const SPEEDS = [
  { name: 'real time', factor: 1, beat_ms: 160 },
  { name: '2 ×', factor: 2, beat_ms: 90 },
  { name: '5 ×', factor: 5, beat_ms: 40 },
  { name: '20 ×', factor: 20, beat_ms: 12 },
  { name: 'fastest', factor: Infinity, beat_ms: 0 },
];
export const FASTEST = SPEEDS.length - 1;

/** Nobody watches a wait for longer than this; the clock of the run still shows all of it. */
const LONGEST_WAIT_MS = 6000;
const FRAME_BUDGET_MS = 8;

/** @param {string} run_id */
const lockName = (run_id) => `crashlab:${run_id}`;
const locks = globalThis.navigator?.locks;

export class Engine {
  /** @type {import('./pkg/crashlab.js').ScenarioInfo[]} */
  scenarios = [];
  /** @type {import('./pkg/crashlab.js').MechanismInfo[]} */
  mechanisms = [];
  /** @type {LabView | null} */
  view = null;
  /** @type {RecordView[]} */
  records = [];
  /** The agent is being driven. */
  running = false;
  /** Nothing has happened yet and nothing is stored. */
  prepared = false;
  /** Another tab has taken the run over. */
  taken = false;
  speed = 1;

  /** @type {import('./pkg/crashlab.js').Lab | null} */
  #lab = null;
  /** @type {LabOptions | null} */
  #options = null;
  #drive = 0;
  /** Whether a crash or a question interrupted a run (then it goes on by itself) or single steps. */
  #goesOn = false;
  /** @type {(() => void) | null} */
  #wake = null;
  /** @type {(() => void) | null} */
  #release = null;
  /** Pending as long as this tab holds its run's lock. */
  #held = Promise.resolve();
  /** Settled when the lock of the run before is free for others. */
  #released = Promise.resolve();
  #frame = 0;
  #changed;
  #failed;

  /**
   * @param {() => void} changed  There is something new to show.
   * @param {(error: unknown) => void} failed
   */
  constructor(changed, failed) {
    this.#changed = changed;
    this.#failed = failed;
  }

  async load() {
    await init();
    this.scenarios = lab.scenarios();
    this.mechanisms = lab.mechanisms();
  }

  /** A sentence, if this browser cannot keep runs. */
  get storageWarning() {
    return lab.storage_warning() ?? null;
  }

  /**
   * A run that can be looked at and armed. It is kept in memory until something happens.
   * @param {Omit<LabOptions, 'storage'>} options
   */
  prepare(options) {
    const next = lab.Lab.start({ ...options, storage: 'memory' });
    this.#replace(next);
    this.#options = { ...options, storage: this.storageWarning ? 'memory' : 'local' };
    this.prepared = true;
    this.refresh();
  }

  /** @param {string} run_id */
  open(run_id) {
    const next = lab.Lab.open(run_id);
    this.#replace(next);
    this.prepared = false;
    this.#goesOn = true;
    this.refresh();
  }

  /** Throws the present run away. */
  discard() {
    const run_id = this.prepared || this.taken ? null : this.view?.run_id;
    this.#stop();
    if (run_id) this.forget(run_id);
  }

  /** @param {string} run_id */
  forget(run_id) {
    lab.forget_run(run_id);
  }

  /**
   * Unfinished runs in this browser, without the present one.
   * @returns {Promise<Offer[]>}
   */
  async offers() {
    await this.#released;
    const held = new Set((await locks?.query())?.held?.map((lock) => lock.name));
    return lab
      .saved_runs()
      .filter((run) => run.status === null && (this.prepared || run.run_id !== this.view?.run_id))
      .map((run) => ({ ...run, elsewhere: held.has(lockName(run.run_id)) }));
  }

  /** @param {string} run_id */
  async isElsewhere(run_id) {
    return (await locks?.query())?.held?.some((lock) => lock.name === lockName(run_id)) ?? false;
  }

  /** @param {string} run_id */
  isKept(run_id) {
    return lab.saved_runs().some((run) => run.run_id === run_id);
  }

  run() {
    if (!this.#begin()) return;
    this.#goesOn = true;
    this.running = true;
    void this.#loop();
    this.refresh();
  }

  pause() {
    this.#stop();
    this.#goesOn = false;
    this.refresh();
  }

  /** One effect: until its answer has reached the agent. */
  step() {
    if (!this.#begin()) return;
    this.#stop();
    this.#goesOn = false;
    this.#attempt(() => {
      for (let tick = this.#tick(); tick.type === 'happened'; tick = this.#tick());
    });
    this.refresh();
  }

  crash() {
    this.#attempt(() => this.#lab?.crash());
    this.#stop();
    this.refresh();
  }

  /** Takes the run over from whoever drives it, and goes on if it was going on. */
  async resume() {
    const run_id = this.view?.run_id;
    if (!this.#lab || !run_id) return;
    const ours = this.#release !== null;
    await this.#own(true);
    this.#attempt(() => {
      // Whoever had the run until now may have gone on after this tab had read it.
      if (!ours && this.isKept(run_id)) this.#take(lab.Lab.open(run_id));
      this.#lab?.resume();
      if (this.#goesOn) {
        this.running = true;
        void this.#loop();
      }
    });
    this.refresh();
  }

  /**
   * @param {string} approval_key
   * @param {'approved' | 'denied'} decision
   * @param {string} approver
   * @param {string} note
   */
  decide(approval_key, decision, approver, note) {
    this.#attempt(() => {
      this.#lab?.decide(approval_key, decision, approver, note);
      if (this.#goesOn && this.view?.phase === 'waiting_for_person') {
        this.running = true;
        void this.#loop();
      }
    });
    this.refresh();
  }

  gaps() {
    return this.#lab?.gaps() ?? [];
  }

  /**
   * @param {number} index
   * @param {'before' | 'after'} when
   */
  arm(index, when) {
    this.#attempt(() => this.#lab?.arm(index, when));
    this.refresh();
  }

  disarm() {
    this.#attempt(() => this.#lab?.disarm());
    this.refresh();
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    this.#wake?.();
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

  /** Reads what there is to show, now. */
  refresh() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const current = this.#lab;
    if (current) {
      this.#attempt(() => {
        this.view = current.view();
        this.records = [...this.records, ...current.records(this.records.length)];
      });
    }
    this.#changed();
  }

  /** Shows what has happened with the next frame, however much that is. */
  #refreshSoon() {
    this.#frame ||= requestAnimationFrame(() => this.refresh());
  }

  /** The first effect makes a prepared run a stored one: same scenario, same seed, same armed crash. */
  #begin() {
    if (!this.#lab) return false;
    if (!this.prepared) return true;
    const { seed, armed } = this.#lab.view();
    return this.#attempt(() => {
      const options = /** @type {LabOptions} */ (this.#options);
      const next = lab.Lab.start({ ...options, seed });
      this.#replace(next);
      this.#options = options;
      this.prepared = false;
      if (armed) next.arm(armed.index, armed.when);
      this.view = next.view();
      void this.#own(false);
    });
  }

  async #loop() {
    const drive = ++this.#drive;
    let frameStart = performance.now();
    while (drive === this.#drive && this.running) {
      /** @type {Tick | undefined} */
      let tick;
      if (!this.#attempt(() => (tick = this.#tick())) || !tick) break;
      if (tick.type !== 'happened' && tick.type !== 'answered') break;
      this.#refreshSoon();
      const pace = SPEEDS[this.speed] ?? SPEEDS[0];
      if (pace.factor === Infinity) {
        if (performance.now() - frameStart < FRAME_BUDGET_MS) continue;
        await this.#sleep(0);
        frameStart = performance.now();
      } else {
        const wait =
          tick.type === 'happened'
            ? Math.min(tick.takes_ms, LONGEST_WAIT_MS) / pace.factor
            : pace.beat_ms;
        await this.#sleep(wait);
      }
    }
    if (drive === this.#drive) {
      this.running = false;
      this.refresh();
    }
  }

  #tick() {
    const current = /** @type {import('./pkg/crashlab.js').Lab} */ (this.#lab);
    const tick = current.tick();
    if (tick.type === 'fenced') this.taken = true;
    return tick;
  }

  #stop() {
    this.running = false;
    this.#drive++;
    this.#wake?.();
  }

  /** @param {number} ms */
  #sleep(ms) {
    return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** @param {import('./pkg/crashlab.js').Lab} next */
  #replace(next) {
    this.#stop();
    if (this.#release) {
      this.#release();
      this.#released = this.#held;
    }
    this.#release = null;
    this.#options = null;
    this.#take(next);
  }

  /** @param {import('./pkg/crashlab.js').Lab} next */
  #take(next) {
    this.#lab?.free();
    this.#lab = next;
    this.view = null;
    this.records = [];
    this.taken = false;
  }

  /**
   * Resolves when this tab is the run's writer. Without Web Locks, or with `single_writer` switched off, everybody is.
   * @param {boolean} steal
   */
  #own(steal) {
    const view = this.view;
    if (!locks || !view || view.mechanisms.some(({ id, on }) => id === 'single_writer' && !on))
      return;
    if (this.#release) return;
    return new Promise((/** @type {(value?: undefined) => void} */ owned) => {
      /** @type {(() => void) | null} */
      let release = null;
      this.#held = locks
        .request(lockName(view.run_id), { steal }, () => {
          owned();
          return new Promise((/** @type {(value?: undefined) => void} */ done) => {
            release = () => done();
            this.#release = release;
          });
        })
        .catch(() => {
          owned();
          // Only the writer that still holds the run loses it.
          if (this.#release !== release) return;
          this.#release = null;
          this.taken = true;
          this.#stop();
          this.refresh();
        });
    });
  }

  /**
   * @param {() => unknown} action
   * @returns {boolean} Whether it worked; if not, the listener has been told.
   */
  #attempt(action) {
    try {
      action();
      return true;
    } catch (error) {
      this.#stop();
      this.#failed(error);
      return false;
    }
  }
}

/**
 * The driver of the page. The Rust engine says what happened and how long its answer takes; this waits, asks for the next tick,
 * keeps one writer per run by a Web Lock, and tells its listener when there is something new to show. It decides nothing.
 *
 * @typedef {import('./pkg/crashlab.js').LabOptions} LabOptions
 * @typedef {import('./pkg/crashlab.js').LabView} LabView
 * @typedef {import('./pkg/crashlab.js').RecordView} RecordView
 * @typedef {import('./pkg/crashlab.js').SavedRun} SavedRun
 * @typedef {import('./pkg/crashlab.js').Tick} Tick
 * @typedef {object} Shelved  A run that is put aside, alive.
 * @property {import('./pkg/crashlab.js').Lab} lab
 * @property {RecordView[]} records
 * @property {Growing} growing
 * @property {boolean} lasting
 * @property {boolean} goesOn
 * @property {string} name
 * @typedef {SavedRun & { elsewhere: boolean }} Offer  `elsewhere`: its agent is alive in another tab.
 */
import { catalogue } from 'scenarios:catalogue';
import init, * as lab from './pkg/crashlab.js';
import { Growing } from './growing.js';
import { embedded } from './store.js';
import { Writer, written } from './writer.js';
import { yours } from './yours.js';

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

export class Engine {
  /** What can be chosen, the reader's own at the end. @type {{ id: string, title: string, own?: boolean, load: () => Promise<string> }[]} */
  scenarios = [...catalogue, ...yours()];
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
  /** The run is in the browser's storage, or will be when it begins. */
  lasting = true;
  /** Another tab has taken the run over. */
  taken = false;
  speed = 1;
  /** What the present run is called beside others. */
  name = 'First run';
  /** Which of the runs of the same input it is. */
  branch = 0;
  /** Runs beside the present one, by id. @type {Map<string, Shelved>} */
  shelf = new Map();

  /** @type {import('./pkg/crashlab.js').Lab | null} */
  #lab = null;
  /** @type {LabOptions | null} */
  #options = null;
  #drive = 0;
  #growing = new Growing();
  /** Whether a crash or a question interrupted a run (then it goes on by itself) or single steps. */
  #goesOn = false;
  /** @type {(() => void) | null} */
  #wake = null;
  #writer = new Writer(() => {
    this.taken = true;
    this.#stop();
    this.refresh();
  });
  /** Settled when the run before is free for other tabs. */
  #freed = Promise.resolve();
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
    this.mechanisms = lab.mechanisms();
  }

  /**
   * A scenario that can be chosen, with its document.
   * @param {string} id
   */
  async scenario(id) {
    const found = this.scenarios.find((one) => one.id === id);
    if (!found) throw new Error(`There is no scenario “${id}”.`);
    return this.read(await found.load());
  }

  /**
   * A scenario from its text. What is wrong with it is an error that names the path.
   * @param {string} json
   */
  read(json) {
    return lab.read_scenario(json);
  }

  /** What the present run is about. */
  get about() {
    return this.#lab?.scenario() ?? null;
  }

  /** A sentence, if this browser cannot keep runs. */
  get storageWarning() {
    return lab.storage_warning() ?? null;
  }

  /** Whether runs are kept in this browser. */
  get #lasts() {
    return !embedded && this.storageWarning === null;
  }

  /**
   * A run that can be looked at and armed. It is kept in memory until something happens.
   * @param {Omit<LabOptions, 'storage'>} options
   */
  prepare(options) {
    const next = lab.Lab.start({ ...options, storage: 'memory' });
    this.#replace(next);
    this.lasting = this.#lasts;
    this.#options = { ...options, storage: this.lasting ? 'local' : 'memory' };
    this.prepared = true;
    this.refresh();
  }

  /**
   * A new run that is like the present one up to a record and open from there on. The present one is put aside, as it is.
   * @param {number} record
   * @param {string} scenario  JSON text.
   */
  branchAt(record, scenario) {
    if (!this.#lab || !this.view) return;
    const { deeds } = JSON.parse(this.#lab.deeds_json());
    const { seed, mechanisms } = this.view;
    const options = {
      scenario,
      seed,
      mechanisms: Object.fromEntries(mechanisms.map(({ id, on }) => [id, on])),
      checkpoint: this.origin,
    };
    const { run_id } = this.view;
    this.#tell(options, { deeds, records: record + 1 }, () => this.#putAside(run_id));
    this.name = `Branch ${this.branch} at record ${record}`;
    this.refresh();
  }

  /**
   * Does to a new run what was done to another, as a link or a file tells it. A present run that has begun is put aside.
   * @param {Omit<LabOptions, 'storage'>} options
   * @param {{ deeds: unknown[], moment: number }} done
   * @param {string} [name]
   * @param {boolean} [lasting]
   * @param {boolean} [exact]  Under its own id, even if there is a run of that id: then only in this page.
   */
  retell(options, done, name = this.name, lasting, exact) {
    const run_id = this.prepared ? null : this.view?.run_id;
    this.#tell(options, done, () => run_id && this.#putAside(run_id), lasting, exact);
    this.name = name;
    this.refresh();
  }

  /**
   * @param {Omit<LabOptions, 'storage'>} options
   * @param {object} deeds
   * @param {() => void} before  What to do with the present run, once the new one is there.
   * @param {boolean} [lasting]  Whether the new one goes to the browser's storage.
   * @param {boolean} [exact]
   */
  #tell(options, deeds, before, lasting = this.#lasts, exact = false) {
    let branch = options.branch ?? 0;
    // No run that is there already is written over.
    for (; ; branch++) {
      const run_id = lab.Lab.run_id_of({ ...options, storage: 'memory', branch });
      if (!this.isKept(run_id) && !this.shelf.has(run_id) && run_id !== this.view?.run_id) break;
      if (exact) {
        lasting = false;
        break;
      }
    }
    const storage = /** @type {'local' | 'memory'} */ (lasting ? 'local' : 'memory');
    const next = lab.Lab.replay({ ...options, storage, branch }, JSON.stringify(deeds));
    before();
    this.#replace(next);
    this.prepared = false;
    this.lasting = lasting;
    this.branch = branch;
    this.#goesOn = false;
    this.view = this.#growing.complete(next.view(0, 0));
    void this.#own(false);
  }

  /** @param {string} run_id */
  #putAside(run_id) {
    if (!this.#lab) return;
    const { records, lasting, name } = this;
    this.shelf.set(run_id, {
      lab: this.#lab,
      records,
      growing: this.#growing,
      lasting,
      goesOn: this.#goesOn,
      name,
    });
    this.#lab = null;
  }

  /**
   * Takes up a run that was put aside, and puts the present one aside.
   * @param {string} run_id
   */
  switchTo(run_id) {
    const kept = this.shelf.get(run_id);
    if (!kept) return;
    this.shelf.delete(run_id);
    if (this.view && !this.prepared) this.#putAside(this.view.run_id);
    this.#replace(kept.lab);
    this.prepared = false;
    this.lasting = kept.lasting;
    this.#goesOn = kept.goesOn;
    this.name = kept.name;
    this.records = kept.records;
    this.#growing = kept.growing;
    this.refresh();
    void this.#own(false);
  }

  /**
   * A run that was put aside, to be compared with.
   * @param {string} run_id
   */
  beside(run_id) {
    const kept = this.shelf.get(run_id);
    if (!kept) return null;
    const { lab, name, records } = kept;
    return { name, records, view: lab.view(0, 0), last: lab.record(records.length - 1) };
  }

  /** The checkpoint with which the present run began, if it did. */
  get origin() {
    return this.#lab?.origin();
  }

  /** What was done to the present run, for a link. */
  get done() {
    return this.#lab && !this.prepared
      ? /** @type {NonNullable<import('./link.js').Link['done']>} */ (
          JSON.parse(this.#lab.deeds_json())
        )
      : null;
  }

  /** @param {string} run_id */
  open(run_id) {
    const next = lab.Lab.open(run_id);
    this.#replace(next);
    this.prepared = false;
    this.lasting = true;
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
    this.shelf.delete(run_id);
    lab.forget_run(run_id);
  }

  /**
   * Puts a run of the browser's storage beside the present one, to be looked at.
   * @param {string} run_id
   * @param {string} name
   */
  shelve(run_id, name) {
    const next = lab.Lab.open(run_id);
    const growing = new Growing();
    const records = next.records(0);
    this.shelf.set(run_id, { lab: next, records, growing, lasting: true, goesOn: true, name });
  }

  /**
   * Runs in this browser, without those that this page has.
   * @returns {Promise<Offer[]>}
   */
  async offers() {
    await this.#freed;
    if (embedded) return [];
    const runs = lab
      .saved_runs()
      .filter(
        (run) => !this.shelf.has(run.run_id) && (this.prepared || run.run_id !== this.view?.run_id),
      );
    const elsewhere = await written(runs.map(({ run_id }) => run_id));
    return runs.map((run) => ({ ...run, elsewhere: elsewhere.has(run.run_id) }));
  }

  /** @param {string} run_id */
  async isElsewhere(run_id) {
    return (await written([run_id])).size > 0;
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
      let tick = this.#tick();
      // A fresh agent has to be asked for its first effect before one can happen.
      if (tick.type === 'answered') tick = this.#tick();
      if (tick.type === 'happened') this.#tick();
    });
    this.refresh();
  }

  crash() {
    this.#attempt(() => this.#lab?.crash());
    this.#stop();
    this.refresh();
  }

  /** Takes the run over from whoever drives it, and goes on if it was going on. */
  /**
   * Whether an agent can take the run over: the one before is gone, or storage took no more, which is the one end that is not
   * final.
   */
  get resumable() {
    const { taken, view } = this;
    return !taken && (view?.phase === 'crashed' || view?.status === 'storage_failed');
  }

  async resume() {
    const run_id = this.view?.run_id;
    if (!this.#lab || !run_id) return;
    const ours = this.#writer.holds;
    await this.#own(true);
    this.#attempt(() => {
      // Whoever had the run until now may have gone on after this tab had read it.
      if (!ours && this.isKept(run_id)) this.#take(lab.Lab.open(run_id));
      this.#lab?.resume();
      this.#growing.forgetAgent();
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
    });
    // Also after a refusal: then it was decided before, perhaps in another tab.
    if (this.#goesOn && !this.running && this.view?.phase === 'waiting_for_person') {
      this.running = true;
      void this.#loop();
    }
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
        const { messages, rows } = this.#growing;
        this.view = this.#growing.complete(current.view(messages, rows));
        // A resume can leave a torn record out.
        if (this.records.length > this.view.record_count) this.records = [];
        this.records.push(...current.records(this.records.length));
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
    const { seed, armed } = this.#lab.view(0, 0);
    return this.#attempt(() => {
      const next = this.#start({ .../** @type {LabOptions} */ (this.#options), seed });
      this.#replace(next);
      this.prepared = false;
      if (armed) next.arm(armed.index, armed.when);
      this.view = this.#growing.complete(next.view(0, 0));
      void this.#own(false);
    });
  }

  /**
   * A run that cannot be stored is still a run.
   * @param {LabOptions} options
   */
  #start(options) {
    try {
      return lab.Lab.start(options);
    } catch (error) {
      const { code } = /** @type {{ code?: string }} */ (error);
      if (code !== 'storage' || options.storage === 'memory') throw error;
      this.#failed(error);
      this.lasting = false;
      return lab.Lab.start({ ...options, storage: 'memory' });
    }
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
    this.#freed = this.#writer.release();
    this.#options = null;
    this.#take(next);
  }

  /** @param {import('./pkg/crashlab.js').Lab} next */
  #take(next) {
    this.#lab?.free();
    this.#lab = next;
    this.view = null;
    this.records = [];
    this.#growing = new Growing();
    this.branch = 0;
    this.name = 'First run';
    this.taken = false;
  }

  /**
   * Makes this tab the run's writer, unless the run is to show what happens without one.
   * @param {boolean} steal
   */
  async #own(steal) {
    // A run in memory has no second writer.
    if (!this.view || !this.lasting) return;
    if (this.view.mechanisms.some(({ id, on }) => id === 'single_writer' && !on)) return;
    await this.#writer.take(this.view.run_id, { steal });
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

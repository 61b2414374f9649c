/**
 * The reader: what they have chosen, where they look, and what they do. It turns presses into calls of the engine and keeps what
 * belongs to the page and not to the run. It draws nothing.
 *
 * @typedef {import('./pkg/crashlab.js').LabView} LabView
 * @typedef {import('./pkg/crashlab.js').Gap} Gap
 * @typedef {'scenario' | 'trace' | 'places'} Tab
 */
import { Engine, FASTEST } from './engine.js';
import * as store from './store.js';

/** @type {import('./link.js').Link} */
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

const NAMELESS = 'A decision needs the name of who takes it.';

export class Reader {
  /** @type {import('./pkg/crashlab.js').ScenarioInfo | null} What the chosen scenario is about. */
  about = null;
  /** The mechanisms that the reader has switched off. @type {Set<string>} */
  #own = new Set();
  /** The mechanisms that are switched off for the next run. */
  off = new Set(/** @type {string[]} */ ([]));
  /** The run was found in storage, not driven here. */
  found = false;
  /** @type {import('./engine.js').Offer[]} */
  offers = [];
  /** The record that is looked at. @type {number | null} */
  selected = null;
  /** The panels as of that record. @type {LabView | null} */
  past = null;
  /** The selected record, or the newest one. @type {import('./pkg/crashlab.js').RecordDetail | null} */
  detail = null;
  /** Null: the menu has not been opened yet. @type {Gap[] | null} */
  gaps = null;
  gapFilter = '';
  /** The armed crash in words. @type {string | null} */
  armed = null;
  /** @type {'changes' | 'state'} */
  side = 'changes';
  checkpointAsJson = false;
  helpOpen = false;
  /** The run that the present one is compared with. @type {string | null} */
  comparing = null;
  shared = false;
  /** @type {{ id: number, text: string }[]} */
  notices = [];
  /** @type {Tab} */
  tab = 'trace';
  /** What a screen reader is told, once per step. */
  announcement = '';
  /** Goes up whenever the list has to follow the run again. */
  follows = 0;

  /** A trace from a file, which is read instead of the run. @type {import('./files/reading.js').Foreign | null} */
  foreign = null;

  /** Nobody has used the page in this browser. */
  isNew = false;

  /** @type {string | null} */
  #seed = null;
  /** What the next run begins with, if it does not begin at the beginning. @type {string | undefined} */
  #checkpoint;
  #form = { key: '', approver: '', note: '' };
  #announced = '';
  #nextNotice = 0;
  #draw;
  #choice = 0;

  /** @param {() => void} draw */
  constructor(draw) {
    this.#draw = draw;
    this.engine = new Engine(
      () => this.#changed(),
      (error) => this.complain(error),
    );
  }

  /** Loads the engine and shows what the link, or else the last visit, says. */
  async open() {
    const { engine } = this;
    await engine.load();
    // Who comes without a link does not load what reads one.
    const link = location.hash.length > 1 ? await import('./link.js') : null;
    const wanted = link?.read(location) ?? NOTHING;
    const preferences = store.load();
    this.isNew = !store.embedded && preferences.scenario === null && preferences.last_run === null;
    const known = (/** @type {string | null} */ id) =>
      engine.scenarios.some((one) => one.id === id);
    const linked = known(wanted.scenario);
    for (const complaint of link?.complaints(wanted, engine) ?? []) this.complain(complaint);
    const query = new URLSearchParams(location.search);
    engine.speed =
      query.get('speed') === 'max' ? FASTEST : Math.min(Math.max(preferences.speed, 0), FASTEST);
    this.#seed = linked ? wanted.seed : null;
    const knows = (/** @type {string} */ off) => engine.mechanisms.some(({ id }) => id === off);
    this.#own = new Set(preferences.off.filter(knows));
    this.off = linked ? new Set(wanted.off.filter(knows)) : this.#own;
    const chosen = linked ? wanted.scenario : preferences.scenario;

    const last = linked ? null : preferences.last_run;
    if (linked && (await link?.follow(wanted, this))) {
      // What the link tells is in storage now; a reload opens it there.
      history.replaceState(null, '', location.pathname + location.search);
    } else if (last === null || !(await this.#isFree(last)) || !this.look(last)) {
      const first = engine.scenarios[0].id;
      this.about = await engine
        .scenario(chosen !== null && known(chosen) ? chosen : first)
        .catch((error) => {
          this.complain(error);
          return engine.scenario(first);
        });
      if (!linked) this.#switch(this.about);
      this.#prepare();
    }
    if (!engine.view) throw new Error(this.notices.at(-1)?.text ?? 'There is no scenario.');
    const warning = store.embedded ? null : engine.storageWarning;
    if (warning) this.complain(`${warning} Runs are kept in this page only, and are gone with it.`);
    await this.#offer();
  }

  /**
   * Does to a new run what was done to another.
   * @param {Parameters<Engine['retell']>[0]} options
   * @param {Parameters<Engine['retell']>[1]} done
   * @param {[name?: string, lasting?: boolean, exact?: boolean]} how
   */
  retell(options, done, ...how) {
    const { engine } = this;
    if (!this.attempt(() => engine.retell(options, done, ...how))) return false;
    this.arrive();
    return true;
  }

  /**
   * Shows the run that a file tells.
   * @param {import('./study/crashlab.js').OpenedRun} opened
   */
  tell({ scenario, mechanisms, seed, branch, checkpoint, done }) {
    const options = { scenario, mechanisms, seed, branch, checkpoint: checkpoint ?? undefined };
    const how = /** @type {const} */ (['From a file', undefined, true]);
    return this.retell(options, done, ...how);
  }

  // --- Driving the run ---------------------------------------------------------------------------------------------------------

  toggle() {
    const { engine } = this;
    const phase = engine.view?.phase;
    if (engine.running) return engine.pause();
    if (engine.taken || this.covered) return;
    if (phase === 'stopped') this.#prepare();
    if (phase === 'stopped' || phase === 'running') this.#begin(() => engine.run());
  }

  step() {
    const { engine } = this;
    const ready = engine.view?.phase === 'running' && !engine.taken;
    if (ready && !this.covered) this.#begin(() => engine.step());
  }

  /** @param {() => void} drive */
  #begin(drive) {
    drive();
    const { engine } = this;
    if (!engine.prepared && engine.view) store.save({ last_run: engine.view.run_id });
  }

  crash() {
    const { engine } = this;
    const phase = engine.view?.phase;
    const alive = phase === 'running' || phase === 'waiting_for_person';
    if (alive && !engine.prepared && !engine.taken && !this.covered) engine.crash();
  }

  crashForReal() {
    location.reload();
  }

  resume() {
    const { engine } = this;
    if (!engine.view || !engine.resumable || this.covered) return;
    this.now();
    this.found = false;
    store.save({ last_run: engine.view.run_id });
    void engine.resume();
  }

  /** Throws the run away and sets up a new one with what is chosen now. */
  reset() {
    if (this.covered) return;
    this.attempt(() => this.engine.discard());
    this.#prepare();
    void this.#offer();
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.engine.setSpeed(speed);
    store.save({ speed });
    this.#draw();
  }

  openGaps() {
    this.gapFilter = '';
    this.attempt(() => (this.gaps = this.engine.gaps()));
    this.#draw();
  }

  /** @param {Gap | null} gap */
  arm(gap) {
    this.armed = gap?.label ?? null;
    if (gap) this.engine.arm(gap.index, gap.when);
    else this.engine.disarm();
  }

  // --- Deciding ----------------------------------------------------------------------------------------------------------------

  /** The question that the run waits for, alive or dead. */
  get question() {
    const { view, taken } = this.engine;
    // Who has lost the run decides nothing in it.
    if (!view || taken || view.phase === 'fenced' || this.covered) return null;
    return view.world.inbox.find(({ status }) => status === 'open') ?? null;
  }

  /**
   * Who decides, and the note, as typed so far.
   * @param {string} approval_key
   */
  formFor(approval_key) {
    if (this.#form.key !== approval_key) {
      const person = this.engine.view?.world.person;
      this.#form = { key: approval_key, approver: person?.name ?? '', note: '' };
    }
    return this.#form;
  }

  /** @param {'approved' | 'denied'} decision */
  answer(decision) {
    if (this.question) this.decide(this.question.approval_key, decision);
  }

  /**
   * @param {string} approval_key
   * @param {'approved' | 'denied'} decision
   */
  decide(approval_key, decision) {
    const form = this.formFor(approval_key);
    const name = form.approver.trim();
    if (name === '') return this.complain(NAMELESS);
    if (this.engine.taken)
      return this.complain('This is no longer this tab’s run: decide in the tab that has it.');
    this.notices = this.notices.filter(({ text }) => text !== NAMELESS);
    const person = this.engine.view?.world.person;
    const approver = person && name === person.name ? person.id : name;
    this.engine.decide(approval_key, decision, approver, form.note.trim());
  }

  // --- Choosing ----------------------------------------------------------------------------------------------------------------

  /**
   * @param {string} id
   * @param {Iterable<string>} [off]  The mechanisms that are off in it; else those that the reader has switched off.
   */
  async chooseScenario(id, off) {
    const choice = ++this.#choice;
    try {
      const about = await this.engine.scenario(id);
      // Who chooses another one meanwhile wants that one.
      if (choice !== this.#choice) return;
      this.take(about, { off });
    } catch (error) {
      this.complain(error);
    }
  }

  /**
   * Sets up a scenario, which may stand in no list, with the mechanisms that it names.
   * @param {import('./pkg/crashlab.js').ScenarioInfo} about
   * @param {{ off?: Iterable<string>, checkpoint?: string }} [how]  What is off in it; a checkpoint of another run, with which it begins.
   */
  take(about, { off, checkpoint } = {}) {
    this.#choice++;
    this.#checkpoint = checkpoint;
    this.about = about;
    this.foreign = null;
    this.#seed = null;
    this.#switch(about, off);
    store.save({ scenario: about.id, last_run: null });
    this.#prepare();
    void this.#offer();
  }

  /**
   * Sets the switches. What a scenario or a lesson says about them lasts as long as it does.
   * @param {import('./pkg/crashlab.js').ScenarioInfo} about
   * @param {Iterable<string>} [off]
   */
  #switch(about, off) {
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
    if (this.engine.prepared) this.#prepare();
    else this.#draw();
  }

  /** The run goes on with other mechanisms than the switches say. */
  get switchesPending() {
    const { engine } = this;
    if (!engine.view || engine.prepared) return false;
    return engine.view.mechanisms.some(({ id, on }) => on === this.off.has(id));
  }

  #prepare() {
    const { engine } = this;
    // An unfinished run stays and is offered; a finished one would only fill the storage.
    if (engine.view?.phase === 'stopped') this.attempt(() => engine.discard());
    this.found = false;
    this.gaps = null;
    this.armed = null;
    this.announcement = '';
    this.#lookNowhere();
    this.follows++;
    const { about } = this;
    if (!about) return;
    const mechanisms = Object.fromEntries([...this.off].map((id) => [id, false]));
    const seed = this.#seed === null ? {} : { seed: this.#seed };
    const checkpoint = this.#checkpoint;
    this.attempt(() => engine.prepare({ scenario: about.json, mechanisms, checkpoint, ...seed }));
  }

  // --- Runs of before ----------------------------------------------------------------------------------------------------------

  /**
   * Shows a run that is in storage.
   * @param {string} run_id
   * @returns {boolean}
   */
  look(run_id) {
    const { engine } = this;
    this.#lookNowhere();
    if (!this.attempt(() => engine.open(run_id)) || !engine.view) return false;
    this.foreign = null;
    this.found = engine.view.phase === 'crashed';
    this.#go(engine.view);
    this.follows++;
    void this.#offer();
    return true;
  }

  /** Scenario and switches go with the run. @param {LabView} view */
  #go({ mechanisms }) {
    this.about = this.engine.about;
    this.foreign = null;
    this.#checkpoint = this.engine.origin;
    this.#choice++;
    this.off = new Set(mechanisms.filter(({ on }) => !on).map(({ id }) => id));
  }

  /** @param {string} run_id */
  takeUp(run_id) {
    if (this.look(run_id)) this.resume();
  }

  /** @param {string} run_id */
  forget(run_id) {
    this.attempt(() => this.engine.forget(run_id));
    void this.#offer();
  }

  /** @param {string} run_id */
  async #isFree(run_id) {
    return (
      this.attempt(() => this.engine.isKept(run_id)) && !(await this.engine.isElsewhere(run_id))
    );
  }

  async #offer() {
    try {
      this.offers = await this.engine.offers();
    } catch (error) {
      this.complain(error);
    }
    this.#draw();
  }

  // --- Looking -----------------------------------------------------------------------------------------------------------------

  /** A trace from a file lies over the run: nobody drives what they do not see. */
  get covered() {
    return this.foreign !== null;
  }

  /** What is read: the run's records, or those of a file. */
  get records() {
    return this.foreign?.records ?? this.engine.records;
  }

  /** Shows a trace from a file. @param {NonNullable<Reader['foreign']>} trace */
  showTrace(trace) {
    this.engine.pause();
    this.#lookNowhere();
    this.foreign = trace;
  }

  closeTrace() {
    this.foreign = null;
    this.#lookNowhere();
    this.#lookAtNewest();
    this.follows++;
    this.#draw();
  }

  /** @param {number} record */
  select(record) {
    this.selected = record;
    const foreign = this.foreign?.records[record];
    if (foreign) {
      this.detail = {
        record: foreign,
        json: foreign.line,
        changes: [],
        state_json: 'null',
        ledger: [],
      };
      return this.#draw();
    }
    this.attempt(() => {
      this.past = this.engine.viewAt(record);
      this.detail = this.engine.detail(record);
    });
    this.#draw();
  }

  /**
   * @param {number} by
   * @param {(from: number, by: number) => number} neighbour  The next record of those that are listed.
   */
  move(by, neighbour) {
    const last = this.records.length - 1;
    if (last < 0) return;
    const from = this.selected ?? (by < 0 ? last + 1 : last);
    this.select(Math.min(Math.max(neighbour(from, by), 0), last));
  }

  /** A new run from the record that is looked at; the present one stays beside it. */
  branch() {
    const { engine, selected, about } = this;
    if (selected === null || !about) return;
    if (this.attempt(() => engine.branchAt(selected, about.json))) this.#settle();
  }

  /** @param {string | null} run_id */
  compare(run_id) {
    this.comparing = run_id;
    this.#draw();
  }

  /** @param {string} run_id */
  switchTo(run_id) {
    if (!this.attempt(() => this.engine.switchTo(run_id))) return;
    this.arrive();
  }

  /** The engine has another run than before, which may be one of another scenario. */
  arrive() {
    if (this.engine.view) this.#go(this.engine.view);
    this.#settle();
  }

  #settle() {
    const { engine } = this;
    this.#checkpoint = engine.origin;
    this.found = false;
    this.gaps = null;
    this.#lookNowhere();
    this.#lookAtNewest();
    this.follows++;
    if (engine.view && engine.lasting) store.save({ last_run: engine.view.run_id });
    this.#draw();
  }

  now() {
    if (this.selected === null) return;
    this.#lookNowhere();
    this.#lookAtNewest();
    this.follows++;
    this.#draw();
  }

  #lookNowhere() {
    this.selected = null;
    this.past = null;
    this.detail = null;
  }

  /** While nothing is selected, the newest record is shown, but not thousands of them a second. */
  #lookAtNewest() {
    const newest = this.engine.records.length - 1;
    if (this.selected !== null || this.foreign || newest < 0 || this.#races) return;
    if (this.detail?.record.index === newest) return;
    this.attempt(() => (this.detail = this.engine.detail(newest)));
  }

  /** @param {Partial<Pick<Reader, 'side' | 'checkpointAsJson' | 'helpOpen' | 'tab' | 'gapFilter'>>} change */
  show(change) {
    Object.assign(this, change);
    this.#draw();
  }

  // --- Taking home -------------------------------------------------------------------------------------------------------------

  async share() {
    const { engine, selected } = this;
    const link = await import('./link.js');
    const record = selected === null ? null : engine.records[selected];
    const run = engine.prepared || !engine.view ? null : engine.view;
    const address = link.write({
      scenario: this.about?.id ?? '',
      off: run ? run.mechanisms.filter(({ on }) => !on).map(({ id }) => id) : [...this.off],
      seed: engine.view?.seed ?? null,
      done: engine.done,
      branch: engine.branch,
      at: selected,
      is: record ? link.signOf(record) : null,
    });
    try {
      await navigator.clipboard.writeText(address);
      this.shared = true;
      setTimeout(() => {
        this.shared = false;
        this.#draw();
      }, 2000);
    } catch {
      this.complain(`The browser does not let this page copy. The link is ${address}`);
    }
    const doubt = link.doubt(engine.scenarios, this.about?.id ?? '', engine.origin);
    if (doubt) this.complain(doubt);
    this.#draw();
  }

  // --- What goes wrong, and what happens by itself -----------------------------------------------------------------------------

  /** @param {unknown} error  An error, or a sentence. */
  complain(error) {
    const text = sentence(error);
    if (!this.notices.some((notice) => notice.text === text))
      this.notices.push({ id: this.#nextNotice++, text });
    this.#draw();
  }

  /** @param {number} id */
  dismiss(id) {
    this.notices = this.notices.filter((notice) => notice.id !== id);
    this.#draw();
  }

  /**
   * @param {() => unknown} action
   * @returns {boolean} Whether it worked; false also if it returned that.
   */
  attempt(action) {
    try {
      return action() !== false;
    } catch (error) {
      this.complain(error);
      return false;
    }
  }

  get #races() {
    return this.engine.running && this.engine.speed === FASTEST;
  }

  #changed() {
    const { view } = this.engine;
    if (view && view.armed === null) this.armed = null;
    if (view) {
      this.#lookAtNewest();
      this.#announce(view);
    }
    this.#draw();
  }

  /** @param {LabView} view */
  #announce(view) {
    if (this.engine.prepared || this.#races) return;
    const moment = `${view.run_id} ${view.phase} ${view.memory?.step}`;
    if (moment === this.#announced) return;
    this.#announced = moment;
    this.announcement = view.sentence;
  }
}

/** @param {unknown} error */
export function sentence(error) {
  if (error instanceof WebAssembly.RuntimeError) {
    return 'The engine has failed and cannot go on. The run is in storage: reload the page and resume it.';
  }
  return error instanceof Error ? error.message : String(error);
}

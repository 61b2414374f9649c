/**
 * The lessons: short ones, each with a bet, something to do, what the books say, and a task. They take the place of the scenario's
 * text, and use the page as it is. The address names the open one (`#lessons`, `#lesson=timeout&step=why`), so the browser's Back
 * works. They are loaded when they are first opened.
 */
import { html } from 'lit/html.js';
import { LESSONS } from './course.js';
import { findLesson } from './find.js';
import { lesson } from './lesson.js';
import { list } from './list.js';
import { Now } from './now.js';
import { embedded, keyOf } from '../store.js';
import { Progress, untouched } from './progress.js';
import { astray, elsewhere, isDone, otherwise, strange } from './setup.js';
import { markup } from './markup.js';
import '../ui/shared.js';
import 'sheet:./lessons.css';

/**
 * @typedef {import('./types.js').Lesson} Lesson
 * @typedef {'bet' | 'do' | 'why' | 'task'} Step
 * @typedef {import('../pkg/crashlab.js').ScenarioInfo} ScenarioInfo
 * @typedef {object} Host  What the lessons may ask of the page.
 * @property {() => Pick<import('../run/present.js').PresentRun, 'view' | 'records' | 'prepared' | 'origin'>} run
 * @property {() => number | null} selectedRecord  Of the run.
 * @property {() => boolean} showsCheckpoint  As JSON.
 * @property {() => import('../pkg/crashlab.js').Gap | null} armed
 * @property {() => ScenarioInfo | null} about  The chosen scenario.
 * @property {() => { id: string, title: string }[]} scenarios
 * @property {(id: string) => Promise<ScenarioInfo>} loadScenario
 * @property {(id: string, off: Iterable<string>) => Promise<void>} chooseScenario
 * @property {() => import('../pkg/crashlab.js').MechanismInfo[]} mechanisms
 * @property {() => Set<string>} off  The mechanisms that are off in the next run.
 * @property {() => boolean} switchesPending
 * @property {(id: string, on: boolean) => void} switchMechanism
 * @property {() => void} reset  Prepares a new run.
 * @property {() => void} showText  Brings the lesson's text into view.
 * @property {() => void} known  The reader knows that there are lessons.
 * @property {(options: import('../explorer/index.js').OpenOptions) => void} explore
 * @property {(error: unknown) => void} complain
 * @property {() => void} draw
 */

/** @type {Step[]} */
export const STEPS = ['bet', 'do', 'why', 'task'];

export class Lessons {
  /** The lesson that is open. @type {Lesson | null} */
  #lesson = null;
  /** @type {Step} */
  #step = 'bet';
  #isOpen = false;
  /** What a screen reader is told. */
  #said = '';
  /** The acts that are done. @type {Set<number>} */
  #acts = new Set();
  /** A sentence, if nothing counts any more before the lesson is set up again. */
  #astray = '';
  /** What the address names that is no lesson. */
  #missing = '';
  /** What was forgotten last, as long as the list is open. @type {Record<string, import('./progress.js').Entry> | null} */
  #forgotten = null;
  /** The address that was routed last. @type {string | null} */
  #address = null;
  /** The documents of scenarios as they are shipped, by id. @type {Map<string, string>} */
  #shipped = new Map();
  /** How many scenarios are being loaded for the lesson. */
  #settingUp = 0;
  /** The prepared run, when the page was last drawn. */
  #prepared = '';
  /** @type {import('./now.js').Search | null} */
  #search = null;
  #host;
  #progress;
  #draw;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
    this.#draw = host.draw;
    this.#progress = new Progress(keyOf('lessons'));
    addEventListener('crashlab:found', (event) =>
      this.#hear(/** @type {CustomEvent} */ (event).detail),
    );
    addEventListener('storage', (event) => {
      if (!this.#progress.isAbout(event)) return;
      this.#progress.catchUp();
      this.#step = this.#reachable(this.#step);
      this.#draw();
    });
  }

  get isOpen() {
    return this.#isOpen;
  }

  /** Shows what the address names. */
  route() {
    // A Back that only closed a window leaves the address as it was.
    if (this.#address === location.href) return;
    this.#address = location.href;
    const fragment = new URLSearchParams(location.hash.slice(1));
    const wanted = fragment.get('lesson');
    const before = this.#lesson;
    this.#isOpen = wanted !== null || fragment.has('lessons');
    if (this.#isOpen) this.#host.known();
    this.#lesson = findLesson(LESSONS, wanted);
    this.#missing = this.#lesson ? '' : (wanted ?? '').trim();
    this.#forgotten = null;
    if (this.#lesson) {
      const step = STEPS.find((one) => one === fragment.get('step'));
      this.#step = this.#reachable(step ?? 'bet');
      if (before !== this.#lesson) void this.#setUp(step === undefined);
    }
    if (this.#isOpen) this.#host.showText();
    else this.#draw();
    this.#focus();
  }

  /** The step, or the farthest one before it that the reader has come to. @param {Step} step @returns {Step} */
  #reachable(step) {
    const { books } = this.#entry;
    return books === null && (step === 'why' || step === 'task') ? 'do' : step;
  }

  get #entry() {
    return this.#progress.of(this.#lesson?.id ?? '');
  }

  /**
   * The lesson's scenario, unless the present run is one of it.
   * @param {boolean} anew  Even then, if the run has begun: a bet comes before anything runs.
   */
  async #setUp(anew) {
    const lesson = this.#lesson;
    const { view, prepared } = this.#host.run();
    if (!lesson) return;
    const { books, run } = this.#entry;
    const off = lesson.off ?? [];
    const isThere = view?.scenario_id === lesson.scenario;
    const isAsWanted = String([...this.#host.off()].sort()) === String([...off].sort());
    const isBegun = !anew && (books !== null || (!prepared && view?.run_id === run));
    if (!isThere || (!isBegun && !(prepared && isAsWanted)))
      await this.#choose(lesson.scenario, off);
    const others = lesson.goals.flatMap(({ scenario }) => scenario ?? []);
    for (const id of [lesson.scenario, ...others]) {
      const shipped = await this.#host.loadScenario(id).catch(() => null);
      if (shipped) this.#shipped.set(id, shipped.json);
    }
    this.#draw();
  }

  /** @param {string} scenario @param {Iterable<string>} off */
  async #choose(scenario, off) {
    this.#settingUp += 1;
    await this.#host.chooseScenario(scenario, off);
    this.#settingUp -= 1;
    this.#draw();
  }

  /** @param {Step} step */
  #go(step) {
    const fragment = `#lesson=${this.#lesson?.id}&step=${step}`;
    if (embedded) location.replace(fragment);
    else location.hash = fragment;
  }

  close() {
    history.pushState(null, '', location.pathname + location.search);
    this.route();
  }

  /** The focus follows to the head of the lesson. */
  #focus() {
    const head = document.getElementById('lesson-head');
    head?.focus({ preventScroll: true });
    for (const scroller of ['.text', '.column']) head?.closest(scroller)?.scrollTo(0, 0);
  }

  // --- What has been done --------------------------------------------------------------------------------------------------------

  /** Compares the present run with what the lesson asks for. Called before each drawing. */
  #look() {
    const lesson = this.#lesson;
    const { view } = this.#host.run();
    if (!lesson || !view || this.#settingUp > 0) return null;
    const now = new Now(this.#host, view, {
      first: this.#entry.first,
      search: this.#search,
      asked: lesson.search,
      shipped: this.#shipped.get(view.scenario_id),
    });
    if (this.#entry.books === null) this.#watch(lesson, now);
    this.#prepared = now.begun ? '' : view.run_id;
    if (this.#entry.books !== null) {
      this.#acts = new Set(lesson.acts.keys());
      this.#astray = '';
      this.#judge(lesson, now);
    }
    return now;
  }

  /** The first run, or search, which the bet is about. @param {Lesson} lesson @param {Now} now */
  #watch(lesson, now) {
    const { id, acts, bet } = lesson;
    const entry = this.#entry;
    const run = lesson.search ? 'search' : now.view.run_id;
    const begins = !lesson.search && now.begun && this.#prepared === run;
    // Running instead of betting is a choice, too.
    if (begins && this.#step === 'bet') queueMicrotask(() => this.#go('do'));
    const isKnown = entry.run === run;
    now.isAnothers = !lesson.search && now.begun && !begins && !isKnown;
    this.#acts = new Set(isKnown ? entry.acts : []);
    this.#astray = otherwise(lesson, now, this.#names);
    if (this.#astray !== '') return;
    for (const [index, act] of acts.entries()) if (isDone(act, now)) this.#acts.add(index);
    this.#astray = astray(lesson, now, this.#acts);
    if (lesson.search ? now.searched === '' : !now.begun) return;
    const done = [...this.#acts].sort((a, b) => a - b);
    if (!isKnown || String(done) !== String(entry.acts))
      this.#progress.note(id, { run, acts: done, bet: entry.bet ?? 'skipped' });
    if (done.length < acts.length) return;
    const books = bet.of(now);
    const option = typeof entry.bet === 'number' ? bet.options[entry.bet] : undefined;
    const right = option ? option.fits(books) : null;
    this.#progress.note(id, { books, right, first: now.figures });
    this.#said = `The books say: ${bet.says(books)}.`;
  }

  /** What mechanisms and scenarios are called. @param {string} id */
  #names = (id) => {
    const named = this.#host.mechanisms().find((one) => one.id === id)?.name;
    return named ?? this.#host.scenarios().find((one) => one.id === id)?.title ?? id;
  };

  /** @param {Lesson} lesson @param {Now} now */
  #judge(lesson, now) {
    const entry = this.#entry;
    const met = lesson.goals.map((goal, index) => {
      if (entry.met[index]) return true;
      // A task comes after its reason, and each part after the one before.
      if (this.#step !== 'task' || lesson.goals.slice(0, index).some((_, n) => !entry.met[n]))
        return false;
      if (goal.choices) return this.#isPicked(lesson, goal, index);
      // Whatever the task is not about has to be as shipped.
      const isThere = elsewhere(goal.scenario ?? lesson.scenario, now, this.#names) === '';
      return isThere && strange(lesson, now.off).length === 0 && (goal.met?.(now) ?? false);
    });
    if (met.every((one, index) => one === (entry.met[index] ?? false))) return;
    const done = met.every(Boolean);
    this.#progress.note(lesson.id, { met, done });
    const left = met.filter((one) => !one).length;
    this.#said = done ? 'The task is done. The lesson is complete.' : `Done. ${left} left.`;
  }

  /** Whether what was chosen is the mechanism that the lesson has taken away. @param {Lesson} lesson @param {Lesson['goals'][0]} goal @param {number} index */
  #isPicked({ off }, { choices }, index) {
    const pick = choices?.[this.#entry.picks[index] ?? -1];
    return pick !== undefined && off?.includes(pick) === true;
  }

  // --- What the reader does --------------------------------------------------------------------------------------------------------

  /** @param {number | 'skipped'} bet */
  #bet(bet) {
    const isEarly = this.#lesson?.search ? this.#search === null : this.#host.run().prepared;
    if (this.#lesson && isEarly && this.#astray === '' && this.#entry.books === null)
      this.#progress.note(this.#lesson.id, { bet });
    this.#go('do');
  }

  /** @param {number} goal @param {number} choice */
  #pick(goal, choice) {
    const picks = [...this.#entry.picks];
    picks[goal] = choice;
    if (this.#lesson) this.#progress.note(this.#lesson.id, { picks: picks.map((n) => n ?? -1) });
    this.#draw();
  }

  /** @param {string} id @param {boolean} on */
  #switch(id, on) {
    this.#host.switchMechanism(id, on);
    const { prepared, view } = this.#host.run();
    // A run that is over need not be kept.
    if (!prepared && view?.phase === 'stopped') this.#host.reset();
  }

  /** @param {import('./types.js').Tool} tool */
  #explore({ options }) {
    this.#search = null;
    this.#host.explore(options);
  }

  /** @param {import('../explorer/index.js').Found} found */
  #hear({ options, progress, verdicts }) {
    if (!this.#lesson?.search || !verdicts) return;
    const mechanisms = Object.entries(options.mechanisms ?? {});
    this.#search = {
      off: mechanisms.filter(([, on]) => !on).map(([id]) => id),
      broken: verdicts.filter(({ verdict }) => verdict === 'broken').map(({ id }) => id),
      all: verdicts.length,
      crashes: options.crashes ?? 0,
      faults: options.faults ?? 0,
      decisions: options.decisions ?? 0,
      isOwn: options.scenario === this.#shipped.get(this.#lesson.scenario),
      whole: progress.state === 'done' && !progress.hitLimit,
    };
    this.#draw();
  }

  /** The same run again, from its start, or one of a shipped scenario. @param {string} [scenario] */
  #again(scenario) {
    if (scenario) void this.#choose(scenario, this.#host.off());
    else this.#host.reset();
  }

  /** Sets up again what the bet and the acts are about. */
  #setUpAgain() {
    const lesson = this.#lesson;
    if (lesson?.search) this.#explore({ says: '', options: lesson.search });
    else if (lesson) void this.#choose(lesson.scenario, lesson.off ?? []);
  }

  /** The lesson from its start. */
  #restart() {
    const lesson = this.#lesson;
    if (!lesson) return;
    this.#search = null;
    const { first } = this.#entry;
    this.#progress.note(lesson.id, { ...untouched(), first });
    void this.#choose(lesson.scenario, lesson.off ?? []);
    this.#go('bet');
  }

  // --- Drawing -------------------------------------------------------------------------------------------------------------------

  /**
   * What is shown instead of the scenario's text.
   * @param {unknown} switches  All mechanisms.
   */
  text(switches) {
    const now = this.#look();
    const progress = this.#progress;
    const open = this.#lesson;
    const live = html`<p class="visually-hidden" role="status">${this.#said}</p>
      <p class="lessons-warning" role="status">${progress.warning}</p>`;
    if (!open)
      return [
        live,
        list({
          lessons: LESSONS,
          of: (id) => progress.of(id),
          bets: progress.bets,
          isEmpty: progress.isEmpty,
          missing: this.#missing,
          isForgotten: this.#forgotten !== null,
          onReset: () => {
            this.#forgotten = progress.reset();
            this.#search = null;
            this.#said = 'Your progress with the lessons is forgotten.';
            this.#draw();
            document.getElementById('lessons-undo')?.focus();
          },
          onUndo: () => {
            if (this.#forgotten) progress.restore(this.#forgotten);
            this.#forgotten = null;
            this.#said = 'Your progress is there again.';
            this.#draw();
            this.#focus();
          },
          onClose: () => this.close(),
        }),
      ];
    const host = this.#host;
    return [
      live,
      lesson({
        lesson: open,
        number: LESSONS.indexOf(open) + 1,
        next: LESSONS[LESSONS.indexOf(open) + 1] ?? null,
        step: this.#step,
        entry: this.#entry,
        now,
        acts: this.#acts,
        astray: this.#astray,
        strange: strange(open, host.off()),
        changed: now?.isChanged ? elsewhere(now.view.scenario_id, now, this.#names) : '',
        names: this.#names,
        mechanisms: host.mechanisms(),
        off: host.off(),
        pending: host.switchesPending(),
        switches,
        complain: host.complain,
        onBet: (bet) => this.#bet(bet),
        onGo: (step) => this.#go(step),
        onPick: (goal, choice) => this.#pick(goal, choice),
        onSwitch: (id, on) => this.#switch(id, on),
        onAgain: (scenario) => this.#again(scenario),
        onSetUpAgain: () => this.#setUpAgain(),
        onExplore: (tool) => this.#explore(tool),
        onRestart: () => this.#restart(),
      }),
    ];
  }

  /** What is to be done next, for a narrow page that does not show the lesson's text. */
  line() {
    const open = this.#lesson;
    const entry = this.#entry;
    if (!this.#isOpen || !open || (this.#step !== 'do' && this.#step !== 'task')) return null;
    const todo =
      this.#step === 'do'
        ? open.acts.find((_, index) => !this.#acts.has(index))?.say
        : open.goals.find((_, index) => !entry.met[index])?.say;
    return html`<p class="lesson-line">
      <span>${todo ? markup(todo) : 'Done.'}</span>
      <button class="link" @click=${() => this.#host.showText()}>Lesson</button>
    </p>`;
  }
}

/**
 * The fault explorer: every crash and every fault within bounds. It is loaded when it is first opened, and computes nothing itself: a
 * worker searches, and this shows its progress and its results.
 */
import { html, nothing, render } from 'lit/html.js';
import { readText } from '../editor/files.js';
import { glyph } from '../ui/glyph.js';
import { closeButton, fileButton, newWindow } from '../ui/window.js';
import { bounds } from './choices.js';
import { isWhole, keep, keyOf, recall, summary } from './results.js';
import { broke, focusCell, legend, matrix, rove } from './matrix.js';
import { play, save, showTrace } from './play.js';
import { Progress } from './progress.js';
import { replayed } from './replay.js';
import { run } from './run.js';
import { Searcher } from './searcher.js';
import { verdicts } from './verdicts.js';
import '../ui/shared.js';
import 'sheet:../viewer/compare.css';
import 'sheet:./explorer.css';
import 'sheet:./matrix.css';
import 'sheet:./run.css';

/**
 * @typedef {import('./searcher.js').SearchOptions} SearchOptions
 * @typedef {import('./searcher.js').SearchRun} SearchRun
 * @typedef {import('./choices.js').Choices} Choices
 * @typedef {'matrix' | 'search'} View
 * @typedef {import('../pkg/crashlab.js').ScenarioInfo} ScenarioInfo
 * @typedef {object} Host  What the explorer may ask of the page.
 * @property {() => ScenarioInfo | null} about  The chosen scenario.
 * @property {() => Set<string>} off  The mechanisms that are off.
 * @property {() => { id: string, title: string }[]} scenarios
 * @property {(id: string) => Promise<ScenarioInfo>} loadScenario
 * @property {() => import('../pkg/crashlab.js').MechanismInfo[]} mechanisms
 * @property {(json: string) => string} titleOf  Of a scenario's document.
 * @property {(id: string) => string} invariantName
 * @property {import('../page/shown-run.js').ShownRun['replayAll']} replayAll
 * @property {(file: File) => Promise<boolean>} take  Shows a trace from a file.
 * @typedef {object} OpenOptions  How the explorer is opened: what is chosen in it at first.
 * @property {View} [view]
 * @property {string} [scenario]  By id; the page's own if there is none.
 * @property {number} [crashes]
 * @property {number} [faults]
 * @property {number} [decisions]
 * @property {string[]} [off]
 * @property {boolean} [start]  Searches at once.
 * @typedef {import('./results.js').Found} Found
 * @typedef {object} Story  A run that is read.
 * @property {SearchRun} run
 * @property {string} from
 * @property {SearchOptions} options
 * @property {import('./run.js').Side} side
 * @property {boolean} partial
 * @property {{ name: string, show: () => void }[]} others  What else breaks there.
 * @property {() => void} back
 */

const DRAW_EVERY_MS = 100;

/** Its worker keeps the last matrix and the last search while the explorer is closed. */
const searcher = new Searcher();

/** @type {Omit<Choices, 'scenario' | 'off'> & { view: View }} */
const FIRST = {
  view: 'matrix',
  crashes: 2,
  faults: 0,
  beside: 0,
  decisions: 1,
  states: 500_000,
};

/** What was chosen last, while the page is open. @type {Choices & { view: View } | null} */
let last = null;

/**
 * Opens the explorer over the page.
 * @param {Host} host
 * @param {OpenOptions} [options]
 */
export function open(host, options = {}) {
  if (document.querySelector('dialog[open]')) return;
  const dialog = newWindow('explorer', (file) => explorer.take(file));
  const explorer = new Explorer(host, dialog, options);
  dialog.addEventListener('close', () => explorer.cancel());
  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && explorer.back()) event.preventDefault();
  });
  explorer.recall();
  dialog.showModal();
  void (options.start ? explorer.start() : explorer.warm());
}

class Explorer {
  /** @type {Choices & { view: View }} */
  #choices;
  /** The documents of scenarios, by id. @type {Map<string, string>} */
  #documents = new Map();
  /** What is being searched. @type {Found | null} */
  #running = null;
  /** @type {Story | null} */
  #story = null;
  /** @type {import('./replay.js').Replayed | null} */
  #replayed = null;
  #complaint = '';
  /** The timer of the next drawing. */
  #soon = 0;
  /** The sentence that a screen reader reads out. */
  #said = '';
  #saved = -Infinity;
  #host;
  #dialog;

  /**
   * @param {Host} host
   * @param {HTMLDialogElement} dialog
   * @param {OpenOptions} options
   */
  constructor(host, dialog, options) {
    this.#host = host;
    this.#dialog = dialog;
    const { start: _, off, faults, ...wanted } = options;
    const about = host.about();
    if (about) this.#documents.set(about.id, about.json);
    this.#choices = {
      ...(last ?? FIRST),
      scenario: about?.id ?? '',
      off: new Set(off ?? host.off()),
      ...wanted,
    };
    const key = this.#choices.view === 'matrix' ? 'beside' : 'faults';
    if (faults !== undefined) this.#choices[key] = faults;
  }

  // --- The question ------------------------------------------------------------------------------------------------------------

  /** @param {Partial<Choices & { view: View }>} change */
  #choose(change) {
    this.cancel();
    Object.assign(this.#choices, change);
    last = { ...this.#choices };
    this.#complaint = '';
    this.#story = null;
    this.#replayed = null;
    this.recall();
  }

  /** Shows the result of what is chosen, if that has been searched before. */
  recall() {
    const found = this.#found;
    this.#said = found ? summary(found) : '';
    if (found) this.#publish(found);
    this.draw();
  }

  /** The result of what is chosen. @returns {Found | null} */
  get #found() {
    const options = this.#question();
    return options && recall(keyOf(this.#choices.view, options));
  }

  /** Another scenario, with the mechanisms that it names. @param {string} id */
  async #chooseScenario(id) {
    this.#choose({ scenario: id });
    const host = this.#host;
    try {
      const named = Object.entries(JSON.parse(await this.#json(id)).mechanisms ?? {});
      const without = named.flatMap(([name, on]) => (on ? [] : [name]));
      if (this.#choices.scenario === id)
        this.#choose({ off: new Set(host.about()?.id === id ? host.off() : without) });
    } catch (error) {
      this.#complaint = /** @type {Error} */ (error).message;
      this.draw();
    }
  }

  /** The document of a scenario. @param {string} id */
  async #json(id) {
    const json = this.#documents.get(id) ?? (await this.#host.loadScenario(id)).json;
    this.#documents.set(id, json);
    return json;
  }

  /** @returns {Promise<SearchOptions>} */
  async #options() {
    await this.#json(this.#choices.scenario);
    return /** @type {SearchOptions} */ (this.#question());
  }

  /** What is chosen; null until its scenario is loaded. @returns {SearchOptions | null} */
  #question() {
    const { view, scenario, crashes, faults, beside, decisions, states, off } = this.#choices;
    const json = this.#documents.get(scenario);
    if (json === undefined) return null;
    const common = { scenario: json, seed: '1', decisions };
    if (view === 'matrix') return { ...common, faults: beside };
    const mechanisms = Object.fromEntries(
      this.#host.mechanisms().map(({ id }) => [id, !off.has(id)]),
    );
    return { ...common, mechanisms, crashes, faults, states };
  }

  /** Prepares the worker for a search. A failure is reported by the search itself. */
  async warm() {
    const isNew = this.#question() === null;
    await this.#options()
      .then((options) => {
        if (isNew) this.recall();
        return searcher.warm(options);
      })
      .catch(() => {});
  }

  // --- Searching ---------------------------------------------------------------------------------------------------------------

  async start() {
    const { view } = this.#choices;
    const progress = new Progress(performance.now());
    this.#complaint = '';
    this.#story = null;
    this.#replayed = null;
    /** @type {Found | null} */
    let found = null;
    try {
      const options = await this.#options();
      found = { options, progress, matrix: null, verdicts: null };
      keep(keyOf(view, options), found);
      this.#running = found;
      const here = found;
      this.#say(view === 'matrix' ? 'The matrix is being filled.' : 'The search has begun.');
      if (view === 'matrix')
        await searcher.matrix(options, (news) => {
          here.matrix = news.view ?? here.matrix;
          if (news.column && here.matrix) here.matrix.columns[news.index] = news.column;
          progress.update(news.progress);
          this.#update(here);
        });
      else
        await searcher.search(options, (news) => {
          here.verdicts = news.verdicts;
          progress.runs = news.runs;
          progress.update(news.progress);
          this.#update(here);
        });
      progress.end('done');
      this.#running = null;
      this.#publish(found);
      this.#say(summary(found));
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name === 'AbortError') return;
      progress.end('failed');
      this.#running = null;
      // The worker's state may be broken.
      searcher.cancel();
      this.#complaint = message;
      this.draw();
    }
  }

  /** Tells the lessons, which are about some searches. @param {Found} found */
  #publish(found) {
    dispatchEvent(new CustomEvent('crashlab:found', { detail: found }));
  }

  /** News of the search. Not each of them is drawn, as that would slow the search down. @param {Found} found */
  #update(found) {
    if (found.progress.isTimeToAnnounce()) this.#said = found.progress.summary();
    this.#publish(found);
    this.#soon ||= setTimeout(() => this.draw(), DRAW_EVERY_MS);
  }

  /** Ends what is being searched, at once. */
  cancel() {
    const found = this.#running;
    if (!found) return;
    this.#running = null;
    searcher.cancel();
    found.progress.end('cancelled');
    this.#say(summary(found));
    // The next search should not wait for the worker either.
    setTimeout(() => void this.warm());
  }

  // --- Reading a run -----------------------------------------------------------------------------------------------------------

  /**
   * @param {number} point
   * @param {number} line
   * @param {string} [invariant]  Of several that break there, the one to show.
   */
  async #openCell(point, line, invariant) {
    const found = this.#found;
    if (!found?.matrix) return;
    const { label } = found.matrix.rows[point];
    const { off, name, cells } = found.matrix.columns[line];
    const from = `A crash ${label}, ${off === null ? 'all mechanisms on' : `without “${name}”`}.`;
    await this.#read(
      () => searcher.cell(found.options, point, line, invariant),
      { from, options: withOff(found.options, off), side: 'traces', partial: false },
      (shown) =>
        (cells?.[point].broken ?? [])
          .filter((id) => id !== shown)
          .map((id) => ({
            name: this.#host.invariantName(id),
            show: () => void this.#openCell(point, line, id),
          })),
      () => focusCell(this.#dialog.querySelector('.matrix'), point, line),
    );
  }

  /** @param {string} invariant */
  async #openInvariant(invariant) {
    const found = this.#found;
    if (!found) return;
    await this.#read(
      () => searcher.run(found.options, invariant),
      {
        from: 'The run that the search has found in which the least goes wrong; of several, a shortest one.',
        options: found.options,
        side: 'steps',
        partial: !isWhole(found),
      },
      () => [],
      () => {
        const index = found.verdicts?.findIndex(({ id }) => id === invariant) ?? -1;
        const row = this.#dialog.querySelectorAll('.verdicts tbody tr')[index];
        /** @type {HTMLElement | null | undefined} */ (row?.querySelector('button'))?.focus();
      },
    );
  }

  /**
   * @param {() => Promise<SearchRun | null>} ask
   * @param {Omit<Story, 'run' | 'others' | 'back'>} about
   * @param {(invariant: string) => Story['others']} others
   * @param {() => void} back
   */
  async #read(ask, about, others, back) {
    this.#say('Fetching the run…');
    try {
      const found = await ask();
      if (!found?.run) return this.#say('There is no such run.');
      this.#story = { ...about, run: found, others: others(found.invariant.id), back };
      this.#say('');
      this.#focus('#run-title');
      this.#dialog.querySelector('.parting')?.scrollIntoView({ block: 'center' });
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name !== 'AbortError') this.#complaint = message;
      this.draw();
    }
  }

  /** Back from a run to where it was found. @returns {boolean} Whether there was something to go back from. */
  back() {
    const { back } = this.#story ?? this.#replayed ?? {};
    if (!back) return false;
    this.#story = null;
    this.#replayed = null;
    this.recall();
    back();
    return true;
  }

  #save() {
    const { run, options } = /** @type {Story} */ (this.#story);
    // A double press saves one file.
    if (!run.run.replay || performance.now() - this.#saved < 1000) return;
    this.#saved = performance.now();
    save(run.run.replay, options);
    this.#say(
      'Saved. Turn it into a test: put the file into tests/replays/, and cargo test replays it and compares every byte of the log.',
    );
  }

  /** Opens the run in the playground, with its twin in the background; a run that cannot be had there is shown as a trace. */
  #play() {
    const { run, options } = /** @type {Story} */ (this.#story);
    if (!run.run.deeds) {
      this.#dialog.close();
      const text = run.run.records.map(({ line }) => `${line}\n`).join('');
      return void showTrace(this.#host, 'The run that the explorer found.jsonl', text);
    }
    const setup = { scenario: options.scenario, mechanisms: options.mechanisms ?? {}, seed: '1' };
    const beside = run.twin_has_all_mechanisms ? { ...setup, mechanisms: {} } : setup;
    this.#replay([
      ...(run.twin?.deeds ? [{ name: 'Twin', setup: beside, deeds: run.twin.deeds }] : []),
      { name: 'Explored', setup, deeds: run.run.deeds },
    ]);
  }

  /** @param {import('./play.js').Played[]} runs */
  #replay(runs) {
    this.#dialog.close();
    play(this.#host, runs);
  }

  // --- Replay files ------------------------------------------------------------------------------------------------------------

  /** @param {File} file */
  async take(file) {
    this.cancel();
    this.#story = null;
    this.#complaint = '';
    const back = () => this.#focus('.file input');
    this.#replayed = { name: file.name, back, run: null, misfit: null, file: null };
    this.#say(`Replaying ${file.name}…`);
    this.#focus('#replayed-title');
    const here = this.#replayed;
    try {
      const text = await readText(file, 'a replay file');
      const id = await searcher.scenarioOf(text);
      // A file that brings its scenario along needs no other.
      const scenario = await this.#json(id).catch(() => undefined);
      here.run = await searcher.replay(text, scenario);
      here.file = JSON.parse(text);
    } catch (error) {
      here.misfit = /** @type {Error} */ (error).message;
    }
    if (this.#replayed === here) this.#say('');
  }

  /** @param {string} part */
  #focus(part) {
    /** @type {HTMLElement | null} */ (this.#dialog.querySelector(part))?.focus();
  }

  // --- Drawing -----------------------------------------------------------------------------------------------------------------

  /** @param {string} said */
  #say(said) {
    this.#said = said;
    this.draw();
  }

  draw() {
    clearTimeout(this.#soon);
    this.#soon = 0;
    render([this.#head(), this.#body()], this.#dialog);
    rove(this.#dialog);
  }

  #head() {
    const { scenario } = this.#choices;
    const about = this.#host.about();
    const scenarios = this.#host.scenarios();
    const shown =
      scenarios.some(({ id }) => id === about?.id) || !about
        ? scenarios
        : [{ id: about.id, title: about.title }, ...scenarios];
    return html`<header>
      <h2 id="explorer-title">Explore</h2>
      <label class="which">
        <span class="visually-hidden">Scenario to explore</span>
        <select
          @change=${(/** @type {Event} */ event) =>
            void this.#chooseScenario(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}
        >
          ${shown.map(
            ({ id, title }) =>
              html`<option value=${id} .selected=${id === scenario}>${title}</option>`,
          )}
        </select>
      </label>
      ${fileButton('Replay a file…', '.json,application/json', (file) => this.take(file))}
      ${closeButton(() => this.#dialog.close())}
    </header>`;
  }

  #body() {
    if (this.#story)
      return run({
        ...this.#story,
        said: this.#said,
        onSide: (side) => {
          Object.assign(/** @type {Story} */ (this.#story), { side });
          this.draw();
        },
        onBack: () => this.back(),
        onSave: () => this.#save(),
        onPlay: () => this.#play(),
      });
    if (this.#replayed)
      return replayed(this.#replayed, {
        onBack: () => this.back(),
        onRead: (name, log) => {
          this.#dialog.close();
          void showTrace(this.#host, name, log);
        },
        onPlay: ({ scenario, mechanisms, seed }, deeds) =>
          this.#replay([{ name: 'Replayed', setup: { scenario, mechanisms, seed }, deeds }]),
      });
    const { view } = this.#choices;
    const found = this.#found;
    return html`<div class="ask">
        <div class="choice" role="group" aria-label="What to explore">
          <button
            aria-pressed=${view === 'matrix'}
            @click=${() => this.#choose({ view: 'matrix' })}
          >
            Crash matrix
          </button>
          <button
            aria-pressed=${view === 'search'}
            @click=${() => this.#choose({ view: 'search' })}
          >
            Every run
          </button>
        </div>
        ${bounds(this.#choices, {
          isMatrix: view === 'matrix',
          mechanisms: this.#host.mechanisms(),
          onChange: (change) => this.#choose(change),
        })}
        ${this.#button(found)}
      </div>
      <div class="progress">${found ? found.progress.figures(found.options.states) : nothing}</div>
      <p class="said" role="status">${this.#said}</p>
      ${this.#complaint ? html`<p class="complaint" role="alert">${this.#complaint}</p>` : nothing}
      <div class="result">${found ? this.#result(found) : this.#empty()}</div>`;
  }

  /** One button that stays where it is, so that the focus does, too. @param {Found | null} found */
  #button(found) {
    const isRunning = found?.progress.state === 'running';
    const isMatrix = this.#choices.view === 'matrix';
    const word = isMatrix ? 'Fill the matrix' : 'Search';
    return html`<button
      class="button primary start"
      @click=${() => (isRunning ? this.cancel() : void this.start())}
    >
      ${glyph(isRunning ? 'stop' : 'run')}${isRunning ? 'Cancel' : word}
    </button>`;
  }

  #empty() {
    return this.#choices.view === 'matrix'
      ? html`<p class="empty">
          One crash at every instant of this run, with all mechanisms on and with each of them taken
          away alone. Press <strong>Fill the matrix</strong>, then open a cell: it shows the run
          beside one that stays fine.
        </p>`
      : html`<p class="empty">
          Every run of this scenario in which no more goes wrong than you allow: crashes, faults,
          and decisions of another kind. Press <strong>Search</strong>, then read the shortest run
          that breaks something.
        </p>`;
  }

  /** @param {Found} found */
  #result(found) {
    const { matrix: view, verdicts: list, progress, options } = found;
    if (view) {
      const props = this.#matrixProps(view, options);
      return [
        html`<h3 id="matrix-title" class="visually-hidden">Crash points and mechanisms</h3>
          <p id="matrix-keys" class="visually-hidden">
            Arrow keys move from cell to cell, Enter opens the run of a cell.
          </p>`,
        matrix(props),
        legend(),
        broke(props),
      ];
    }
    if (!list || !progress.search) return nothing;
    return verdicts(list, progress.search, isWhole(found), (id) => void this.#openInvariant(id));
  }

  /** @param {import('./searcher.js').MatrixView} view @param {SearchOptions} options */
  #matrixProps(view, options) {
    const host = this.#host;
    return {
      view,
      crashes: (JSON.parse(options.scenario).crashes ?? []).length > 0,
      nameOf: (/** @type {string} */ id) => this.#host.invariantName(id),
      elsewhere: (/** @type {string} */ off) => {
        const id = host.mechanisms().find((one) => one.id === off)?.scenario;
        const other = host.scenarios().find((one) => one.id === id);
        return other && other.id !== this.#choices.scenario ? other : null;
      },
      onScenario: async (/** @type {string} */ scenario) => {
        await this.#chooseScenario(scenario);
        this.#focus('.start');
        await this.start();
      },
      onOpen: (/** @type {number} */ point, /** @type {number} */ line) =>
        void this.#openCell(point, line),
    };
  }
}

/** @param {SearchOptions} options @param {string | null} off @returns {SearchOptions} */
function withOff(options, off) {
  return { ...options, mechanisms: off === null ? {} : { [off]: false } };
}

/**
 * The window for files: opens, saves, and sends to a collector. It is loaded when it is first opened, or when a file is dropped on
 * the page.
 */
import { html, nothing, render } from 'lit/html.js';
import { WorkerClient } from '../worker/client.js';
import { DEFAULT_URL } from '../otlp.js';
import { plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';
import { closeButton, fileButton } from '../ui/window.js';
import { Reading } from './reading.js';
import { download, logOf, nameOf, runFile } from './save.js';
import { Sending } from './sending.js';
import { byTicket, worlds } from './worlds.js';
import '../ui/shared.js';
import 'sheet:./files.css';

/**
 * @typedef {Extract<import('./reading.js').Read, { kind: 'checkpoint' }> & ReturnType<typeof byTicket> & { chosen: string }} Checkpoint
 * @typedef {import('../pkg/crashlab.js').ScenarioInfo} ScenarioInfo
 * @typedef {object} Host  What the window may ask of the page.
 * @property {() => ScenarioInfo | null} about  The chosen scenario.
 * @property {() => { id: string, title: string, load: () => Promise<string> }[]} scenarios
 * @property {(id: string) => Promise<ScenarioInfo>} loadScenario
 * @property {() => Pick<import('../run/present.js').PresentRun, 'view' | 'records' | 'done' | 'scenario' | 'branch' | 'origin'
 *   | 'logText' | 'checkpointText'>} run
 * @property {() => import('./reading.js').Foreign | null} foreign  A trace from a file, if one is shown.
 * @property {(trace: import('./reading.js').Foreign) => void} showTrace
 * @property {() => void} closeTrace
 * @property {() => void} draw
 * @property {(run: import('../study/crashlab.js').OpenedRun) => void} replayFile
 * @property {(scenario: ScenarioInfo, checkpoint: string) => void} setUp  A run that begins with the checkpoint.
 */

/** The window shows the progress of files that take longer than this. */
const PATIENCE_MS = 400;

/** @type {Desk | null} */
let desk = null;

/**
 * Opens the files' window over the page.
 * @param {Host} host
 */
export function open(host) {
  if (document.querySelector('dialog[open]')) return;
  (desk ??= new Desk(host)).open();
}

/**
 * Reads a file and shows what is in it. What is wrong with it is said in the window, and the run stays as it is.
 * @param {Host} host
 * @param {File} file
 * @returns {Promise<boolean>}  Whether the page shows a trace from it.
 */
export function take(host, file) {
  return (desk ??= new Desk(host)).take(file);
}

/** @param {import('../pkg/crashlab.js').LabView | null} view */
function aboutCheckpoint(view) {
  if (!view?.storage.summary) return 'There is none yet.';
  return view.status === 'done'
    ? 'The newest good one (.json). This run is done: other programs can read it, but nothing is left to do.'
    : 'The newest good one (.json). Open it, and a new run continues from it.';
}

class Desk {
  #client = new WorkerClient();
  #host;
  #dialog = document.createElement('dialog');
  /** @type {{ name: string, part: number, reading: Reading } | null} */
  #reading = null;
  /** It keeps the trace that the page shows. @type {Reading | null} */
  #shown = null;
  /** What is wrong with the file that was taken last. */
  #complaint = '';
  /** @type {Checkpoint | null} */
  #checkpoint = null;
  #content = false;
  #url = DEFAULT_URL;
  /** What the collector wants besides, such as a key. It is kept nowhere else. */
  #header = '';
  /** @type {Sending | null} */
  #sending = null;
  /** What went wrong with what was saved or sent last. */
  #trouble = '';

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
    const dialog = this.#dialog;
    dialog.className = 'window files';
    dialog.setAttribute('aria-labelledby', 'files-title');
    dialog.addEventListener('close', () => {
      // It may have been opened again before this event.
      if (dialog.open) return;
      this.#reading?.reading.cancel();
      this.#sending?.cancel();
      dialog.remove();
    });
  }

  open() {
    this.#complaint = '';
    this.#trouble = '';
    this.#checkpoint = null;
    this.#sending = null;
    this.#show();
  }

  #show() {
    if (this.#dialog.open) return this.#draw();
    document.body.append(this.#dialog);
    this.#draw();
    this.#dialog.showModal();
  }

  // --- Opening -----------------------------------------------------------------------------------------------------------------

  /** @param {File} file */
  async take(file) {
    this.#reading?.reading.cancel();
    const reading = new Reading(file);
    const mine = { name: file.name, part: 0, reading };
    this.#reading = mine;
    this.#complaint = '';
    this.#checkpoint = null;
    if (this.#dialog.open) this.#draw();
    const patience = setTimeout(() => this.#show(), PATIENCE_MS);
    try {
      const read = await reading.read((part) => {
        mine.part = part;
        if (this.#dialog.open) this.#draw();
      });
      // The file is shown now, and the window would cover it.
      clearTimeout(patience);
      if (this.#reading !== mine) return false;
      this.#reading = null;
      return await this.#arrive(read, reading);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (this.#reading !== mine && this.#reading !== null) return false;
      if (name !== 'AbortError') {
        this.#complaint = message;
        this.#show();
      }
      return false;
    } finally {
      clearTimeout(patience);
      if (this.#reading === mine) this.#reading = null;
      if (this.#dialog.open) this.#draw();
    }
  }

  /** @param {import('./reading.js').Read} read @param {Reading} reading */
  async #arrive(read, reading) {
    const host = this.#host;
    if (read.kind === 'trace') {
      this.#dialog.close();
      host.showTrace(read.trace);
      this.#shown?.cancel();
      this.#shown = reading;
      const isShown = () => host.foreign() === read.trace;
      try {
        await read.fill(() => {
          if (isShown()) host.draw();
          else reading.cancel();
          return isShown();
        });
      } catch (error) {
        if (!isShown()) return false;
        // After a good start it turns out to be no trace.
        host.closeTrace();
        throw error;
      }
      return isShown();
    }
    if (read.kind === 'run') {
      this.#dialog.close();
      host.replayFile(read.opened);
      return false;
    }
    const found = byTicket(await worlds(host.scenarios()), read.summary.task_id, host.about()?.id);
    const chosen = (found.same[0] ?? found.others[0]).id;
    this.#checkpoint = { ...read, ...found, chosen };
    this.#show();
    return false;
  }

  async #resume() {
    const checkpoint = this.#checkpoint;
    if (!checkpoint) return;
    try {
      const about = await this.#host.loadScenario(checkpoint.chosen);
      this.#dialog.close();
      this.#host.setUp(about, checkpoint.text);
    } catch (error) {
      this.#complaint = /** @type {Error} */ (error).message;
      this.#draw();
    }
  }

  // --- Saving and sending ---------------------------------------------------------------------------------------------------------------------

  /** @param {() => Promise<void> | void} action */
  async #out(action) {
    this.#trouble = '';
    try {
      await action();
    } catch (error) {
      this.#trouble = /** @type {Error} */ (error).message;
    }
    this.#draw();
  }

  #saveTrace() {
    return this.#out(async () => {
      const foreign = this.#host.foreign();
      // A file may be evidence, so it is saved byte for byte.
      const content = foreign ? await foreign.bytes() : logOf(this.#host);
      download(
        `${nameOf(this.#host)}.jsonl`,
        /** @type {BlobPart} */ (content),
        'application/jsonl',
      );
    });
  }

  #saveCheckpoint() {
    return this.#out(() =>
      download(`${nameOf(this.#host)}.checkpoint.json`, this.#host.run().checkpointText()),
    );
  }

  #saveRun() {
    return this.#out(async () =>
      download(`${nameOf(this.#host)}.run.json`, await runFile(this.#host, this.#client)),
    );
  }

  /** @returns {Promise<string>} */
  #otlp() {
    const foreign = this.#host.foreign();
    const phase = this.#host.run().view?.phase;
    return this.#client.call('otlp', logOf(this.#host), {
      content: this.#content,
      scenario: foreign ? undefined : this.#host.about()?.json,
      running: !foreign && phase !== 'crashed' && phase !== 'stopped',
    });
  }

  #saveOtlp() {
    return this.#out(async () => download(`${nameOf(this.#host)}.otlp.json`, await this.#otlp()));
  }

  #send() {
    return this.#out(async () => {
      const sending = new Sending(() => this.#draw());
      this.#sending = sending;
      await sending.send(this.#url.trim(), this.#header, await this.#otlp());
    });
  }

  // --- Drawing -----------------------------------------------------------------------------------------------------------------

  #draw() {
    render(
      html`<header>
          <h2 id="files-title">Files</h2>
          ${closeButton(() => this.#dialog.close())}
        </header>
        <div class="parts" tabindex="0" autofocus role="group" aria-label="Open, save and send">
          ${this.#in()} ${this.#saves()} ${this.#telemetry()}
        </div>`,
      this.#dialog,
    );
    // When a focused button disappears, the focus stays in the window.
    const parts = /** @type {HTMLElement | null} */ (this.#dialog.querySelector('.parts'));
    if (this.#dialog.open && document.activeElement === document.body) parts?.focus();
  }

  #in() {
    return html`<section aria-labelledby="files-in">
      <h3 id="files-in">Open</h3>
      <p class="hint">
        A trace, a checkpoint or a run, from this page or from another program. It is read in this
        page and sent nowhere. You can also drop it anywhere on the page.
      </p>
      ${fileButton('Open a file…', '.jsonl,.json,.log,.txt,application/json,text/plain', (file) => this.take(file), 'button')}
      ${this.#progress()}
      ${this.#complaint ? html`<p class="complaint" role="alert">${this.#complaint} Nothing was opened.</p>` : nothing}
      ${this.#checkpoint ? this.#checkpointCard(this.#checkpoint) : nothing}
    </section>`;
  }

  #progress() {
    if (!this.#reading) return nothing;
    const { name, part, reading } = this.#reading;
    return html`<div class="progress">
      <label>
        Reading ${name}
        <progress max="1" .value=${part}></progress>
      </label>
      <button class="button small" @click=${() => reading.cancel()}>Cancel</button>
    </div>`;
  }

  /** @param {Checkpoint} checkpoint */
  #checkpointCard({ name, summary, same, others, chosen }) {
    const { task_id, step, messages, llm_calls, approvals } = summary;
    const option = (/** @type {import('./worlds.js').World} */ { id, title }) =>
      html`<option value=${id} .selected=${id === chosen}>${title}</option>`;
    return html`<div class="card">
      <h4>The checkpoint of ticket ${task_id}, after step ${step}</h4>
      <p>
        ${name} has ${plural(messages, 'message')} and counts ${plural(llm_calls, 'model call')}. A
        new run continues with what the agent knew. The world does not: its books begin as the
        scenario has them, without what the other run did there.
        ${approvals > 0 ? 'What people approved then is asked again.' : nothing}
      </p>
      <label class="choose">
        Whose world does it meet?
        <select
          @change=${(/** @type {Event} */ event) => {
            const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
            if (this.#checkpoint) this.#checkpoint.chosen = value;
          }}
        >
          ${same.length > 0 ? html`<optgroup label="About ${task_id}">${same.map(option)}</optgroup>` : nothing}
          <optgroup label="About other tickets">${others.map(option)}</optgroup>
        </select>
      </label>
      ${same.length > 0 ? nothing : html`<p>No scenario here is about ${task_id}. Choose the one that has its customer and invoices.</p>`}
      <div class="actions">
        <button class="button primary" @click=${() => this.#resume()}>
          ${glyph('resume')}Set up a run from it
        </button>
      </div>
    </div>`;
  }

  #saves() {
    const foreign = this.#host.foreign();
    const { records, view } = this.#host.run();
    const has = foreign ? foreign.part === 1 : records.length > 0;
    const row = (
      /** @type {string} */ word,
      /** @type {string} */ hint,
      /** @type {() => unknown} */ action,
      disabled = false,
    ) =>
      html`<li>
        <button class="button" ?disabled=${!has || disabled} @click=${action}>
          ${glyph('export')}${word}
        </button>
        <span class="hint">${hint}</span>
      </li>`;
    return html`<section aria-labelledby="files-out">
      <h3 id="files-out">${foreign ? `Save ${foreign.name}` : 'Save this run'}</h3>
      ${has || foreign ? nothing : html`<p class="hint">There is no run yet.</p>`}
      <ul class="saves">
        ${row('Trace', foreign ? 'The file as it was, byte for byte.' : 'The log, one record a line (.jsonl).', () => this.#saveTrace())}
        ${
          foreign
            ? nothing
            : [
                row(
                  'Checkpoint',
                  aboutCheckpoint(view),
                  () => this.#saveCheckpoint(),
                  !view?.storage.summary,
                ),
                row(
                  'Run',
                  'Everything in one file: scenario, mechanisms, seed, decisions, crashes. Open it, and the run is here again, with the same log.',
                  () => this.#saveRun(),
                ),
              ]
        }
      </ul>
    </section>`;
  }

  #telemetry() {
    const foreign = this.#host.foreign();
    const { records } = this.#host.run();
    const partial = foreign !== null && foreign.unusual.size > 0;
    const has = (foreign ? foreign.part === 1 : records.length > 0) && !partial;
    const sending = this.#sending;
    const busy =
      sending !== null && sending.outcome === null && !sending.cancelled && !this.#trouble;
    const outcome = sending?.outcome;
    return html`<section aria-labelledby="files-otlp">
      <h3 id="files-otlp">OpenTelemetry</h3>
      <p class="hint">
        ${
          partial
            ? 'Only a trace of which every record is whole can be exported: a span must not say what nobody has written down.'
            : 'The run as spans, for Jaeger, Grafana, MLflow and others: OTLP as JSON.'
        }
      </p>
      <label class="check">
        <input
          type="checkbox"
          .checked=${this.#content}
          @change=${(/** @type {Event} */ event) => {
            this.#content = /** @type {HTMLInputElement} */ (event.currentTarget).checked;
          }}
        />
        <span
          >With content: the ticket, what the model said, and the arguments and results of tools.
          <small>Without it, names, times, tokens, costs and errors leave the page.</small></span
        >
      </label>
      <div class="actions">
        <button class="button" ?disabled=${!has} @click=${() => this.#saveOtlp()}>
          ${glyph('export')}OTLP file
        </button>
      </div>
      <form
        class="send"
        novalidate
        @submit=${(/** @type {Event} */ event) => {
          event.preventDefault();
          void this.#send();
        }}
      >
        <label>
          Collector
          <input
            type="url"
            spellcheck="false"
            autocomplete="off"
            .value=${this.#url}
            @input=${(/** @type {Event} */ event) => {
              this.#url = /** @type {HTMLInputElement} */ (event.currentTarget).value;
            }}
          />
        </label>
        <label>
          Header, if it wants one
          <input
            type="text"
            spellcheck="false"
            autocomplete="off"
            placeholder="x-mlflow-experiment-id: 0"
            .value=${this.#header}
            @input=${(/** @type {Event} */ event) => {
              this.#header = /** @type {HTMLInputElement} */ (event.currentTarget).value;
            }}
          />
        </label>
        <button class="button" ?disabled=${!has || busy}>${glyph('share')}Send</button>
        ${busy ? html`<button type="button" class="button" @click=${() => sending.cancel()}>Cancel</button>` : nothing}
      </form>
      <div class="said" role="status">
        ${busy ? html`<p>${sending.says || 'Making the spans…'}</p>` : nothing}
        ${outcome ? html`<p>${glyph(outcome.kind === 'taken' ? 'check' : 'broken')}<span>${outcome.message}</span></p>` : nothing}
        ${sending?.cancelled ? html`<p>${sending.says}</p>` : nothing}
        ${this.#trouble ? html`<p>${glyph('broken')}<span>${this.#trouble}</span></p>` : nothing}
        ${
          outcome?.offerFile
            ? html`<button class="button small" @click=${() => this.#saveOtlp()}>
                ${glyph('export')}Save the OTLP file instead
              </button>`
            : nothing
        }
      </div>
    </section>`;
  }
}

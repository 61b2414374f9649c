/**
 * How a run did: why it ended, what the checks say, how long its decisions took, and what a fleet of such agents does. It reads the
 * trace alone, of the present run or of a file, and is loaded when it is first opened.
 */
import { html, nothing, render } from 'lit/html.js';
import { WorkerClient } from '../worker/client.js';
import { closeButton, fileButton, newWindow } from '../ui/window.js';
import { checks } from './checks.js';
import { decisionTimes, decisionTimesOf } from './decision-times.js';
import { diagnosis } from './diagnosis.js';
import { fleet, hasFleet, SPAN_MS } from './fleet.js';
import '../ui/shared.js';
import 'sheet:./reports.css';

/**
 * @typedef {import('../pkg/crashlab.js').Evaluation} Evaluation
 * @typedef {import('../pkg/crashlab.js').Diagnosis} Diagnosis
 */

/** Runs of one file that are shown. */
const MOST_RUNS = 20;

const client = new WorkerClient();

/**
 * @typedef {object} Host  What the report may ask of the page.
 * @property {() => import('../pkg/crashlab.js').ScenarioInfo | null} about
 * @property {() => Set<string>} off  The mechanisms that are off.
 * @property {() => import('../files/reading.js').Foreign | null} foreign  A trace from a file, if one is shown.
 * @property {() => import('../pkg/crashlab.js').RecordView[]} records
 * @property {() => string | null} seed
 * @property {() => import('../pkg/crashlab.js').Question[]} questions
 * @property {(file: File) => Promise<boolean>} take  Shows a trace from a file.
 * @property {(record: number) => void} showRecord
 */

/**
 * Opens the report over the page.
 * @param {Host} host
 */
export function open(host) {
  if (document.querySelector('dialog[open]')) return;
  const dialog = newWindow('report', (file) => report.take(file));
  const report = new Report(host, dialog);
  void report.read();
  dialog.showModal();
}

class Report {
  /** @type {{ evaluation: Evaluation, diagnosis: Diagnosis | undefined }[] | null} */
  #runs = null;
  #complaint = '';
  /** @type {import('./fleet.js').Curves | null} */
  #curves = null;
  #host;
  #dialog;

  /** @param {Host} host @param {HTMLDialogElement} dialog */
  constructor(host, dialog) {
    this.#host = host;
    this.#dialog = dialog;
  }

  /** Reads the trace that the page shows. */
  async read() {
    const host = this.#host;
    const about = host.about();
    const records = host.records();
    this.#runs = null;
    this.#complaint = '';
    this.#curves = null;
    this.#draw();
    try {
      if (records.length > 0) {
        const trace = records.map(({ line }) => `${line}\n`).join('');
        const [evaluations, diagnoses] = await Promise.all(
          ['evaluate', 'diagnose'].map((name) => client.call(name, trace)),
        );
        const ends = /** @type {Diagnosis[]} */ (diagnoses);
        this.#runs = /** @type {Evaluation[]} */ (evaluations).map((evaluation, index) => ({
          evaluation,
          diagnosis: ends[index],
        }));
        this.#draw();
      }
      if (!host.foreign() && about && hasFleet(about.json)) {
        const off = [...host.off()].filter((id) => id !== 'jitter');
        const [jittered, plain] = await Promise.all(
          [off, [...off, 'jitter']].map((off) =>
            client.call('fleet', about.json, off, host.seed() ?? '1', SPAN_MS),
          ),
        );
        this.#curves = { jittered: JSON.parse(jittered), plain: JSON.parse(plain) };
      }
    } catch (error) {
      this.#complaint = /** @type {Error} */ (error).message;
    }
    this.#draw();
  }

  /**
   * Reads a trace from a file; the page shows it as well.
   * @param {File} file
   */
  async take(file) {
    // A file that cannot be read is reported in a window of its own, and this one does not change.
    if (await this.#host.take(file)) await this.read();
  }

  /** @param {number} record */
  #select(record) {
    this.#dialog.close();
    this.#host.showRecord(record);
    const row = document.querySelector(`[data-record="${record}"]`);
    if (row instanceof HTMLElement) row.focus();
  }

  #draw() {
    const records = this.#host.records();
    const foreign = this.#host.foreign();
    const props = {
      typeOf: (/** @type {number} */ record) => records[record]?.type ?? '',
      onSelect: (/** @type {number} */ record) => this.#select(record),
    };
    const times = foreign ? [] : decisionTimesOf(this.#host.questions());
    render(
      html`<header>
          <h2 id="report-title">How did this run do?</h2>
          ${fileButton('Open a trace…', '.jsonl,.json,.log,application/json,text/plain', (file) => this.take(file))}
          ${closeButton(() => this.#dialog.close())}
        </header>
        <div class="parts" tabindex="0" autofocus role="group" aria-label="Report">
          ${foreign ? html`<p class="source">The trace of the file ${foreign.name}.</p>` : nothing}
          ${this.#complaint ? html`<p role="alert">${this.#complaint}</p>` : nothing}
          ${
            records.length === 0
              ? html`<p>
                  There is no run yet. Run this scenario, or open a trace: a file with one record
                  per line.
                </p>`
              : this.#runs === null && !this.#complaint
                ? html`<p role="status">Reading the trace…</p>`
                : this.#runs
                    ?.slice(0, MOST_RUNS)
                    .map(
                      (run) =>
                        html`${this.#title(run.evaluation)}
                        ${run.diagnosis ? diagnosis(run.diagnosis, props) : nothing}
                        ${checks(run.evaluation, props)}`,
                    )
          }
          ${(this.#runs?.length ?? 0) > MOST_RUNS ? html`<p>This file has more runs; these are the first ${MOST_RUNS}.</p>` : nothing}
          ${times.length > 0 ? decisionTimes(times, props) : nothing}
          ${this.#curves ? fleet(this.#curves) : nothing}
        </div>`,
      this.#dialog,
    );
  }

  /** @param {Evaluation} evaluation */
  #title({ run_id, records }) {
    if ((this.#runs?.length ?? 0) < 2) return nothing;
    return html`<h2 class="run-title">
      ${run_id || 'A run without a name'} <small>${records} records</small>
    </h2>`;
  }
}

/**
 * Reads a file: first what it is, then what is in it. It changes nothing in the page.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 * @typedef {import('../study/crashlab.js').TraceRow} TraceRow
 * @typedef {import('../study/crashlab.js').TraceSummary} TraceSummary
 * @typedef {object} Foreign  A trace from a file.
 * @property {string} name
 * @property {RecordView[]} records  Filled as it goes.
 * @property {Map<number, TraceRow>} unusual  Those that have something missing, unknown or wrong, or cannot be read.
 * @property {TraceSummary | null} summary  Null until all of it is read.
 * @property {number} part  How much of it is read, from 0 to 1.
 * @property {() => Promise<Uint8Array>} bytes  The file as it was.
 * @typedef {{ kind: 'trace', trace: Foreign, fill: (arrived: () => boolean) => Promise<void> }
 *   | { kind: 'checkpoint', name: string, text: string, summary: import('../study/crashlab.js').CheckpointSummary }
 *   | { kind: 'run', opened: import('../study/crashlab.js').OpenedRun }} Read
 */
import { WorkerClient } from '../worker/client.js';
import { mistakeOf } from '../editor/mistake.js';
import { bytes } from '../ui/format.js';

/** A page does not have the memory for more. */
const LARGEST_BYTES = 256_000_000;
/** A smaller file is read whole to find out what it is; of a larger one, the start is enough. */
const SMALL_BYTES = 4_000_000;
/** A larger run or checkpoint would not fit the browser's storage. */
const LARGEST_DOCUMENT_BYTES = 5_000_000;
const START_BYTES = 100_000;
/** Lines that the worker sends at once: few at first, so that they are shown soon. */
const FIRST_LINES = 300;
const LINES = 2500;
/** Records that are drawn at once. */
const MOST = 20_000;

const KINDS = {
  scenario: 'This is a scenario. Import it in the editor: Edit, then Import.',
  otlp: 'This is an OpenTelemetry export. It cannot be read back; open the trace from which it was made.',
};

export class Reading {
  #client = new WorkerClient();
  #cancelled = false;
  #file;
  /** The lines that come next: asked for before they are needed, so that the worker reads while the page takes in and draws.
   * @type {Promise<[part: string, lines: string]> | null} */
  #next = null;

  /** @param {File} file */
  constructor(file) {
    this.#file = file;
  }

  /** Ends it; what is being awaited fails with an `AbortError`. */
  cancel() {
    this.#cancelled = true;
    this.#client.cancel();
  }

  /**
   * @param {(part: number) => void} progress  From 0 to 1.
   * @returns {Promise<Read>}
   */
  async read(progress) {
    const file = this.#file;
    if (file.size > LARGEST_BYTES)
      throw new Error(
        `${file.name} has ${bytes(file.size)}; files of up to ${bytes(LARGEST_BYTES)} are read.`,
      );
    const start = file.size > SMALL_BYTES ? file.slice(0, START_BYTES) : file;
    /** @type {import('../study/crashlab.js').FileKind} */
    const kind = await this.#call('file_kind', start);
    if (kind === 'scenario' || kind === 'otlp') throw new Error(`${file.name}: ${KINDS[kind]}`);
    if (kind === 'trace') return this.#trace(progress);
    if (file.size > LARGEST_DOCUMENT_BYTES)
      throw new Error(
        `${file.name} is a ${kind === 'checkpoint' ? kind : 'run'} of ${bytes(file.size)}; those of up to ${bytes(LARGEST_DOCUMENT_BYTES)} are read, as a browser’s storage holds no more.`,
      );
    const text = await file.text();
    try {
      if (kind === 'checkpoint') {
        const summary = JSON.parse(await this.#call('checkpoint_summary', text));
        return { kind, name: file.name, text, summary };
      }
      if (kind === 'run') {
        return { kind, opened: JSON.parse(await this.#call('open_run_file', text)) };
      }
      return await this.#search(text, progress);
    } catch (error) {
      throw this.#named(error, text);
    } finally {
      this.#client.cancel();
    }
  }

  /** A replay file: its run is replayed, and the log is read.
   * @param {string} text
   * @param {(part: number) => void} progress
   */
  async #search(text, progress) {
    const id = await this.#call('replay_scenario', text);
    const { catalogue } = await import('scenarios:catalogue');
    const shipped = await catalogue.find((one) => one.id === id)?.load();
    const log = await this.#call('replay', text, shipped);
    return new Reading(new File([log], this.#file.name)).read(progress);
  }

  /**
   * A trace whose first lines are good is shown while the others are read; of another one, all is read before anything is shown.
   * @param {(part: number) => void} progress
   * @returns {Promise<Read>}
   */
  async #trace(progress) {
    /** @type {Foreign} */
    const trace = {
      name: this.#file.name,
      records: [],
      unusual: new Map(),
      summary: null,
      part: 0,
      bytes: () => this.#call('trace_bytes'),
    };
    try {
      await this.#call('trace_open', this.#file);
      await this.#more(trace, FIRST_LINES);
      while (trace.part < 1 && [...trace.unusual.values()].some(({ form }) => form === 'broken')) {
        await this.#more(trace, LINES);
        progress(trace.part);
      }
    } catch (error) {
      throw this.#named(error);
    }
    return { kind: 'trace', trace, fill: (arrived) => this.#fill(trace, arrived) };
  }

  /**
   * Brings the other rows into the page.
   * @param {Foreign} trace
   * @param {() => boolean} arrived  Some more are there; false ends it.
   */
  async #fill(trace, arrived) {
    const { records } = trace;
    let drawn = 0;
    try {
      while (arrived() && trace.part < 1) {
        drawn = records.length;
        // Drawing costs more than reading, so the more there is, the less often it is drawn.
        const due = Math.min(2 * drawn, drawn + MOST);
        do await this.#more(trace, LINES);
        while (records.length < due && trace.part < 1);
      }
    } catch (error) {
      throw this.#named(error);
    }
  }

  /** @param {Foreign} trace @param {number} lines */
  async #more(trace, lines) {
    const { records, unusual } = trace;
    const [json, text] = await this.#lines(lines);
    /** @type {import('../study/crashlab.js').TracePart} */
    const { part, rows } = JSON.parse(json);
    const texts = text.split('\n');
    for (const [index, row] of rows.entries()) {
      row.record.line = texts[index];
      if (row.form !== 'known') unusual.set(row.record.index, row);
      records.push(row.record);
    }
    if (part === 1) trace.summary = JSON.parse(await this.#call('trace_summary'));
    trace.part = part;
  }

  /** @param {number} lines */
  #lines(lines) {
    const now = this.#next ?? this.#call('trace_read', lines);
    this.#next = now.then(() => this.#call('trace_read', LINES));
    // A failure is reported by the call that awaits it.
    this.#next.catch(() => {});
    return now;
  }

  /** @param {string} name @param {unknown[]} args */
  async #call(name, ...args) {
    if (this.#cancelled) throw new DOMException('It was cancelled.', 'AbortError');
    return this.#client.call(name, ...args);
  }

  /**
   * What is wrong, with the file's name and the line.
   * @param {unknown} error
   * @param {string} [text]  Of a file that is one JSON document.
   */
  #named(error, text) {
    const { name, message } = /** @type {Error} */ (error);
    if (name === 'AbortError') return error;
    if (text === undefined || !message.startsWith('$'))
      return new Error(`${this.#file.name}: ${message}`);
    const { line, path, says } = mistakeOf(text, message);
    return new Error(`${this.#file.name}, line ${line}: ${path}: ${says}`);
  }
}

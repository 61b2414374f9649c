/**
 * Selection: which record is read, and the panels as of that record. While nothing is selected, that is the newest record. A trace
 * from a file covers the run and is read instead of it.
 *
 * @typedef {import('../pkg/crashlab.js').LabView} LabView
 * @typedef {import('../files/reading.js').Foreign} Foreign
 */
export class Selection {
  /** @type {number | null} */
  selected = null;
  /** The panels as of that record. @type {LabView | null} */
  past = null;
  /** The selected record, or the newest one. @type {import('../pkg/crashlab.js').RecordDetail | null} */
  detail = null;
  /** Counts how often the list had to follow the run again. */
  follows = 0;
  /** A trace from a file. @type {Foreign | null} */
  foreign = null;
  #present;
  #driver;
  #notices;
  #draw;

  /**
   * @param {import('../run/present.js').PresentRun} present
   * @param {import('../run/driver.js').Driver} driver
   * @param {import('./notices.js').Notices} notices
   * @param {() => void} draw
   */
  constructor(present, driver, notices, draw) {
    this.#present = present;
    this.#driver = driver;
    this.#notices = notices;
    this.#draw = draw;
  }

  /** A trace covers the run, which cannot be driven as long as it is not seen. */
  get covered() {
    return this.foreign !== null;
  }

  /** What is read: the run's records, or those of a file. */
  get records() {
    return this.foreign?.records ?? this.#present.records;
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
    this.#notices.attempt(() => {
      this.past = this.#present.viewAt(record);
      this.detail = this.#present.detail(record);
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

  /** Back from the past to the present. */
  backToNow() {
    if (this.selected === null) return;
    this.restart();
    this.#draw();
  }

  /** Shows a trace from a file. @param {Foreign} trace */
  showTrace(trace) {
    this.#driver.pause();
    this.clear();
    this.foreign = trace;
  }

  closeTrace() {
    this.foreign = null;
    this.restart();
    this.#draw();
  }

  /** Selects nothing. */
  clear() {
    this.selected = null;
    this.past = null;
    this.detail = null;
  }

  /** Selects nothing, and follows the run again. */
  restart() {
    this.clear();
    this.showNewest();
    this.follows++;
  }

  /** Shows the newest record while nothing is selected, but not thousands of them a second. */
  showNewest() {
    const newest = this.#present.records.length - 1;
    if (this.selected !== null || this.foreign || newest < 0 || this.#driver.races) return;
    if (this.detail?.record.index === newest) return;
    this.#notices.attempt(() => (this.detail = this.#present.detail(newest)));
  }
}

/**
 * A run as the timeline draws it: the column of each record, and the bars and breaks between them. It grows with the run and knows
 * nothing of pixels. What begins and ends with a record is the record's to say.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 * @typedef {RecordView['lane'] | 'world'} Lane
 * @typedef {object} Bar
 * @property {Lane} lane
 * @property {number} from  Record numbers.
 * @property {number} to
 * @property {boolean} attempt  One attempt of a call, not the whole.
 */

/** @type {Lane[]} */
export const LANES = ['model', 'tools', 'person', 'storage', 'world'];

/** A wait that is longer than this is a labelled break, however long. */
const BREAK_S = 10;
const BREAK_COLUMNS = 4;
/** By the clock, a column is so long, and an event of no duration has some room of its own. */
const COLUMN_S = 0.25;
const LEAST = 0.4;

export class TimelineLayout {
  /** @type {RecordView[]} */
  records = [];
  /** Where each record stands, in columns. @type {number[]} */
  at = [];
  /** @type {Bar[]} */
  bars = [];
  /** Waits, by the record that ends them. @type {Map<number, number>} */
  breaks = new Map();
  /** Records with which a step begins. @type {number[]} */
  steps = [];
  /** The records of calls without a result yet, by lane. @type {Map<Lane, number>} */
  open = new Map();

  /** @param {boolean} byClock */
  constructor(byClock) {
    this.byClock = byClock;
  }

  get end() {
    return (this.at.at(-1) ?? -1) + 1;
  }

  /**
   * Takes in what is new.
   * @param {RecordView[]} records
   */
  read(records) {
    if (records !== this.records || records.length < this.at.length) {
      Object.assign(this, new TimelineLayout(this.byClock), { records });
    }
    for (let index = this.at.length; index < records.length; index++) this.#enter(records[index]);
  }

  /** @param {RecordView} record */
  #enter(record) {
    const { index } = record;
    const before = index > 0 ? this.records[index - 1] : null;
    const waited = before ? record.at_s - before.at_s : 0;
    const isBreak = waited >= BREAK_S;
    if (isBreak) this.breaks.set(index, waited);
    const step = this.byClock ? Math.max(LEAST, waited / COLUMN_S) : 1;
    this.at.push(before ? this.at[index - 1] + (isBreak ? BREAK_COLUMNS : step) : 0);
    if (!before || before.step !== record.step) this.steps.push(index);
    this.#bars(record);
  }

  /** @param {RecordView} record */
  #bars({ index, lane, opens, closes }) {
    if (opens === 'call') this.open.set(lane, index);
    for (const { from, span } of closes) {
      const { lane } = this.records[from];
      this.bars.push({ lane, from, to: index, attempt: span === 'attempt' });
      if (span === 'call') this.open.delete(lane);
    }
  }

  /**
   * The first record at or after a place.
   * @param {number} place  In columns.
   */
  indexAt(place) {
    let low = 0;
    let high = this.at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at[middle] < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * The record that stands nearest to a place.
   * @param {number} place
   */
  nearest(place) {
    const right = this.indexAt(place);
    if (right === 0) return 0;
    if (right === this.at.length) return right - 1;
    return place - this.at[right - 1] < this.at[right] - place ? right - 1 : right;
  }
}

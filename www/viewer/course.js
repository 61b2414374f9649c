/**
 * A run as the timeline draws it: where each record stands, and the bars, breaks and marks between them. It grows with the run and
 * knows nothing of pixels: positions are in columns.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 * @typedef {'model' | 'tools' | 'person' | 'storage' | 'world'} Lane
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

export class Course {
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
  /** Calls without a result yet, by lane. @type {Map<Lane, { call: number, attempt: number | null, key: string | null }>} */
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
      Object.assign(this, new Course(this.byClock), { records });
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
    this.#call(record);
  }

  /** @param {RecordView} record */
  #call(record) {
    const { index, type, call_id } = record;
    if (type === 'crash') {
      // Whatever was out is in doubt from here on.
      for (const [lane, { attempt }] of this.open)
        if (attempt !== null) this.#close(lane, attempt, index, true);
      for (const call of this.open.values()) call.attempt = null;
      return;
    }
    const lane = laneOf(type);
    if (lane === 'storage') return;
    const open = this.open.get(lane);
    if (isIntent(type)) {
      if (open && open.key === call_id) open.attempt = index;
      else this.open.set(lane, { call: index, attempt: index, key: call_id });
    } else if (open) {
      if (open.attempt !== null && open.attempt !== open.call)
        this.#close(lane, open.attempt, index, true);
      else if (open.attempt !== null && type.endsWith('_retry'))
        this.#close(lane, open.attempt, index, true);
      open.attempt = null;
      if (isResult(type)) {
        this.#close(lane, open.call, index, false);
        this.open.delete(lane);
      }
    }
  }

  /**
   * @param {Lane} lane
   * @param {number} from
   * @param {number} to
   * @param {boolean} attempt
   */
  #close(lane, from, to, attempt) {
    this.bars.push({ lane, from, to, attempt });
  }

  /**
   * The first record at or behind a place.
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

/** @param {string} type */
export const isIntent = (type) =>
  type === 'llm_request' || type === 'tool_call' || type === 'approval_request';
/** @param {string} type */
export const isResult = (type) =>
  type === 'llm_call' || type === 'tool_result' || type === 'approval';

/**
 * @param {string} type
 * @returns {Lane}
 */
export function laneOf(type) {
  if (type.startsWith('llm')) return 'model';
  if (type.startsWith('tool')) return 'tools';
  return type.startsWith('approval') ? 'person' : 'storage';
}

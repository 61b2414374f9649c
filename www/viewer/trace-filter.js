/**
 * What of a trace is looked at: words, types, steps, a stretch of the timeline. It knows records and nothing of how they are drawn.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 */
export class TraceFilter {
  /** What is searched for, in the whole record and in what its line of the list says. */
  query = '';
  /** Only records with the words are listed. */
  only = false;
  /** Types that are not listed. @type {Set<string>} */
  hidden = new Set();
  /** Step numbers, first and last; an end that is open is infinite. @type {[number, number] | null} */
  steps = null;
  /** Record numbers, first and last. @type {[number, number] | null} */
  range = null;
  /** Goes up with every change. */
  version = 0;
  /** Records with the words, in their order. @type {number[]} */
  matches = [];
  /** How many records are listed. */
  listed = 0;

  /** @type {RegExp | null} */
  #words = null;
  #read = 0;

  /** @param {Partial<Pick<TraceFilter, 'query' | 'only' | 'hidden' | 'steps' | 'range'>>} change */
  set(change) {
    Object.assign(this, change);
    this.#words = wordsOf(this.query.trim());
    this.version++;
    this.#read = 0;
    this.matches = [];
    this.listed = 0;
  }

  clear() {
    this.set({ query: '', only: false, hidden: new Set(), steps: null, range: null });
  }

  /** Whether some records are not listed. */
  get filters() {
    return (
      this.hidden.size > 0 ||
      this.steps !== null ||
      this.range !== null ||
      (this.only && this.#words !== null)
    );
  }

  /**
   * Takes in records that have arrived since.
   * @param {RecordView[]} records
   */
  read(records) {
    if (records.length < this.#read) this.set({});
    for (; this.#read < records.length; this.#read++) {
      const record = records[this.#read];
      if (this.finds(record)) this.matches.push(record.index);
      if (this.lists(record)) this.listed++;
    }
  }

  /** @param {RecordView} record */
  lists(record) {
    const { index, type, step } = record;
    if (this.hidden.has(type)) return false;
    if (this.steps && (step < this.steps[0] || step > this.steps[1])) return false;
    if (this.range && (index < this.range[0] || index > this.range[1])) return false;
    return !this.only || !this.#words || this.finds(record);
  }

  /** @param {RecordView} record */
  finds({ line, text }) {
    return this.#words !== null && (this.#words.test(line) || this.#words.test(text));
  }

  /**
   * The next match in a direction, around the ends.
   * @param {number | null} from
   * @param {1 | -1} by
   */
  nextMatch(from, by) {
    const { matches } = this;
    if (matches.length === 0) return null;
    const start = from ?? (by > 0 ? -1 : Infinity);
    const found =
      by > 0 ? matches.find((index) => index > start) : matches.findLast((index) => index < start);
    return found ?? (by > 0 ? matches[0] : matches[matches.length - 1]);
  }

  /**
   * The next listed record in a direction.
   * @param {RecordView[]} records
   * @param {number} from
   * @param {number} by
   */
  nextListed(records, from, by) {
    for (let index = from + by; index >= 0 && index < records.length; index += by) {
      if (this.lists(records[index])) return index;
    }
    return from;
  }
}

/** Between words: a space, or a line break of a text as JSON writes it. */
const SPACE = '(?:\\s|\\\\[nrt])';
/** In JSON, before a quote inside a text. */
const ESCAPE = '\\\\?';

/**
 * Words as they may stand in a record's JSON, close or wide, and as the page prints it: `amount: 288`, `"amount": 288` and
 * `"amount":288` are the same.
 * @param {string} words
 */
function wordsOf(words) {
  if (words === '') return null;
  const pattern = words
    .split(/\s*([{}[\]:,])\s*/)
    .map((part, i) => {
      if (i % 2 === 1) return `${part === ':' ? '"?' : ''}${SPACE}*\\${part}${SPACE}*`;
      const plain = part.replace(/[.*+?^$()|\\]/g, '\\$&').replaceAll('"', `${ESCAPE}"`);
      return plain.replace(/\s+/g, `${SPACE}+`);
    })
    .join('')
    .replaceAll(`${SPACE}*${SPACE}*`, `${SPACE}*`);
  // What begins with a letter that it must have is found fastest.
  return new RegExp(pattern.startsWith(ESCAPE) ? pattern.slice(ESCAPE.length) : pattern, 'i');
}

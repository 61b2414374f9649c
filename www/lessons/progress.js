/**
 * How far the reader is with the lessons, in the browser's storage: per lesson the bet, what the books said, and which parts of the
 * task are met. Where nothing can be kept, the lessons work all the same, and say so once.
 *
 * @typedef {object} Entry
 * @property {number | 'skipped' | null} bet  The option, or the number, that was chosen.
 * @property {number | string | null} books  What the books said.
 * @property {boolean | null} right  Null: there is no bet, or the books have not spoken.
 * @property {Record<string, number>} first  Figures of the first run, which the task compares with.
 * @property {boolean[]} met  The parts of the task.
 * @property {number[]} picks  What was chosen where the task asks, −1 for nothing.
 * @property {boolean} done
 * @property {string | null} run  The run that the bet is about, once it has begun.
 * @property {number[]} acts  Those that are done in it; some leave no trace there.
 */

const NOT_KEPT =
  'Your progress is not kept: the storage of this browser is full, or closed to this page. It lasts until the page is closed.';

/** @returns {Entry} */
export const untouched = () => ({
  bet: null,
  books: null,
  right: null,
  first: {},
  met: [],
  picks: [],
  done: false,
  run: null,
  acts: [],
});

export class Progress {
  /** @type {Record<string, Entry>} */
  #entries = {};
  /** A sentence, if progress is not kept, or cannot be read. */
  warning = '';
  #key;
  /** Storage refused the last change, so what is here is newer. */
  #isAhead = false;

  /** @param {string} key  Where it is kept. */
  constructor(key) {
    this.#key = key;
    try {
      this.#read();
    } catch (error) {
      this.warning =
        error instanceof DOMException
          ? NOT_KEPT
          : 'What was kept of your progress cannot be read. The lessons start over.';
    }
  }

  #read() {
    const text = localStorage.getItem(this.#key);
    this.#entries = text === null ? {} : read(JSON.parse(text));
  }

  /** Reads what another tab has written; what cannot be read changes nothing. */
  catchUp() {
    if (this.#isAhead) return;
    try {
      this.#read();
    } catch {
      // The tab that wrote it reports it.
    }
  }

  /** Whether another tab has written. @param {StorageEvent} event */
  isAbout({ key }) {
    return key === null || key === this.#key;
  }

  /** @param {string} id */
  of(id) {
    return this.#entries[id] ?? untouched();
  }

  /**
   * @param {string} id
   * @param {Partial<Entry>} change
   */
  note(id, change) {
    this.catchUp();
    this.#entries[id] = { ...this.of(id), ...change };
    this.#save();
  }

  /** @returns {Record<string, Entry>} What was forgotten, for `restore`. */
  reset() {
    this.catchUp();
    const before = this.#entries;
    this.#entries = {};
    this.#save();
    return before;
  }

  /** Brings back what was forgotten; what has been done since stays. @param {Record<string, Entry>} entries */
  restore(entries) {
    this.catchUp();
    this.#entries = { ...entries, ...this.#entries };
    this.#save();
  }

  get isEmpty() {
    return Object.keys(this.#entries).length === 0;
  }

  /** How many bets there were, and how many of them the books bore out. */
  get bets() {
    const judged = Object.values(this.#entries).filter(({ right }) => right !== null);
    return { all: judged.length, right: judged.filter(({ right }) => right).length };
  }

  #save() {
    try {
      localStorage.setItem(this.#key, JSON.stringify({ version: 1, lessons: this.#entries }));
      this.warning = '';
      this.#isAhead = false;
    } catch {
      this.warning = NOT_KEPT;
      this.#isAhead = true;
    }
  }
}

/**
 * @param {any} found
 * @returns {Record<string, Entry>}
 */
function read(found) {
  if (found?.version !== 1 || typeof found.lessons !== 'object' || found.lessons === null)
    throw new TypeError('This is no progress of lessons.');
  const plain = untouched();
  return Object.fromEntries(
    Object.entries(found.lessons).map(([id, entry]) => {
      const known = Object.entries(/** @type {object} */ (entry ?? {})).filter(
        ([key]) => key in plain,
      );
      const read = { ...plain, ...Object.fromEntries(known) };
      const isFit =
        Array.isArray(read.met) &&
        Array.isArray(read.picks) &&
        Array.isArray(read.acts) &&
        typeof read.first === 'object' &&
        read.first;
      return [id, isFit ? read : plain];
    }),
  );
}

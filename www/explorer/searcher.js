/**
 * The searches beside the page: each runs in a worker, so that the page never waits and a search can be ended at once.
 *
 * @typedef {import('../study/crashlab.js').SearchOptions} SearchOptions
 * @typedef {import('../study/crashlab.js').SearchRun} SearchRun
 * @typedef {import('../study/crashlab.js').MatrixView} MatrixView
 * @typedef {import('../study/crashlab.js').MatrixColumn} MatrixColumn
 * @typedef {import('../study/crashlab.js').MatrixProgress} MatrixProgress
 * @typedef {import('../study/crashlab.js').SearchProgress} SearchProgress
 * @typedef {import('../study/crashlab.js').SearchVerdict} SearchVerdict
 * @typedef {import('../study/crashlab.js').ReplayedRun} ReplayedRun
 * @typedef {{ resolve: (value: any) => void, reject: (error: unknown) => void, heard: (news: any) => void }} Waiting
 */
export class Searcher {
  /** @type {Worker | null} */
  #worker = null;
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #calls = 0;

  /**
   * Starts the worker and its module, so that the first search begins at once.
   * @param {SearchOptions} options
   * @returns {Promise<void>}
   */
  warm(options) {
    return this.#call('warm', [options]);
  }

  /**
   * @param {SearchOptions} options
   * @param {(news: { view?: MatrixView, column?: MatrixColumn, place: number, progress: MatrixProgress }) => void} heard  First all
   *   of it, then each column as it is filled, and in between how far it is.
   * @returns {Promise<void>}
   */
  matrix(options, heard) {
    return this.#call('matrix', [options], heard);
  }

  /**
   * @param {SearchOptions} options
   * @param {number} row
   * @param {number} column
   * @param {string} [invariant]  Of several that break there, the one that has to.
   * @returns {Promise<SearchRun | null>}
   */
  cell(options, row, column, invariant) {
    return this.#call('cell', [options, row, column, invariant]);
  }

  /**
   * @param {SearchOptions} options
   * @param {(news: { progress: SearchProgress, verdicts: SearchVerdict[], runs: string | null }) => void} heard
   *   `runs`: how many were followed; known at the end only.
   * @returns {Promise<void>}
   */
  search(options, heard) {
    return this.#call('search', [options], heard);
  }

  /**
   * @param {SearchOptions} options
   * @param {string} invariant
   * @returns {Promise<SearchRun | null>}
   */
  run(options, invariant) {
    return this.#call('run', [options, invariant]);
  }

  /** @param {string} file @returns {Promise<string>} */
  scenarioOf(file) {
    return this.#call('scenarioOf', [file]);
  }

  /** @param {string} file @param {string | undefined} scenario @returns {Promise<ReplayedRun>} */
  replay(file, scenario) {
    return this.#call('replay', [file, scenario]);
  }

  /** Ends at once whatever is being searched; the next call starts anew. */
  cancel() {
    this.#worker?.terminate();
    this.#fail(new DOMException('It was cancelled.', 'AbortError'));
  }

  /**
   * @param {string} name
   * @param {unknown[]} args
   * @param {(news: any) => void} [heard]
   * @returns {Promise<any>}
   */
  #call(name, args, heard = () => {}) {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      const worker = (this.#worker ??= this.#start());
      this.#waiting.set(id, { resolve, reject, heard });
      worker.postMessage({ id, name, args });
    });
  }

  #start() {
    const worker = new Worker(new URL('./search-worker.js', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data: { id, news, value, error } }) => {
      const waiting = this.#waiting.get(id);
      if (news) return waiting?.heard(news);
      this.#waiting.delete(id);
      if (error) waiting?.reject(Object.assign(new Error(error.message), { code: error.code }));
      else waiting?.resolve(value);
    });
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      this.#fail(new Error(`The search cannot go on. ${event.message ?? ''}`));
    });
    return worker;
  }

  /** @param {unknown} error */
  #fail(error) {
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

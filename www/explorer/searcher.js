/**
 * The searches of the explorer, as typed calls of a worker that keeps its matrix and its search between them.
 *
 * @typedef {import('../study/crashlab.js').SearchOptions} SearchOptions
 * @typedef {import('../study/crashlab.js').SearchRun} SearchRun
 * @typedef {import('../study/crashlab.js').MatrixView} MatrixView
 * @typedef {import('../study/crashlab.js').MatrixColumn} MatrixColumn
 * @typedef {import('../study/crashlab.js').MatrixProgress} MatrixProgress
 * @typedef {import('../study/crashlab.js').SearchProgress} SearchProgress
 * @typedef {import('../study/crashlab.js').SearchVerdict} SearchVerdict
 * @typedef {import('../study/crashlab.js').ReplayedRun} ReplayedRun
 */
import { WorkerClient } from '../worker/client.js';

export class Searcher {
  #client = new WorkerClient();

  /**
   * Starts the worker and its module, so that the first search begins at once.
   * @param {SearchOptions} options
   * @returns {Promise<void>}
   */
  warm(options) {
    return this.#client.call('warm', options);
  }

  /**
   * @param {SearchOptions} options
   * @param {(news: { view?: MatrixView, column?: MatrixColumn, index: number, progress: MatrixProgress }) => void} onProgress  First all
   *   of it, then each column as it is filled, and in between how far it is.
   * @returns {Promise<void>}
   */
  matrix(options, onProgress) {
    return this.#client.callWithProgress('matrix', [options], onProgress);
  }

  /**
   * @param {SearchOptions} options
   * @param {number} row
   * @param {number} column
   * @param {string} [invariant]  Of several that break there, the one that has to.
   * @returns {Promise<SearchRun | null>}
   */
  cell(options, row, column, invariant) {
    return this.#client.call('cell', options, row, column, invariant);
  }

  /**
   * @param {SearchOptions} options
   * @param {(news: { progress: SearchProgress, verdicts: SearchVerdict[], runs: string | null }) => void} onProgress
   *   `runs`: how many were followed; known at the end only.
   * @returns {Promise<void>}
   */
  search(options, onProgress) {
    return this.#client.callWithProgress('search', [options], onProgress);
  }

  /**
   * @param {SearchOptions} options
   * @param {string} invariant
   * @returns {Promise<SearchRun | null>}
   */
  run(options, invariant) {
    return this.#client.call('run', options, invariant);
  }

  /** @param {string} file @returns {Promise<string>} */
  scenarioOf(file) {
    return this.#client.call('replay_scenario', file);
  }

  /** @param {string} file @param {string | undefined} scenario @returns {Promise<ReplayedRun>} */
  replay(file, scenario) {
    return this.#client.call('replay', file, scenario);
  }

  /** Ends at once whatever is being searched; the next call starts a new worker. */
  cancel() {
    this.#client.cancel();
  }
}

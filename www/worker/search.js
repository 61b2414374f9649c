/**
 * The tasks of a search, in the worker. It keeps the matrix and the search that it was asked for last, and reports its progress in
 * between. A search that is to stop is ended together with its worker.
 *
 * @typedef {import('../study/crashlab.js').SearchOptions} SearchOptions
 */
import { Explorer, Matrix } from '../study/crashlab.js';

/** How long it works before it reads its messages again. */
const SLICE_MS = 30;
/** States that it expands before it reads the clock again. */
const STATES = 250;
const WARM_STATES = 3000;
const REPORT_EVERY_MS = 100;
const TOO_LARGE = 'The search has outgrown the memory that it may have. Choose smaller bounds.';

/** @type {{ key: string, matrix: Matrix } | null} */
let kept = null;
/** @type {{ key: string, explorer: Explorer } | null} */
let searched = null;

/** @typedef {(progress: unknown) => void} Report  Reports progress to the page. */

const tasks = {
  /**
   * Searches a little, so that the hot code is optimised before the first real search.
   * @param {Report} _
   * @param {SearchOptions} options
   */
  async warm(_, options) {
    const explorer = new Explorer(options);
    await sliced(() => {
      const { done, states } = explorer.step(STATES);
      return done || states > WARM_STATES;
    });
    explorer.free();
  },

  /** @param {Report} report @param {SearchOptions} options */
  async matrix(report, options) {
    kept?.matrix.free();
    kept = null;
    const matrix = new Matrix(options);
    kept = { key: JSON.stringify(options), matrix };
    let sent = 0;
    let last = 0;
    report({ view: matrix.view(), progress: matrix.step(0) });
    await sliced(() => {
      const progress = matrix.step(STATES);
      const isTime = performance.now() - last > REPORT_EVERY_MS;
      if (isTime || sent < progress.columns) last = performance.now();
      for (; sent < progress.columns; sent++)
        report({ column: matrix.column(sent), index: sent, progress });
      if (isTime) report({ progress });
      return progress.done;
    });
  },

  /**
   * @param {Report} _
   * @param {SearchOptions} options
   * @param {number} row
   * @param {number} column
   * @param {string} [invariant]
   */
  async cell(_, options, row, column, invariant) {
    const key = JSON.stringify(options);
    if (kept?.key !== key) {
      kept?.matrix.free();
      kept = { key, matrix: new Matrix(options) };
    }
    const { matrix } = kept;
    // After a cancelled search only as much of it is repeated as the cell needs.
    while (matrix.step(0).columns <= column) matrix.step(STATES);
    return matrix.run(row, column, invariant);
  },

  /** @param {Report} report @param {SearchOptions} options */
  async search(report, options) {
    searched?.explorer.free();
    searched = null;
    const explorer = new Explorer(options);
    searched = { key: JSON.stringify(options), explorer };
    let last = 0;
    await sliced(() => {
      const progress = explorer.step(STATES);
      // Nobody could read more reports than this.
      if (progress.done || performance.now() - last > REPORT_EVERY_MS) {
        last = performance.now();
        const runs = progress.done ? (explorer.runs() ?? null) : null;
        report({ progress, verdicts: explorer.verdicts(), runs });
      }
      return progress.done;
    });
  },

  /** @param {Report} _ @param {SearchOptions} options @param {string} invariant */
  async run(_, options, invariant) {
    const key = JSON.stringify(options);
    if (searched?.key !== key) {
      searched?.explorer.free();
      searched = { key, explorer: new Explorer(options) };
    }
    const { explorer } = searched;
    // After a cancelled search it continues until it has the same run again.
    for (;;) {
      const run = explorer.run(invariant);
      if (run) return run;
      if (explorer.step(STATES).done) return explorer.run(invariant);
    }
  },
};

/**
 * Repeats a step until it is done, and lets messages in between.
 * @param {() => boolean} step
 */
async function sliced(step) {
  for (;;) {
    const start = performance.now();
    do if (step()) return;
    while (performance.now() - start < SLICE_MS);
    await turn();
  }
}

const { port1, port2 } = new MessageChannel();

/** Waits for the next turn of the event loop, without the delay of a timer. */
function turn() {
  return new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(null);
  });
}

/** @param {string} name */
export const isTask = (name) => Object.hasOwn(tasks, name);

/**
 * @param {string} name
 * @param {unknown[]} args
 * @param {Report} report
 */
export async function runTask(name, args, report) {
  const task = /** @type {(report: Report, ...args: unknown[]) => Promise<unknown>} */ (
    tasks[/** @type {keyof typeof tasks} */ (name)]
  );
  try {
    return await task(report, ...args);
  } catch (error) {
    // Rust checks the rest; what traps has run out of memory.
    throw error instanceof WebAssembly.RuntimeError ? new Error(TOO_LARGE) : error;
  }
}

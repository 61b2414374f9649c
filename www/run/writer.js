/**
 * One writer per run and browser, by a Web Lock. A tab that takes a run over steals the lock, and the tab that loses it is told. The
 * lock is a courtesy: the epoch in the log is what keeps a second writer out, and without Web Locks it alone decides.
 */
const locks = globalThis.navigator?.locks;

/** @param {string} run_id */
const nameOf = (run_id) => `crashlab:${run_id}`;

/**
 * Which of these runs have a living writer in this tab or another.
 * @param {string[]} run_ids
 * @returns {Promise<Set<string>>}
 */
export async function written(run_ids) {
  const held = new Set((await locks?.query())?.held?.map(({ name }) => name));
  return new Set(run_ids.filter((run_id) => held.has(nameOf(run_id))));
}

export class Writer {
  /** @type {(() => void) | null} */
  #release = null;
  /** Pending as long as this tab holds its lock. */
  #held = Promise.resolve();
  #lost;

  /** @param {() => void} lost  Another tab has taken the run over. */
  constructor(lost) {
    this.#lost = lost;
  }

  /** Whether this tab holds a run. */
  get holds() {
    return this.#release !== null;
  }

  /**
   * Resolves when this tab is the run's writer.
   * @param {string} run_id
   * @param {{ steal: boolean }} options
   * @returns {Promise<void>}
   */
  take(run_id, { steal }) {
    if (!locks || this.holds) return Promise.resolve();
    return new Promise((taken) => {
      /** @type {(() => void) | null} */
      let release = null;
      this.#held = locks
        .request(nameOf(run_id), { steal }, () => {
          taken();
          return new Promise((/** @type {(value?: undefined) => void} */ done) => {
            release = () => done();
            this.#release = release;
          });
        })
        .catch(() => {
          taken();
          if (this.#release !== release) return;
          this.#release = null;
          this.#lost();
        });
    });
  }

  /** Resolves when the run is free for others. */
  async release() {
    this.#release?.();
    this.#release = null;
    await this.#held;
  }
}

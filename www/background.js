/**
 * What is computed beside the page: calls of functions of `src/web/study.rs` in a worker, so that the page never waits.
 *
 * @typedef {{ resolve: (value: any) => void, reject: (error: unknown) => void }} Waiting
 */

export class Background {
  /** @type {Worker | null} */
  #worker = null;
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #calls = 0;

  /**
   * @param {string} name  A function of the module.
   * @param {unknown[]} args
   * @returns {Promise<any>}
   */
  call(name, ...args) {
    const worker = (this.#worker ??= this.#start());
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, name, args });
    });
  }

  /** Ends at once whatever is being computed; the next call starts anew. */
  cancel() {
    this.#worker?.terminate();
    this.#fail(new DOMException('It was cancelled.', 'AbortError'));
  }

  #start() {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data: { id, value, error } }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(Object.assign(new Error(error.message), { code: error.code }));
      else waiting?.resolve(value);
    });
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      this.#fail(new Error(`The part that computes could not be loaded. ${event.message ?? ''}`));
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

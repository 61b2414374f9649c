/**
 * Calls into a worker that runs the study module, so that the page never waits. Several workers can live at once, each with a state
 * of its own: an opened trace, a search. The module is compiled once, in the page, and every worker starts from the compiled one.
 *
 * @typedef {{ resolve: (value: any) => void, reject: (error: unknown) => void, onProgress: (news: any) => void }} Pending
 */

/** @type {Promise<WebAssembly.Module> | null} */
let compiled = null;

/** The compiled module. A failure is not kept, so that the next call tries again. */
function compiledModule() {
  compiled ??= compile().catch((error) => {
    compiled = null;
    throw error;
  });
  return compiled;
}

async function compile() {
  const response = await fetch(new URL('../study/crashlab_bg.wasm', import.meta.url));
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  // Streaming needs the right type, which some servers do not send.
  return response.headers.get('Content-Type') === 'application/wasm'
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

export class WorkerClient {
  /** @type {Worker | null} */
  #worker = null;
  /** By the id of the call. @type {Map<number, Pending>} */
  #pending = new Map();
  #calls = 0;

  /**
   * Calls a function of the study module, or a task of the worker.
   * @param {string} name
   * @param {unknown[]} args
   * @returns {Promise<any>}
   */
  call(name, ...args) {
    return this.callWithProgress(name, args, () => {});
  }

  /**
   * @param {string} name
   * @param {unknown[]} args
   * @param {(news: any) => void} onProgress
   * @returns {Promise<any>}
   */
  callWithProgress(name, args, onProgress) {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      const worker = (this.#worker ??= this.#start());
      this.#pending.set(id, { resolve, reject, onProgress });
      worker.postMessage({ id, name, args });
    });
  }

  /** Ends at once whatever is being computed; the next call starts a new worker. */
  cancel() {
    this.#end(new DOMException('It was cancelled.', 'AbortError'));
  }

  #start() {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    // Errors of a worker that has been replaced do not matter.
    const fail = (/** @type {string} */ message) => {
      if (this.#worker === worker) this.#end(new Error(message));
    };
    worker.addEventListener('message', ({ data: { id, news, value, error } }) => {
      const pending = this.#pending.get(id);
      if (news) return pending?.onProgress(news);
      this.#pending.delete(id);
      if (error) pending?.reject(Object.assign(new Error(error.message), { code: error.code }));
      else pending?.resolve(value);
    });
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      fail(`The part that computes has failed. ${event.message ?? ''}`);
    });
    compiledModule().then(
      (module) => worker.postMessage({ module }),
      ({ message }) => fail(`The part that computes could not be loaded. ${message}`),
    );
    return worker;
  }

  /** @param {unknown} error  What the pending calls fail with. */
  #end(error) {
    this.#worker?.terminate();
    this.#worker = null;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }
}

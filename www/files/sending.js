/** A trace on its way to a collector: which attempt it is, what is waited for, and how it ended. */
import { send } from '../otlp.js';

export class Sending {
  /** What is going on, in a sentence. */
  says = '';
  /** @type {import('../otlp.js').Outcome | null} */
  outcome = null;
  #abort = new AbortController();
  #changed;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
  }

  get cancelled() {
    return this.#abort.signal.aborted;
  }

  cancel() {
    this.#abort.abort();
    this.#changed();
  }

  /**
   * @param {string} url
   * @param {string} header  `name: value`, or nothing
   * @param {string} body
   */
  async send(url, header, body) {
    let attempts = 0;
    const { signal } = this.#abort;
    const post = (/** @type {RequestInfo | URL} */ address, /** @type {RequestInit} */ init) => {
      if (init.method === 'POST') {
        attempts++;
        this.#say(attempts === 1 ? 'Sending…' : `Sending, attempt ${attempts}…`);
      }
      const signals = init.signal ? [signal, init.signal] : [signal];
      return fetch(address, { ...init, signal: AbortSignal.any(signals) });
    };
    const wait = async (/** @type {number} */ ms) => {
      const end = performance.now() + ms;
      for (let left = ms; left > 0 && !signal.aborted; left = end - performance.now()) {
        this.#say(`The collector is busy. Attempt ${attempts + 1} in ${Math.ceil(left / 1000)} s…`);
        await new Promise((resolve) => {
          const timer = setTimeout(resolve, Math.min(left, 1000));
          signal.addEventListener('abort', () => (clearTimeout(timer), resolve(undefined)), {
            once: true,
          });
        });
      }
      signal.throwIfAborted();
    };
    try {
      const outcome = await send(url, body, {
        fetch: /** @type {typeof fetch} */ (post),
        wait,
        header,
        origin: location.origin,
      });
      if (!signal.aborted) this.outcome = outcome;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#say(this.cancelled ? 'Cancelled. The collector may have taken it already.' : '');
    }
  }

  /** @param {string} text */
  #say(text) {
    this.says = text;
    this.#changed();
  }
}

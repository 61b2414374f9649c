/** Notices: what went wrong, in sentences that stay until they are dismissed; and what a screen reader is told of the run. */
export class Notices {
  /** @type {{ id: number, text: string }[]} */
  all = [];
  /** What a screen reader reads out. */
  announcement = '';
  /** The step that was announced last. */
  #announced = '';
  #nextId = 0;
  #draw;

  /** @param {() => void} draw */
  constructor(draw) {
    this.#draw = draw;
  }

  /** @param {unknown} error  An error, or a sentence. */
  complain(error) {
    const text = errorText(error);
    if (!this.all.some((notice) => notice.text === text))
      this.all.push({ id: this.#nextId++, text });
    this.#draw();
  }

  /** A module could not be loaded. @param {unknown} error */
  complainNotLoaded(error) {
    this.complain(`A part of the page could not be loaded. ${errorText(error)}`);
  }

  /** @param {number} id */
  dismiss(id) {
    this.all = this.all.filter((notice) => notice.id !== id);
    this.#draw();
  }

  /** Removes a notice that does not apply any more. @param {string} text */
  withdraw(text) {
    this.all = this.all.filter((notice) => notice.text !== text);
  }

  /**
   * @param {() => unknown} action
   * @returns {boolean} Whether it worked; false also if it returned that.
   */
  attempt(action) {
    try {
      return action() !== false;
    } catch (error) {
      this.complain(error);
      return false;
    }
  }

  /** Announces the state of the run, once per step. @param {import('../pkg/crashlab.js').LabView} view */
  announce({ run_id, phase, memory, sentence }) {
    const step = `${run_id} ${phase} ${memory?.step}`;
    if (step === this.#announced) return;
    this.#announced = step;
    this.announcement = sentence;
  }
}

/** @param {unknown} error */
export function errorText(error) {
  if (error instanceof WebAssembly.RuntimeError) {
    return 'The engine has failed and cannot continue. The run is in storage: reload the page and resume it.';
  }
  return error instanceof Error ? error.message : String(error);
}

/** The crash that is armed to happen at a crash point, and the list of points from which one is chosen. */

/** @typedef {import('../pkg/crashlab.js').Gap} Gap  A crash point, just before or just after an effect. */

export class ArmedCrash {
  /** Null: the menu has not been opened yet. @type {Gap[] | null} */
  gaps = null;
  filter = '';
  /** The armed point; null also if it was armed before the page was loaded. @type {Gap | null} */
  gap = null;
  #present;
  #notices;
  #draw;

  /**
   * @param {import('../run/present.js').PresentRun} present
   * @param {import('./notices.js').Notices} notices
   * @param {() => void} draw
   */
  constructor(present, notices, draw) {
    this.#present = present;
    this.#notices = notices;
    this.#draw = draw;
  }

  /** The armed crash in words, as the run has it. */
  get label() {
    const armed = this.#present.view?.armed;
    return armed ? (this.gap?.label ?? `${armed.when} effect ${armed.index}`) : null;
  }

  listGaps() {
    this.filter = '';
    this.#notices.attempt(() => (this.gaps = this.#present.gaps()));
    this.#draw();
  }

  /** @param {Gap | null} gap */
  arm(gap) {
    this.gap = gap;
    if (gap) this.#present.arm(gap.index, gap.when);
    else this.#present.disarm();
  }

  /** Another run has other points. */
  reset() {
    this.gaps = null;
    this.gap = null;
  }

  /** A crash that has happened is not armed any more. */
  sync() {
    if (this.#present.view?.armed === null) this.gap = null;
  }
}

/** Which tab and which forms of the panels are shown, and whether help is open: what has nothing to do with the run. */

/** @typedef {'scenario' | 'trace' | 'places'} Tab */

export class Display {
  /** @type {Tab} */
  tab = 'trace';
  /** What of the selected record is shown. @type {'changes' | 'state'} */
  side = 'changes';
  checkpointAsJson = false;
  helpOpen = false;
  /** Nobody has used the page in this browser. */
  isNew = false;
  /** The link has just been copied. */
  shared = false;
  #draw;

  /** @param {() => void} draw */
  constructor(draw) {
    this.#draw = draw;
  }

  /** @param {Partial<Pick<Display, 'tab' | 'side' | 'checkpointAsJson' | 'helpOpen' | 'shared'>>} change */
  show(change) {
    Object.assign(this, change);
    this.#draw();
  }
}

/** Drives the present run: it asks for one tick after the other and waits as long as the speed says. It decides nothing. */
import { FASTEST, waitAfter } from './pace.js';

/** At the fastest speed the page is drawn again after this much driving. */
const FRAME_BUDGET_MS = 8;

export class Driver {
  /** The agent is being driven. */
  running = false;
  /** An index into `SPEEDS`. */
  speed = 1;
  /** Counts up with every start and stop, so that an old loop knows that it is over. */
  #drive = 0;
  /** Ends the present wait. @type {(() => void) | null} */
  #wake = null;
  #present;

  /** @param {import('./present.js').PresentRun} present */
  constructor(present) {
    this.#present = present;
  }

  /** It drives faster than anybody can read. */
  get races() {
    return this.running && this.speed === FASTEST;
  }

  run() {
    const present = this.#present;
    if (!present.begin()) return;
    present.continues = true;
    this.#start();
    present.refresh();
  }

  pause() {
    this.stop();
    this.#present.continues = false;
    this.#present.refresh();
  }

  /** One effect: until its answer has reached the agent. */
  step() {
    const present = this.#present;
    if (!present.begin()) return;
    this.stop();
    present.continues = false;
    present.attempt(() => {
      let tick = present.tick();
      // A fresh agent has to be asked for its first effect before one can happen.
      if (tick.type === 'answered') tick = present.tick();
      if (tick.type === 'happened') present.tick();
    });
    present.refresh();
  }

  crash() {
    this.#present.crash();
    this.stop();
    this.#present.refresh();
  }

  /** Takes the run over from whichever agent had it, and drives it if it was being driven. */
  async resume() {
    const present = this.#present;
    if ((await present.resume()) && present.continues) this.#start();
    present.refresh();
  }

  /**
   * @param {string} approval_key
   * @param {'approved' | 'denied'} decision
   * @param {string} approver
   * @param {string} note
   */
  decide(approval_key, decision, approver, note) {
    const present = this.#present;
    present.decide(approval_key, decision, approver, note);
    // This is so even after a refusal, as the question was then decided before, perhaps in another tab.
    const waits = !this.running && present.view?.phase === 'waiting_for_person';
    if (present.continues && waits) this.#start();
    present.refresh();
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.speed = speed;
    this.#wake?.();
  }

  stop() {
    this.running = false;
    this.#drive++;
    this.#wake?.();
  }

  #start() {
    this.running = true;
    void this.#loop();
  }

  async #loop() {
    const drive = ++this.#drive;
    const present = this.#present;
    let frameStart = performance.now();
    while (drive === this.#drive && this.running) {
      /** @type {import('../pkg/crashlab.js').Tick | undefined} */
      let tick;
      if (!present.attempt(() => (tick = present.tick())) || !tick) break;
      if (tick.type !== 'happened' && tick.type !== 'answered') break;
      present.refreshSoon();
      const wait = waitAfter(tick, this.speed);
      if (wait !== null) {
        await this.#sleep(wait);
      } else if (performance.now() - frameStart >= FRAME_BUDGET_MS) {
        await this.#sleep(0);
        frameStart = performance.now();
      }
    }
    if (drive === this.#drive) {
      this.running = false;
      present.refresh();
    }
  }

  /** @param {number} ms */
  #sleep(ms) {
    return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

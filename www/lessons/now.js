/**
 * What a lesson may ask about the present run. Everything comes from the engine's view: the world's books, the verdicts, the log.
 *
 * @typedef {import('../pkg/crashlab.js').LabView} LabView
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 *
 * @typedef {object} Search  What the explorer has said last.
 * @property {string[]} off
 * @property {string[]} broken  Invariants, by id.
 * @property {number} all  How many invariants were judged.
 * @property {number} crashes  Up to how many in one run.
 * @property {number} faults
 * @property {number} decisions
 * @property {boolean} isOwn  It was about the lesson's scenario, as it is shipped.
 * @property {boolean} whole  Every run within the bounds has been tried.
 */
export class Now {
  /** @type {LabView} */
  view;
  /** @type {RecordView[]} */
  records;
  /** Something has happened in this run. */
  begun;
  /** The run has ended. */
  over;
  /** The record that is looked at. @type {RecordView | null} */
  selected;
  /** The checkpoint is shown as JSON. */
  showsCheckpoint;
  /** Of the lesson's scenario. @type {Search | null} */
  search;
  /** What was searched: nothing, what the lesson asks for, or something else. @type {'' | 'this' | 'other'} */
  searched;
  /** Its scenario was edited, or it began with a checkpoint of another run. */
  isChanged;
  /** It did not begin in this lesson. */
  isAnothers = false;
  /** The crash point that is armed. */
  armed;
  /** Figures of the reader's first run in this lesson. */
  first;

  /**
   * @param {import('./index.js').Host} host
   * @param {LabView} view
   * @param {object} more
   * @param {Record<string, number>} more.first
   * @param {Search | null} more.search
   * @param {import('../explorer/index.js').OpenOptions} [more.asked]  The search that the lesson asks for.
   * @param {string | undefined} more.shipped  The document of the present scenario, as it is shipped.
   */
  constructor(host, view, { first, search, asked, shipped }) {
    const { records, prepared, origin } = host.run();
    const selected = host.selectedRecord();
    this.view = view;
    this.records = records;
    this.begun = !prepared;
    this.over = this.begun && view.phase === 'stopped';
    this.selected = selected === null ? null : (records[selected] ?? null);
    this.showsCheckpoint = host.showsCheckpoint();
    this.armed = host.armed();
    this.first = first;
    this.search = search?.isOwn ? search : null;
    this.searched = search === null ? '' : asked && isAsked(search, asked) ? 'this' : 'other';
    this.isChanged =
      origin !== undefined || (shipped !== undefined && host.about()?.json !== shipped);
  }

  /** The mechanisms that are off, by id. */
  get off() {
    return this.view.mechanisms.filter(({ on }) => !on).map(({ id }) => id);
  }

  get world() {
    return this.view.world;
  }

  /** Model calls that the provider has billed. */
  get calls() {
    return this.world.meter.calls;
  }

  /** What they cost, in USD. */
  get cost() {
    return Number(this.world.meter.cost_usd);
  }

  /** Questions that were put to a person. */
  get asked() {
    return this.world.inbox.length;
  }

  /** @param {'open' | 'approved' | 'denied' | 'expired'} status */
  decided(status) {
    return this.world.inbox.some((question) => question.status === status);
  }

  /** @param {string} mechanism */
  isOn(mechanism) {
    return this.view.mechanisms.some(({ id, on }) => id === mechanism && on);
  }

  /** @param {string} invariant */
  isBroken(invariant) {
    return this.view.invariants.some(({ id, verdict }) => id === invariant && verdict === 'broken');
  }

  get anyBroken() {
    return this.view.invariants.some(({ verdict }) => verdict === 'broken');
  }

  /** The run has ended and nothing is broken. */
  get endedWell() {
    return this.over && !this.anyBroken;
  }

  /** What later runs of the lesson are compared with. */
  get figures() {
    return { calls: this.calls, cost: this.cost, records: this.records.length };
  }
}

/** @param {Search} search @param {import('../explorer/index.js').OpenOptions} asked */
function isAsked(search, { crashes, faults, decisions, off = [] }) {
  return (
    search.isOwn &&
    search.crashes === crashes &&
    search.faults === faults &&
    search.decisions === decisions &&
    String([...search.off].sort()) === String([...off].sort())
  );
}

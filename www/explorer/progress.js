/** How far a search is: shown with every message, and told to a screen reader now and then. */
import { html, nothing } from 'lit/html.js';
import { count, plural } from '../ui/format.js';
import { grouped } from './futures.js';

/**
 * @typedef {import('./searcher.js').SearchProgress} SearchProgress
 * @typedef {import('./searcher.js').MatrixProgress} MatrixProgress
 */

const ANNOUNCE_EVERY_MS = 3000;

export class Progress {
  /** @type {'running' | 'done' | 'cancelled' | 'failed'} */
  state = 'running';
  /** @type {SearchProgress | null} */
  search = null;
  /** @type {MatrixProgress | null} */
  matrix = null;
  /** Runs that were followed; known at the end of a search that has seen all of them. @type {string | null} */
  runs = null;
  ms = 0;
  #start;
  #announced;

  /** @param {number} start  As `performance.now()` says it. */
  constructor(start) {
    this.#start = start;
    this.#announced = start;
  }

  /** @param {SearchProgress | MatrixProgress} progress */
  update(progress) {
    this.ms = performance.now() - this.#start;
    if ('of' in progress) this.matrix = progress;
    else this.search = progress;
  }

  /** @param {Exclude<Progress['state'], 'running'>} state */
  end(state) {
    this.state = state;
    this.ms = performance.now() - this.#start;
  }

  get hitLimit() {
    return this.search?.hit_limit ?? false;
  }

  isTimeToAnnounce() {
    const now = performance.now();
    if (now - this.#announced < ANNOUNCE_EVERY_MS) return false;
    this.#announced = now;
    return true;
  }

  /** @param {number | undefined} states */
  limit(states) {
    return plural(states ?? this.search?.states ?? 0, 'state');
  }

  summary() {
    const { search, matrix, state } = this;
    if (matrix) return `${matrix.columns} of ${matrix.of} rows, ${plural(matrix.states, 'state')}.`;
    if (!search) return state === 'running' ? 'It begins.' : 'Nothing was searched.';
    const more = state === 'running' ? `, ${count(search.waiting)} still to be continued` : '';
    const runs =
      this.runs === null ? '' : `${grouped(this.runs)} ${this.runs === '1' ? 'run' : 'runs'} in `;
    return `${runs}${plural(search.states, 'state')}${more}.`;
  }

  /** @param {number | undefined} limit */
  figures(limit) {
    const { search, matrix, ms, state } = this;
    const states = search?.states ?? matrix?.states ?? 0;
    const share = matrix
      ? matrix.columns / matrix.of
      : search && search.states > 0
        ? Math.max(
            (search.states - search.waiting) / search.states,
            search.states / (limit ?? Infinity),
          )
        : 0;
    const rate = ms > 0 ? Math.round((1000 * states) / ms) : 0;
    return html`<progress
        aria-label="States that have been continued"
        max="1"
        .value=${state === 'done' ? 1 : share}
      ></progress>
      <dl>
        ${figure('State', stateText(this, limit))} ${figure('States', count(states))}
        ${figure('Per second', count(rate))}
        ${search ? [this.runs === null ? figure('To be continued', count(search.waiting)) : figure('Runs', grouped(this.runs)), figure('Depth', plural(search.depth, 'step'))] : nothing}
        ${matrix ? figure('Rows', `${matrix.columns} of ${matrix.of}`) : nothing}
        ${figure('Time', `${(ms / 1000).toFixed(2)} s`)}
      </dl>
      ${
        search?.restarted
          ? html`<p>
              A limit was near, so it began again and now also distinguishes states by money and
              time.
            </p>`
          : nothing
      }`;
  }
}

/** @param {string} term @param {string} value */
const figure = (term, value) =>
  html`<div>
    <dt>${term}</dt>
    <dd>${value}</dd>
  </div>`;

/** @param {Progress} progress @param {number | undefined} limit */
function stateText({ state, hitLimit, search }, limit) {
  if (state === 'running') return 'searching';
  if (state === 'done')
    return hitLimit ? `stopped at ${plural(limit ?? search?.states ?? 0, 'state')}` : 'complete';
  return state;
}

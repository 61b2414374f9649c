/** The status of the run, below its last record: what is under way, a question, a dead agent, or the end. */
import { html, nothing } from 'lit/html.js';
import { plural } from '../ui/format.js';
import { glyph, homeOfPlace } from '../ui/glyph.js';
import 'sheet:./run-status.css';

/**
 * @typedef {import('../pkg/crashlab.js').LabView} LabView
 * @typedef {object} RunStatus
 * @property {import('../pkg/crashlab.js').LabView | null} view  The present, whatever is looked at.
 * @property {boolean} running
 * @property {boolean} taken
 * @property {boolean} found  The run was found in storage when the page opened.
 * @property {unknown} question  The card of an open question, or nothing.
 * @property {() => void} onResume
 * @property {() => void} onForget
 * @property {() => void} onAgain
 * @property {() => void} onReport
 */

/** @param {RunStatus} props */
export function runStatus(props) {
  const { view, taken, question } = props;
  if (!view) return nothing;
  if (taken || view.phase === 'fenced') return takenOver(props);
  switch (view.phase) {
    case 'crashed':
      return html`${gone(props)}${question}`;
    case 'stopped':
      return over(props);
    case 'waiting_for_person':
      return question;
    case 'running':
      return underWay(props);
  }
}

/** @param {RunStatus} props */
function underWay({ view, running }) {
  const effect = view?.in_flight;
  if (!effect) return nothing;
  const home = homeOfPlace(effect.place);
  const happened = effect.stage === 'happened';
  return html`<div class="under-way ${home} ${effect.stage} ${running ? 'moving' : ''}">
    <span class="arrow" aria-hidden="true"></span>
    <span class="label">${effect.label}</span>
    <span class="stage"
      >${happened ? 'happened, its answer is on the way' : 'about to happen'}</span
    >
  </div>`;
}

/** @param {RunStatus} props */
function gone({ view, found, onResume, onForget, onReport }) {
  if (!view) return nothing;
  const newest = view.storage.generations.find(({ damage }) => damage === null);
  return html`<div class="card gone">
    <h3>
      ${glyph('crash')}${
        found
          ? `${view.task_id} stopped${newest ? ` at step ${newest.step}` : ''}, its agent is gone. Resume?`
          : 'The agent is gone'
      }
    </h3>
    <p>
      Everything it knew is gone. What is left: ${plural(view.storage.records, 'record')} in the
      log, ${newest ? `a checkpoint at step ${newest.step}` : 'no checkpoint yet'}, and the world,
      which goes on.
    </p>
    <div class="actions">
      <button class="button primary" @click=${onResume}>
        ${glyph('resume')}Resume<kbd>R</kbd>
      </button>
      <button class="button" @click=${onReport}>${glyph('note')}Why did it stop?</button>
      ${found ? html`<button class="button" @click=${onForget}>Forget this run</button>` : nothing}
    </div>
  </div>`;
}

/** @param {RunStatus} props */
function over({ view, onResume, onAgain, onReport }) {
  if (!view) return nothing;
  const full = view.status === 'storage_failed';
  return html`<div class="card over">
    <h3>${glyph('stop')}The run is over: <code>${view.status}</code></h3>
    <p>
      ${view.sentence} Crashed ${times(view.crashes)}, resumed
      ${times(view.resumes)}${uncrashed(view)}. Refunded: ${view.world.refunded_total}, in
      ${plural(view.world.refunds.length, 'refund')}. Asked:
      ${plural(view.world.inbox.length, 'question')}.
    </p>
    ${full ? html`<p>This end is not final: make room in the browser’s storage, then resume.</p>` : nothing}
    <div class="actions">
      ${
        full
          ? html`<button class="button primary" @click=${onResume}>
              ${glyph('resume')}Resume<kbd>R</kbd>
            </button>`
          : nothing
      }
      <button class="button" @click=${onReport}>${glyph('note')}How did this run do?</button>
      <button class="button" @click=${onAgain}>${glyph('reset')}Set up a new run</button>
    </div>
  </div>`;
}

/** @param {RunStatus} props */
function takenOver({ onAgain }) {
  return html`<div class="card gone">
    <h3>${glyph('crash')}No longer this tab’s run</h3>
    <p>
      A run has one writer. Another tab has taken it over, or its data was deleted from the browser;
      either way this agent may write nothing more. What you see is how it stood then.
    </p>
    <div class="actions">
      <button class="button" @click=${onAgain}>Set up a new run here</button>
    </div>
  </div>`;
}

/** A page that is closed takes its agent with it, and nobody is left to write a crash down. @param {LabView} view */
const uncrashed = ({ crashes, resumes }) =>
  resumes > crashes ? ` (${times(resumes - crashes)} with no crash before)` : '';

/** @param {number} n */
const times = (n) => (n === 0 ? 'never' : n === 1 ? 'once' : n === 2 ? 'twice' : `${n} times`);

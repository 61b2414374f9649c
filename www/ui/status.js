/** One line above the trace: what the run does now, or as of which record the panels show it. */
import { html, nothing } from 'lit/html.js';
import { duration } from './format.js';
import { glyph } from './glyph.js';
import './status.css';

/**
 * @typedef {object} Status
 * @property {import('../pkg/crashlab.js').LabView | null} view
 * @property {boolean} running
 * @property {boolean} prepared
 * @property {boolean} taken
 * @property {number | null} looking  The record as of which the panels show the run.
 * @property {string} announcement  What a screen reader is told, once per step.
 * @property {string | null} armed  The label of the armed crash.
 * @property {() => void} onNow
 * @property {() => void} onBranch
 * @property {() => void} onDisarm
 */

/** @param {Status} props */
export function status(props) {
  return html`<div class="status ${props.looking === null ? '' : 'looking'}">
    ${props.looking === null ? present(props) : past(props)}
    <p class="visually-hidden" aria-live="polite">${props.announcement}</p>
  </div>`;
}

/** @param {Status} props */
function present({ view, running, prepared, taken, armed, onDisarm }) {
  const [label, tone] = stateOf(view, running, prepared, taken);
  const sentence = taken
    ? 'Another tab has taken this run over, or its data was deleted. This agent may write nothing more.'
    : prepared
      ? 'Nothing has happened yet.'
      : (view?.sentence ?? '');
  return html`
    <span class="state ${tone}">${label}</span>
    <p class="sentence" title=${sentence}>${sentence}</p>
    ${
      armed === null
        ? nothing
        : html`<button class="armed" title="Take the armed crash away" @click=${onDisarm}>
            ${glyph('crash')}<span>Crash ${armed}</span>${glyph('close')}
          </button>`
    }
    ${
      view && !prepared
        ? html`<span class="clock" title=${view.clock}
            >${view.memory ? `step ${view.memory.step} · ` : ''}${duration(view.now_s)}</span
          >`
        : nothing
    }
  `;
}

/** @param {Status} props */
function past({ view, looking, onNow, onBranch }) {
  return html`
    <span class="state">past</span>
    <p class="sentence">
      You are looking at record ${looking} of ${view?.record_count ?? 0}. Looking changes nothing.
    </p>
    <button
      class="button small branch"
      title="A new run that is like this one up to this record. This one stays."
      @click=${onBranch}
    >
      ${glyph('branch')}Branch from here
    </button>
    <button class="button small" aria-keyshortcuts="Escape" @click=${onNow}>
      Back to now<kbd>Esc</kbd>
    </button>
  `;
}

/**
 * @param {import('../pkg/crashlab.js').LabView | null} view
 * @param {boolean} running
 * @param {boolean} prepared
 * @param {boolean} taken
 * @returns {[string, string]}
 */
function stateOf(view, running, prepared, taken) {
  if (taken || view?.phase === 'fenced') return ['taken over', 'gone'];
  if (!view || prepared) return ['ready', ''];
  switch (view.phase) {
    case 'running':
      return running ? ['running', 'live'] : ['paused', ''];
    case 'waiting_for_person':
      return ['waiting', 'live'];
    case 'crashed':
      return ['agent gone', 'gone'];
    case 'stopped':
      return [view.status ?? 'over', 'over'];
  }
}

/** One line above a trace that comes from a file. */
import { html } from 'lit/html.js';
import { count, plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';

/**
 * @param {import('../files/reading.js').Foreign} trace
 * @param {() => void} onClose
 */
export function imported({ name, records, summary, part }, onClose) {
  return html`<div class="status of-file">
    <span class="state">file</span>
    <p class="sentence" title=${name}>
      ${name}: ${summary ? whatIs(summary) : reading(records.length, part)}
    </p>
    <button class="button small" @click=${onClose}>${glyph('close')}Back to the run</button>
  </div>`;
}

/** @param {number} records @param {number} part */
function reading(records, part) {
  return html`reading, ${plural(records, 'record')} so far
    <progress max="1" .value=${part} aria-label="Read"></progress>`;
}

/** @param {import('../study/crashlab.js').TraceSummary} summary */
function whatIs({ records, foreign, runs, problems }) {
  return [
    plural(records, 'record') + (runs.length > 1 ? ` of ${plural(runs.length, 'run')}` : ''),
    ...(foreign > 0 ? [`${count(foreign)} with something missing or unknown`] : []),
    ...(problems.length > 0 ? [`${plural(problems.length, 'line')} that cannot be read`] : []),
  ].join(', ');
}

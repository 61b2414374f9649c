/** One line above a trace that comes from a file. */
import { html, nothing } from 'lit/html.js';
import { count, plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';

/**
 * @param {{ name: string, summary: import('../study/crashlab.js').TraceSummary, onClose: () => void }} props
 */
export function imported({ name, summary, onClose }) {
  const { records, foreign, runs, problems } = summary;
  return html`<div class="status">
    <span class="state">file</span>
    <p class="sentence" title=${name}>
      ${name}:
      ${plural(records, 'record')}${runs.length > 1 ? ` of ${plural(runs.length, 'run')}` : nothing}${
        foreign > 0 ? `, ${count(foreign)} with something missing or unknown` : nothing
      }${problems.length > 0 ? `, ${plural(problems.length, 'line')} that cannot be read` : nothing}
    </p>
    <button class="button small" @click=${onClose}>${glyph('close')}Back to the run</button>
  </div>`;
}

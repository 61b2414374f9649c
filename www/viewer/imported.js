/** One line above a trace that comes from a file. */
import { html } from 'lit/html.js';
import { plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';

/** @param {{ name: string, records: number, onClose: () => void }} props */
export function imported({ name, records, onClose }) {
  return html`<div class="status">
    <span class="state">file</span>
    <p class="sentence" title=${name}>${name}: ${plural(records, 'record')}</p>
    <button class="button small" @click=${onClose}>${glyph('close')}Back to the run</button>
  </div>`;
}

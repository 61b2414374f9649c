/** The runs of this page beside each other: the present one, and those that it branched from or that branched from it. */
import { html, nothing } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import 'sheet:./runs.css';

/**
 * @typedef {object} Runs
 * @property {string | null} present
 * @property {{ run_id: string, name: string }[]} shelf
 * @property {(run_id: string) => void} onSwitch
 * @property {(run_id: string) => void} onCompare
 */

/** @param {Runs} props */
export function runs({ present, shelf, onSwitch, onCompare }) {
  if (shelf.length === 0) return nothing;
  return html`<nav class="runs" aria-label="Runs beside each other">
    ${present === null ? nothing : html`<span class="present" aria-current="true">${glyph('branch')}${present}</span>`}
    ${shelf.map(
      ({ run_id, name }) =>
        html`<span class="other">
          <button class="button small" @click=${() => onSwitch(run_id)}>${name}</button>
          ${
            present === null
              ? nothing
              : html`<button class="button small quiet" @click=${() => onCompare(run_id)}>
                  Compare
                </button>`
          }
        </span>`,
    )}
  </nav>`;
}

/** What went wrong, in a sentence that stays until it is dismissed. */
import { html } from 'lit/html.js';
import { glyph } from './glyph.js';
import './notices.css';

/**
 * @param {{ id: number, text: string }[]} notices
 * @param {(id: number) => void} onDismiss
 */
export function notices(notices, onDismiss) {
  return html`<div class="notices" role="alert">
    ${notices.map(
      ({ id, text }) =>
        html`<div class="notice">
          <p>${text}</p>
          <button
            class="button small quiet icon"
            aria-label="Dismiss"
            @click=${() => onDismiss(id)}
          >
            ${glyph('close')}
          </button>
        </div>`,
    )}
  </div>`;
}

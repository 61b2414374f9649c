/** The little markup of lesson texts: `code`, **weight**, [[key]]. It makes elements, never HTML from text. */
import { html } from 'lit/html.js';

/** @param {string} text */
export function markup(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[\[[^\]]+\]\])/).map((part) => {
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`;
    if (part.startsWith('**')) return html`<strong>${part.slice(2, -2)}</strong>`;
    if (part.startsWith('[[')) return html`<kbd>${part.slice(2, -2)}</kbd>`;
    return part;
  });
}

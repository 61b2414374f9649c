/** JSON text, unchanged, with its keys set apart. It is never parsed, so that every number keeps its exact digits. */
import { html } from 'lit/html.js';

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|[^"]+|"/g;

/** @param {string} text */
export function json(text) {
  const parts = [];
  for (const [whole, string, colon] of text.matchAll(TOKEN)) {
    parts.push(colon ? html`<span class="key">${string}</span>${colon}` : whole);
  }
  return html`<code class="json">${parts}</code>`;
}

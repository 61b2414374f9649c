/** The records that prove something, as links into the trace. */
import { html, nothing } from 'lit/html.js';

/**
 * @typedef {object} Trace
 * @property {(record: number) => string} typeOf
 * @property {(record: number) => void} onSelect
 */

/** Records that are named at once; the first and the last ones say most. */
const MOST = 8;

/**
 * @param {number[]} records
 * @param {Trace} trace
 */
export function proof(records, { typeOf, onSelect }) {
  if (records.length === 0) return nothing;
  const link = (/** @type {number} */ record) =>
    html`<li>
      <button
        class="link"
        aria-label="Record ${record}, ${typeOf(record)}"
        @click=${() => onSelect(record)}
      >
        ${record} <code>${typeOf(record)}</code>
      </button>
    </li>`;
  const half = MOST / 2;
  const named =
    records.length <= MOST
      ? records.map(link)
      : [
          ...records.slice(0, half).map(link),
          html`<li>… ${records.length - MOST} more …</li>`,
          ...records.slice(-half).map(link),
        ];
  return html`<ul class="proof" aria-label="Records">
    ${named}
  </ul>`;
}

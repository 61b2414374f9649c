/** Where the columns do not fit beside each other, they are tabs. */
import { html, nothing } from 'lit/html.js';
import './tabs.css';

/** @typedef {import('../page/display.js').Tab} Tab */

/** @type {[Tab, string][]} */
const ALL = [
  ['scenario', ''],
  ['trace', 'Trace'],
  ['places', 'Places'],
];

/**
 * @param {Tab} chosen
 * @param {{ first: string, asked: boolean, onTab: (tab: Tab) => void }} props  `first`: the label of the first tab. `asked`: the run waits for a decision.
 */
export function tabs(chosen, { first, asked, onTab }) {
  const attention = html`<span class="attention"
    ><span class="visually-hidden">, a question is open</span></span
  >`;
  return html`<nav class="tabs choice" data-tab=${chosen} aria-label="Columns">
    ${ALL.map(
      ([tab, label]) =>
        html`<button
          class="tab-${tab}"
          aria-pressed=${chosen === tab ? 'true' : 'false'}
          @click=${() => onTab(tab)}
        >
          ${label || first}${tab === 'trace' && asked ? attention : nothing}
        </button>`,
    )}
  </nav>`;
}

/**
 * Runs beside each other: the present one, those that it branched from or that branched from it, and finished ones that are kept in this
 * browser.
 */
import { html, nothing } from 'lit/html.js';
import { ago, plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';
import 'sheet:./runs.css';

/**
 * @typedef {{ run_id: string, name: string } & Partial<import('../run/saved.js').Offer>} Other
 * @typedef {object} Runs
 * @property {string | null} present
 * @property {string} [scenario]  Of the present run, by its title.
 * @property {Other[]} others
 * @property {(run_id: string) => void} onSwitch
 * @property {(run_id: string) => void} onCompare
 * @property {(run_id: string) => void} onForget
 */

/** @param {Runs} props */
export function runs({ present, scenario, others, onSwitch, onCompare, onForget }) {
  if (others.length === 0) return nothing;
  // A run of another scenario is told by that: first runs there are many.
  const nameOf = (/** @type {Other} */ { name, scenario_title }) =>
    scenario_title === undefined || scenario_title === scenario
      ? name
      : `${scenario_title}: ${name.toLowerCase()}`;
  return html`<nav class="runs scroller" aria-label="Runs beside each other">
    ${present === null ? nothing : html`<span class="present" aria-current="true">${glyph('branch')}${present}</span>`}
    ${others.map(
      (other) =>
        html`<span class="other">
          <button class="button small" title=${about(other)} @click=${() => onSwitch(other.run_id)}>
            ${nameOf(other)}
          </button>
          ${
            present === null
              ? nothing
              : html`<button class="button small quiet" @click=${() => onCompare(other.run_id)}>
                  Compare
                </button>`
          }
          <button
            class="button small quiet icon"
            aria-label=${`Forget ${nameOf(other)}`}
            title="Forget this run"
            @click=${() => onForget(other.run_id)}
          >
            ${glyph('close')}
          </button>
        </span>`,
    )}
  </nav>`;
}

/**
 * What tells runs of one name apart.
 * @param {Other} other
 */
function about({ scenario_title, records, status, last_active_ms }) {
  if (records === undefined) return nothing;
  const when = last_active_ms ? `, ${ago(last_active_ms)}` : '';
  return `${scenario_title}: ${status}, ${plural(records, 'record')}${when}`;
}

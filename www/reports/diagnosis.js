/** Why a run ended as it did, and what to change. */
import { html, nothing } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import { proof } from './proof.js';

/**
 * @param {import('../pkg/crashlab.js').Diagnosis} diagnosis
 * @param {import('./proof.js').Trace} trace
 */
export function diagnosis({ status, why, change, records, flaky }, trace) {
  return html`<section class="card diagnosis" aria-label="Diagnosis">
    <h3>${glyph(status === 'unfinished' ? 'crash' : 'stop')}<code>${status}</code></h3>
    <p class="why">${why}</p>
    <p>${change}</p>
    ${proof(records, trace)}
    ${
      flaky.length === 0
        ? nothing
        : html`<ul class="flaky" aria-label="Calls that had to be repeated">
            ${flaky.map(({ sentence, records }) => html`<li>${sentence} ${proof(records, trace)}</li>`)}
          </ul>`
    }
  </section>`;
}

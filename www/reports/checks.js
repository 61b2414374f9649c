/** What the checks found, each with its verdict, a sentence, and the records that prove it. */
import { html } from 'lit/html.js';
import { plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';
import { proof } from './proof.js';

const VERDICTS = { pass: 'pass', fail: 'fail', not_applicable: 'not applicable' };
const GLYPHS = { pass: 'check', fail: 'broken', not_applicable: 'minus' };

/**
 * @param {import('../pkg/crashlab.js').Evaluation} evaluation
 * @param {import('./proof.js').Trace} trace
 */
export function checks({ checks, records }, trace) {
  const failed = checks.filter(({ verdict }) => verdict === 'fail').length;
  const passed = checks.filter(({ verdict }) => verdict === 'pass').length;
  return html`<section class="checks" aria-label="Checks">
    <h3>
      ${failed === 0 ? 'No check fails' : `${plural(failed, 'check')} failed`}
      <small>${passed} passed, from ${plural(records, 'record')}</small>
    </h3>
    <ul>
      ${checks.map(
        ({ name, verdict, sentence, records }) =>
          html`<li class=${verdict}>
            <p class="verdict">${glyph(GLYPHS[verdict])}<span>${VERDICTS[verdict]}</span></p>
            <div>
              <h4>${name}</h4>
              <p>${sentence}</p>
              ${proof(records, trace)}
            </div>
          </li>`,
      )}
    </ul>
  </section>`;
}

/** What a search says about each invariant. */
import { html, nothing } from 'lit/html.js';
import { count, plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';

/**
 * @typedef {import('../study/crashlab.js').SearchVerdict} SearchVerdict
 * @typedef {import('../study/crashlab.js').SearchProgress} SearchProgress
 */

const KINDS = { always: 'always', eventually: 'in the end', sometimes: 'sometimes' };
const GLYPHS = { holds: 'check', happens: 'check', broken: 'broken', never: 'open' };

/**
 * @param {SearchVerdict[]} verdicts
 * @param {SearchProgress} progress
 * @param {boolean} isWhole  Every state within the bounds has been seen.
 * @param {(invariant: string) => void} onShow
 */
export function verdicts(verdicts, progress, isWhole, onShow) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Verdicts">
    <table class="verdicts">
      <caption class="visually-hidden">
        What the search says about each invariant
      </caption>
      <thead>
        <tr>
          <th scope="col">Invariant</th>
          <th scope="col">Has to hold</th>
          <th scope="col">Verdict</th>
          <th
            scope="col"
            title="The run in which the least goes wrong; of several, a shortest one."
          >
            Shortest run
          </th>
        </tr>
      </thead>
      <tbody>
        ${verdicts.map(
          (one) =>
            html`<tr class=${one.verdict}>
              <th scope="row">${one.name}</th>
              <td>${KINDS[one.kind]}</td>
              <td>
                <span class="word"
                  >${glyph(GLYPHS[one.verdict])}${says(one, progress, isWhole)}</span
                >
              </td>
              <td>
                ${
                  one.steps === null
                    ? nothing
                    : html`<button class="link" @click=${() => onShow(one.id)}>
                        ${plural(one.steps, 'step')}<span class="visually-hidden"
                          >: show the run</span
                        >
                      </button>`
                }
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {SearchVerdict} one @param {SearchProgress} progress @param {boolean} isWhole */
function says(one, { states }, isWhole) {
  const soFar = isWhole ? '' : ' so far';
  switch (one.verdict) {
    case 'broken':
      return `broken in ${count(one.broken_states)} of ${plural(states, 'state')}${soFar}`;
    case 'happens':
      return `happens at ${count(one.held_ends)} of ${plural(one.ends, 'end')}${soFar}`;
    case 'never':
      return `happens at none of ${plural(one.ends, 'end')}${soFar}`;
    default:
      return one.kind === 'eventually'
        ? `holds at all ${plural(one.ends, 'end')}${soFar}`
        : `holds in all ${plural(states, 'state')}${soFar}`;
  }
}

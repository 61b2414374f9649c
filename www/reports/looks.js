/** How long a person looked at each question. Whoever is asked twelve times looks at the twelfth as long as at nothing. */
import { html, nothing } from 'lit/html.js';
import { duration } from '../ui/format.js';

/**
 * @typedef {import('../pkg/crashlab.js').Question} Question
 * @typedef {object} Look
 * @property {Question} question
 * @property {number | null} seconds  Null: not decided.
 */

/** Questions that are listed. */
const MOST = 50;

/**
 * @param {Question[]} inbox
 * @returns {Look[]}
 */
export function looksOf(inbox) {
  return inbox.map((question) => ({
    question,
    seconds: question.decided_s === null ? null : question.decided_s - question.asked_s,
  }));
}

/**
 * @param {Look[]} looks
 * @param {import('./proof.js').Trace} trace
 */
export function looks(looks, { onSelect }) {
  const longest = Math.max(...looks.map(({ seconds }) => seconds ?? 0), 0.001);
  return html`<section class="looks" aria-labelledby="looks-title">
    <h3 id="looks-title">How long did the person look?</h3>
    <p class="hint">${sentence(looks)}</p>
    <table>
      <thead>
        <tr>
          <th scope="col">No.</th>
          <th scope="col">About</th>
          <th scope="col">Answer</th>
          <th scope="col" colspan="2">Looked</th>
        </tr>
      </thead>
      <tbody>
        ${looks.slice(0, MOST).map(
          ({ question, seconds }, place) =>
            html`<tr>
              <th scope="row">${place + 1}</th>
              <td>
                ${
                  question.record === null
                    ? html`<code>${question.tool}</code>`
                    : html`<button
                        class="link"
                        @click=${() => onSelect(/** @type {number} */ (question.record))}
                      >
                        <code>${question.tool}</code>
                      </button>`
                }
                <small>${question.args.map(({ value }) => value).join(', ')}</small>
              </td>
              <td>${question.status}</td>
              <td class="figure">${seconds === null ? 'not yet' : duration(seconds)}</td>
              <td class="bar">
                ${
                  seconds === null
                    ? nothing
                    : html`<meter
                        aria-hidden="true"
                        min="0"
                        max=${longest}
                        .value=${seconds}
                      ></meter>`
                }
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

/** @param {Look[]} looks */
function sentence(looks) {
  const decided = looks.flatMap(({ seconds }) => (seconds === null ? [] : [seconds]));
  if (decided.length === 0) return 'Nothing has been decided yet.';
  if (decided.length === 1) return `One question, ${duration(decided[0])}.`;
  const [first, last] = [decided[0], decided[decided.length - 1]];
  return `${decided.length} questions: ${duration(first)} for the first, ${duration(last)} for the last.`;
}

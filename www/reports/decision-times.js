/** How long a person took for each decision. Somebody who is asked twelve times hardly reads the twelfth question. */
import { html, nothing } from 'lit/html.js';
import { duration } from '../ui/format.js';

/**
 * @typedef {import('../pkg/crashlab.js').Question} Question
 * @typedef {object} DecisionTime
 * @property {Question} question
 * @property {number | null} seconds  Null: not decided.
 */

/** Questions that are listed. */
const MOST = 50;

/**
 * @param {Question[]} inbox
 * @returns {DecisionTime[]}
 */
export function decisionTimesOf(inbox) {
  return inbox.map((question) => ({
    question,
    seconds: question.decided_s === null ? null : question.decided_s - question.asked_s,
  }));
}

/**
 * @param {DecisionTime[]} times
 * @param {import('./proof.js').Trace} trace
 */
export function decisionTimes(times, { onSelect }) {
  const longest = Math.max(...times.map(({ seconds }) => seconds ?? 0), 0.001);
  return html`<section class="decision-times" aria-labelledby="decision-times-title">
    <h3 id="decision-times-title">How long did the person look?</h3>
    <p class="hint">${summary(times)}</p>
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
        ${times.slice(0, MOST).map(
          ({ question, seconds }, index) =>
            html`<tr>
              <th scope="row">${index + 1}</th>
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

/** @param {DecisionTime[]} times */
function summary(times) {
  const decided = times.flatMap(({ seconds }) => (seconds === null ? [] : [seconds]));
  if (decided.length === 0) return 'Nothing has been decided yet.';
  if (decided.length === 1) return `One question, ${duration(decided[0])}.`;
  const [first, last] = [decided[0], decided[decided.length - 1]];
  return `${decided.length} questions: ${duration(first)} for the first, ${duration(last)} for the last.`;
}

/** A question to a person: the tool, exactly the arguments, who decides, a note, yes or no. */
import { html } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import { json } from '../ui/json.js';
import 'sheet:./approval.css';

/**
 * @typedef {object} Approval
 * @property {import('../pkg/crashlab.js').Question} question
 * @property {string} approver
 * @property {string} note
 * @property {boolean} gone  The agent that asked is dead; the decision is kept for the next one.
 * @property {(change: { approver?: string, note?: string }) => void} onInput
 * @property {(decision: 'approved' | 'denied') => void} onDecide
 */

/** @param {Approval} props */
export function approval({ question, approver, note, gone, onInput, onDecide }) {
  const typed = (/** @type {'approver' | 'note'} */ field) => (/** @type {Event} */ event) =>
    onInput({ [field]: /** @type {HTMLInputElement} */ (event.currentTarget).value });
  return html`<form
    class="card approval-card"
    aria-labelledby="approval-title"
    @submit=${(/** @type {Event} */ event) => event.preventDefault()}
  >
    <h3 id="approval-title">
      ${glyph('approval_request')}<span>May the agent call <code>${question.tool}</code>?</span>
    </h3>
    <p>
      Once, with exactly these arguments.
      ${gone ? 'The agent is gone, but the question is in your inbox, and your answer will be kept there.' : ''}
    </p>
    <dl>
      ${question.args.map(
        ({ name, value }) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${json(value)}</dd>
          </div>`,
      )}
    </dl>
    <div class="fields">
      <label
        >Decided by<input
          .value=${approver}
          autocomplete="off"
          maxlength="80"
          @input=${typed('approver')}
      /></label>
      <label
        >Note, if you like<input
          .value=${note}
          autocomplete="off"
          maxlength="400"
          @input=${typed('note')}
      /></label>
      <div class="actions">
        <button
          type="button"
          class="button primary"
          aria-keyshortcuts="A"
          ?disabled=${approver.trim() === ''}
          @click=${() => onDecide('approved')}
        >
          ${glyph('check')}Approve<kbd>A</kbd>
        </button>
        <button
          type="button"
          class="button"
          aria-keyshortcuts="D"
          ?disabled=${approver.trim() === ''}
          @click=${() => onDecide('denied')}
        >
          ${glyph('close')}Deny<kbd>D</kbd>
        </button>
      </div>
    </div>
  </form>`;
}

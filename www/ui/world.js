/** The outside world's own books: money, letters, questions, and what the model's provider has billed. */
import { html, nothing } from 'lit/html.js';
import { LATEST, count, duration, latest, plural } from './format.js';
import { glyph } from './glyph.js';
import { mark } from './mark.js';
import './world.css';

/**
 * @typedef {object} World
 * @property {import('../pkg/crashlab.js').WorldView} world
 * @property {import('../pkg/crashlab.js').WorldView} present  As they are now, whatever is looked at.
 * @property {string | null} activity
 * @property {Set<number>} lit  Ledger rows to point at, by `seq`.
 * @property {(record: number) => void} onSelect
 * @property {(approval_key: string, decision: 'approved' | 'denied') => void} onDecide
 */

/** @param {World} props */
export function world(props) {
  const { world, activity } = props;
  return html`<section class="panel world" aria-labelledby="world-title">
    <header>
      <h2 id="world-title">Outside world</h2>
      <p></p>
      <span class="activity" ?hidden=${activity === null}>${activity}</span>
    </header>
    <div class="body" tabindex="0" role="group" aria-label="The books of the outside world">
      <div class="money" ${mark(world.refunded_total)}>
        <p class="total">${world.refunded_total}</p>
        <p>refunded, in ${plural(world.refunds.length, 'refund')}</p>
      </div>
      ${billing(props)} ${inbox(props)} ${letters(props)}
      <h3>Model provider</h3>
      <p class="figures">
        <span ${mark(world.meter.cost_usd)}>${world.meter.cost_usd} USD</span>
        <span>${plural(world.meter.calls, 'call')}</span>
        <span>${count(world.meter.input_tokens)} + ${count(world.meter.output_tokens)} tokens</span>
      </p>
      ${requests(props)}
    </div>
  </section>`;
}

/** @param {World} props */
function billing(props) {
  const { world, lit, onSelect } = props;
  return html`<h3>Billing</h3>
    <table class="ledger">
      <thead>
        <tr>
          <th scope="col">Charge</th>
          <th scope="col">Amount</th>
          <th scope="col">Refunded</th>
        </tr>
      </thead>
      <tbody>
        ${world.charges.map(
          ({ charge_id, invoice_id, amount, refunded }) =>
            html`<tr title=${invoice_id}>
              <th scope="row">${charge_id}</th>
              <td>${amount}</td>
              <td ${mark(refunded)}>${refunded}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <ol class="entries refunds">
      ${rows(props, 'refunds').map(
        ({ seq, record, refund_id, charge_id, amount, by, key, at_s }) =>
          html`<li class=${lit.has(seq) ? 'lit' : ''} ${mark(seq)}>
            ${entry('check', `${refund_id}: ${amount} for ${charge_id}`, at_s, record, onSelect)}
            <p class="aside">by ${by}, key <code>${key}</code></p>
            ${next(props, seq)}
          </li>`,
      )}
    </ol>`;
}

/** @type {Record<string, string>} */
const STATUSES = { open: 'a question is open', lost: 'the question was lost with its agent' };

/** @param {World} props */
function inbox({ world, lit, onSelect, onDecide }) {
  return html`<h3>
      Inbox <small>${world.person ? `of ${world.person.name}` : 'nobody is there'}</small>
    </h3>
    ${world.inbox.length === 0 ? html`<p class="none">No questions.</p>` : nothing}
    <ol class="entries questions">
      ${latest(world.inbox).map(
        ({ seq, record, approval_key, tool, args, status, approver, note, asked_s }) =>
          html`<li class=${lit.has(seq) ? 'lit' : ''} ${mark(status)}>
            ${entry(status === 'open' ? 'approval_request' : status === 'approved' ? 'check' : 'close', `${tool}: ${STATUSES[status] ?? status}${approver ? ` by ${approver}` : ''}`, asked_s, record, onSelect)}
            <p class="aside">${args.map(({ name, value }) => `${name} ${value}`).join(', ')}</p>
            ${note ? html`<p class="aside">“${note}”</p>` : nothing}
            ${
              status === 'open'
                ? html`<div class="actions">
                    <button class="button small" @click=${() => onDecide(approval_key, 'approved')}>
                      Approve
                    </button>
                    <button class="button small" @click=${() => onDecide(approval_key, 'denied')}>
                      Deny
                    </button>
                  </div>`
                : nothing
            }
          </li>`,
      )}
    </ol>`;
}

/** @param {World} props */
function letters(props) {
  const { lit, onSelect } = props;
  const [notes, mails] = [rows(props, 'notes'), rows(props, 'outbox')];
  return html`<h3>Notes and mail</h3>
    ${notes.length + mails.length === 0 ? html`<p class="none">Nothing written yet.</p>` : nothing}
    <ol class="entries notes">
      ${notes.map(
        ({ seq, record, text, at_s }) =>
          html`<li class=${lit.has(seq) ? 'lit' : ''} ${mark(seq)}>
            ${entry('note', 'Internal note', at_s, record, onSelect)} ${next(props, seq)}
            <p class="letter">${text}</p>
          </li>`,
      )}
    </ol>
    <ol class="entries mails">
      ${mails.map(
        ({ seq, record, to, text, at_s }) =>
          html`<li class=${lit.has(seq) ? 'lit' : ''} ${mark(seq)}>
            ${entry('mail', `To ${to}`, at_s, record, onSelect)} ${next(props, seq)}
            <p class="letter">${text}</p>
          </li>`,
      )}
    </ol>`;
}

/** @param {World} props */
function requests(props) {
  const { world, lit } = props;
  return html`<h3>
      Requests
      <small
        >${count(world.requests.length)} reached a
        service${world.requests.length > LATEST ? `, the last ${LATEST}` : ''}</small
      >
    </h3>
    <ol class="requests">
      ${rows(props, 'requests').map(
        ({ seq, tool, outcome, ok }) =>
          html`<li class=${lit.has(seq) ? 'lit' : ''} ${mark(seq)}>
            ${glyph(ok ? 'check' : 'close')}<code>${tool}</code><span>${outcome}</span>
          </li>`,
      )}
    </ol>`;
}

/**
 * The rows of a list as of the selected record, and after them those that the record leads to.
 * @template {'refunds' | 'notes' | 'outbox' | 'requests'} List
 * @param {World} props
 * @param {List} list
 * @returns {import('../pkg/crashlab.js').WorldView[List]}
 */
function rows({ world, present, lit }, list) {
  const then = latest(/** @type {{ seq: number }[]} */ (world[list]));
  const led =
    world === present ? [] : present[list].filter(({ seq }) => lit.has(seq) && seq >= world.rows);
  return /** @type {any} */ ([...then, ...led]);
}

/** @param {World} props @param {number} seq */
function next({ world, present }, seq) {
  return world === present || seq < world.rows
    ? nothing
    : html`<p class="aside">This is what the record leads to.</p>`;
}

/**
 * @param {string} sign
 * @param {string} text
 * @param {number} at_s
 * @param {number | null} record
 * @param {(record: number) => void} onSelect
 */
function entry(sign, text, at_s, record, onSelect) {
  const inside = html`${glyph(sign)}<span>${text}</span><time>${duration(at_s)}</time>`;
  return record === null
    ? html`<p class="entry">${inside}</p>`
    : html`<button
        class="entry"
        title="Show record ${record}, which caused it"
        @click=${() => onSelect(record)}
      >
        ${inside}
      </button>`;
}

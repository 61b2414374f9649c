/** One record: its fields as JSON, what it changed in the agent, what it caused in the world. */
import { html, nothing } from 'lit/html.js';
import { duration, plural } from '../ui/format.js';
import { glyph, homeOf } from '../ui/glyph.js';
import { json } from '../ui/json.js';
import 'sheet:./detail.css';

/**
 * @typedef {object} Detail
 * @property {import('../pkg/crashlab.js').RecordDetail | null} detail
 * @property {boolean} newest  Nothing is selected: this is the newest record.
 * @property {'changes' | 'state'} side
 * @property {{ seq: number, text: string }[]} ledger  The ledger rows that it caused.
 * @property {(side: 'changes' | 'state') => void} onSide
 * @property {() => void} onClose
 */

/** @param {Detail} props */
export function detail(props) {
  const { detail, newest, onClose } = props;
  if (!detail) return html`<section class="detail" aria-label="Record"></section>`;
  const { record } = detail;
  return html`<section class="detail ${newest ? '' : 'selected'}" aria-label="Record">
    <header class=${homeOf(record.type)}>
      ${glyph(record.type)}
      <h2>${record.type}</h2>
      <p>
        ${newest ? 'newest, ' : ''}record ${record.index}, step ${record.step}, at
        ${duration(record.at_s)} <span>${record.clock}</span>
      </p>
      ${
        newest
          ? nothing
          : html`<button
              class="button small quiet icon"
              aria-label="Close and go back to now"
              @click=${onClose}
            >
              ${glyph('close')}
            </button>`
      }
    </header>
    <pre class="fields" tabindex="0" aria-label="The record as JSON">${json(detail.json)}</pre>
    ${side(props, detail)}
  </section>`;
}

/**
 * @param {Detail} props
 * @param {import('../pkg/crashlab.js').RecordDetail} detail
 */
function side({ side, ledger, onSide }, detail) {
  const tab = (/** @type {'changes' | 'state'} */ id, /** @type {string} */ word) =>
    html`<button aria-pressed=${side === id ? 'true' : 'false'} @click=${() => onSide(id)}>
      ${word}
    </button>`;
  return html`<div class="side">
    <div class="choice" role="group" aria-label="The agent's state">
      ${tab('changes', detail.changes.length === 0 ? 'No change' : plural(detail.changes.length, 'change'))}
      ${tab('state', 'State after')}
    </div>
    ${
      side === 'state'
        ? html`<pre tabindex="0" aria-label="The agent's state after the record, as JSON">
${json(detail.state_json)}</pre>`
        : html`<div class="effects" tabindex="0" role="group" aria-label="What the record changed">
            ${detail.changes.length === 0 ? html`<p class="none">It changed nothing in the agent's state.</p>` : nothing}
            <ul>
              ${detail.changes.map(
                ({ path, before, after }) =>
                  html`<li class="memory">
                    <code class="path">${path}</code>
                    ${before === null ? html`<ins>${after}</ins>` : html`<del>${before}</del> <span aria-hidden="true">→</span><ins>${after ?? 'nothing'}</ins>`}
                  </li>`,
              )}
              ${ledger.map(({ text }) => html`<li class="world"><span class="path">In the world</span><span>${text}</span></li>`)}
            </ul>
          </div>`
    }
  </div>`;
}

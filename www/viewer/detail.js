/** One record: its fields as a tree, what it changed in the agent, what it caused in the world. */
import { html, nothing } from 'lit/html.js';
import { ref } from 'lit/directives/ref.js';
import { bytes, count, duration, plural } from '../ui/format.js';
import { glyph, homeOf } from '../ui/glyph.js';
import { copy, tree } from './tree.js';
import 'sheet:./detail.css';

/**
 * @typedef {object} Detail
 * @property {import('../pkg/crashlab.js').RecordDetail | null} detail
 * @property {boolean} newest  Nothing is selected: this is the newest record.
 * @property {'changes' | 'state'} side
 * @property {{ seq: number, text: string }[]} ledger  The ledger rows that it caused.
 * @property {import('../study/crashlab.js').TraceRow | null} unusual  It comes from a file, and is not as this program writes it.
 * @property {boolean} foreign  It comes from a file.
 * @property {(side: 'changes' | 'state') => void} onSide
 * @property {(record: import('../pkg/crashlab.js').RecordView) => void} onMcp
 * @property {() => void} onClose
 */

/** A change that is longer is cut until somebody asks for all of it. */
const LONG = 600;
const MANY = 200;

/** The tree of a text is made once, and stays open as it was opened. @type {WeakMap<Element, string>} */
const drawn = new WeakMap();

/**
 * @param {string} text
 * @param {string} label
 */
const treeOf = (text, label) =>
  ref((element) => {
    if (!element || drawn.get(element) === text) return;
    drawn.set(element, text);
    element.replaceChildren(tree(text, label));
  });

/** @param {string} text */
const copyOf = (text) =>
  ref((element) => {
    if (!element || drawn.get(element) === text) return;
    drawn.set(element, text);
    element.replaceChildren(copy('the record', () => text));
  });

/** @param {Detail} props */
export function detail(props) {
  const { detail, newest, onMcp, onClose } = props;
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
        record.type === 'tool_call'
          ? html`<button
              class="button small quiet"
              title="This call as an MCP request"
              @click=${() => onMcp(record)}
            >
              MCP
            </button>`
          : nothing
      }
      <span ${copyOf(record.line)}></span>
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
    <div
      class="fields"
      tabindex="0"
      role="group"
      aria-label="The record as JSON"
      ${treeOf(record.line, 'Fields')}
    ></div>
    ${props.foreign ? remarks(props.unusual) : side(props, detail)}
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
  const { changes } = detail;
  return html`<div class="side">
    <div class="choice" role="group" aria-label="The agent’s state">
      ${tab('changes', changes.length === 0 ? 'No change' : plural(changes.length, 'change'))}
      ${tab('state', 'State after')}
    </div>
    ${
      side === 'state'
        ? html`<div
            class="state-after"
            tabindex="0"
            role="group"
            aria-label="The agent’s state after the record, as JSON"
            ${treeOf(detail.state_json, 'State')}
          ></div>`
        : html`<div class="effects" tabindex="0" role="group" aria-label="What the record changed">
            ${changes.length === 0 ? html`<p class="none">It changed nothing in the agent’s state.</p>` : nothing}
            <ul>
              ${changes.slice(0, MANY).map(change)}
              ${changes.length > MANY ? html`<li>and ${plural(changes.length - MANY, 'change')} more</li>` : nothing}
              ${ledger.map(({ text }) => html`<li class="world"><span class="path">In the world</span><span>${text}</span></li>`)}
            </ul>
          </div>`
    }
  </div>`;
}

/** What is unusual about a record of a file. @param {Detail['unusual']} row */
function remarks(row) {
  return html`<div class="side">
    <div class="effects" tabindex="0" role="group" aria-label="What is unusual about the record">
      ${
        row === null
          ? html`<p class="none">A record as this program writes it.</p>`
          : html`<p>Line ${count(row.line_number)} of the file.</p>
              ${row.form === 'broken' ? html`<p>It cannot be read: ${row.record.text}</p>` : nothing}
              ${row.remarks ? remarked(row.remarks) : nothing}`
      }
    </div>
  </div>`;
}

/** @param {import('../study/crashlab.js').Remarks} remarks */
function remarked({ unknown_type, missing, unknown, wrong }) {
  return html`${unknown_type ? html`<p>This program has no records of this type.</p>` : nothing}
  ${fields('Missing', missing)} ${fields('Not known here', unknown)}
  ${fields('Of another kind', wrong)}`;
}

/** @param {string} word @param {string[]} paths */
function fields(word, paths) {
  if (paths.length === 0) return nothing;
  return html`<p>
    ${word}:
    ${paths.slice(0, MANY).map((path, i) => [i > 0 ? ', ' : '', html`<code>${path}</code>`])}
  </p>`;
}

/** @param {import('../pkg/crashlab.js').Change} change */
function change({ path, before, after }) {
  return html`<li class="memory">
    <code class="path">${path}</code>
    ${
      before === null
        ? html`<ins>${cut(after ?? '')}</ins>`
        : html`<del>${cut(before)}</del> <span aria-hidden="true">→</span>
            <ins>${after === null ? 'nothing' : cut(after)}</ins>`
    }
  </li>`;
}

/** Long texts that are shown, with their buttons, so that one that was opened stays open. @type {Map<string, HTMLElement>} */
const long = new Map();

/** @param {string} text */
function cut(text) {
  if (text.length <= LONG) return text;
  let span = long.get(text);
  if (!span) {
    span = document.createElement('span');
    const all = document.createElement('button');
    all.className = 'link';
    all.textContent = `show all, ${bytes(text.length)}`;
    all.addEventListener('click', () => span?.replaceChildren(text));
    span.append(`${text.slice(0, LONG)}… `, all);
    if (long.size > MANY) long.clear();
    long.set(text, span);
  }
  return span;
}

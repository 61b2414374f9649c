/** The keys, the colours and the words of the trace, over the page. */
import { html } from 'lit/html.js';
import { ref } from 'lit/directives/ref.js';
import { glyph, homeOf } from '../ui/glyph.js';
import 'sheet:./help.css';

const KEYS = [
  ['Space', 'run, pause'],
  ['S', 'one effect'],
  ['A', 'approve'],
  ['D', 'deny'],
  ['X', 'crash the agent'],
  ['R', 'resume it'],
  ['↑ ↓', 'through the records'],
  ['Esc', 'back to now'],
  ['← →', 'fold and unfold a record'],
  ['/', 'search the records'],
  ['?', 'this page'],
];
const SEARCH_KEYS = [
  ['Enter', 'next match'],
  ['Shift Enter', 'match before'],
  ['Esc', 'clear'],
];
const TIMELINE_KEYS = [
  ['+ −', 'zoom; so does the wheel'],
  ['0', 'show all'],
  ['← →', 'along the run'],
  ['Shift ← →', 'list a stretch, record by record'],
  ['Shift drag', 'list a stretch'],
  ['Enter', 'list what is in sight'],
  ['Esc', 'list all again'],
];
const WORDS = [
  ['run_start', 'the run begins'],
  ['llm_request', 'about to ask the model'],
  ['llm_call', 'what the model said, and what it cost'],
  ['llm_retry', 'the model did not answer; again later'],
  ['tool_call', 'about to call a tool'],
  ['tool_retry', 'the tool failed; again later'],
  ['tool_result', 'what the tool said'],
  ['approval_request', 'a person is asked'],
  ['approval', 'the person has decided'],
  ['replan', 'the plan has to change'],
  ['guard', 'a limit was reached'],
  ['checkpoint', 'the state was saved'],
  ['crash', 'the agent died'],
  ['resume', 'a new agent took up the run'],
  ['stop', 'the run is over'],
];

/** @param {string[][]} rows */
const keys = (rows) =>
  html`<dl>
    ${rows.map(
      ([key, does]) =>
        html`<div>
          <dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd>`)}</dt>
          <dd>${does}</dd>
        </div>`,
    )}
  </dl>`;

/** @param {boolean} open @param {() => void} onClose */
export function help(open, onClose) {
  const show = ref((element) => {
    const dialog = /** @type {HTMLDialogElement | undefined} */ (element);
    if (!dialog) return;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  });
  return html`<dialog class="help" aria-labelledby="help-title" ${show} @close=${onClose}>
    <header>
      <h2 id="help-title">Keys and words</h2>
      <button class="button small quiet icon" aria-label="Close" @click=${onClose}>
        ${glyph('close')}
      </button>
    </header>
    <div class="parts">
      <section class="keys">
        <h3>Keys</h3>
        ${keys(KEYS)}
        <h4>In the search</h4>
        ${keys(SEARCH_KEYS)}
        <h4>In the timeline</h4>
        ${keys(TIMELINE_KEYS)}
      </section>
      <section>
        <h3>Places</h3>
        <dl class="places">
          <div class="memory">
            <dt>Memory</dt>
            <dd>the agent; gone in a crash</dd>
          </div>
          <div class="storage">
            <dt>Storage</dt>
            <dd>log and checkpoint; stay</dd>
          </div>
          <div class="world">
            <dt>World</dt>
            <dd>goes on without the agent</dd>
          </div>
        </dl>
        <p>Red is only ever a broken invariant.</p>
      </section>
      <section class="words">
        <h3>Records</h3>
        <dl>
          ${WORDS.map(
            ([type, means]) =>
              html`<div class=${homeOf(type)}>
                <dt>${glyph(type)}<code>${type}</code></dt>
                <dd>${means}</dd>
              </div>`,
          )}
        </dl>
      </section>
    </div>
  </dialog>`;
}

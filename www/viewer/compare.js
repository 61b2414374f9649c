/** Two runs beside each other: aligned, with the first difference in sight, and what differs in the end. */
import { html, nothing } from 'lit/html.js';
import { ref } from 'lit/directives/ref.js';
import { count, plural } from '../ui/format.js';
import { glyph, homeOf } from '../ui/glyph.js';
import { closeButton } from '../ui/window.js';
import { align, differences } from './align.js';
import { ledgerRows } from './books.js';
import { changedPaths } from './paths.js';
import 'sheet:./compare.css';

/**
 * @typedef {import('./align.js').Pair} Pair
 * @typedef {import('../pkg/crashlab.js').LabView} LabView
 * @typedef {object} Side
 * @property {string} name
 * @property {import('../pkg/crashlab.js').RecordView[]} records
 * @property {LabView} view
 * @property {import('../pkg/crashlab.js').RecordDetail | null} [last]  The last record, with the agent's state after it.
 */

/** Equal records that are shown around a difference. */
const CONTEXT = 2;
/** Rows that are shown of a comparison; what differs comes first of all. */
const MOST = 600;
/** Paths of a state that are shown. */
const PATHS = 60;

/**
 * @param {[Side, Side]} sides
 * @param {() => void} onClose
 */
export function compare([left, right], onClose) {
  const { headline, traces } = beside(left, right);
  const show = ref((element) => {
    const dialog = /** @type {HTMLDialogElement | undefined} */ (element);
    if (!dialog) return;
    // It is in the page when the drawing is done.
    queueMicrotask(() => {
      if (dialog.open || !dialog.isConnected) return;
      dialog.showModal();
      const first = /** @type {HTMLElement | null} */ (dialog.querySelector('.parting'));
      first?.scrollIntoView({ block: 'center' });
      first?.focus({ preventScroll: true });
    });
  });
  return html`<dialog
    class="window compare"
    aria-labelledby="compare-title"
    ${show}
    @close=${onClose}
  >
    <header>
      <h2 id="compare-title">${left.name} and ${right.name}</h2>
      <p>${headline}</p>
      ${closeButton(onClose)}
    </header>
    ${traces}
  </dialog>`;
}

/**
 * The two traces, for a page that shows them elsewhere than in a dialog.
 * @param {Side} left
 * @param {Side} right
 */
export function beside(left, right) {
  const { pairs, parting } = align(left.records, right.records);
  const traces = [
    html`<div class="beside" tabindex="0" role="group" aria-label="The two traces">
      <table>
        <thead>
          <tr>
            <th scope="col">${left.name}</th>
            <th scope="col">${right.name}</th>
          </tr>
        </thead>
        <tbody>
          ${rows(pairs, parting)}
        </tbody>
      </table>
    </div>`,
    ends(left, right),
  ];
  return { headline: sentence(pairs, parting), traces };
}

/**
 * @param {Pair[]} pairs
 * @param {number} parting
 */
function sentence(pairs, parting) {
  if (parting < 0) return `The same, record by record: ${plural(pairs.length, 'record')}.`;
  const differing = pairs.filter(([, , same]) => !same).length;
  const rows = `${plural(differing, 'row')} differ${differing === 1 ? 's' : ''}.`;
  const before = pairs.slice(0, parting);
  const equal = before.filter(([, , same]) => same);
  const same = `the same for ${plural(equal.length, 'record')}, then they part. ${rows}`;
  return equal.length === before.length
    ? same.replace('the', 'The')
    : `Set up differently, then ${same}`;
}

/**
 * @param {Pair[]} pairs
 * @param {number} parting
 */
function rows(pairs, parting) {
  const drawn = [];
  for (let i = 0; i < pairs.length && drawn.length < MOST;) {
    let end = i;
    while (end < pairs.length && pairs[end][2]) end++;
    if (end - i > 2 * CONTEXT + 1) {
      const from = i === 0 ? 0 : i + CONTEXT;
      const to = end === pairs.length ? end : end - CONTEXT;
      for (let k = i; k < from; k++) drawn.push(row(pairs[k], false));
      drawn.push(
        html`<tr class="equal">
          <td colspan="2">${count(to - from)} equal records</td>
        </tr>`,
      );
      i = to;
      for (; i < end; i++) drawn.push(row(pairs[i], false));
    } else {
      for (; i < end; i++) drawn.push(row(pairs[i], false));
    }
    for (; i < pairs.length && !pairs[i][2]; i++) drawn.push(row(pairs[i], i === parting));
  }
  return drawn;
}

/**
 * @param {Pair} pair
 * @param {boolean} isParting
 */
function row([left, right, same], isParting) {
  const cell = (/** @type {Pair[0]} */ record) =>
    record
      ? html`<td class=${homeOf(record.type)}>
          <p>
            ${glyph(record.type)}<code>${record.type}</code>
            <small>record ${record.index}, step ${record.step}</small>
          </p>
          <p>${record.text}</p>
        </td>`
      : html`<td class="absent"><span class="visually-hidden">no record</span></td>`;
  return html`<tr
    class="${same ? 'same' : 'differs'} ${isParting ? 'parting' : ''}"
    tabindex=${isParting ? '-1' : nothing}
  >
    ${cell(left)}${cell(right)}
  </tr>`;
}

/**
 * What the runs have come to: the agent's state, and the world's books.
 * @param {Side} left
 * @param {Side} right
 */
function ends(left, right) {
  const state =
    left.last && right.last
      ? changedPaths(left.last.state_json, right.last.state_json)
      : differences(memoryOf(left.view), memoryOf(right.view));
  // What was said comes last: it is long, and the trace has it too.
  const isSaid = (/** @type {{ path: string }} */ { path }) => path.startsWith('messages');
  state.sort((a, b) => Number(isSaid(a)) - Number(isSaid(b)));
  const run = differences(runOf(left.view), runOf(right.view));
  const [a, b] = [left, right].map(({ view }) => ledgerRows(view.world).map(({ text }) => text));
  const only = (/** @type {string[]} */ these, /** @type {string[]} */ those) =>
    these.filter((text) => !those.includes(text));
  return html`<div class="ends" tabindex="0" role="group" aria-label="What differs in the end">
    <section aria-labelledby="compare-state">
      <h3 id="compare-state">The agent’s state</h3>
      ${table(state)}
    </section>
    <section aria-labelledby="compare-run">
      <h3 id="compare-run">The run</h3>
      ${table(run)}
    </section>
    <section class="world" aria-labelledby="compare-ledger">
      <h3 id="compare-ledger">The world’s books</h3>
      ${list(`Only in ${left.name}`, only(a, b))} ${list(`Only in ${right.name}`, only(b, a))}
      ${only(a, b).length + only(b, a).length === 0 ? html`<p class="none">No difference.</p>` : nothing}
    </section>
  </div>`;
}

/**
 * @param {string} title
 * @param {string[]} texts
 */
function list(title, texts) {
  if (texts.length === 0) return nothing;
  return html`<h4>${title}</h4>
    <ul>
      ${texts.slice(0, 60).map((text) => html`<li>${text}</li>`)}
    </ul>`;
}

/** @param {{ path: string, left: string, right: string }[]} rows */
function table(rows) {
  if (rows.length === 0) return html`<p class="none">No difference.</p>`;
  return html`<table>
      <tbody>
        ${rows.slice(0, PATHS).map(
          ({ path, left, right }) =>
            html`<tr>
              <th scope="row"><code>${path || 'all of it'}</code></th>
              <td>${left}</td>
              <td>${right}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${rows.length > PATHS ? html`<p>And ${count(rows.length - PATHS)} more.</p>` : nothing}`;
}

/** What has become of the run. @param {LabView} view */
function runOf({ status, phase, crashes, resumes, world }) {
  return {
    status: status ?? phase,
    crashes,
    resumes,
    refunded: world.refunded_total,
    provider_usd: world.meter.cost_usd,
  };
}

/** What is known of the agent's state where its JSON is not. @param {LabView} view */
function memoryOf({ memory }) {
  return (
    memory && {
      step: memory.step,
      plan: memory.plan,
      messages: memory.messages.length,
      llm_calls: memory.llm_calls,
      cost_usd: memory.cost_usd,
    }
  );
}

/**
 * Every record of the log in its order: by step, then by call, then by attempt. The list follows the run until the reader scrolls up
 * or selects a record. Where the run stands is drawn below the last record.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 */
import { html, nothing } from 'lit/html.js';
import { guard } from 'lit/directives/guard.js';
import { ref } from 'lit/directives/ref.js';
import { duration } from './format.js';
import { glyph, homeOf } from './glyph.js';
import { mark } from './mark.js';
import './trace.css';

/**
 * @typedef {object} Trace
 * @property {RecordView[]} records
 * @property {number | null} selected
 * @property {unknown} stand  Where the run stands.
 * @property {(record: number) => void} onSelect
 */

const RESULTS = new Set(['llm_call', 'tool_result', 'approval']);

/** @param {() => void} redraw */
export function createTrace(redraw) {
  /** @type {HTMLElement | null} */
  let scroller = null;
  let following = true;
  let seen = 0;
  let selectedBefore = /** @type {number | null} */ (null);

  const atEnd = () => {
    if (!scroller) return true;
    const stand = /** @type {HTMLElement | null} */ (scroller.lastElementChild);
    const end = scroller.scrollHeight - scroller.clientHeight;
    const wanted = Math.min(end, (stand?.offsetTop ?? end) - scroller.offsetTop);
    return wanted - scroller.scrollTop < 32;
  };
  // Where the run stands; what does not fit is read from its top.
  const toStand = () => {
    const stand = /** @type {HTMLElement | null | undefined} */ (scroller?.lastElementChild);
    if (!scroller || !stand) return;
    const end = scroller.scrollHeight - scroller.clientHeight;
    scroller.scrollTop = Math.min(end, stand.offsetTop - scroller.offsetTop);
  };
  const toEnd = () => {
    following = true;
    toStand();
    redraw();
  };
  const scrolled = () => {
    const before = following;
    following = atEnd();
    if (before !== following) redraw();
  };
  const attach = ref((element) => (scroller = /** @type {HTMLElement | null} */ (element ?? null)));

  return {
    /** From the next drawing on, the end is in sight. */
    follow() {
      following = true;
    },

    /** @param {Trace} props */
    render(props) {
      if (following) seen = props.records.length;
      if (props.records.length < seen) seen = 0;
      const unseen = props.records.length - seen;
      return html`<section class="trace" aria-labelledby="trace-title">
        <h2 id="trace-title" class="visually-hidden">Trace</h2>
        <div
          class="scroller"
          tabindex="0"
          role="group"
          aria-label="Records"
          ${attach}
          @scroll=${scrolled}
        >
          ${bySteps(props.records).map((group) => step(group, props))}
          <div class="stand">${props.stand}</div>
        </div>
        ${
          unseen > 0 && !following
            ? html`<button class="button small newer" @click=${toEnd}>
                ${unseen === 1 ? '1 new record' : `${unseen} new records`}${glyph('more')}
              </button>`
            : nothing
        }
      </section>`;
    },

    /**
     * After each drawing: keeps to the end, or brings the newly selected record into sight.
     * @param {number | null} selected
     */
    settle(selected) {
      if (selected !== selectedBefore) {
        selectedBefore = selected;
        if (selected !== null) {
          following = false;
          const row = scroller?.querySelector(`[data-record="${selected}"]`);
          row?.scrollIntoView({ block: 'nearest' });
          if (scroller?.contains(document.activeElement))
            /** @type {HTMLElement} */ (row)?.focus({ preventScroll: true });
        }
      }
      if (following) toStand();
    },
  };
}

/**
 * @param {RecordView[]} records
 * @returns {RecordView[][]}
 */
function bySteps(records) {
  /** @type {RecordView[][]} */
  const groups = [];
  for (const record of records) {
    const last = groups.at(-1);
    if (last && last[0].step === record.step && record.type !== 'resume') last.push(record);
    else groups.push([record]);
  }
  return groups;
}

/**
 * @param {RecordView[]} group
 * @param {Trace} props
 */
function step(group, props) {
  const first = group[0];
  return html`<div class="step" role="group" aria-label="Step ${first.step}">
    <h3>
      <span>Step ${first.step}</span
      >${first.type === 'resume' ? html`<small>after a resume</small>` : nothing}
    </h3>
    <ol>
      ${group.map((record) =>
        guard([record, props.selected === record.index], () => row(record, props)),
      )}
    </ol>
  </div>`;
}

/**
 * @param {RecordView} record
 * @param {Trace} props
 */
function row(record, { selected, onSelect }) {
  const chosen = selected === record.index;
  return html`<li
    class="record ${homeOf(record.type)} is-${record.type} ${record.tone} ${isInner(record) ? 'inner' : ''}"
  >
    <button
      data-record=${record.index}
      aria-current=${chosen ? 'true' : 'false'}
      @click=${() => onSelect(record.index)}
      ${mark(record.index)}
    >
      ${glyph(glyphOf(record))}
      <span class="word">${record.type}</span>
      <span class="text">${record.text}</span>
      <time>${duration(record.at_s)}</time>
    </button>
  </li>`;
}

/** @param {RecordView} record */
function glyphOf(record) {
  return record.type === 'approval' && record.tone === 'bad' ? 'denied' : record.type;
}

/**
 * What belongs under a call: its retries, its later attempts, its result.
 * @param {RecordView} record
 */
function isInner(record) {
  if (record.type.endsWith('_retry') || RESULTS.has(record.type)) return true;
  return (
    (record.type === 'tool_call' || record.type === 'llm_request') && (record.attempt ?? 1) > 1
  );
}

/**
 * Every record of the log in its order, as a tree that can be searched and filtered. The list follows the run until the reader
 * scrolls up or selects a record. The run's status is drawn below the last record.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 */
import { html, nothing } from 'lit/html.js';
import { ref } from 'lit/directives/ref.js';
import { count, plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';
import { menu } from '../ui/menu.js';
import { TraceFilter } from './trace-filter.js';
import { Rows } from './rows.js';
import 'sheet:./trace.css';

/**
 * @typedef {object} Trace
 * @property {RecordView[]} records
 * @property {number | null} selected
 * @property {unknown} status  What is drawn below the last record.
 * @property {(record: number) => void} onSelect
 */

const PAUSE_MS = 150;
/** @type {[number, number]} */
const ALL_STEPS = [-Infinity, Infinity];

/** @param {() => void} redraw */
export function createTrace(redraw) {
  const filter = new TraceFilter();
  /** @type {Rows | null} */
  let rows = null;
  /** @type {HTMLElement | null} */
  let scroller = null;
  let following = true;
  /** Whether more may come, which can be followed. */
  let grows = true;
  let seen = 0;
  let selectedBefore = /** @type {number | null} */ (null);
  let looked = 0;
  let pause = 0;
  /** @type {RecordView[]} */
  let records = [];
  let select = (/** @type {number} */ _record) => {};

  // The end is the run's status; what does not fit is read from its top.
  const endOfList = () => {
    const element = /** @type {HTMLElement | null} */ (scroller?.lastElementChild ?? null);
    if (!scroller || !element) return 0;
    const end = scroller.scrollHeight - scroller.clientHeight;
    return Math.min(end, element.offsetTop - scroller.offsetTop);
  };
  const scrollToEnd = () => {
    if (scroller) scroller.scrollTop = endOfList();
  };
  const toEnd = () => {
    following = true;
    scrollToEnd();
    redraw();
  };
  // Heights that were guessed change when they are known, and the list scrolls by itself then. Only the reader ends the following.
  let moved = -Infinity;
  const moves = (/** @type {Event} */ event) => {
    moved = event.type === 'pointerdown' ? Infinity : event.timeStamp;
  };
  addEventListener('pointerup', ({ timeStamp }) => (moved = Math.min(moved, timeStamp)));
  const scrolled = (/** @type {Event} */ event) => {
    const before = following;
    // A reader who has selected a record stays with it, even where the end is in sight.
    if (!scroller || endOfList() - scroller.scrollTop < 32)
      following = grows && selectedBefore === null;
    else if (event.timeStamp - moved < 1000) following = false;
    if (before !== following) redraw();
  };
  const grown = new ResizeObserver(() => {
    if (following) scrollToEnd();
  });
  const attach = ref((element) => {
    if (element === scroller) return;
    scroller = /** @type {HTMLElement | null} */ (element ?? null);
    for (const sign of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
      scroller?.addEventListener(sign, moves, { passive: true });
  });
  const host = ref((element) => {
    if (!element || rows?.host === element) return;
    grown.disconnect();
    grown.observe(element);
    rows = new Rows(/** @type {HTMLElement} */ (element), {
      onSelect: (record) => select(record),
      onFilled: redraw,
    });
    looked = -1;
  });

  /** @param {Parameters<TraceFilter['set']>[0]} change */
  const set = (change) => {
    filter.set(change);
    redraw();
  };
  const typed = (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLInputElement} */ (event.currentTarget);
    clearTimeout(pause);
    pause = setTimeout(() => set({ query: value }), PAUSE_MS);
  };
  const toMatch = (/** @type {1 | -1} */ by) => {
    const found = filter.nextMatch(selectedBefore, by);
    if (found !== null) select(found);
  };
  const keyed = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      clearTimeout(pause);
      const { value } = /** @type {HTMLInputElement} */ (event.currentTarget);
      if (value !== filter.query) filter.set({ query: value });
      filter.read(records);
      toMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      /** @type {HTMLInputElement} */ (event.currentTarget).value = '';
      set({ query: '' });
    }
  };

  return {
    filter,
    /** Stretches of the timeline filter the list. @param {[number, number] | null} range */
    brush: (range) => set({ range }),

    /** From the next drawing on, the end is in sight. */
    follow() {
      following = grows = true;
    },

    /** A trace that is there from the start is read from its start. */
    rest() {
      following = grows = false;
      if (scroller) scroller.scrollTop = 0;
    },

    /** Puts the caret where words are searched. */
    search() {
      /** @type {HTMLElement | null} */ (document.querySelector('.trace [type=search]'))?.focus();
    },

    /** @param {Trace} props */
    render(props) {
      ({ records } = props);
      select = props.onSelect;
      if (following) seen = records.length;
      if (records.length < seen) seen = 0;
      filter.read(records);
      const unseen = props.status === nothing ? 0 : records.length - seen;
      return html`<section class="trace" aria-labelledby="trace-title">
        <h2 id="trace-title" class="visually-hidden">Trace</h2>
        ${records.length === 0 ? nothing : bar(filter, records, { selected: props.selected, set, typed, keyed, toMatch })}
        <div
          class="scroller"
          tabindex="0"
          role="group"
          aria-label="Records"
          ${attach}
          @scroll=${scrolled}
        >
          <div class="rows" ${host}></div>
          <div class="run-status">${props.status}</div>
        </div>
        ${
          unseen > 0 && !following
            ? html`<button class="button small newer" @click=${toEnd}>
                ${unseen === 1 ? '1 new record' : `${count(unseen)} new records`}${glyph('more')}
              </button>`
            : nothing
        }
      </section>`;
    },

    /**
     * After each drawing: the rows, then the end or the newly selected record in sight.
     * @param {number | null} selected
     */
    settle(selected) {
      if (!rows) return;
      rows.sync(records);
      if (looked !== filter.version) {
        looked = filter.version;
        rows.sift(filter);
      }
      rows.select(selected);
      if (selected !== selectedBefore) {
        selectedBefore = selected;
        if (selected !== null) {
          following = false;
          const row = rows.reveal(selected, 'nearest');
          if (scroller?.contains(document.activeElement)) row?.focus({ preventScroll: true });
        }
      }
      if (following) scrollToEnd();
    },
  };
}

/**
 * Words, counts, and what is not listed.
 * @param {TraceFilter} filter
 * @param {RecordView[]} records
 * @param {{ selected: number | null, set: (change: Parameters<TraceFilter['set']>[0]) => void, typed: (event: Event) => void,
 *   keyed: (event: KeyboardEvent) => void, toMatch: (by: 1 | -1) => void }} on
 */
function bar(filter, records, on) {
  const { matches, query } = filter;
  const place = on.selected === null ? -1 : matches.indexOf(on.selected);
  const found =
    matches.length === 0
      ? 'no record'
      : place < 0
        ? plural(matches.length, 'record')
        : `${count(place + 1)} of ${count(matches.length)}`;
  return html`<div class="trace-filter" role="search">
    <input
      type="search"
      placeholder="Search the records"
      aria-label="Search the records"
      aria-keyshortcuts="/"
      @input=${on.typed}
      @keydown=${on.keyed}
    />
    ${
      query.trim() === ''
        ? nothing
        : html`<span class="found" role="status">${found}</span>
            <button
              class="button small quiet icon"
              aria-label="Previous match"
              ?disabled=${matches.length === 0}
              @click=${() => on.toMatch(-1)}
            >
              ${glyph('less')}
            </button>
            <button
              class="button small quiet icon"
              aria-label="Next match"
              ?disabled=${matches.length === 0}
              @click=${() => on.toMatch(1)}
            >
              ${glyph('more')}
            </button>`
    }
    <span class="listed">
      ${
        filter.filters
          ? html`${count(filter.listed)} of ${plural(records.length, 'record')}
              <button
                class="link"
                @click=${() => on.set({ hidden: new Set(), steps: null, range: null, only: false })}
              >
                show all
              </button>`
          : nothing
      }
    </span>
    <button class="button small quiet" popovertarget="filter-menu" aria-label="Filter">
      ${glyph('filter')}<span>Filter</span>
    </button>
    <div id="filter-menu" class="menu filter-menu" popover @toggle=${menu()}>
      ${filters(filter, records, on.set)}
    </div>
  </div>`;
}

/**
 * @param {TraceFilter} filter
 * @param {RecordView[]} records
 * @param {(change: Parameters<TraceFilter['set']>[0]) => void} set
 */
function filters(filter, records, set) {
  const last = records.at(-1)?.step ?? 0;
  const ends = filter.steps ?? ALL_STEPS;
  const step = (/** @type {0 | 1} */ end) => (/** @type {Event} */ event) => {
    const { value } = /** @type {HTMLInputElement} */ (event.currentTarget);
    const steps = /** @type {[number, number]} */ ([...ends]);
    steps[end] = value === '' ? ALL_STEPS[end] : Number(value);
    set({ steps: steps.some(Number.isFinite) ? steps : null });
  };
  // What is empty is open, and says where that leads.
  const field = (/** @type {string} */ word, /** @type {0 | 1} */ end) =>
    html`<label
      >${word}
      <input
        type="number"
        min="0"
        max=${last}
        placeholder=${end === 0 ? 0 : last}
        .value=${Number.isFinite(ends[end]) ? String(ends[end]) : ''}
        @change=${step(end)}
    /></label>`;
  return html`<label class="check">
      <input
        type="checkbox"
        .checked=${filter.only}
        @change=${(/** @type {Event} */ event) => set({ only: /** @type {HTMLInputElement} */ (event.currentTarget).checked })}
      />
      <span>Only records with the words</span>
    </label>
    <fieldset>
      <legend>Steps</legend>
      ${field('from', 0)} ${field('to', 1)}
    </fieldset>
    <fieldset>
      <legend>Types</legend>
      ${types(records).map(
        ([type, number]) =>
          html`<label class="check">
            <input
              type="checkbox"
              .checked=${!filter.hidden.has(type)}
              @change=${(/** @type {Event} */ event) => {
                const hidden = new Set(filter.hidden);
                if (/** @type {HTMLInputElement} */ (event.currentTarget).checked)
                  hidden.delete(type);
                else hidden.add(type);
                set({ hidden });
              }}
            />
            <code>${type}</code><small>${count(number)}</small>
          </label>`,
      )}
    </fieldset>`;
}

/** @type {{ records: RecordView[], read: number, counts: Map<string, number> }} */
const counted = { records: [], read: 0, counts: new Map() };

/**
 * How many records there are of each type.
 * @param {RecordView[]} records
 */
function types(records) {
  if (counted.records !== records || records.length < counted.read)
    Object.assign(counted, { records, read: 0, counts: new Map() });
  for (; counted.read < records.length; counted.read++) {
    const { type } = records[counted.read];
    counted.counts.set(type, (counted.counts.get(type) ?? 0) + 1);
  }
  return [...counted.counts];
}

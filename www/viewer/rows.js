/**
 * The rows of the trace as a tree: step, call, attempt. They are plain elements, made once and never again, because a trace only
 * grows. The browser skips what is out of sight (content-visibility), so that its own find still sees every row.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 *
 * @typedef {object} Block  Up to some rows of one step, with the step's heading if it begins here.
 * @property {HTMLElement} element
 * @property {HTMLElement} list
 * @property {number} first  Record numbers, from and up to (without).
 * @property {number} end
 * @property {boolean} filled
 * @property {boolean} open  More rows of the same step may follow.
 * @property {Chunk} chunk
 *
 * @typedef {object} Chunk  Steps that the browser lays out together or not at all: one element a step would be too many to watch.
 * @property {HTMLElement} element
 * @property {Block[]} blocks
 * @property {number} first  The number of its first record.
 *
 * @typedef {object} Sieve  Which records are listed, and which have the words that are searched.
 * @property {(record: RecordView) => boolean} lists
 * @property {(record: RecordView) => boolean} finds
 * @property {boolean} filters
 */
import { render } from 'lit/html.js';
import { duration } from '../ui/format.js';
import { glyph, homeOf } from '../ui/glyph.js';

/** A block is closed after the call that fills it. */
const BLOCK = 40;
/** Rows of a chunk, at the least. */
const CHUNK = 60;
/** Up to here all rows are made, in slices; beyond, blocks near the window are. */
const ALL = 20_000;
const SLICE_MS = 9;

export class Rows {
  /** @type {Block[]} */
  #blocks = [];
  /** @type {Chunk[]} */
  #chunks = [];
  /** @type {RecordView[]} */
  #records = [];
  #known = 0;
  /** Steps, and calls by their first record, that are folded. @type {Set<string>} */
  #folded = new Set();
  /** @type {number | null} */
  #selected = null;
  /** @type {Sieve} */
  #filter = { lists: () => true, finds: () => false, filters: false };
  #slice = 0;
  #near;

  /**
   * @param {HTMLElement} host
   * @param {{ onSelect: (record: number) => void, onFilled: () => void }} events
   */
  constructor(host, { onSelect, onFilled }) {
    this.host = host;
    this.onFilled = onFilled;
    this.#near = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          const chunk = isIntersecting && this.#chunks[Number(target.getAttribute('data-chunk'))];
          if (!chunk || chunk.element !== target) continue;
          this.#near.unobserve(target);
          for (const block of chunk.blocks) this.#fill(block);
        }
      },
      { root: host.parentElement, rootMargin: '800px 0px' },
    );
    host.addEventListener('click', (event) => {
      const target = /** @type {Element} */ (event.target);
      const fold = target.closest('.fold');
      if (fold) return this.#toggle(/** @type {HTMLElement} */ (fold));
      const row = target.closest('[data-record]');
      if (row) onSelect(Number(row.getAttribute('data-record')));
    });
    host.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      const item = /** @type {Element} */ (event.target).closest('li, .step');
      const fold = /** @type {HTMLElement | null | undefined} */ (item?.querySelector('.fold'));
      if (!fold || (fold.getAttribute('aria-expanded') === 'true') === (event.key === 'ArrowRight'))
        return;
      event.preventDefault();
      this.#toggle(fold);
    });
    // The browser's own find opens what is folded.
    host.addEventListener('beforematch', (event) => {
      const list = /** @type {Element} */ (event.target);
      const fold = list.parentElement?.querySelector('.fold');
      if (fold) this.#toggle(/** @type {HTMLElement} */ (fold));
    });
  }

  /** Whether rows are still being made. */
  get busy() {
    return this.#slice !== 0;
  }

  /**
   * Shows these records. The same array, longer, costs what is new.
   * @param {RecordView[]} records
   */
  sync(records) {
    if (records !== this.#records || records.length < this.#known) this.#clear(records);
    if (this.#known === records.length) return;
    const started = this.#blocks.length;
    const last = this.#blocks.at(-1);
    const few = records.length - this.#known < 400;
    for (; this.#known < records.length; this.#known++) this.#place(records[this.#known]);
    if (last?.filled) this.#append(last);
    for (let i = started; i < this.#blocks.length; i++) {
      const block = this.#blocks[i];
      this.#size(block);
      if (few || i < 3) this.#fill(block);
      else this.#near.observe(block.chunk.element);
    }
    if (!few && records.length <= ALL) this.#fillSlowly();
  }

  /** @param {number | null} record */
  select(record) {
    if (record === this.#selected) return;
    if (this.#selected !== null) this.row(this.#selected)?.setAttribute('aria-current', 'false');
    this.#selected = record;
    if (record !== null) this.row(record)?.setAttribute('aria-current', 'true');
  }

  /**
   * The button of a record; null if there is none.
   * @param {number} record
   */
  row(record) {
    const block = this.#blockOf(record);
    if (!block) return null;
    this.#fill(block);
    return /** @type {HTMLElement | null} */ (
      block.element.querySelector(`[data-record="${record}"]`)
    );
  }

  /**
   * Brings a record into the window, unfolded.
   * @param {number} record
   * @param {ScrollLogicalPosition} where
   */
  reveal(record, where) {
    const row = this.row(record);
    for (let at = row?.parentElement; at && at !== this.host; at = at.parentElement) {
      const fold = at.hidden ? at.parentElement?.querySelector('.fold') : null;
      if (fold) this.#toggle(/** @type {HTMLElement} */ (fold));
    }
    row?.scrollIntoView({ block: where });
    return row;
  }

  /** @param {Sieve} filter */
  sift(filter) {
    this.#filter = filter;
    for (const block of this.#blocks) this.#sift(block);
  }

  /** @param {RecordView[]} records */
  #clear(records) {
    cancelAnimationFrame(this.#slice);
    this.#slice = 0;
    this.#near.disconnect();
    this.host.replaceChildren();
    this.#blocks = [];
    this.#chunks = [];
    this.#records = records;
    this.#known = 0;
    this.#selected = null;
    this.#folded.clear();
  }

  /** Finds the block that a record belongs to, or makes it. @param {RecordView} record */
  #place(record) {
    const { index } = record;
    const before = index > 0 ? this.#records[index - 1] : null;
    const last = this.#blocks.at(-1);
    const sameStep = before !== null && before.step === record.step && record.type !== 'resume';
    if (last && sameStep && (last.end - last.first < BLOCK || record.group !== index)) {
      last.end = index + 1;
      return;
    }
    const element = document.createElement('div');
    element.className = 'step';
    element.role = 'group';
    element.ariaLabel = `Step ${record.step}`;
    const list = document.createElement('ol');
    if (!sameStep) element.append(heading(record));
    element.append(list);
    const folded = sameStep && this.#folded.has(`step ${record.step}`);
    if (folded) list.hidden = true;
    const chunk = this.#chunkFor(index);
    chunk.element.append(element);
    const block = { element, list, first: index, end: index + 1, filled: false, open: true, chunk };
    chunk.blocks.push(block);
    this.#blocks.push(block);
  }

  /** The chunk that a block goes to which begins with this record. @param {number} index */
  #chunkFor(index) {
    const last = this.#chunks.at(-1);
    if (last && index - last.first < CHUNK) return last;
    const element = document.createElement('div');
    element.className = 'chunk';
    element.dataset.chunk = String(this.#chunks.length);
    const chunk = { element, blocks: [], first: index };
    this.host.append(element);
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Tells the browser how high a chunk is that it has not laid out. @param {Block} block */
  #size({ chunk: { element, blocks, first } }) {
    const rows = (blocks.at(-1)?.end ?? first) - first;
    element.style.setProperty('--rows', String(rows));
    element.style.setProperty('--steps', String(blocks.length));
  }

  /** @param {Block} block */
  #fill(block) {
    if (block.filled) return;
    block.filled = true;
    this.#append(block);
  }

  /** Makes the rows of a block that are not there yet. @param {Block} block */
  #append(block) {
    const made = block.list.querySelectorAll('li').length;
    for (let index = block.first + made; index < block.end; index++) {
      const record = this.#records[index];
      const parent = index > block.first ? this.#parentOf(block, record) : null;
      (parent ?? block.list).append(item(record, index === this.#selected));
    }
    this.#size(block);
    this.#sift(block);
  }

  /** The list of the call that a record belongs to, as long as that call is the last in the block. */
  #parentOf(/** @type {Block} */ block, /** @type {RecordView} */ record) {
    const last = block.list.lastElementChild;
    if (!last || record.group === record.index) return null;
    let list = last.querySelector('ol');
    if (!list) {
      list = document.createElement('ol');
      last.append(foldButton('What belongs to it'), list);
      last.classList.add('call');
    }
    return list;
  }

  /** @param {Block} block */
  #sift({ element, list, first, end, filled, chunk }) {
    const filter = this.#filter;
    let shown = end - first;
    if (filter.filters) {
      shown = 0;
      for (let index = first; index < end; index++) {
        if (filter.lists(this.#records[index])) shown++;
      }
    }
    element.hidden = shown === 0;
    chunk.element.hidden = shown === 0 && chunk.blocks.every(({ element }) => element.hidden);
    if (!filled) return;
    for (const li of list.querySelectorAll('li')) {
      const record = this.#records[Number(li.getAttribute('data-index'))];
      const lists = !filter.filters || filter.lists(record);
      li.classList.toggle('aside', !lists);
      li.classList.toggle('hit', filter.finds(record));
    }
  }

  /** @param {HTMLElement} fold */
  #toggle(fold) {
    const open = fold.getAttribute('aria-expanded') !== 'true';
    const step = fold.getAttribute('data-step');
    if (step !== null) {
      const name = `step ${step}`;
      if (open) this.#folded.delete(name);
      else this.#folded.add(name);
      const from = this.#blocks.findIndex(({ element }) => element.contains(fold));
      for (let i = from; i < this.#blocks.length; i++) {
        if (i > from && this.#blocks[i].element.querySelector('h3')) break;
        hide(this.#blocks[i].list, !open);
      }
    } else {
      const list = fold.parentElement?.querySelector('ol');
      if (list) hide(list, !open);
    }
    fold.setAttribute('aria-expanded', String(open));
  }

  /** @param {number} record */
  #blockOf(record) {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const block = this.#blocks[middle];
      if (record < block.first) high = middle - 1;
      else if (record >= block.end) low = middle + 1;
      else return block;
    }
    return null;
  }

  /** Makes the remaining rows in slices between frames. */
  #fillSlowly(from = 0) {
    cancelAnimationFrame(this.#slice);
    this.#slice = requestAnimationFrame(() => {
      // The trace has grown beyond what is made at all.
      if (this.#records.length > ALL) return void (this.#slice = 0);
      const end = performance.now() + SLICE_MS;
      let i = from;
      for (; i < this.#blocks.length && performance.now() < end; i++) this.#fill(this.#blocks[i]);
      this.#slice = 0;
      if (i < this.#blocks.length) this.#fillSlowly(i);
      else this.onFilled();
    });
  }
}

/** @param {HTMLElement} list @param {boolean} hidden */
function hide(list, hidden) {
  if (hidden) list.setAttribute('hidden', 'until-found');
  else list.removeAttribute('hidden');
}

/** @param {RecordView} record */
function heading({ step, type }) {
  const h3 = document.createElement('h3');
  const button = foldButton(`Step ${step}`);
  button.dataset.step = String(step);
  const name = document.createElement('span');
  name.textContent = `Step ${step}`;
  h3.append(button, name);
  if (type === 'resume') {
    const small = document.createElement('small');
    small.textContent = 'after a resume';
    h3.append(small);
  }
  return h3;
}

/** @param {string} label */
function foldButton(label) {
  const button = document.createElement('button');
  button.className = 'fold';
  button.tabIndex = -1;
  button.setAttribute('aria-expanded', 'true');
  button.setAttribute('aria-label', label);
  return button;
}

/** @type {Map<string, HTMLElement>} */
const templates = new Map();

/** @param {RecordView} record */
function template(record) {
  const sign = record.type === 'approval' && record.tone === 'bad' ? 'denied' : record.type;
  const key = `${sign} ${record.tone}`;
  let li = templates.get(key);
  if (!li) {
    li = document.createElement('li');
    li.className = `record ${homeOf(record.type)} is-${record.type} ${record.tone}`;
    const button = document.createElement('button');
    render(glyph(sign), button);
    const [word, text] = [document.createElement('span'), document.createElement('span')];
    word.className = 'word';
    word.textContent = record.type;
    text.className = 'text';
    button.append(word, text, document.createElement('time'));
    // One stop for the Tab key: from row to row it goes with the arrows.
    button.tabIndex = -1;
    li.append(button);
    templates.set(key, li);
  }
  return li;
}

/**
 * @param {RecordView} record
 * @param {boolean} selected
 */
function item(record, selected) {
  const li = /** @type {HTMLElement} */ (template(record).cloneNode(true));
  li.dataset.index = String(record.index);
  const button = /** @type {HTMLElement} */ (li.firstElementChild);
  button.dataset.record = String(record.index);
  button.setAttribute('aria-current', String(selected));
  const [text, time] = [...button.children].slice(-2);
  text.textContent = record.text;
  time.textContent = duration(record.at_s);
  return li;
}

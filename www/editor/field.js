/**
 * A field for code: monospaced, with line numbers. Tab indents; Escape gives Tab back to those who move by keyboard, until they type
 * again.
 */
import { html, nothing } from 'lit/html.js';
import { live } from 'lit/directives/live.js';

const INDENT = '  ';

/**
 * @typedef {object} Field
 * @property {string} text
 * @property {string} label
 * @property {boolean} readonly
 * @property {number | null} line  The line with the mistake.
 * @property {string} describedBy
 * @property {(text: string) => void} onText
 */

/** @param {Field} props */
export function field({ text, label, readonly, line, describedBy, onText }) {
  const lines = text.split('\n').length;
  const numbers = (/** @type {number} */ from, /** @type {number} */ to) =>
    Array.from({ length: Math.max(to - from, 0) }, (_, i) => `${from + i}\n`).join('');
  const wrong = line === null ? lines + 1 : Math.min(line, lines);
  return html`<div class="code">
    <pre class="numbers" aria-hidden="true">
${numbers(1, wrong)}${
        line === null ? nothing : html`<mark>${`${wrong}\n`}</mark>`
      }${numbers(wrong + 1, lines + 1)}</pre>
    <textarea
      aria-label=${label}
      aria-invalid=${line === null ? 'false' : 'true'}
      aria-describedby=${describedBy}
      wrap="off"
      spellcheck="false"
      autocapitalize="off"
      autocomplete="off"
      ?readonly=${readonly}
      .value=${live(text)}
      @input=${(/** @type {Event} */ event) => {
        const area = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
        area.classList.remove('free');
        onText(area.value);
      }}
      @keydown=${press}
      @scroll=${(/** @type {Event} */ event) => {
        const area = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
        if (area.previousElementSibling) area.previousElementSibling.scrollTop = area.scrollTop;
      }}
    ></textarea>
  </div>`;
}

/** @param {KeyboardEvent} event */
function press(event) {
  const area = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
  if (area.readOnly || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape' && !area.classList.contains('free')) {
    // The first one is for the field, the next one for the editor.
    event.preventDefault();
    event.stopPropagation();
    area.classList.add('free');
  }
  if (event.key !== 'Tab' || event.shiftKey || area.classList.contains('free')) return;
  event.preventDefault();
  const { selectionStart: from, selectionEnd: to, value } = area;
  if (from === to) return insert(area, INDENT);
  // A selection is indented, line by line.
  const start = value.lastIndexOf('\n', from - 1) + 1;
  const lines = value.slice(start, to).replace(/^(?=.)/gm, INDENT);
  area.setSelectionRange(start, to);
  insert(area, lines);
  area.setSelectionRange(start, start + lines.length);
}

/**
 * Types a text, so that the browser can undo it.
 * @param {HTMLTextAreaElement} area
 * @param {string} text
 */
function insert(area, text) {
  if (document.execCommand('insertText', false, text)) return;
  area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
  area.dispatchEvent(new Event('input', { bubbles: true }));
}

/**
 * Scrolls to a part of the text and selects it.
 * @param {HTMLTextAreaElement} area
 * @param {{ start: number, end: number, line: number }} part
 */
export function jump(area, { start, end, line }) {
  area.focus();
  area.setSelectionRange(start, end);
  const { lineHeight, fontSize } = getComputedStyle(area);
  const column = start - area.value.lastIndexOf('\n', start - 1);
  area.scrollTop = (line - 1) * parseFloat(lineHeight) - area.clientHeight / 3;
  area.scrollLeft = Math.max(0, column * parseFloat(fontSize) * 0.6 - area.clientWidth * 0.7);
}

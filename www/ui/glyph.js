/**
 * Glyphs on a grid of 16. Each record type has one, and its name is always beside it.
 *
 * @typedef {'memory' | 'storage' | 'world' | 'nowhere'} Home  The three places of the lab; colour means one of them.
 */
import { html, svg } from 'lit/html.js';

/** Those that the first view shows; parts that are loaded later add their own. @type {Record<string, string>} */
const LINES = {
  run: 'M5 3v10l8-5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  step: 'M4 3.5v9L10.5 8zM13 3.5v9',
  crash: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  resume: 'M13 8a5 5 0 1 1-1.6-3.7M13.2 1.8v3h-3',
  reset: 'M3 8a5 5 0 1 0 1.6-3.7M2.8 1.8v3h3',
  share: 'M8 10V2M5 5l3-3 3 3M3 9v5h10V9',
  export: 'M8 2v8M5 7l3 3 3-3M3 13.5h10',
  more: 'M4 6.5l4 4 4-4',
  branch: 'M4.5 2.5v11M4.5 9c0-3 7-1 7-5M11.5 2.2v1.6',
  explore: 'M2.5 2.5h11v11h-11zM2.5 8h11M8 2.5v11',
  back: 'M10 3L5 8l5 5',
  lessons:
    'M8 4.2C6.5 3 4.5 2.7 2.5 3.5v9c2-.8 4-.5 5.5.7 1.5-1.2 3.5-1.5 5.5-.7v-9c-2-.8-4-.5-5.5.7zM8 4.2v9',
  close: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  broken: 'M8 2.5l6.2 11H1.8zM8 6.5v3M8 11.6v.1',
  open: 'M8 3.2a4.8 4.8 0 1 0 .01 0',
  help: 'M5.8 6a2.2 2.2 0 1 1 3.2 2c-.8.4-1 .8-1 1.6M8 12.4v.1',
  approval_request:
    'M2.5 3h11v7.5H8L5 13.5v-3H2.5zM6.7 5.4c.4-1 2.6-1 2.6.3 0 .8-1.3.7-1.3 1.6M8 8.6v.1',
  stop: 'M3.8 3.8h8.4v8.4H3.8z',
  note: 'M3.5 2.5h9v11h-9zM6 6h4M6 9h4',
  mail: 'M2 4h12v8.5H2zM2 4.5l6 4.5 6-4.5',
  unknown: 'M8 6.5a1.5 1.5 0 1 0 .01 0',
};
const FILLED = new Set(['run', 'step', 'llm_call', 'stop', 'checkpoint']);

/** @param {Record<string, string>} more  Paths by name. */
export function addGlyphs(more) {
  Object.assign(LINES, more);
}

/** @param {string} name */
export function glyph(name) {
  const known = name in LINES ? name : 'unknown';
  return html`<svg
    class="glyph ${FILLED.has(known) ? 'filled' : ''}"
    viewBox="0 0 16 16"
    aria-hidden="true"
  >
    ${svg`<path d=${LINES[known]} />`}
  </svg>`;
}

/**
 * Where a record's event took place.
 * @param {string} type
 * @returns {Home}
 */
export function homeOf(type) {
  if (/^(llm|tool|approval)/.test(type)) return 'world';
  if (type === 'crash' || type === 'resume' || type === 'broken') return 'nowhere';
  return type === 'checkpoint' ? 'storage' : 'memory';
}

/**
 * @param {import('../pkg/crashlab.js').Place} place
 * @returns {Home}
 */
export function homeOfPlace(place) {
  if (place === 'memory' || place === 'clock') return 'memory';
  return place === 'storage' ? 'storage' : 'world';
}

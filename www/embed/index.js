/**
 * The page inside another page: `?embed&scenario=ID` or `?embed&lesson=3`. It has what the run or the lesson needs and a way out, and
 * none of the rest. It keeps its runs in memory, so a frame and the page itself do not meet in the browser's storage.
 */
import { html } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import '../ui/shared.js';
import 'sheet:./embed.css';

/** What may be said in the query as well as in a link's fragment. */
const OF_A_RUN = ['scenario', 'off', 'seed'];

/** Before the page reads its address: what the query says becomes what a link says. */
export function enter() {
  document.documentElement.dataset.embed = '';
  const query = new URLSearchParams(location.search);
  const lesson = query.get('lesson');
  /** @type {URLSearchParams | null} */
  let fragment = null;
  if (lesson !== null) fragment = new URLSearchParams({ lesson });
  else if (query.has('scenario')) {
    fragment = new URLSearchParams({ v: '1' });
    for (const key of OF_A_RUN) if (query.has(key)) fragment.set(key, query.get(key) ?? '');
  }
  if (fragment && location.hash.length < 2)
    history.replaceState(null, '', `${location.pathname}${location.search}#${fragment}`);
  // What is pressed in a frame does not become a step of the host's Back.
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    if (!(link instanceof HTMLAnchorElement)) return;
    event.preventDefault();
    location.replace(link.href);
  });
}

/** @param {string} title */
export function title(title) {
  return html`<div class="brand"><h1>${title}</h1></div>`;
}

/**
 * The way out, to the same scenario or lesson in the whole page.
 * @param {string} scenario
 * @param {Set<string>} off
 */
export function out(scenario, off) {
  const run = new URLSearchParams({ v: '1', scenario });
  if (off.size > 0) run.set('off', [...off].join(','));
  const fragment = location.hash.startsWith('#lesson') ? location.hash.slice(1) : String(run);
  return html`<div class="tools">
    <a
      class="button quiet"
      href="${location.pathname}#${fragment}"
      target="_blank"
      rel="noopener"
      aria-label="Open in Crashlab"
      >${glyph('share')}<span>Open in Crashlab</span></a
    >
  </div>`;
}

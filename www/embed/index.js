/**
 * The page inside another page: `?embed&scenario=ID` or `?embed&lesson=timeout`. It shows what the run or the lesson needs and a link to the
 * whole page. It keeps its runs in memory, so a frame and the page itself do not meet in the browser's storage.
 */
import { html } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import '../ui/shared.js';
import 'sheet:./embed.css';

/** Parameters of a run that the query may have, as a link's fragment does. */
const OF_A_RUN = ['scenario', 'off', 'seed'];

/** Moves what the query says into the fragment, where the page reads it. */
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
  // Links in a frame add nothing to the history, so that the host's Back stays its own.
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
 * The link to the same scenario or lesson in the whole page.
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

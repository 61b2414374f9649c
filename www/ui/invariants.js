/** What must stay true, judged from the world's books. Nothing else on the page is red, so a broken one is seen at once. */
import { html, nothing } from 'lit/html.js';
import { glyph } from './glyph.js';
import { mark } from './mark.js';
import './invariants.css';

const VERDICTS = { holds: 'holds', broken: 'broken', open: 'not yet decided' };
const GLYPHS = { holds: 'check', broken: 'broken', open: 'open' };

/**
 * @typedef {object} Invariants
 * @property {import('../pkg/crashlab.js').InvariantView[]} all
 * @property {(record: number) => void} onSelect
 */

/** @param {Invariants} props */
export function invariants({ all, onSelect }) {
  const broken = all.filter(({ verdict }) => verdict === 'broken').length;
  const open = all.filter(({ verdict }) => verdict === 'open').length;
  return html`<section class="panel invariants" aria-labelledby="invariants-title">
    <header>
      <h2 id="invariants-title">Invariants</h2>
      <p class=${broken > 0 ? 'broken' : ''}>
        ${broken > 0 ? `${broken} broken` : open > 0 ? `all hold, ${open} open` : 'all hold'}
      </p>
    </header>
    <ul class="body" tabindex="0" aria-labelledby="invariants-title">
      ${all.map(
        ({ name, kind, verdict, record, explanation }) =>
          html`<li class=${verdict} ${mark(verdict)}>
            <details ?open=${verdict === 'broken'}>
              <summary>
                ${glyph(GLYPHS[verdict])}<span>${name}</span
                ><span class="visually-hidden">: ${VERDICTS[verdict]}</span>
              </summary>
              <p>
                <em
                  >${kind === 'always' ? 'Always' : kind === 'eventually' ? 'In the end' : 'Sometimes'}.</em
                >
                ${explanation}
                ${
                  record === null
                    ? nothing
                    : html`<button class="link" @click=${() => onSelect(record)}>
                        Record ${record}
                      </button>`
                }
              </p>
            </details>
          </li>`,
      )}
    </ul>
  </section>`;
}

/** A replay file, replayed in the page. */
import { html, nothing } from 'lit/html.js';
import { plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';

/**
 * @typedef {object} Replayed
 * @property {string} name
 * @property {() => void} back
 * @property {import('./searcher.js').ReplayedRun | null} run
 * @property {string | null} misfit  Why it does not replay.
 * @property {{ scenario: string, off: string[], choices: unknown[], steps: number, records: number, log_digest: string } | null} file  What the file says.
 */

/**
 * @typedef {import('./searcher.js').ReplayedRun} ReplayedRun
 * @param {Replayed} replayed
 * @param {{
 *   onBack: () => void,
 *   onRead: (name: string, log: string) => void,
 *   onPlay: (run: ReplayedRun, deeds: string) => void,
 * }} props
 */
export function replayed({ name, run, misfit, file }, { onBack, onRead, onPlay }) {
  return html`<article class="replayed" aria-labelledby="replayed-title">
    <div class="run-head">
      <button class="button small" @click=${onBack}>← Back</button>
      <h3 id="replayed-title" tabindex="-1">${name}</h3>
    </div>
    <div role="status">
      ${run === null && misfit === null ? html`<p>Replaying…</p>` : nothing}
      ${misfit === null ? nothing : html`<p class="misfit"><strong>It does not replay:</strong> ${misfit.replace(/\.$/, '')}.</p>`}
      ${
        run === null || file === null
          ? nothing
          : html`<p class="same">
                <strong>The same log, byte for byte:</strong> ${plural(file.records, 'record')},
                ${plural(new TextEncoder().encode(run.log).length, 'byte')}, digest
                <code>${file.log_digest}</code> as recorded.
              </p>
              ${verdict(run)}`
      }
    </div>
    ${
      run === null || file === null
        ? nothing
        : html`<p>
              ${file.scenario},
              ${file.off.length === 0 ? 'all mechanisms on' : `without ${file.off.join(', ')}`};
              ${plural(file.steps, 'step')}, ${plural(file.choices.length, 'choice')} of its own.
            </p>
            <div class="run-tools">
              ${play(run, onPlay)}
              <button class="button small" @click=${() => onRead(name, run.log)}>
                Read the trace in the page
              </button>
            </div>`
    }
  </article>`;
}

/** @param {ReplayedRun} run */
function verdict({ broken }) {
  if (broken.length === 0) return html`<p>No invariant is broken where the file ends.</p>`;
  return html`<ul class="broken-there">
    ${broken.map(
      ({ name, clause }) =>
        html`<li>
          ${glyph('broken')}<span><strong>Broken: ${name}.</strong> ${asSentence(clause)}</span>
        </li>`,
    )}
  </ul>`;
}

/** A clause as a sentence of its own. @param {string} clause */
const asSentence = (clause) =>
  `${clause.charAt(0).toUpperCase()}${clause.slice(1)}`.replace(/\.?$/, '.');

/** @param {ReplayedRun} run @param {(run: ReplayedRun, deeds: string) => void} onPlay */
function play(run, onPlay) {
  const { deeds } = run;
  if (deeds === null)
    return html`<span class="cannot"
      >Something goes wrong in it that nobody can do in the playground.</span
    >`;
  return html`<button class="button small" @click=${() => onPlay(run, deeds)}>
    Open in the playground
  </button>`;
}

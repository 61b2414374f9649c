/** A replay file, done again in the page. */
import { html, nothing } from 'lit/html.js';
import { plural } from '../ui/format.js';

/**
 * @typedef {object} Replayed
 * @property {string} name
 * @property {() => void} back
 * @property {string | null} log
 * @property {string | null} misfit  Why it does not replay.
 * @property {{ scenario: string, off: string[], choices: unknown[], steps: number, records: number, log_digest: string } | null} told
 */

/** @param {Replayed} replayed @param {{ onBack: () => void, onRead: (name: string, log: string) => void }} props */
export function replayed({ name, log, misfit, told }, { onBack, onRead }) {
  return html`<article class="replayed" aria-labelledby="replayed-title">
    <div class="run-head">
      <button class="button small" @click=${onBack}>← Back</button>
      <h3 id="replayed-title" tabindex="-1">${name}</h3>
    </div>
    <div role="status">
      ${log === null && misfit === null ? html`<p>Replaying…</p>` : nothing}
      ${misfit === null ? nothing : html`<p class="misfit"><strong>It does not replay:</strong> ${misfit}.</p>`}
      ${
        log === null || told === null
          ? nothing
          : html`<p class="same">
              <strong>The same log, byte for byte:</strong> ${plural(told.records, 'record')},
              ${plural(new TextEncoder().encode(log).length, 'byte')}, digest
              <code>${told.log_digest}</code> as recorded.
            </p>`
      }
    </div>
    ${
      log === null || told === null
        ? nothing
        : html`<p>
              ${told.scenario},
              ${told.off.length === 0 ? 'all mechanisms on' : `without ${told.off.join(', ')}`};
              ${plural(told.steps, 'step')}, ${plural(told.choices.length, 'choice')} of its own.
            </p>
            <p>
              <button class="button small" @click=${() => onRead(name, log)}>
                Read the trace in the page
              </button>
            </p>`
    }
  </article>`;
}

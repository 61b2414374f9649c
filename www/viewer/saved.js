/** Unfinished runs that were found in this browser. */
import { html, nothing } from 'lit/html.js';
import { ago, plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';
import 'sheet:./saved.css';

/**
 * @typedef {object} Saved
 * @property {(import('../run/saved.js').Offer & { name: string })[]} offers
 * @property {(run_id: string) => void} onResume
 * @property {(run_id: string) => void} onLook
 * @property {(run_id: string) => void} onForget
 */

/** @param {Saved} props */
export function saved({ offers, onResume, onLook, onForget }) {
  if (offers.length === 0) return nothing;
  return html`<section class="saved" aria-label="Unfinished runs">
    <ul>
      ${offers.map(
        ({
          run_id,
          task_id,
          scenario_title,
          name,
          step,
          question_open,
          damage,
          records,
          last_active_ms,
          elsewhere,
        }) => {
          const when = last_active_ms === null ? '' : `, last active ${ago(last_active_ms)}`;
          const state = elsewhere
            ? `is in another tab, at step ${step}. Take it over?`
            : `stopped at step ${step}, its agent is gone. Resume?`;
          return html`<li>
            <p>
              <strong>${task_id} ${state}</strong>
              <small
                >${scenario_title}, ${name},
                ${plural(records, 'record')}${when}${question_open ? '. A question is waiting for an answer' : ''}${damage ? `. ${damage}` : ''}</small
              >
            </p>
            <div class="actions">
              <button class="button small" @click=${() => onResume(run_id)}>
                ${glyph('resume')}${elsewhere ? 'Take over' : 'Resume'}
              </button>
              <button class="button small quiet" @click=${() => onLook(run_id)}>Look at it</button>
              <button
                class="button small quiet"
                ?disabled=${elsewhere}
                @click=${() => onForget(run_id)}
              >
                Forget
              </button>
            </div>
          </li>`;
        },
      )}
    </ul>
  </section>`;
}

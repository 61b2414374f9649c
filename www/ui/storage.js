/** What survives the agent: the log and two generations of the checkpoint. */
import { html, nothing } from 'lit/html.js';
import { bytes, plural } from './format.js';
import { json } from './json.js';
import { mark } from './mark.js';
import './storage.css';

/**
 * @param {import('../pkg/crashlab.js').StorageView} storage
 * @param {{ kept: boolean, activity: string | null, json: string | null, onJson: (asJson: boolean) => void }} state  `json`: the
 *   checkpoint as JSON text, if that is wanted.
 */
export function storage(storage, { kept, activity, json: text, onJson }) {
  const { records, log_bytes, epoch, generations, summary, warning } = storage;
  const asJson = text !== null;
  return html`<section class="panel storage" aria-labelledby="storage-title">
    <header>
      <h2 id="storage-title">Storage</h2>
      <p>${kept ? 'in this browser' : 'in this page only'}</p>
      <span class="activity" ?hidden=${activity === null}>${activity}</span>
    </header>
    <div class="body" tabindex="0" role="group" aria-label="What is stored">
      ${warning ? html`<p class="warning">${warning}</p>` : nothing}
      <dl class="pairs">
        <div>
          <dt>Log</dt>
          <dd ${mark(records)}>${plural(records, 'record')}, ${bytes(log_bytes)}</dd>
        </div>
        <div>
          <dt>Writer</dt>
          <dd ${mark(epoch)}>epoch ${epoch}</dd>
        </div>
        ${generations.map(
          ({ generation, step, bytes: size, damage }, i) =>
            html`<div>
              <dt>${i === 0 ? 'Checkpoint' : 'The one before'}</dt>
              <dd ${mark(generation)}>
                ${damage ?? `generation ${generation}, step ${step}, ${bytes(size)}`}
              </dd>
            </div>`,
        )}
      </dl>
      ${
        summary === null
          ? html`<p class="none">No checkpoint yet.</p>`
          : html`<div class="choice" role="group" aria-label="Checkpoint">
                <button aria-pressed=${asJson ? 'false' : 'true'} @click=${() => onJson(false)}>
                  Summary
                </button>
                <button aria-pressed=${asJson ? 'true' : 'false'} @click=${() => onJson(true)}>
                  JSON
                </button>
              </div>
              ${
                asJson
                  ? html`<pre>${json(text)}</pre>`
                  : html`<table class="summary">
                      <tbody>
                        ${summary.map(
                          ({ key, value }) =>
                            html`<tr>
                              <th scope="row">${key}</th>
                              <td><span ${mark(value)}>${value}</span></td>
                            </tr>`,
                        )}
                      </tbody>
                    </table>`
              }`
      }
    </div>
  </section>`;
}

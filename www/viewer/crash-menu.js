/** The menu of crashes: for real, or when the run reaches a moment. */
import { html, nothing } from 'lit/html.js';
import { homeOfPlace } from '../ui/glyph.js';
import { closeMenu } from '../ui/menu.js';
import 'sheet:./crash-menu.css';

/**
 * @typedef {object} CrashMenu
 * @property {import('../pkg/crashlab.js').LabView | null} view
 * @property {import('../pkg/crashlab.js').Gap[] | null} gaps  Null: the menu has not been opened.
 * @property {string} gapFilter
 * @property {boolean} lasting  The run survives a reload.
 * @property {() => void} onRealCrash
 * @property {(text: string) => void} onGapFilter
 * @property {(gap: import('../pkg/crashlab.js').Gap | null) => void} onArm
 */

/**
 * @param {CrashMenu} props
 * @param {boolean} crashable
 */
export function crashMenu(props, crashable) {
  const armed = props.view?.armed ?? null;
  const wanted = props.gapFilter.toLowerCase();
  const found = (props.gaps ?? []).filter((gap) => gap.label.toLowerCase().includes(wanted));
  return html`
    <button
      class="menu-item"
      ?disabled=${!crashable || !props.lasting}
      @click=${() => {
        closeMenu('crash-menu');
        props.onRealCrash();
      }}
    >
      <strong>Crash for real</strong>
      <small
        >${props.lasting ? 'Reloads this page in the middle of the run.' : 'Needs a browser that keeps runs.'}</small
      >
    </button>
    ${
      armed
        ? html`<button class="menu-item" @click=${() => props.onArm(null)}>
            <strong>Do not crash</strong><small>Takes the armed crash away.</small>
          </button>`
        : nothing
    }
    <div class="menu-head">
      <h2 id="crash-when">Crash when…</h2>
      <input
        type="search"
        placeholder="refund, model, checkpoint"
        aria-label="Find a moment"
        .value=${props.gapFilter}
        @input=${(/** @type {Event} */ event) =>
          props.onGapFilter(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      />
    </div>
    ${found.length === 0 ? html`<p class="menu-none">No moment of this run has these words.</p>` : nothing}
    ${bySteps(found).map(
      ([step, gaps]) =>
        html`<section aria-label="Step ${step}">
          <h3>Step ${step}</h3>
          <ul>
            ${gaps.map((gap) => {
              const chosen = armed?.index === gap.index && armed.when === gap.when;
              return html`<li>
                <button
                  class="menu-item gap ${homeOfPlace(gap.place)}"
                  aria-pressed=${chosen ? 'true' : 'false'}
                  @click=${() => {
                    closeMenu('crash-menu');
                    props.onArm(gap);
                  }}
                >
                  <span class="dot"></span>${gap.label}
                </button>
              </li>`;
            })}
          </ul>
        </section>`,
    )}
  `;
}

/**
 * @param {import('../pkg/crashlab.js').Gap[]} gaps
 * @returns {[number, import('../pkg/crashlab.js').Gap[]][]}
 */
function bySteps(gaps) {
  /** @type {Map<number, import('../pkg/crashlab.js').Gap[]>} */
  const steps = new Map();
  for (const gap of gaps) steps.set(gap.step, [...(steps.get(gap.step) ?? []), gap]);
  return [...steps];
}

/** What is searched: the scenario, how much may go wrong in one run, and which mechanisms are off. */
import { html, nothing } from 'lit/html.js';
import { count } from '../ui/format.js';

/**
 * @typedef {object} Choices
 * @property {string} scenario
 * @property {number} crashes
 * @property {number} faults
 * @property {number} beside  Faults besides the crash, in the matrix.
 * @property {number} decisions
 * @property {number} states
 * @property {Set<string>} off
 */

export const LIMITS = [100_000, 500_000, 2_000_000];

/**
 * @param {string} label
 * @param {number} value
 * @param {number[]} values
 * @param {(value: number) => void} onValue
 * @param {string} [hint]
 */
function number(label, value, values, onValue, hint) {
  return html`<label title=${hint ?? nothing}
    >${label}
    <select
      @change=${(/** @type {Event} */ event) =>
        onValue(Number(/** @type {HTMLSelectElement} */ (event.currentTarget).value))}
    >
      ${around(values, value).map((one) => html`<option value=${one} .selected=${one === value}>${count(one)}</option>`)}
    </select>
  </label>`;
}

/** The values to choose from, with the present one among them, wherever that was set. @param {number[]} values @param {number} value */
const around = (values, value) =>
  values.includes(value) ? values : [...values, value].sort((a, b) => a - b);

/**
 * @param {Choices} choices
 * @param {{ isMatrix: boolean, mechanisms: import('../pkg/crashlab.js').MechanismInfo[], onChange: (change: Partial<Choices>) => void }} props
 */
export function bounds(choices, { isMatrix, mechanisms, onChange }) {
  return html`<fieldset class="bounds">
    <legend class="visually-hidden">How much may go wrong in one run</legend>
    ${
      isMatrix
        ? nothing
        : number('Crashes, up to', choices.crashes, [0, 1, 2, 3], (crashes) =>
            onChange({ crashes }),
          )
    }
    ${number(
      isMatrix ? 'Faults beside the crash, up to' : 'Faults, up to',
      isMatrix ? choices.beside : choices.faults,
      isMatrix ? [0, 1] : [0, 1, 2],
      (faults) => onChange(isMatrix ? { beside: faults } : { faults }),
      'A fault hits a call of the model or of a tool: refused, timed out, answer lost …',
    )}
    ${number(
      'Other decisions, up to',
      choices.decisions,
      [0, 1, 2],
      (decisions) => onChange({ decisions }),
      'The person decides otherwise than the scenario says: yes, no, or not in time.',
    )}
    ${
      isMatrix
        ? nothing
        : [
            number('Stop at states', choices.states, LIMITS, (states) => onChange({ states })),
            html`<details
              class="off"
              @keydown=${(/** @type {KeyboardEvent} */ event) => {
                const menu = /** @type {HTMLDetailsElement} */ (event.currentTarget);
                if (event.key !== 'Escape' || !menu.open) return;
                // The window stays open.
                event.preventDefault();
                menu.open = false;
                menu.querySelector('summary')?.focus();
              }}
            >
              <summary>
                ${choices.off.size === 0 ? 'All mechanisms on' : `${choices.off.size} ${choices.off.size === 1 ? 'mechanism' : 'mechanisms'} off`}
              </summary>
              <ul>
                ${mechanisms.map(
                  ({ id, name }) =>
                    html`<li>
                      <label
                        ><input
                          type="checkbox"
                          .checked=${!choices.off.has(id)}
                          @change=${(/** @type {Event} */ event) => {
                            const off = new Set(choices.off);
                            if (/** @type {HTMLInputElement} */ (event.currentTarget).checked)
                              off.delete(id);
                            else off.add(id);
                            onChange({ off });
                          }}
                        />
                        ${name}</label
                      >
                    </li>`,
                )}
              </ul>
            </details>`,
          ]
    }
  </fieldset>`;
}

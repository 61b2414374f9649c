/** The reliability mechanisms as switches. They take effect with the next run. */
import { html } from 'lit/html.js';
import './mechanisms.css';

/**
 * @typedef {object} Mechanisms
 * @property {import('../pkg/crashlab.js').MechanismInfo[]} all
 * @property {Set<string>} off
 * @property {boolean} pending  The present run has other mechanisms than the switches say.
 * @property {(id: string, on: boolean) => void} onSwitch
 * @property {() => void} onRestart
 * @property {import('../pkg/crashlab.js').InvariantView[]} invariants
 * @property {(scenario: string) => void} onScenario
 */

/** @param {Mechanisms} props */
export function mechanisms({ all, off, pending, onSwitch, onRestart, invariants, onScenario }) {
  return html`<section class="mechanisms" aria-labelledby="mechanisms-title">
    <h2 id="mechanisms-title">Mechanisms</h2>
    <p class="hint">
      ${
        pending
          ? html`The present run continues as it began.
              <button class="link" @click=${onRestart}>Start over with these switches</button>`
          : 'Take one away and see what breaks.'
      }
    </p>
    <ul>
      ${all.map(({ id, name, what, without, breaks, scenario }) => {
        const on = !off.has(id);
        return html`<li class=${on ? '' : 'off'}>
          <label>
            <input
              type="checkbox"
              role="switch"
              .checked=${on}
              aria-describedby="what-${id}"
              @change=${(/** @type {Event} */ event) =>
                onSwitch(id, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
            />
            <span>${name}</span>
          </label>
          <p id="what-${id}">${what}</p>
          <details ?open=${!on}>
            <summary>Without it</summary>
            ${without} Then this breaks:
            <strong>${invariants.find((one) => one.id === breaks)?.name ?? breaks}</strong>.
            <button class="link" @click=${() => onScenario(scenario)}>Where it shows</button>
          </details>
        </li>`;
      })}
    </ul>
  </section>`;
}

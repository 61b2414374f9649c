/** Drives the run: run and pause, one step, speed, crash (now, for real, or armed), resume, reset. */
import { html, nothing } from 'lit/html.js';
import { glyph, homeOfPlace } from './glyph.js';
import { closeMenu, menu } from './menu.js';
import './controls.css';

/**
 * @typedef {object} Controls
 * @property {import('../pkg/crashlab.js').LabView | null} view
 * @property {boolean} running
 * @property {boolean} prepared
 * @property {boolean} taken
 * @property {number} speed
 * @property {string[]} speeds
 * @property {import('../pkg/crashlab.js').Gap[] | null} gaps  Null: the menu is closed.
 * @property {string} gapFilter
 * @property {boolean} lasting  The run survives a reload.
 * @property {() => void} onToggle
 * @property {() => void} onStep
 * @property {() => void} onCrash
 * @property {() => void} onRealCrash
 * @property {() => void} onResume
 * @property {() => void} onReset
 * @property {(speed: number) => void} onSpeed
 * @property {() => void} onGaps
 * @property {(text: string) => void} onGapFilter
 * @property {(gap: import('../pkg/crashlab.js').Gap | null) => void} onArm
 */

/** @param {Controls} props */
export function controls(props) {
  const { view, running, prepared, taken } = props;
  const phase = taken ? 'fenced' : (view?.phase ?? null);
  const alive = phase === 'running' || phase === 'waiting_for_person';
  const runs = phase === 'running' || phase === 'stopped';
  const crashable = alive && !prepared;
  const runLabel = running ? 'Pause' : phase === 'stopped' ? 'Run again' : 'Run';
  return html`<div class="controls" role="group" aria-label="Run">
    <button
      class="button run ${runs ? 'primary' : ''}"
      aria-keyshortcuts="Space"
      ?disabled=${!runs}
      @click=${props.onToggle}
    >
      ${glyph(running ? 'pause' : phase === 'stopped' ? 'reset' : 'run')}<span>${runLabel}</span>
    </button>
    <button
      class="button step"
      aria-keyshortcuts="S"
      title="One effect (S)"
      ?disabled=${phase !== 'running'}
      @click=${props.onStep}
    >
      ${glyph('step')}<span>Step</span>
    </button>
    <label class="speed">
      <span class="speed-word">Speed</span>
      <input
        type="range"
        min="0"
        max=${props.speeds.length - 1}
        step="1"
        .value=${String(props.speed)}
        aria-label="Speed"
        aria-valuetext=${props.speeds[props.speed]}
        @input=${(/** @type {Event} */ event) =>
          props.onSpeed(Number(/** @type {HTMLInputElement} */ (event.currentTarget).value))}
      />
      <output>${props.speeds[props.speed]}</output>
    </label>
    <span class="split">
      <button
        class="button crash"
        aria-keyshortcuts="X"
        title="Kill the agent now (X)"
        ?disabled=${!crashable}
        @click=${props.onCrash}
      >
        ${glyph('crash')}<span>Crash</span>
      </button>
      <button
        class="button crash-more"
        popovertarget="crash-menu"
        aria-label="Crash when…"
        title="Crash when…"
        ?disabled=${!alive}
      >
        ${glyph('more')}
      </button>
    </span>
    <div id="crash-menu" class="menu crash-menu" popover ${menu('crash-menu', props.onGaps)}>
      ${crashMenu(props, crashable)}
    </div>
    <button
      class="button resume ${phase === 'crashed' ? 'primary' : ''}"
      aria-keyshortcuts="R"
      title="Start the agent again from storage (R)"
      ?disabled=${phase !== 'crashed'}
      @click=${props.onResume}
    >
      ${glyph('resume')}<span>Resume</span>
    </button>
    <button
      class="button reset quiet"
      title="Throw this run away and set up a new one"
      ?disabled=${prepared || !view}
      @click=${props.onReset}
    >
      ${glyph('reset')}<span>Reset</span>
    </button>
  </div>`;
}

/**
 * @param {Controls} props
 * @param {boolean} crashable
 */
function crashMenu(props, crashable) {
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

/** Drives the run: run and pause, one step, speed, crash (now, for real, or armed), resume, reset. */
import { html } from 'lit/html.js';
import { glyph } from './glyph.js';
import { menu } from './menu.js';
import './controls.css';

/**
 * @typedef {object} Controls
 * @property {import('../pkg/crashlab.js').LabView | null} view
 * @property {boolean} running
 * @property {boolean} prepared
 * @property {boolean} taken
 * @property {boolean} resumable
 * @property {boolean} covered  Something else than the run is shown.
 * @property {number} speed
 * @property {string[]} speeds
 * @property {(crashable: boolean) => unknown} crashMenu  What is in the menu of crashes.
 * @property {() => void} onToggle
 * @property {() => void} onStep
 * @property {() => void} onCrash
 * @property {() => void} onResume
 * @property {() => void} onReset
 * @property {(speed: number) => void} onSpeed
 * @property {() => void} onGaps
 */

/** @param {Controls} props */
export function controls(props) {
  const { view, running, prepared, taken, covered } = props;
  const resumable = props.resumable && !covered;
  const phase = covered ? null : taken ? 'fenced' : (view?.phase ?? null);
  const alive = phase === 'running' || phase === 'waiting_for_person';
  const runs = phase === 'running' || phase === 'stopped';
  const crashable = alive && !prepared;
  const over = !taken && view?.phase === 'stopped';
  const runLabel = running ? 'Pause' : over ? 'Run again' : 'Run';
  return html`<div class="controls" role="group" aria-label="Run">
    <button
      class="button run ${runs && !resumable ? 'primary' : ''}"
      aria-keyshortcuts="Space"
      ?disabled=${!runs}
      @click=${props.onToggle}
    >
      ${glyph(running ? 'pause' : over ? 'reset' : 'run')}<span>${runLabel}</span>
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
    <div id="crash-menu" class="menu crash-menu" popover @toggle=${menu(props.onGaps)}>
      ${props.crashMenu(crashable)}
    </div>
    <button
      class="button resume ${resumable ? 'primary' : ''}"
      aria-keyshortcuts="R"
      title="Start the agent again from storage (R)"
      ?disabled=${!resumable}
      @click=${props.onResume}
    >
      ${glyph('resume')}<span>Resume</span>
    </button>
    <button
      class="button reset quiet"
      title="Throw this run away and set up a new one"
      ?disabled=${prepared || !view || covered}
      @click=${props.onReset}
    >
      ${glyph('reset')}<span>Reset</span>
    </button>
  </div>`;
}

/** The name of the page, the scenario, and what leaves the page: a link, files, help. */
import { html } from 'lit/html.js';
import { glyph } from './glyph.js';
import './topbar.css';

/**
 * @typedef {object} Topbar
 * @property {{ id: string, title: string, own?: boolean }[]} scenarios
 * @property {string} scenario
 * @property {string} title  Of the scenario, which need not be one of `scenarios`.
 * @property {boolean} shared  The link has just been copied.
 * @property {(id: string) => void} onScenario
 * @property {() => void} onShare
 * @property {() => void} onFiles
 * @property {() => void} onReport
 * @property {() => void} onExplore
 * @property {() => void} onHelp
 */

/** @param {Topbar} props */
export function brand(props) {
  const { scenario, title } = props;
  const scenarios = props.scenarios.some(({ id }) => id === scenario)
    ? props.scenarios
    : [...props.scenarios, { id: scenario, title, own: true }];
  const options = (/** @type {boolean} */ isOwn) =>
    scenarios
      .filter(({ own = false }) => own === isOwn)
      .map(
        ({ id, title }) => html`<option value=${id} .selected=${id === scenario}>${title}</option>`,
      );
  return html`<div class="brand">
    <h1>Crashlab</h1>
    <label class="scenario-choice">
      <span class="visually-hidden">Scenario</span>
      <select
        @change=${(/** @type {Event} */ event) =>
          props.onScenario(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}
      >
        ${options(false)}
        <optgroup label="Yours" ?hidden=${!scenarios.at(-1)?.own}>${options(true)}</optgroup>
      </select>
    </label>
  </div>`;
}

/** @param {Topbar} props */
export function tools(props) {
  return html`<div class="tools">
    <a class="button quiet" href="#lessons" aria-label="Lessons" title="Short lessons"
      >${glyph('lessons')}<span>Lessons</span></a
    >
    <button
      class="button quiet"
      title="Copy a link to this scenario, mechanisms and seed"
      @click=${props.onShare}
    >
      ${glyph(props.shared ? 'check' : 'share')}<span>${props.shared ? 'Copied' : 'Share'}</span>
    </button>
    <button class="button quiet" title="Open, save and send" @click=${props.onFiles}>
      ${glyph('export')}<span>Files</span>
    </button>
    <button class="button quiet" title="Every crash and every fault" @click=${props.onExplore}>
      ${glyph('explore')}<span>Explore</span>
    </button>
    <button class="button quiet" title="How did this run do?" @click=${props.onReport}>
      ${glyph('note')}<span>Report</span>
    </button>
    <button
      class="button quiet"
      aria-keyshortcuts="?"
      title="Keys and words (?)"
      @click=${props.onHelp}
    >
      ${glyph('help')}<span>Help</span>
    </button>
  </div>`;
}

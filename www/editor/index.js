/** The scenario editor: a copy of a shipped scenario, or one of the reader's own, as JSON text. It is loaded when it is opened. */
import { html, nothing, render } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import { closeButton, fileButton, newWindow } from '../ui/window.js';
import { titleOf } from '../custom-scenarios.js';
import { field, jump } from './field.js';
import { download, readText } from './files.js';
import { mistakeOf } from './mistake.js';
import { withFields } from './json-path.js';
import * as drafts from './drafts.js';
import '../ui/shared.js';
import 'sheet:./editor.css';

const CHECK_AFTER_MS = 200;
const NOT_KEPT =
  'The browser keeps nothing more for this page: what you type is gone with it. Export it as a file.';

/**
 * @typedef {import('../pkg/crashlab.js').ScenarioInfo} ScenarioInfo
 * @typedef {object} Host  What the editor may ask of the page.
 * @property {() => ScenarioInfo | null} about  The chosen scenario.
 * @property {(id: string) => Promise<ScenarioInfo>} loadScenario
 * @property {() => { id: string, title: string }[]} shipped
 * @property {(text: string) => ScenarioInfo} read  Throws what is wrong with a scenario.
 * @property {() => void} scenariosChanged  The reader's own are other ones than before.
 * @property {(scenario: ScenarioInfo) => void} run
 */

/**
 * Opens the editor over the page.
 * @param {Host} host
 */
export function open(host) {
  if (document.querySelector('dialog[open]')) return;
  const dialog = newWindow('editor', (file) => editor.take(file));
  const editor = new Editor(host, dialog);
  dialog.addEventListener('keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey)) return;
    const action = { s: () => editor.save(), Enter: () => editor.run() }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  void editor.begin().then(() => dialog.showModal());
}

class Editor {
  #key = '';
  #text = '';
  #isShipped = false;
  /** @type {import('./mistake.js').Mistake | null} */
  #mistake = null;
  /** What the scenario is about, if it can be read. @type {ScenarioInfo | null} */
  #info = null;
  #checking = 0;
  /** The result of the last action. */
  #said = '';
  #warning = '';
  /** @type {(() => void) | null} */
  #undo = null;
  #host;
  #dialog;

  /** @param {Host} host @param {HTMLDialogElement} dialog */
  constructor(host, dialog) {
    this.#host = host;
    this.#dialog = dialog;
  }

  /** Shows the chosen scenario, or else the draft that was left unfinished. */
  async begin() {
    const chosen = this.#host.about()?.id ?? '';
    const own = drafts.documents();
    const last = own.find(({ key, isDraft }) => key === drafts.last() && isDraft);
    const found = own.find(({ key }) => key === chosen) ?? last;
    await this.#show(found?.key ?? chosen);
  }

  /** @param {string} key */
  async #show(key) {
    const text = drafts.textOf(key);
    this.#isShipped = text === null;
    try {
      this.#text = text ?? (await this.#host.loadScenario(key)).json;
    } catch {
      // A run's scenario may have been deleted.
      this.#text = this.#host.about()?.json ?? '';
    }
    this.#key = key;
    this.#warning = '';
    this.#check();
  }

  // --- What is typed -----------------------------------------------------------------------------------------------------------

  /** @param {string} text */
  #type(text) {
    this.#text = text;
    this.#said = '';
    this.#keep();
    clearTimeout(this.#checking);
    this.#checking = setTimeout(() => this.#check(), CHECK_AFTER_MS);
  }

  #keep() {
    this.#warning = drafts.keepDraft(this.#key, this.#text) ? '' : NOT_KEPT;
  }

  #check() {
    clearTimeout(this.#checking);
    this.#mistake = null;
    this.#info = null;
    try {
      this.#info = this.#host.read(this.#text);
      const taken = this.#isShipped ? null : this.#takenBy(this.#info.id);
      if (taken) this.#mistake = mistakeOf(this.#text, `$.id: ${taken}`);
    } catch (error) {
      this.#mistake = mistakeOf(this.#text, /** @type {Error} */ (error).message);
    }
    this.#draw();
  }

  /** Why an id cannot be that of this scenario. @param {string} id */
  #takenBy(id) {
    if (this.#shipped.some((one) => one.id === id))
      return `“${id}” is a shipped scenario; expected an id of its own`;
    if (id !== this.#key && drafts.savedText(id) !== null)
      return `“${id}” is another of your scenarios; expected an id of its own`;
    return null;
  }

  get #shipped() {
    return this.#host.shipped();
  }

  /** Whether it can be run and saved; if not, its mistake is shown. */
  #isFine() {
    this.#check();
    if (!this.#mistake) return true;
    this.#jump();
    return false;
  }

  // --- What is done with it ----------------------------------------------------------------------------------------------------

  run() {
    if (!this.#isFine() || !this.#info) return;
    this.#dialog.close();
    this.#host.run(this.#info);
  }

  save() {
    if (this.#isShipped || !this.#isFine() || !this.#info) return;
    const { id, title } = this.#info;
    const isKept = drafts.save(this.#key, id, this.#text);
    this.#key = id;
    this.#warning = isKept ? '' : NOT_KEPT;
    this.#report(isKept ? `“${title}” is saved. It is in the scenario menu under Yours.` : '');
    // The button is disabled now, and would lose the focus.
    this.#area?.focus();
  }

  duplicate() {
    const { id = this.#key, title = this.#key } = this.#info ?? {};
    const free = this.#freeKey(`${id.slice(0, 50)}-copy`);
    const text = withFields(this.#text, { id: free, title: `${title} (copy)` });
    this.#begin(free, text);
    this.#report('This is your copy. It is kept as you type; Save puts it into the scenario menu.');
    this.#area?.focus();
  }

  /** @param {string} wanted */
  #freeKey(wanted) {
    const taken = new Set([
      ...this.#shipped.map(({ id }) => id),
      ...drafts.documents().map(({ key }) => key),
    ]);
    for (let n = 1; ; n++) {
      const key = n === 1 ? wanted : `${wanted}-${n}`;
      if (!taken.has(key)) return key;
    }
  }

  /**
   * Begins a document of the reader's own.
   * @param {string} key
   * @param {string} text
   */
  #begin(key, text) {
    this.#key = key;
    this.#text = text;
    this.#isShipped = false;
    this.#undo = null;
    this.#keep();
    this.#check();
  }

  revert() {
    const before = this.#text;
    const key = this.#key;
    this.#text = drafts.savedText(key) ?? before;
    this.#keep();
    this.#check();
    this.#report('Back to what is saved.', () => this.#begin(key, before));
    this.#area?.focus();
  }

  async delete() {
    const key = this.#key;
    const title = titleOf(this.#text) || key;
    const bringBack = drafts.drop(key);
    const next = drafts.documents()[0]?.key ?? this.#shipped[0].id;
    await this.#show(next);
    this.#report(`“${title}” is deleted.`, async () => {
      bringBack();
      await this.#show(key);
      this.#report(`“${title}” is back.`);
    });
    /** @type {HTMLElement | null} */ (this.#dialog.querySelector('.said button'))?.focus();
  }

  /**
   * Reports what was done, and offers to undo it.
   * @param {string} said
   * @param {(() => void) | null} [undo]
   */
  #report(said, undo = null) {
    this.#said = said;
    this.#undo = undo;
    this.#host.scenariosChanged();
    this.#draw();
  }

  export() {
    download(`${this.#info?.id ?? this.#key}.json`, this.#text);
  }

  /**
   * Imports a scenario from a file. One that can be read is saved at once; any other is kept as a draft, to be corrected.
   * @param {File} file
   */
  async take(file) {
    /** @type {string} */
    let text;
    try {
      text = await readText(file);
    } catch (error) {
      this.#said = /** @type {Error} */ (error).message;
      return this.#draw();
    }
    let id = '';
    try {
      id = this.#host.read(text).id;
    } catch {
      id = file.name
        .replace(/\.[^.]*$/, '')
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-')
        .slice(0, 50);
    }
    this.#begin(this.#freeKey(id || 'imported'), text);
    if (this.#mistake) {
      this.#report(`${file.name} is imported as a draft. Correct its mistake, and save it.`);
      return this.#jump();
    }
    this.save();
  }

  #jump() {
    if (this.#mistake && this.#area) jump(this.#area, this.#mistake);
  }

  get #area() {
    return this.#dialog.querySelector('textarea');
  }

  // --- Drawing -----------------------------------------------------------------------------------------------------------------

  #draw() {
    render([this.#head(), this.#body(), this.#foot()], this.#dialog);
  }

  #head() {
    const own = drafts.documents();
    return html`<header>
      <h2 id="editor-title">Scenario editor</h2>
      <label class="which">
        <span class="visually-hidden">Scenario to edit</span>
        <select
          @change=${async (/** @type {Event} */ event) => {
            await this.#show(/** @type {HTMLSelectElement} */ (event.currentTarget).value);
            this.#report('');
          }}
        >
          ${
            own.length === 0
              ? nothing
              : html`<optgroup label="Yours">
                  ${own.map(({ key, title, isDraft }) => this.#option(key, title, isDraft))}
                </optgroup>`
          }
          <optgroup label="Shipped">
            ${this.#shipped.map(({ id, title }) => this.#option(id, title, false))}
          </optgroup>
        </select>
      </label>
      <div class="actions">
        ${fileButton('Import…', '.json,application/json', (file) => this.take(file))}
        <button class="button small quiet" @click=${() => this.export()}>
          ${glyph('export')}Export
        </button>
      </div>
      ${closeButton(() => this.#dialog.close())}
    </header>`;
  }

  /** @param {string} key @param {string} title @param {boolean} isDraft */
  #option(key, title, isDraft) {
    return html`<option value=${key} .selected=${key === this.#key}>
      ${title}${isDraft ? ' (not saved)' : ''}
    </option>`;
  }

  #body() {
    return field({
      text: this.#text,
      label: 'The scenario as JSON',
      readonly: this.#isShipped,
      line: this.#mistake?.line ?? null,
      describedBy: 'editor-verdict editor-keys',
      onText: (text) => this.#type(text),
    });
  }

  #foot() {
    const mistake = this.#mistake;
    const isSaved = drafts.savedText(this.#key) !== null;
    const isChanged = !this.#isShipped && drafts.savedText(this.#key) !== this.#text;
    return html`<footer>
      <div id="editor-verdict" class="verdict" role="status">
        ${
          mistake
            ? html`<p>${glyph('broken')}<code>${mistake.path}</code></p>
                <p class="says">${mistake.says}</p>`
            : html`<p>${glyph('check')}This is a scenario that can be run.</p>`
        }
      </div>
      ${
        mistake
          ? html`<button class="button small goto" @click=${() => this.#jump()}>
              Go to line ${mistake.line}
            </button>`
          : nothing
      }
      <div class="said" role="status">
        <p>${this.#warning || this.#said}</p>
        ${
          this.#undo
            ? html`<button class="button small" @click=${this.#undo}>Undo</button>`
            : nothing
        }
      </div>
      <div class="actions">
        ${
          this.#isShipped
            ? html`<button class="button primary" @click=${() => this.duplicate()}>
                ${glyph('copy')}Duplicate to edit
              </button>`
            : html`<button class="button primary" title="Ctrl+Enter" @click=${() => this.run()}>
                  ${glyph('run')}Run
                </button>
                <button
                  class="button"
                  title="Ctrl+S"
                  ?disabled=${!isChanged}
                  @click=${() => this.save()}
                >
                  Save
                </button>
                ${
                  isSaved && isChanged
                    ? html`<button class="button" @click=${() => this.revert()}>
                        ${glyph('reset')}Revert
                      </button>`
                    : nothing
                }
                <button class="button" @click=${() => this.duplicate()}>
                  ${glyph('copy')}Duplicate
                </button>
                <button class="button" @click=${() => this.delete()}>Delete</button>`
        }
      </div>
      <p id="editor-keys" class="keys">
        ${
          this.#isShipped
            ? 'A shipped scenario stays as it is.'
            : html`<kbd>Tab</kbd> indents; after <kbd>Esc</kbd> it leaves the field. <kbd>Ctrl</kbd>
                <kbd>Enter</kbd> runs, <kbd>Ctrl</kbd> <kbd>S</kbd> saves.`
        }
      </p>
    </footer>`;
  }
}

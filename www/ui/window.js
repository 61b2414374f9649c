/** What the windows over the page have in common: their look, their close button, their file picker. */
import { html } from 'lit/html.js';
import { glyph } from './glyph.js';
import './back.js';
import 'sheet:./window.css';

/**
 * Creates a window over the page, not yet shown. It is removed when it is closed.
 * @param {string} name  Its class, and the start of its title's id.
 * @param {(file: File) => unknown} [onFile]  Takes a file that is dropped on it.
 */
export function newWindow(name, onFile) {
  const dialog = document.createElement('dialog');
  dialog.className = `window ${name}`;
  dialog.setAttribute('aria-labelledby', `${name}-title`);
  dialog.addEventListener('close', () => dialog.remove());
  if (onFile) {
    dialog.addEventListener('dragover', (event) => event.preventDefault());
    dialog.addEventListener('drop', (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void onFile(file);
    });
  }
  document.body.append(dialog);
  return dialog;
}

/** @param {() => void} onClose */
export function closeButton(onClose) {
  return html`<button class="button small quiet icon close" aria-label="Close" @click=${onClose}>
    ${glyph('close')}
  </button>`;
}

/**
 * A button that lets a file be picked. The same file can be picked again.
 * @param {string} label
 * @param {string} accept  Endings and media types.
 * @param {(file: File) => unknown} onFile
 * @param {string} [look]  Classes of a button.
 */
export function fileButton(label, accept, onFile, look = 'button small quiet') {
  return html`<label class="${look} file">
    ${label}<input
      type="file"
      accept=${accept}
      @change=${(/** @type {Event} */ event) => {
        const input = /** @type {HTMLInputElement} */ (event.currentTarget);
        const file = input.files?.[0];
        input.value = '';
        if (file) void onFile(file);
      }}
    />
  </label>`;
}

/** Shows a source file of the core in a window, with some of its lines marked. */
import { html, render } from 'lit/html.js';
import { closeButton, newWindow } from '../ui/window.js';
import 'sheet:./code.css';

/**
 * @param {import('./types.js').Code} code
 * @param {(error: string) => void} complain
 */
export async function showCode({ says, at }, complain) {
  /** @type {string[]} */
  let lines;
  try {
    lines = (await at.load()).trimEnd().split('\n');
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return complain(`The source could not be loaded. ${message}`);
  }
  if (document.querySelector('dialog[open]')) return;
  const [first, last] = at.lines;
  const dialog = newWindow('source-code');
  const part = (/** @type {number} */ from, /** @type {number} */ to) =>
    lines
      .slice(from, to)
      .map((line, index) => html`<span class="line" data-line=${from + index + 1}>${line} </span>`);
  render(
    html`<header>
        <h2 id="source-code-title">${says}</h2>
        <p><code>${at.path}</code>, lines ${first} to ${last}</p>
        ${closeButton(() => dialog.close())}
      </header>
      <pre
        tabindex="0"
        role="group"
        aria-label=${at.path}
      ><code>${part(0, first - 1)}<mark>${part(first - 1, last)}</mark>${part(last, lines.length)}</code></pre>`,
    dialog,
  );
  dialog.showModal();
  const pre = /** @type {HTMLElement} */ (dialog.querySelector('pre'));
  const mark = /** @type {HTMLElement} */ (dialog.querySelector('mark'));
  pre.scrollTop = mark.offsetTop - pre.offsetTop - 24;
  pre.focus({ preventScroll: true });
}

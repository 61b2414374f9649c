/** A file that is dragged over the page can be dropped anywhere on it, and the page says so. */
import { render } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import 'sheet:./drop.css';

/** @param {(file: File) => unknown} take */
export function acceptFiles(take) {
  const target = document.createElement('div');
  target.className = 'drop-target';
  // In the browser's top layer it stands above a dialog as well.
  target.popover = 'manual';
  const word = document.createElement('p');
  target.append(word);
  render(glyph('export'), word);
  word.append('Drop a trace, a checkpoint or a run');
  document.body.append(target);
  const hide = () => target.matches(':popover-open') && target.hidePopover();

  addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    if (!target.matches(':popover-open')) target.showPopover();
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) hide();
  });
  addEventListener('drop', (event) => {
    hide();
    // Whoever stands over the page may have taken it.
    if (event.defaultPrevented || !event.dataTransfer) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) take(file);
  });
}

/** A file that is dragged over the page can be dropped anywhere on it, and the page says so. */
import { render } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import 'sheet:./drop.css';

export function showDrop() {
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
    if (!target.matches(':popover-open')) target.showPopover();
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) hide();
  });
  addEventListener('drop', hide);
}

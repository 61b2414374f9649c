/** A menu that opens below (or above) its button, in the browser's top layer: a press outside or Escape closes it. */
import { ref } from 'lit/directives/ref.js';
import './menu.css';

/**
 * @param {string} id  The id of the popover.
 * @param {() => void} [opened]
 */
export function menu(id, opened) {
  return ref((element) => {
    if (!(element instanceof HTMLElement)) return;
    element.ontoggle = (event) => {
      if (/** @type {ToggleEvent} */ (event).newState !== 'open') return;
      const button = document.querySelector(`[popovertarget="${id}"]`);
      if (button) place(element, button.getBoundingClientRect());
      opened?.();
    };
  });
}

/**
 * @param {HTMLElement} element
 * @param {DOMRect} button
 */
function place(element, button) {
  const gap = 6;
  const left = Math.max(gap, Math.min(button.left, innerWidth - element.offsetWidth - gap));
  const below = innerHeight - button.bottom > button.top;
  element.style.left = `${left}px`;
  element.style.top = below ? `${button.bottom + gap}px` : 'auto';
  element.style.bottom = below ? 'auto' : `${innerHeight - button.top + gap}px`;
  element.style.maxHeight = `${(below ? innerHeight - button.bottom : button.top) - 3 * gap}px`;
}

/** @param {string} id */
export function closeMenu(id) {
  document.getElementById(id)?.hidePopover();
}

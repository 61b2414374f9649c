/** A menu that opens below (or above) its button, in the browser's top layer: a press outside or Escape closes it. */
import './menu.css';

/**
 * The listener for a menu's `toggle`: `<div id="save-menu" class="menu" popover @toggle=${menu()}>`.
 * @param {() => void} [opened]
 */
export function menu(opened) {
  return (/** @type {ToggleEvent & { currentTarget: HTMLElement }} */ event) => {
    if (event.newState !== 'open') return;
    const element = event.currentTarget;
    const button = document.querySelector(`[popovertarget="${element.id}"]`);
    if (button) place(element, button.getBoundingClientRect());
    opened?.();
  };
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

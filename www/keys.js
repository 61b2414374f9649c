/** The keyboard: one key, one action, never while somebody types. */

/**
 * @param {Record<string, () => void>} actions  By `KeyboardEvent.key`, letters in lower case.
 */
export function listen(actions) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (
      target.closest(
        'input:not([type=checkbox], [type=range]), textarea, select, dialog, [popover]',
      )
    )
      return;
    if (document.querySelector(':popover-open')) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (target.matches('[type=range]') && key.startsWith('Arrow')) return;
    // On a control the space bar presses it; on a record it drives the run.
    if (key === ' ' && target.closest('button:not([data-record]), summary, [role=switch]')) return;
    const action = actions[key];
    if (!action || (event.repeat && !key.startsWith('Arrow'))) return;
    event.preventDefault();
    action();
  });
  document.addEventListener('keyup', (event) => {
    if (
      event.key === ' ' &&
      event.target instanceof Element &&
      event.target.closest('[data-record]')
    )
      event.preventDefault();
  });
}

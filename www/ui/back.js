/**
 * Back closes the window over the page and leads nowhere else: the page goes back and at once forward again, and no other listener
 * hears of it. In a browser that does not tell Back from Forward, Back closes the window and also leads back.
 */
const visits = window.navigation;
let wentBack = false;
/** How many events of that way back and forth are still to come; no other listener may hear them. */
const unheard = { popstate: 0, hashchange: 0 };
/** Where the page was before its last step. */
let before = location.href;

visits?.addEventListener('currententrychange', ({ navigationType, from }) => {
  const index = visits.currentEntry?.index ?? from.index;
  wentBack = navigationType === 'traverse' && index < from.index;
  before = from.url ?? '';
});

addEventListener(
  'popstate',
  (event) => {
    if (unheard.popstate > 0) {
      unheard.popstate--;
      return event.stopImmediatePropagation();
    }
    const open = /** @type {HTMLDialogElement | null} */ (document.querySelector('dialog[open]'));
    if (!open) return;
    open.close();
    if (!wentBack) return;
    event.stopImmediatePropagation();
    unheard.popstate++;
    if (location.href !== before) unheard.hashchange += 2;
    history.forward();
  },
  true,
);
addEventListener(
  'hashchange',
  (event) => {
    if (unheard.hashchange === 0) return;
    unheard.hashchange--;
    event.stopImmediatePropagation();
  },
  true,
);

/**
 * Back closes the window that stands over the page, and leads nowhere else: the page beneath goes back and at once forward again, and
 * nobody else hears of it. Where the browser does not say which way it went, Back closes the window and leads back.
 */
const visits = window.navigation;
let wentBack = false;
/** Events on the way back and forth that are nobody's business. */
const unheard = { popstate: 0, hashchange: 0 };
/** Where the page was before its last step. */
let before = location.href;

visits?.addEventListener('currententrychange', ({ navigationType, from }) => {
  const place = visits.currentEntry?.index ?? from.index;
  wentBack = navigationType === 'traverse' && place < from.index;
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

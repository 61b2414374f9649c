/** Puts the page together: creates its parts, loads what is wanted later, and draws. */
import { html, render } from 'lit/html.js';
// The sheets of the whole page come before those of its components, which are imported with them.
import './ui/tokens.css';
import './ui/pieces.css';
import './ui/frame.css';
import { listen } from './keys.js';
import { createLayout } from './layout.js';
import { errorText } from './page/notices.js';
import { openPage } from './page/open.js';
import { createParts } from './parts.js';
import init from './pkg/crashlab.js';
import { embedded } from './store.js';
import { keepQuiet } from './ui/mark.js';

/** What the page was opened with. */
const address = location.hash;
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
const parts = createParts(draw);
const { present, selection, decisions, display, commands, notices } = parts;
/** Trace and timeline; null until they are needed. @type {import('./layout.js').Viewer | null} */
let viewer = null;
/** The windows over the page, loaded together with the viewer. @type {import('./dialogs.js').Dialogs | null} */
let dialogs = null;
/** @type {Promise<void> | null} */
let loading = null;
/** The viewer could not be loaded; it is loaded again when something needs it, and not by itself. */
let failed = false;
/** Null until they are first opened. @type {import('./lessons/index.js').Lessons | null} */
let lessons = null;
/** What the page shows instead of its own frame; null unless it is in another page. @type {typeof import('./embed/index.js') | null} */
let frame = null;
let drawn = { run: '', records: 0, follows: 0 };
const layout = createLayout(parts, {
  viewer: () => viewer,
  lessons: () => lessons,
  frame: () => frame,
  awaitsLessons,
  failed: () => failed,
  withViewer,
  withDialogs,
});

try {
  if (embedded) frame = await import('./embed/index.js');
  frame?.enter();
  await init();
  await openPage(parts);
  listen({
    ' ': () => withViewer(() => commands.toggle()),
    s: () => withViewer(() => commands.step()),
    x: () => commands.crash(),
    r: () => commands.resume(),
    a: () => decisions.answer('approved'),
    d: () => decisions.answer('denied'),
    '?': () => withViewer(() => display.show({ helpOpen: true })),
    '/': () => viewer?.search(),
    ArrowUp: () => selection.move(-1, neighbour),
    ArrowDown: () => selection.move(1, neighbour),
    Escape: () => selection.backToNow(),
  });
  // The first movement loads the viewer, so that it is there before anything is pressed.
  for (const sign of ['pointermove', 'pointerdown', 'keydown', 'dragenter'])
    addEventListener(sign, () => withViewer(() => {}), { once: true, passive: true });
  addEventListener('hashchange', ({ oldURL }) => {
    // Another link in the address bar is a visit; Back out of the lessons is not.
    const isBack = location.hash === address && oldURL.includes('#lesson');
    if (location.hash.includes('scenario=') && !isBack) location.reload();
    else void route();
  });
  addEventListener('popstate', route);
  void route();
  // The browser would leave the page for a dropped file that nothing takes. A window over the page may have taken it.
  addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
  });
  addEventListener('drop', (event) => {
    const file = event.dataTransfer?.files[0];
    if (event.defaultPrevented || !file) return;
    event.preventDefault();
    withDialogs((dialogs) => dialogs.take(file));
  });
  // A script can hand a file to the page, too.
  addEventListener('crashlab:file', (event) => {
    const file = /** @type {CustomEvent} */ (event).detail;
    withDialogs((dialogs) => dialogs.take(file));
  });
  if (/[?&]explore\b/.test(location.search)) withDialogs((dialogs) => dialogs.explore());
  document.documentElement.dataset.ready = 'true';
  performance.mark('usable');
} catch (error) {
  root.replaceChildren();
  const text = html`The agent could not be loaded. ${errorText(error)} Reload the page to try again.`;
  render(html`<p class="loading" role="alert">${text}</p>`, root);
}

/**
 * Does something for which the viewer has to be there.
 * @param {() => void} action
 */
function withViewer(action) {
  if (viewer) return action();
  loading ??= Promise.all([
    import('./viewer/index.js'),
    import('./viewer-host.js'),
    import('./dialogs.js'),
  ]).then(
    ([{ createViewer }, { viewerHost }, { createDialogs }]) => {
      dialogs = createDialogs(parts);
      viewer = createViewer(viewerHost(parts, dialogs), draw);
      draw();
    },
    (error) => {
      loading = null;
      failed = true;
      notices.complainNotLoaded(error);
    },
  );
  void loading.then(action);
}

/** @param {(dialogs: import('./dialogs.js').Dialogs) => void} action */
function withDialogs(action) {
  withViewer(() => dialogs && action(dialogs));
}

/** The address says whether a lesson is open, and which. */
async function route() {
  if (!lessons && !awaitsLessons()) return;
  try {
    if (!lessons) draw();
    lessons ??= new (await import('./lessons/index.js')).Lessons(lessonsHost());
    lessons.route();
  } catch (error) {
    // The link can be pressed again.
    history.replaceState(null, '', location.pathname + location.search);
    notices.complainNotLoaded(error);
  }
}

/** The lessons are wanted, and not there yet. */
function awaitsLessons() {
  return !lessons && location.hash.startsWith('#lesson');
}

/** @returns {import('./lessons/index.js').Host} */
function lessonsHost() {
  const { setup, scenarios, armedCrash } = parts;
  return {
    run: () => present,
    selectedRecord: () => (selection.covered ? null : selection.selected),
    showsCheckpoint: () => display.checkpointAsJson,
    armed: () => armedCrash.gap,
    about: () => setup.about,
    scenarios: () => scenarios.all,
    loadScenario: (id) => scenarios.load(id),
    chooseScenario: (id, off) => setup.choose(id, off),
    mechanisms: () => setup.mechanisms,
    off: () => setup.off,
    switchesPending: () => setup.switchesPending,
    switchMechanism: (id, on) => setup.switchMechanism(id, on),
    reset: () => commands.reset(),
    showText: () => display.show({ tab: 'scenario' }),
    known: () => (display.isNew = false),
    explore: (options) => withDialogs((dialogs) => dialogs.explore(options)),
    complain: (error) => notices.complain(error),
    draw,
  };
}

/** @param {number} from @param {number} by */
function neighbour(from, by) {
  return viewer ? viewer.neighbour(from, by) : from + by;
}

function draw() {
  if (!present.view) return;
  if (root.firstElementChild?.matches('.loading')) root.replaceChildren();
  keepQuiet(jumps());
  if (drawn.follows !== selection.follows) viewer?.follow();
  drawn = { run: shown(), records: present.records.length, follows: selection.follows };
  render(layout(present.view), root);
  viewer?.settle();
  const { saved } = parts;
  const hasRun = !present.prepared || saved.offers.length > 0 || selection.foreign;
  if (hasRun && !failed) withViewer(() => {});
}

/** Which run is shown, and as of which record. */
function shown() {
  return `${present.view?.run_id} ${present.prepared} ${selection.selected}`;
}

/** Whether so much is new that marking what has changed would mark everything. */
function jumps() {
  const isOther = drawn.run !== shown();
  return selection.past !== null || isOther || present.records.length - drawn.records > 3;
}

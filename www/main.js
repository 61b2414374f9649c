/** Puts the reader, the engine and the components together. Nothing else knows two of them. */
import { html, nothing, render } from 'lit/html.js';
import { SPEEDS } from './engine.js';
import { listen } from './keys.js';
import { Reader, sentence } from './reader.js';
import { embedded } from './store.js';
import './ui/tokens.css';
import './ui/pieces.css';
import './ui/frame.css';
import { controls } from './ui/controls.js';
import { invariants } from './ui/invariants.js';
import { keepQuiet } from './ui/mark.js';
import { mechanisms } from './ui/mechanisms.js';
import { memory } from './ui/memory.js';
import { notices } from './ui/notices.js';
import { scenario } from './ui/scenario.js';
import { ready } from './ui/ready.js';
import { status } from './ui/status.js';
import { storage } from './ui/storage.js';
import { tabs } from './ui/tabs.js';
import { brand, tools } from './ui/topbar.js';
import { world } from './ui/world.js';

/** What the page was opened with. */
const address = location.hash;
const root = /** @type {HTMLElement} */ (document.getElementById('app'));
const reader = new Reader(draw);
const { engine } = reader;
/** What reads a run; null until there is a run to read. @type {ReturnType<typeof import('./viewer/index.js').createViewer> | null} */
let viewer = null;
/** @type {Promise<void> | null} */
let loading = null;
/** The viewer could not be loaded; it is loaded again for whoever wants something, and not by itself. */
let failed = false;
/** What teaches; null until somebody wants to learn. @type {import('./lessons/index.js').Lessons | null} */
let lessons = null;
/** What the page shows instead of its own frame; null unless it is in another page. @type {typeof import('./embed/index.js') | null} */
let frame = null;
let drawn = { moment: '', records: 0, follows: 0 };

try {
  if (embedded) frame = await import('./embed/index.js');
  frame?.enter();
  await reader.open();
  listen({
    ' ': () => withViewer(() => reader.toggle()),
    s: () => withViewer(() => reader.step()),
    x: () => reader.crash(),
    r: () => reader.resume(),
    a: () => reader.answer('approved'),
    d: () => reader.answer('denied'),
    '?': () => withViewer(() => reader.show({ helpOpen: true })),
    '/': () => viewer?.search(),
    ArrowUp: () => reader.move(-1, neighbour),
    ArrowDown: () => reader.move(1, neighbour),
    Escape: () => reader.now(),
  });
  // Whoever moves wants something, and the viewer is there before they have pressed.
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
  // Without a hand to take it, the browser would leave the page for a file that is dropped on it. A window that stands over the page
  // may have taken it.
  addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
  });
  addEventListener('drop', (event) => {
    const file = event.dataTransfer?.files[0];
    if (event.defaultPrevented || !file) return;
    event.preventDefault();
    withViewer(() => viewer?.take(file));
  });
  // A file from elsewhere, from whoever has one.
  addEventListener('crashlab:file', (event) => {
    const file = /** @type {CustomEvent} */ (event).detail;
    withViewer(() => viewer?.take(file));
  });
  if (/[?&]explore\b/.test(location.search)) withViewer(() => viewer?.explore());
  document.documentElement.dataset.ready = 'true';
  performance.mark('usable');
} catch (error) {
  root.replaceChildren();
  const text = html`The agent could not be loaded. ${sentence(error)} Reload the page to try again.`;
  render(html`<p class="loading" role="alert">${text}</p>`, root);
}

/**
 * Does something for which the viewer has to be there.
 * @param {() => void} action
 */
function withViewer(action) {
  if (viewer) return action();
  loading ??= import('./viewer/index.js').then(
    ({ createViewer }) => {
      viewer = createViewer(reader, draw);
      draw();
    },
    (error) => {
      loading = null;
      failed = true;
      reader.complain(`A part of the page could not be loaded. ${sentence(error)}`);
    },
  );
  void loading.then(action);
}

/** The address says whether a lesson is open, and which. */
async function route() {
  if (!lessons && !awaitsLessons()) return;
  try {
    if (!lessons) draw();
    lessons ??= (await import('./lessons/index.js')).createLessons(reader, draw);
    lessons.route();
  } catch (error) {
    // The link can be pressed again.
    history.replaceState(null, '', location.pathname + location.search);
    reader.complain(`A part of the page could not be loaded. ${sentence(error)}`);
  }
}

/** The lessons are wanted, and not there yet. */
function awaitsLessons() {
  return !lessons && location.hash.startsWith('#lesson');
}

/** @param {number} from @param {number} by */
function neighbour(from, by) {
  return viewer ? viewer.neighbour(from, by) : from + by;
}

function draw() {
  if (!engine.view) return;
  if (root.firstElementChild?.matches('.loading')) root.replaceChildren();
  keepQuiet(jumps());
  if (drawn.follows !== reader.follows) viewer?.follow();
  drawn = { moment: moment(), records: engine.records.length, follows: reader.follows };
  render([top(), columns(reader.past ?? engine.view, engine.view), overlays()], root);
  viewer?.settle();
  const reads = !engine.prepared || reader.offers.length > 0 || reader.foreign;
  if (reads && !failed) withViewer(() => {});
}

function moment() {
  return `${engine.view?.run_id} ${engine.prepared} ${reader.selected}`;
}

/** Whether so much is new that marking what has changed would mark everything. */
function jumps() {
  return (
    reader.past !== null || drawn.moment !== moment() || engine.records.length - drawn.records > 3
  );
}

function top() {
  const props = {
    scenarios: engine.scenarios,
    scenario: reader.about?.id ?? '',
    title: reader.about?.title ?? '',
    shared: reader.shared,
    onScenario: (/** @type {string} */ id) => reader.chooseScenario(id),
    onShare: () => reader.share(),
    onFiles: () => withViewer(() => viewer?.files()),
    onReport: () => withViewer(() => viewer?.report()),
    onExplore: () => withViewer(() => viewer?.explore()),
    onHelp: () => withViewer(() => reader.show({ helpOpen: true })),
  };
  return html`<header class="top">
      ${frame ? frame.title(props.title) : brand(props)}
      ${controls({
        ...run(),
        speed: engine.speed,
        speeds: SPEEDS.map(({ name }) => name),
        crashMenu: (crashable) => viewer?.crashMenu(crashable),
        onToggle: () => withViewer(() => reader.toggle()),
        onStep: () => withViewer(() => reader.step()),
        onCrash: () => reader.crash(),
        onResume: () => reader.resume(),
        onReset: () => reader.reset(),
        onSpeed: (speed) => reader.setSpeed(speed),
        onGaps: () => reader.openGaps(),
      })}
      ${frame ? frame.out(props.scenario, reader.off) : tools(props)}
    </header>
    ${tabs(reader.tab, { first: leftColumn(), asked: reader.question !== null, onTab: (tab) => reader.show({ tab }) })}`;
}

/** What several components have to know about the present. */
function run() {
  const { view, running, prepared, taken, resumable } = engine;
  return { view, running, prepared, taken, resumable, covered: reader.covered };
}

/**
 * @param {import('./reader.js').LabView} shown  The moment that the panels show.
 * @param {import('./reader.js').LabView} present
 */
function columns(shown, present) {
  return html`<main class="columns" data-tab=${reader.tab}>
    <section class="column about" aria-label=${leftColumn()}>
      <div class="text" tabindex="0" role="group" aria-label="${leftColumn()} and mechanisms">
        ${
          lessons?.isOpen
            ? lessons.text(switches(present))
            : awaitsLessons()
              ? html`<p role="status">Loading the lessons…</p>`
              : about(present)
        }
      </div>
      ${
        reader.covered
          ? nothing
          : invariants({ all: shown.invariants, onSelect: (record) => reader.select(record) })
      }
    </section>
    <section class="column work" aria-label="Run">${work(shown, present)}</section>
    <section class="column places" aria-label="Places">${places(shown, present)}</section>
  </main>`;
}

/** @param {import('./reader.js').LabView} present */
function about(present) {
  if (reader.covered)
    return html`<p class="nothing-behind">
      Scenario, mechanisms and invariants belong to the run that waits behind this trace, as it was.
      <em>Report</em> says how the run of the trace did.
    </p>`;
  return [scenario(reader.about, () => withViewer(() => viewer?.edit())), switches(present)];
}

function leftColumn() {
  return lessons?.isOpen ? 'Lesson' : 'Scenario';
}

/** @param {import('./reader.js').LabView} present */
function switches({ invariants }) {
  return mechanisms({
    all: engine.mechanisms,
    off: reader.off,
    pending: reader.switchesPending,
    onSwitch: (id, on) => reader.switchMechanism(id, on),
    onRestart: () => reader.reset(),
    invariants,
    onScenario: (id) => reader.chooseScenario(id),
  });
}

/**
 * @param {import('./reader.js').LabView} shown
 * @param {import('./reader.js').LabView} present
 */
function work(shown, present) {
  const { armed } = present;
  const line = status({
    ...run(),
    looking: reader.selected,
    announcement: reader.announcement,
    armed: armed && (reader.armed ?? `${armed.when} effect ${armed.index}`),
    onNow: () => reader.now(),
    onBranch: () => reader.branch(),
    onDisarm: () => reader.arm(null),
  });
  const others = viewer?.others(lessons?.line());
  if (viewer && reader.foreign) return [others, viewer.file(reader.foreign)];
  if (engine.prepared) return [others, line, ready(present, reader.isNew)];
  if (!viewer) return [others, line, failed ? again() : nothing];
  return [others, line, viewer.run(shown, present)];
}

function again() {
  const load = () => withViewer(() => {});
  return html`<p class="ready">
    The trace could not be loaded.
    <button class="button" @click=${load}>Try again</button>
  </p>`;
}

/**
 * @param {import('./reader.js').LabView} shown
 * @param {import('./reader.js').LabView} present
 */
function places(shown, present) {
  if (reader.covered)
    return html`<p class="nothing-behind">
      This trace comes from a file: there is no agent, no storage and no world behind it.
    </p>`;
  const gone = engine.taken || shown.phase === 'crashed' || shown.phase === 'fenced';
  const effect = reader.past || engine.prepared || gone ? null : shown.in_flight;
  const activity =
    effect && `${effect.label}${effect.stage === 'happened' ? ': answer on its way' : ''}`;
  const at = effect?.place ?? null;
  return [
    memory(shown.memory, {
      gone,
      sudden: gone && !reader.found && reader.past === null,
      activity: at === 'memory' || at === 'clock' ? activity : null,
    }),
    storage(shown.storage, {
      kept: engine.lasting,
      activity: at === 'storage' ? activity : null,
      json: reader.checkpointAsJson
        ? (shown.storage.checkpoint_json ?? engine.checkpointText())
        : null,
      onJson: (checkpointAsJson) => reader.show({ checkpointAsJson }),
    }),
    world({
      world: shown.world,
      present: present.world,
      activity: at !== 'memory' && at !== 'clock' && at !== 'storage' ? activity : null,
      lit: new Set(reader.selected === null ? [] : reader.detail?.ledger),
      onSelect: (record) => reader.select(record),
      onDecide: (approval_key, decision) => reader.decide(approval_key, decision),
    }),
  ];
}

function overlays() {
  return [notices(reader.notices, (id) => reader.dismiss(id)), viewer?.overlays()];
}

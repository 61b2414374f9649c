/** What the page consists of: the top bar and three columns, drawn from the page's parts. */
import { html, nothing } from 'lit/html.js';
import { SPEEDS } from './run/pace.js';
import * as store from './store.js';
import { controls } from './ui/controls.js';
import { invariants } from './ui/invariants.js';
import { mechanisms } from './ui/mechanisms.js';
import { memory } from './ui/memory.js';
import { notices as noticeList } from './ui/notices.js';
import { scenario } from './ui/scenario.js';
import { ready } from './ui/ready.js';
import { status } from './ui/status.js';
import { storage } from './ui/storage.js';
import { tabs } from './ui/tabs.js';
import { brand, tools } from './ui/topbar.js';
import { world } from './ui/world.js';

/**
 * @typedef {import('./pkg/crashlab.js').LabView} LabView
 * @typedef {ReturnType<typeof import('./viewer/index.js').createViewer>} Viewer
 * @typedef {object} Loaded  What is loaded on demand; null as long as it is not there.
 * @property {() => Viewer | null} viewer
 * @property {() => import('./lessons/index.js').Lessons | null} lessons
 * @property {() => typeof import('./embed/index.js') | null} frame  The page is in another page.
 * @property {() => boolean} awaitsLessons
 * @property {() => boolean} failed  The viewer could not be loaded.
 * @property {(action: () => void) => void} withViewer
 * @property {(action: (dialogs: import('./dialogs.js').Dialogs) => void) => void} withDialogs
 */

/**
 * @param {import('./parts.js').Parts} parts
 * @param {Loaded} loaded
 * @returns {(view: LabView) => unknown}
 */
export function createLayout(parts, loaded) {
  const { present, driver, setup, scenarios, selection, armedCrash, decisions } = parts;
  const { display, notices, commands, shownRun } = parts;
  const { awaitsLessons, withViewer, withDialogs } = loaded;

  return (view) => [top(), columns(selection.past ?? view, view), overlays()];

  function top() {
    const props = {
      scenarios: scenarios.all,
      scenario: setup.about?.id ?? '',
      title: setup.about?.title ?? '',
      shared: display.shared,
      onScenario: (/** @type {string} */ id) => setup.choose(id),
      onShare: async () => (await import('./page/share.js')).share(parts),
      onFiles: () => withDialogs((dialogs) => dialogs.files()),
      onReport: () => withDialogs((dialogs) => dialogs.report()),
      onExplore: () => withDialogs((dialogs) => dialogs.explore()),
      onHelp: () => withViewer(() => display.show({ helpOpen: true })),
    };
    const frame = loaded.frame();
    return html`<header class="top">
        ${frame ? frame.title(props.title) : brand(props)}
        ${controls({
          ...run(),
          speed: driver.speed,
          speeds: SPEEDS.map(({ name }) => name),
          crashMenu: (crashable) => loaded.viewer()?.crashMenu(crashable),
          onToggle: () => withViewer(() => commands.toggle()),
          onStep: () => withViewer(() => commands.step()),
          onCrash: () => commands.crash(),
          onResume: () => commands.resume(),
          onReset: () => commands.reset(),
          onSpeed: setSpeed,
          onGaps: () => armedCrash.listGaps(),
        })}
        ${frame ? frame.out(props.scenario, setup.off) : tools(props)}
      </header>
      ${tabs(display.tab, { first: leftColumn(), asked: decisions.question !== null, onTab: (tab) => display.show({ tab }) })}`;
  }

  /** What several components have to know about the run. */
  function run() {
    const { view, prepared, taken, resumable } = present;
    const { running } = driver;
    return { view, running, prepared, taken, resumable, covered: selection.covered };
  }

  /**
   * @param {LabView} shown  What the panels show: the run as of the selected record.
   * @param {LabView} now
   */
  function columns(shown, now) {
    const lessons = loaded.lessons();
    return html`<main class="columns" data-tab=${display.tab}>
      <section class="column about" aria-label=${leftColumn()}>
        <div class="text" tabindex="0" role="group" aria-label="${leftColumn()} and mechanisms">
          ${
            lessons?.isOpen
              ? lessons.text(switches(now))
              : awaitsLessons()
                ? html`<p role="status">Loading the lessons…</p>`
                : about(now)
          }
        </div>
        ${
          selection.covered
            ? nothing
            : invariants({ all: shown.invariants, onSelect: (record) => selection.select(record) })
        }
      </section>
      <section class="column work" aria-label="Run">${work(shown, now)}</section>
      <section class="column places" aria-label="Places">${places(shown, now)}</section>
    </main>`;
  }

  /** @param {LabView} now */
  function about(now) {
    if (selection.covered)
      return html`<p class="nothing-behind">
        Scenario, mechanisms and invariants belong to the run that waits behind this trace, as it
        was.
        <em>Report</em> says how the run of the trace did.
      </p>`;
    return [scenario(setup.about, () => withDialogs((dialogs) => dialogs.edit())), switches(now)];
  }

  function leftColumn() {
    return loaded.lessons()?.isOpen ? 'Lesson' : 'Scenario';
  }

  /** @param {LabView} now */
  function switches({ invariants }) {
    return mechanisms({
      all: setup.mechanisms,
      off: setup.off,
      pending: setup.switchesPending,
      onSwitch: (id, on) => setup.switchMechanism(id, on),
      onRestart: () => commands.reset(),
      invariants,
      onScenario: (id) => setup.choose(id),
    });
  }

  /**
   * @param {LabView} shown
   * @param {LabView} now
   */
  function work(shown, now) {
    const viewer = loaded.viewer();
    const line = status({
      ...run(),
      looking: selection.selected,
      announcement: notices.announcement,
      armed: armedCrash.label,
      onNow: () => selection.backToNow(),
      onBranch: () => shownRun.branch(),
      onDisarm: () => armedCrash.arm(null),
    });
    const others = viewer?.others(loaded.lessons()?.line());
    if (viewer && selection.foreign) return [others, viewer.file(selection.foreign)];
    if (present.prepared) return [others, line, ready(now, display.isNew)];
    if (!viewer) return [others, line, loaded.failed() ? again() : nothing];
    return [others, line, viewer.run(shown, now)];
  }

  function again() {
    const load = () => withViewer(() => {});
    return html`<p class="ready">
      The trace could not be loaded.
      <button class="button" @click=${load}>Try again</button>
    </p>`;
  }

  /**
   * @param {LabView} shown
   * @param {LabView} now
   */
  function places(shown, now) {
    if (selection.covered)
      return html`<p class="nothing-behind">
        This trace comes from a file: there is no agent, no storage and no world behind it.
      </p>`;
    const gone = present.taken || shown.phase === 'crashed' || shown.phase === 'fenced';
    const effect = selection.past || present.prepared || gone ? null : shown.in_flight;
    const activity =
      effect && `${effect.label}${effect.stage === 'happened' ? ': answer on its way' : ''}`;
    const at = effect?.place ?? null;
    return [
      memory(shown.memory, {
        gone,
        sudden: gone && !present.foundDead && selection.past === null,
        activity: at === 'memory' || at === 'clock' ? activity : null,
      }),
      storage(shown.storage, {
        kept: present.lasting,
        activity: at === 'storage' ? activity : null,
        json: display.checkpointAsJson
          ? (shown.storage.checkpoint_json ?? present.checkpointText())
          : null,
        onJson: (checkpointAsJson) => display.show({ checkpointAsJson }),
      }),
      world({
        world: shown.world,
        present: now.world,
        activity: at !== 'memory' && at !== 'clock' && at !== 'storage' ? activity : null,
        lit: new Set(selection.selected === null ? [] : selection.detail?.ledger),
        onSelect: (record) => selection.select(record),
        onDecide: (approval_key, decision) => decisions.decide(approval_key, decision),
      }),
    ];
  }

  function overlays() {
    return [noticeList(notices.all, (id) => notices.dismiss(id)), loaded.viewer()?.overlays()];
  }

  /** @param {number} speed */
  function setSpeed(speed) {
    driver.setSpeed(speed);
    store.save({ speed });
    display.show({});
  }
}

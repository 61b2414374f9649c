/** Puts the engine and the components together. Nothing else knows two of them. */
import { html, nothing, render } from 'lit';
import { Engine, FASTEST, SPEEDS } from './engine.js';
import { listen } from './keys.js';
import * as link from './link.js';
import * as store from './store.js';
import './ui/page.css';
import { approval } from './ui/approval.js';
import { controls } from './ui/controls.js';
import { detail } from './ui/detail.js';
import { help } from './ui/help.js';
import { invariants } from './ui/invariants.js';
import { keepQuiet } from './ui/mark.js';
import { mechanisms } from './ui/mechanisms.js';
import { memory } from './ui/memory.js';
import { notices } from './ui/notices.js';
import { saved } from './ui/saved.js';
import { scenario } from './ui/scenario.js';
import { stand } from './ui/stand.js';
import { status } from './ui/status.js';
import { storage } from './ui/storage.js';
import { createTimeline } from './ui/timeline.js';
import { brand, tools } from './ui/topbar.js';
import { createTrace } from './ui/trace.js';
import { world } from './ui/world.js';

/**
 * @typedef {import('./pkg/crashlab.js').LabView} LabView
 * @typedef {'scenario' | 'trace' | 'places'} Tab
 */

const root = /** @type {HTMLElement} */ (document.getElementById('app'));
const wanted = link.read(location);
const preferences = store.load();
const engine = new Engine(changed, complain);
const trace = createTrace();
const timeline = createTimeline();

/** What belongs to the page and not to the run. */
const page = {
  scenario: '',
  off: new Set(/** @type {string[]} */ ([])),
  seed: wanted.seed,
  /** The run was found in storage when the page opened, or was looked at from there. */
  found: false,
  /** @type {import('./engine.js').Offer[]} */
  offers: [],
  /** @type {number | null} */
  selected: null,
  /** The panels as of the selected record. @type {LabView | null} */
  past: null,
  /** @type {import('./pkg/crashlab.js').RecordDetail | null} */
  detail: null,
  /** What was typed into the approval card. @type {{ key: string, approver: string, note: string }} */
  form: { key: '', approver: '', note: '' },
  /** @type {import('./pkg/crashlab.js').Gap[] | null} */
  gaps: null,
  gapFilter: '',
  /** @type {string | null} */
  armed: null,
  /** @type {'changes' | 'state'} */
  side: 'changes',
  checkpointAsJson: false,
  helpOpen: false,
  shared: false,
  /** @type {{ id: number, text: string }[]} */
  notices: [],
  /** @type {Tab} */
  tab: 'trace',
  drawn: { moment: '', count: 0 },
  announcement: '',
  announced: '',
};

await open();

async function open() {
  try {
    await engine.load();
  } catch (error) {
    root.replaceChildren();
    render(
      html`<p class="loading" role="alert">
        The agent could not be loaded: ${sentence(error)} Reload the page to try again.
      </p>`,
      root,
    );
    return;
  }
  root.replaceChildren();
  engine.speed =
    wanted.speed === 'max' ? FASTEST : Math.min(Math.max(preferences.speed, 0), FASTEST);
  const known = new Set(engine.scenarios.map(({ id }) => id));
  if (wanted.complaint) complain(new Error(wanted.complaint));
  if (wanted.scenario !== null && !known.has(wanted.scenario))
    complain(new Error(`This link names a scenario “${wanted.scenario}” that is not here.`));
  const linked = wanted.scenario !== null && known.has(wanted.scenario);
  page.off = new Set(linked ? wanted.off : preferences.off);
  const chosen = linked ? wanted.scenario : preferences.scenario;
  page.scenario = chosen !== null && known.has(chosen) ? chosen : (engine.scenarios[0]?.id ?? '');

  const last = linked ? null : preferences.last_run;
  const reopened =
    last !== null &&
    attempt(() => engine.isKept(last)) &&
    !(await engine.isElsewhere(last)) &&
    look(last);
  if (!reopened) prepare();
  const warning = engine.storageWarning;
  if (warning)
    complain(new Error(`${warning} Runs are kept in this page only, and are gone with it.`));
  await offer();
  listen({
    ' ': toggle,
    s: step,
    x: crash,
    r: resume,
    a: () => answer('approved'),
    d: () => answer('denied'),
    '?': () => showHelp(true),
    ArrowUp: () => move(-1),
    ArrowDown: () => move(1),
    Escape: now,
  });
  document.documentElement.dataset.ready = 'true';
  performance.mark('usable');
}

// --- What the reader does ------------------------------------------------------------------------------------------------------

function toggle() {
  const phase = engine.view?.phase;
  if (engine.running) return engine.pause();
  if (engine.taken) return;
  if (phase === 'stopped') prepare();
  if (phase === 'stopped' || phase === 'running') begin(() => engine.run());
}

function step() {
  if (engine.view?.phase === 'running' && !engine.taken) begin(() => engine.step());
}

/** @param {() => void} drive */
function begin(drive) {
  drive();
  const run_id = engine.view?.run_id ?? null;
  if (!engine.prepared && run_id !== null) store.save({ last_run: run_id });
}

function crash() {
  const phase = engine.view?.phase;
  if (!engine.prepared && !engine.taken && (phase === 'running' || phase === 'waiting_for_person'))
    engine.crash();
}

function resume() {
  if (engine.view?.phase !== 'crashed' || engine.taken) return;
  now();
  page.found = false;
  store.save({ last_run: engine.view.run_id });
  void engine.resume();
}

/** @param {'approved' | 'denied'} decision */
function answer(decision) {
  const question = openQuestion();
  if (question) decide(question.approval_key, decision);
}

/**
 * @param {string} approval_key
 * @param {'approved' | 'denied'} decision
 */
function decide(approval_key, decision) {
  const { approver, note } = formFor(approval_key);
  if (approver.trim() !== '') engine.decide(approval_key, decision, approver.trim(), note.trim());
}

/** A new run with what is chosen now. The present one goes, unless it can still be taken up again. */
function reset() {
  attempt(() => engine.discard());
  prepare();
  void offer();
}

function prepare() {
  page.found = false;
  page.gaps = null;
  page.armed = null;
  forgetSelection();
  trace.toEnd();
  const info = engine.scenarios.find(({ id }) => id === page.scenario);
  if (!info) return;
  const off = Object.fromEntries([...page.off].map((id) => [id, false]));
  attempt(() =>
    engine.prepare({
      scenario: info.json,
      mechanisms: off,
      ...(page.seed === null ? {} : { seed: page.seed }),
    }),
  );
}

/** @param {string} id */
function chooseScenario(id) {
  page.scenario = id;
  page.seed = null;
  store.save({ scenario: id, last_run: null });
  prepare();
  void offer();
}

/**
 * @param {string} id
 * @param {boolean} on
 */
function switchMechanism(id, on) {
  if (on) page.off.delete(id);
  else page.off.add(id);
  store.save({ off: [...page.off] });
  if (engine.prepared) prepare();
  else draw();
}

/**
 * @param {string} run_id
 * @returns {boolean}
 */
function look(run_id) {
  forgetSelection();
  const done = attempt(() => engine.open(run_id));
  if (!done || !engine.view) return false;
  page.found = engine.view.phase === 'crashed';
  page.scenario = engine.view.scenario_id;
  page.off = new Set(engine.view.mechanisms.filter(({ on }) => !on).map(({ id }) => id));
  trace.toEnd();
  void offer();
  return true;
}

async function offer() {
  try {
    page.offers = await engine.offers();
  } catch (error) {
    complain(error);
  }
  draw();
}

/** @param {string} run_id */
function forget(run_id) {
  attempt(() => engine.forget(run_id));
  void offer();
}

/** @param {number} record */
function select(record) {
  page.selected = record;
  attempt(() => {
    page.past = engine.viewAt(record);
    page.detail = engine.detail(record);
  });
  draw();
}

/** @param {number} by */
function move(by) {
  const last = engine.records.length - 1;
  if (last < 0) return;
  const from = page.selected ?? (by < 0 ? last + 1 : last);
  select(Math.min(Math.max(from + by, 0), last));
}

function now() {
  if (page.selected === null) return;
  forgetSelection();
  newestDetail();
  trace.toEnd();
  draw();
}

function forgetSelection() {
  page.selected = null;
  page.past = null;
  page.detail = null;
}

/** @param {number} speed */
function setSpeed(speed) {
  engine.setSpeed(speed);
  store.save({ speed });
  draw();
}

function openGaps() {
  page.gapFilter = '';
  attempt(() => (page.gaps = engine.gaps()));
  draw();
}

/** @param {import('./pkg/crashlab.js').Gap | null} gap */
function arm(gap) {
  page.armed = gap?.label ?? null;
  if (gap) engine.arm(gap.index, gap.when);
  else engine.disarm();
}

async function share() {
  const address = link.write({
    scenario: page.scenario,
    off: [...page.off],
    seed: engine.view?.seed ?? null,
  });
  try {
    await navigator.clipboard.writeText(address);
    page.shared = true;
    setTimeout(() => {
      page.shared = false;
      draw();
    }, 2000);
  } catch {
    complain(new Error(`The browser does not let this page copy. The link is ${address}`));
  }
  draw();
}

/** @param {'trace' | 'checkpoint'} what */
function exportFile(what) {
  attempt(() => {
    const text = what === 'trace' ? engine.logText() : engine.checkpointText();
    const anchor = document.createElement('a');
    anchor.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    anchor.download = `${engine.view?.run_id ?? 'run'}.${what === 'trace' ? 'jsonl' : 'checkpoint.json'}`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
  });
}

/** @param {boolean} open */
function showHelp(open) {
  page.helpOpen = open;
  draw();
}

/** @param {Tab} tab */
function showTab(tab) {
  page.tab = tab;
  draw();
}

// --- What happens by itself ----------------------------------------------------------------------------------------------------

function changed() {
  const { view } = engine;
  if (!view) return draw();
  if (view.armed === null) page.armed = null;
  newestDetail();
  announce(view);
  draw();
}

/** While nothing is selected, the newest record is shown, but not thousands of them a second. */
function newestDetail() {
  const newest = engine.records.length - 1;
  if (page.selected !== null || newest < 0 || (engine.running && engine.speed === FASTEST)) return;
  if (page.detail?.record.index === newest) return;
  attempt(() => (page.detail = engine.detail(newest)));
}

/** @param {LabView} view */
function announce(view) {
  if (engine.prepared || (engine.running && engine.speed === FASTEST)) return;
  const moment = `${view.run_id} ${view.phase} ${view.memory?.step}`;
  if (moment === page.announced) return;
  page.announced = moment;
  page.announcement = view.sentence;
}

let nextNotice = 0;

/** @param {unknown} error */
function complain(error) {
  const text = sentence(error);
  if (!page.notices.some((notice) => notice.text === text))
    page.notices.push({ id: nextNotice++, text });
  draw();
}

/** @param {unknown} error */
function sentence(error) {
  if (error instanceof WebAssembly.RuntimeError) {
    return 'The engine has failed and cannot go on. The run is in storage: reload the page and resume it.';
  }
  return error instanceof Error ? error.message : String(error);
}

/**
 * @param {() => unknown} action
 * @returns {boolean} Whether it worked, or what it returned if that is a boolean.
 */
function attempt(action) {
  try {
    return action() !== false;
  } catch (error) {
    complain(error);
    return false;
  }
}

// --- What is to be seen --------------------------------------------------------------------------------------------------------

function openQuestion() {
  return engine.view?.world.inbox.find(({ status }) => status === 'open') ?? null;
}

/** @param {string} key */
function formFor(key) {
  if (page.form.key !== key)
    page.form = { key, approver: engine.view?.world.person?.name ?? '', note: '' };
  return page.form;
}

function question() {
  const open = openQuestion();
  if (!open) return nothing;
  const form = formFor(open.approval_key);
  return approval({
    question: open,
    approver: form.approver,
    note: form.note,
    gone: engine.view?.phase === 'crashed',
    onInput: (change) => {
      Object.assign(form, change);
      draw();
    },
    onDecide: (decision) => decide(open.approval_key, decision),
  });
}

/** @param {LabView | null} view */
function switchesPending(view) {
  if (!view || engine.prepared) return false;
  return view.mechanisms.some(({ id, on }) => on === page.off.has(id));
}

/**
 * Whether so much is new that marking what has changed would mark everything.
 * @param {LabView | null} view
 */
function jumps(view) {
  const moment = `${view?.run_id} ${engine.prepared} ${page.selected}`;
  const count = view?.record_count ?? 0;
  const jump = moment !== page.drawn.moment || count - page.drawn.count > 3;
  page.drawn = { moment, count };
  return jump || page.past !== null;
}

function draw() {
  if (engine.scenarios.length === 0) return;
  const view = engine.view;
  const shown = page.past ?? view;
  const gone = engine.taken || shown?.phase === 'crashed' || shown?.phase === 'fenced';
  const inFlight = page.past ? null : (view?.in_flight ?? null);
  const happening = inFlight && !engine.prepared && !gone ? inFlight : null;
  const activity =
    happening && `${happening.label}${happening.stage === 'happened' ? ': answer on its way' : ''}`;
  const at = happening?.place ?? null;
  const ledger = shown ? ledgerRows(shown.world) : [];
  const caused = new Set(page.selected === null ? [] : page.detail?.ledger);
  const topbar = {
    scenarios: engine.scenarios,
    scenario: page.scenario,
    shared: page.shared,
    exportable: engine.records.length > 0,
    onScenario: chooseScenario,
    onShare: share,
    onExport: exportFile,
    onHelp: () => showHelp(true),
  };
  keepQuiet(jumps(view));
  render(
    html`
      <header class="top">
        ${brand(topbar)}
        ${controls({
          view,
          running: engine.running,
          prepared: engine.prepared,
          taken: engine.taken,
          speed: engine.speed,
          speeds: SPEEDS.map(({ name }) => name),
          gaps: page.gaps,
          gapFilter: page.gapFilter,
          lasting: engine.storageWarning === null,
          onToggle: toggle,
          onStep: step,
          onCrash: crash,
          onRealCrash: () => location.reload(),
          onResume: resume,
          onReset: reset,
          onSpeed: setSpeed,
          onGaps: openGaps,
          onGapFilter: (text) => {
            page.gapFilter = text;
            draw();
          },
          onArm: arm,
        })}
        ${tools(topbar)}
      </header>
      ${tabs()}
      <main class="columns" data-tab=${page.tab}>
        <section class="column about" aria-label="Scenario">
          <div class="text" tabindex="0" role="group" aria-label="Scenario and mechanisms">
            ${scenario(engine.scenarios.find(({ id }) => id === page.scenario))}
            ${mechanisms({
              all: engine.mechanisms,
              off: page.off,
              pending: switchesPending(view),
              onSwitch: switchMechanism,
              onRestart: reset,
            })}
          </div>
          ${invariants({ all: shown?.invariants ?? [], onSelect: select })}
        </section>
        <section class="column work" aria-label="Run">
          ${saved({
            offers: page.offers,
            onResume: (run_id) => {
              if (look(run_id)) resume();
            },
            onLook: look,
            onForget: forget,
          })}
          ${status({
            view,
            running: engine.running,
            prepared: engine.prepared,
            taken: engine.taken,
            looking: page.selected,
            announcement: page.announcement,
            armed: view?.armed
              ? (page.armed ?? `${view.armed.when} effect ${view.armed.index}`)
              : null,
            onNow: now,
            onDisarm: () => arm(null),
          })}
          ${timeline.render({
            records: engine.records,
            selected: page.selected,
            worldly: new Set(view ? worldRecords(view.world) : []),
            inFlight: engine.prepared ? null : (view?.in_flight ?? null),
            onSelect: select,
          })}
          ${trace.render(
            {
              records: engine.records,
              selected: page.selected,
              lit: new Set(),
              stand: stand({
                view,
                running: engine.running,
                prepared: engine.prepared,
                taken: engine.taken,
                found: page.found,
                question: question(),
                onResume: resume,
                onForget: reset,
                onAgain: reset,
              }),
              onSelect: select,
            },
            draw,
          )}
          ${detail({
            detail: page.detail,
            newest: page.selected === null,
            side: page.side,
            ledger: ledger.filter(({ seq }) => page.detail?.ledger.includes(seq)),
            onSide: (side) => {
              page.side = side;
              draw();
            },
            onClose: now,
          })}
        </section>
        <section class="column places ${page.past ? 'past' : ''}" aria-label="Places">
          ${memory(shown?.memory ?? null, { gone, sudden: gone && !page.found && page.past === null, activity: at === 'memory' || at === 'clock' ? activity : null })}
          ${
            shown
              ? storage(shown.storage, {
                  kept: engine.storageWarning === null,
                  activity: at === 'storage' ? activity : null,
                  asJson: page.checkpointAsJson,
                  onJson: (asJson) => {
                    page.checkpointAsJson = asJson;
                    draw();
                  },
                })
              : nothing
          }
          ${
            shown
              ? world({
                  world: shown.world,
                  activity:
                    at === 'model' || at === 'tools' || at === 'person' || at === 'world'
                      ? activity
                      : null,
                  lit: caused,
                  onSelect: select,
                  onDecide: decide,
                })
              : nothing
          }
        </section>
      </main>
      ${notices(page.notices, (id) => {
        page.notices = page.notices.filter((notice) => notice.id !== id);
        draw();
      })}
      ${help(page.helpOpen, () => showHelp(false))}
    `,
    root,
  );
  trace.settle(page.selected);
  timeline.settle(engine.records.length, page.selected);
}

function tabs() {
  /** @type {[Tab, string][]} */
  const all = [
    ['scenario', 'Scenario'],
    ['trace', 'Trace'],
    ['places', 'Places'],
  ];
  return html`<nav class="tabs choice" data-tab=${page.tab} aria-label="Columns">
    ${all.map(
      ([tab, word]) =>
        html`<button
          class="tab-${tab}"
          aria-pressed=${page.tab === tab ? 'true' : 'false'}
          @click=${() => showTab(tab)}
        >
          ${word}${tab === 'trace' && openQuestion() ? html`<span class="attention"><span class="visually-hidden">, a question is open</span></span>` : nothing}
        </button>`,
    )}
  </nav>`;
}

/** @param {import('./pkg/crashlab.js').WorldView} world */
function* worldRecords(world) {
  for (const { record } of [...world.refunds, ...world.notes, ...world.outbox])
    if (record !== null) yield record;
}

/** @param {import('./pkg/crashlab.js').WorldView} world */
function ledgerRows(world) {
  return [
    ...world.refunds.map(({ seq, refund_id, amount, charge_id }) => ({
      seq,
      text: `${refund_id}: ${amount} for ${charge_id}`,
    })),
    ...world.notes.map(({ seq, text }) => ({ seq, text: `Note: ${text}` })),
    ...world.outbox.map(({ seq, to }) => ({ seq, text: `Mail to ${to}` })),
    ...world.inbox.map(({ seq, tool, status }) => ({
      seq,
      text: `Question about ${tool}: ${status}`,
    })),
    ...world.requests.map(({ seq, tool, outcome }) => ({
      seq,
      text: `Request ${tool}: ${outcome}`,
    })),
  ];
}

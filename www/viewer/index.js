/**
 * The viewer: everything that a run needs to be read. It is loaded when a run is about to begin, or is found. As `main.js` does for
 * the rest, this puts its parts together, and nothing else here knows two of them.
 *
 * @typedef {import('../pkg/crashlab.js').LabView} LabView
 */
import { html, nothing } from 'lit/html.js';
import { approval } from './approval.js';
import { Books, ledgerRows } from './books.js';
import { compare } from './compare.js';
import { crashMenu } from './crash-menu.js';
import { detail } from './detail.js';
import { showDrop } from './drop.js';
import { help } from './help.js';
import { imported } from './imported.js';
import { nameOf, settleName } from './names.js';
import { runs } from './runs.js';
import { saved } from './saved.js';
import { runStatus } from './run-status.js';
import { createTimeline } from './timeline.js';
import '../ui/back.js';
import '../ui/shared.js';
import './glyphs.js';
import { createTrace } from './trace.js';

/**
 * @param {import('../viewer-host.js').ViewerHost} reader
 * @param {() => void} draw
 */
export function createViewer(reader, draw) {
  const { engine } = reader;
  const trace = createTrace(draw);
  const timeline = createTimeline(draw);
  const books = new Books();
  /** The file that was shown last. @type {unknown} */
  let file = null;
  const onSelect = (/** @type {number} */ record) => reader.select(record);
  const onNow = () => reader.now();

  /** @param {Set<number>} worldly @param {import('../pkg/crashlab.js').EffectView | null} inFlight @param {unknown} status */
  const reading = (worldly, inFlight, status) => {
    const { records, selected } = reader;
    const { range } = trace.filter;
    const onBrush = trace.brush;
    return [
      timeline.render({ records, selected, worldly, inFlight, range, onSelect, onNow, onBrush }),
      trace.render({ records, selected, status, onSelect }),
    ];
  };

  /** @param {{ seq: number, text: string }[]} ledger */
  const record = (ledger) =>
    detail({
      detail: reader.detail,
      newest: reader.selected === null,
      side: reader.side,
      ledger,
      foreign: reader.foreign !== null,
      unusual: reader.foreign?.unusual.get(reader.selected ?? -1) ?? null,
      onSide: (side) => reader.show({ side }),
      onMcp: (record) => reader.dialogs.mcp(record),
      onClose: onNow,
    });

  showDrop();

  const question = () => {
    const asked = reader.question;
    if (!asked) return nothing;
    const form = reader.formFor(asked.approval_key);
    return approval({
      question: asked,
      approver: form.approver,
      note: form.note,
      gone: engine.view?.phase === 'crashed',
      onInput: (change) => {
        Object.assign(form, change);
        draw();
      },
      onDecide: (decision) => reader.decide(asked.approval_key, decision),
    });
  };

  return {
    search: () => trace.search(),
    follow: () => trace.follow(),

    /** @param {number} from @param {number} by */
    neighbour: (from, by) => trace.filter.nextListed(reader.records, from, by),

    /** After each drawing. */
    settle() {
      trace.settle(reader.selected);
      timeline.settle(reader.records, reader.selected);
    },

    /** Runs of before, and runs beside the present one. @param {unknown} first  What stands above them. */
    others: (first) => {
      const present = engine.prepared ? null : (engine.view?.run_id ?? null);
      if (present && engine.lasting)
        engine.name = settleName(present, engine.name, (run_id) => engine.isKept(run_id));
      const kept = reader.offers
        .filter(({ run_id }) => run_id !== present && !engine.shelf.has(run_id))
        .map((offer) => ({ ...offer, name: nameOf(offer.run_id) }));
      const shelf = [...engine.shelf].map(([run_id, { name }]) => ({ run_id, name }));
      /** @param {(run_id: string) => void} action */
      const beside = (action) => (/** @type {string} */ run_id) => {
        const name = nameOf(run_id);
        if (engine.shelf.has(run_id) || reader.attempt(() => engine.shelve(run_id, name)))
          action(run_id);
      };
      return html`<div class="above">
        ${first}
        ${saved({
          offers: kept.filter(({ status }) => status === null),
          onResume: (run_id) => reader.takeUp(run_id),
          onLook: (run_id) => reader.look(run_id),
          onForget: (run_id) => reader.forget(run_id),
        })}
        ${runs({
          present: present && engine.name,
          scenario: reader.about?.title,
          others: [...shelf, ...kept.filter((run) => run.status !== null && !run.elsewhere)],
          onSwitch: beside((run_id) => reader.switchTo(run_id)),
          onCompare: beside((run_id) => reader.compare(run_id)),
          onForget: (run_id) => reader.forget(run_id),
        })}
      </div>`;
    },

    /**
     * Timeline, trace and record of the present run.
     * @param {LabView} shown
     * @param {LabView} present
     */
    run(shown, present) {
      const { running, taken } = engine;
      const status = runStatus({
        view: present,
        running,
        taken,
        found: reader.found,
        question: question(),
        onResume: () => reader.resume(),
        onForget: () => reader.reset(),
        onAgain: () => reader.reset(),
        onReport: () => reader.dialogs.report(),
      });
      const caused = reader.detail?.ledger ?? [];
      const rows =
        caused.length === 0
          ? []
          : ledgerRows(present.world).filter(({ seq }) => caused.includes(seq));
      return [...reading(books.records(present.world), present.in_flight, status), record(rows)];
    },

    /**
     * A trace from a file: it can be read, and nothing else.
     * @param {NonNullable<typeof reader.foreign>} shown
     */
    file(shown) {
      const { records } = shown;
      if (file !== records) trace.rest();
      file = records;
      return [
        imported(shown, () => reader.closeTrace()),
        ...reading(new Set(), null, nothing),
        record([]),
      ];
    },

    /** @param {boolean} crashable */
    crashMenu: (crashable) =>
      crashMenu(
        {
          view: engine.view,
          gaps: reader.gaps,
          gapFilter: reader.gapFilter,
          lasting: engine.lasting,
          onRealCrash: () => reader.crashForReal(),
          onGapFilter: (gapFilter) => reader.show({ gapFilter }),
          onArm: (gap) => reader.arm(gap),
        },
        crashable,
      ),

    overlays() {
      const other = reader.comparing && engine.beside(reader.comparing);
      const { name, records, view } = engine;
      return [
        other && view
          ? compare([other, { name, records, view, last: engine.detail(records.length - 1) }], () =>
              reader.compare(null),
            )
          : nothing,
        help(reader.helpOpen, () => reader.show({ helpOpen: false })),
      ];
    },
  };
}

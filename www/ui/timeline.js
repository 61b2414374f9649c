/**
 * The run in logical time: a column per record, a lane per place. A call is a bar from its intent to its result; a crash goes across
 * everything. The list below says the same in words, so that this is a picture for assistive technology.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 * @typedef {'model' | 'tools' | 'person' | 'storage' | 'world'} Lane
 */
import { html, nothing, svg } from 'lit/html.js';
import { ref } from 'lit/directives/ref.js';
import { plural } from './format.js';
import './timeline.css';

/** @type {Lane[]} */
const LANES = ['model', 'tools', 'person', 'storage', 'world'];
const COLUMN = 10;
const HEAD = 20;
const LANE = 20;
const FOOT = 12;
const HEIGHT = HEAD + LANES.length * LANE + FOOT;

/**
 * @typedef {object} Timeline
 * @property {RecordView[]} records
 * @property {number | null} selected
 * @property {Set<number>} worldly  Records that changed something in the outside world.
 * @property {import('../pkg/crashlab.js').EffectView | null} inFlight
 * @property {(record: number) => void} onSelect
 */

export function createTimeline() {
  /** @type {HTMLElement | null} */
  let scroller = null;
  let shown = 0;
  const attach = ref((element) => (scroller = /** @type {HTMLElement | null} */ (element ?? null)));
  return {
    /** @param {Timeline} props */
    render({ records, selected, worldly, inFlight, onSelect }) {
      const width = (records.length + 2) * COLUMN;
      const pressed = (/** @type {MouseEvent} */ event) => {
        const box = /** @type {SVGElement} */ (event.currentTarget).getBoundingClientRect();
        const record = Math.floor((event.clientX - box.left) / COLUMN);
        if (record < records.length) onSelect(record);
      };
      return html`<div class="timeline">
        <div class="lanes" aria-hidden="true">
          ${LANES.map((lane) => html`<span class=${`lane-${lane}`}>${lane}</span>`)}
        </div>
        <div class="scroller" tabindex="0" role="group" aria-label="Timeline" ${attach}>
          <svg
            role="img"
            aria-label=${`Timeline of ${plural(records.length, 'record')}. The trace lists them in words.`}
            width=${width}
            height=${HEIGHT}
            @click=${pressed}
          >
            ${steps(records)}
            ${selected === null ? nothing : svg`<rect class="cursor" x=${selected * COLUMN} y=${HEAD - 2} width=${COLUMN} height=${HEIGHT - HEAD - FOOT + 4} rx="2" />`}
            ${bars(records)} ${records.map((record) => marksOf(record, worldly))}
            ${inFlight ? head(records.length, inFlight) : nothing}
          </svg>
        </div>
      </div>`;
    },

    /**
     * After each drawing: follows the run, or shows the selected column.
     * @param {number} records
     * @param {number | null} selected
     */
    settle(records, selected) {
      if (!scroller) return;
      if (selected !== null) {
        const left = selected * COLUMN;
        if (
          left < scroller.scrollLeft ||
          left > scroller.scrollLeft + scroller.clientWidth - COLUMN
        ) {
          scroller.scrollLeft = left - scroller.clientWidth / 2;
        }
      } else if (records !== shown) {
        scroller.scrollLeft = scroller.scrollWidth;
      }
      shown = records;
    },
  };
}

/** @param {Lane} lane */
const middle = (lane) => HEAD + LANES.indexOf(lane) * LANE + LANE / 2;
/** @param {number} index */
const centre = (index) => index * COLUMN + COLUMN / 2;

/** @param {RecordView[]} records */
function steps(records) {
  const starts = records.filter((record, i) => i === 0 || record.step !== records[i - 1].step);
  return starts.map(({ index, step }) => {
    const x = index * COLUMN + 0.5;
    return svg`<line class="step-line" x1=${x} x2=${x} y1="4" y2=${HEIGHT - FOOT} /><text x=${x + 4} y="13">${step}</text>`;
  });
}

/** @param {RecordView[]} records */
function bars(records) {
  /** @type {Map<string, number>} */
  const open = new Map();
  const drawn = [];
  for (const record of records) {
    const lane = laneOf(record);
    if (lane !== 'model' && lane !== 'tools' && lane !== 'person') continue;
    const key = lane;
    if (isIntent(record)) {
      if (!open.has(key)) open.set(key, record.index);
    } else if (isResult(record)) {
      const from = open.get(key);
      open.delete(key);
      if (from !== undefined) {
        drawn.push(
          svg`<rect class=${`bar lane-${lane}`} x=${centre(from)} y=${middle(lane) - 3} width=${(record.index - from) * COLUMN} height="6" rx="3" />`,
        );
      }
    }
  }
  return drawn;
}

/** @param {RecordView} record */
const isIntent = ({ type }) =>
  type === 'llm_request' || type === 'tool_call' || type === 'approval_request';
/** @param {RecordView} record */
const isResult = ({ type }) => type === 'llm_call' || type === 'tool_result' || type === 'approval';

/**
 * @param {RecordView} record
 * @returns {Lane}
 */
function laneOf({ type }) {
  if (type.startsWith('llm')) return 'model';
  if (type.startsWith('tool')) return 'tools';
  return type.startsWith('approval') ? 'person' : 'storage';
}

/**
 * @param {RecordView} record
 * @param {Set<number>} worldly
 */
function marksOf(record, worldly) {
  const x = centre(record.index);
  const lane = laneOf(record);
  const y = middle(lane);
  const world = worldly.has(record.index)
    ? svg`<rect class="mark lane-world" x=${x - 4} y=${middle('world') - 4} width="8" height="8" rx="2" />`
    : nothing;
  switch (record.type) {
    case 'crash':
      return svg`<path class="crash" d=${`M${x} ${HEAD}V${HEIGHT - FOOT}M${x - 3.5} ${HEIGHT - 9}l7 7M${x + 3.5} ${HEIGHT - 9}l-7 7`} />${world}`;
    case 'resume':
      return svg`<line class="resume" x1=${x} x2=${x} y1=${HEAD} y2=${HEIGHT - FOOT} />${world}`;
    case 'checkpoint':
      return svg`<line class="checkpoint" x1=${x} x2=${x} y1=${HEAD} y2=${HEIGHT - FOOT} /><rect class="mark lane-storage" x=${x - 3.5} y=${y - 3.5} width="7" height="7" />${world}`;
    case 'llm_retry':
    case 'tool_retry':
      return svg`<path class="retry" d=${`M${x} ${y - 6}V${y + 6}`} />${world}`;
    default:
      return svg`<circle class=${`mark lane-${lane} ${isResult(record) ? 'result' : 'intent'}`} cx=${x} cy=${y} r="3.5" />${world}`;
  }
}

/**
 * What is under way, at the right-hand end.
 * @param {number} at
 * @param {import('../pkg/crashlab.js').EffectView} effect
 */
function head(at, effect) {
  /** @type {Record<import('../pkg/crashlab.js').Place, Lane>} */
  const lanes = {
    memory: 'storage',
    clock: 'tools',
    storage: 'storage',
    model: 'model',
    tools: 'tools',
    person: 'person',
    world: 'tools',
  };
  const lane = lanes[effect.place];
  return svg`<circle class=${`head lane-${lane} ${effect.stage}`} cx=${centre(at)} cy=${middle(lane)} r="3.5" />`;
}

/**
 * The run in logical time, or by the clock: a lane per place, a bar from each intent to its result with its attempts below, and
 * checkpoints and crashes across all lanes. It zooms and pans by wheel, drag and keys; a stretch that is brushed filters the list.
 * The list says the same in words, so that this is a picture for assistive technology.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 * @typedef {import('./timeline-layout.js').Lane} Lane
 */
import { html, nothing } from 'lit/html.js';
import { ref } from 'lit/directives/ref.js';
import { duration, plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';
import { LANES, TimelineLayout } from './timeline-layout.js';
import 'sheet:./timeline.css';

const HEAD = 20;
const LANE = 21;
const HEIGHT = HEAD + LANES.length * LANE + 10;
/** Pixels of a column. */
const NORMAL = 10;
const WIDEST = 60;
/** A press that moves less is a press. */
const SLACK = 4;

/**
 * @typedef {object} Timeline
 * @property {RecordView[]} records
 * @property {number | null} selected
 * @property {Set<number>} worldly  Records that changed something in the outside world.
 * @property {import('../pkg/crashlab.js').EffectView | null} inFlight
 * @property {[number, number] | null} range  The stretch that is listed.
 * @property {(record: number) => void} onSelect
 * @property {() => void} onNow
 * @property {(range: [number, number] | null) => void} onBrush
 */

/** @param {() => void} redraw */
export function createTimeline(redraw) {
  let layout = new TimelineLayout(false);
  /** @type {HTMLCanvasElement | null} */
  let canvas = null;
  /** @type {Timeline | null} */
  let props = null;
  /** Pixels of a column, and the column at the left edge. */
  let zoom = NORMAL;
  let left = 0;
  let following = true;
  let width = 0;
  let frame = 0;
  /** @type {Record<string, string> | null} */
  let colours = null;
  let selectedBefore = /** @type {number | null} */ (null);
  let brushing = /** @type {[number, number] | null} */ (null);
  /** The record where a stretch was begun by keys. */
  let anchor = 0;

  const soon = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      if (canvas && props) paint(canvas, props);
    });
  };
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)'])
    matchMedia(query).addEventListener('change', () => {
      colours = null;
      soon();
    });

  const columns = () => layout.end + (props?.inFlight ? 2 : 1);
  const least = () => Math.min(NORMAL, width / Math.max(1, columns()));
  const x = (/** @type {number} */ index) => (layout.at[index] + 0.5 - left) * zoom;

  /** Keeps the picture in the window. */
  const bound = () => {
    zoom = Math.min(WIDEST, Math.max(least(), zoom));
    const most = Math.max(0, columns() - width / zoom);
    left = Math.min(Math.max(0, left), most);
    return most;
  };
  const zoomBy = (/** @type {number} */ factor, at = width / 2) => {
    const place = left + at / zoom;
    zoom *= factor;
    zoom = Math.min(WIDEST, Math.max(least(), zoom));
    left = place - at / zoom;
    following = left >= bound() - 0.5;
    soon();
  };
  const panBy = (/** @type {number} */ pixels) => {
    left += pixels / zoom;
    following = left >= bound() - 0.5;
    soon();
  };
  const fit = () => {
    zoom = least();
    left = 0;
    following = true;
    soon();
  };

  /** Lists what is in sight. */
  const brushShown = () => {
    const first = Math.max(0, layout.indexAt(left - 0.5));
    const end = Math.min(layout.at.length, layout.indexAt(left + width / zoom - 0.5));
    if (end > first) props?.onBrush([first, end - 1]);
  };
  /** Moves the end of the stretch that is not its beginning. */
  const extend = (/** @type {number} */ by) => {
    if (!props) return;
    const { range, selected } = props;
    const last = layout.at.length - 1;
    if (!range) anchor = Math.min(selected ?? recordAt(width), last);
    else if (!range.includes(anchor)) anchor = range[by < 0 ? 1 : 0];
    const moving = range ? range[0] + range[1] - anchor : anchor;
    const end = Math.min(Math.max(moving + by, 0), last);
    props.onBrush([Math.min(anchor, end), Math.max(anchor, end)]);
    const place = x(end);
    if (place < 0 || place > width) panBy(place < 0 ? place - width / 5 : place - width * 0.8);
  };

  const pointers = new Map();
  /** @type {{ x: number, brush: boolean, moved: boolean, distance: number } | null} */
  let drag = null;
  const recordAt = (/** @type {number} */ offset) => layout.nearest(left + offset / zoom - 0.5);
  const on = {
    wheel(/** @type {WheelEvent} */ event) {
      event.preventDefault();
      const { deltaX, deltaY, shiftKey, ctrlKey } = event;
      if (!ctrlKey && (shiftKey || Math.abs(deltaX) > Math.abs(deltaY))) panBy(deltaX || deltaY);
      else zoomBy(Math.exp(-deltaY * (ctrlKey ? 0.01 : 0.0025)), event.offsetX);
    },
    pointerdown(/** @type {PointerEvent} */ event) {
      if (event.button !== 0) return;
      canvas?.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, event.offsetX);
      const brush = event.pointerType !== 'touch' && (event.offsetY < HEAD || event.shiftKey);
      drag = { x: event.offsetX, brush, moved: false, distance: spread() };
    },
    pointermove(/** @type {PointerEvent} */ event) {
      if (!drag || !pointers.has(event.pointerId)) return;
      const before = pointers.get(event.pointerId);
      pointers.set(event.pointerId, event.offsetX);
      if (pointers.size > 1) {
        const distance = spread();
        if (drag.distance > 0) zoomBy(distance / drag.distance, event.offsetX);
        drag.distance = distance;
        drag.moved = true;
        return;
      }
      if (!drag.moved && Math.abs(event.offsetX - drag.x) < SLACK) return;
      drag.moved = true;
      if (drag.brush) {
        const ends = [recordAt(drag.x), recordAt(event.offsetX)];
        brushing = [Math.min(...ends), Math.max(...ends)];
        soon();
      } else panBy(before - event.offsetX);
    },
    pointerup(/** @type {PointerEvent} */ event) {
      pointers.delete(event.pointerId);
      if (!drag || !props || pointers.size > 0) return;
      if (brushing) props.onBrush(brushing);
      else if (!drag.moved && layout.at.length > 0) {
        if (drag.brush && props.range) props.onBrush(null);
        else props.onSelect(recordAt(event.offsetX));
      }
      brushing = null;
      drag = null;
    },
    pointercancel(/** @type {PointerEvent} */ event) {
      pointers.delete(event.pointerId);
      drag = brushing = null;
      soon();
    },
    keydown(/** @type {KeyboardEvent} */ event) {
      const { range } = props ?? {};
      /** @type {Record<string, (() => void) | undefined | null>} */
      const keys = {
        Enter: brushShown,
        Escape: range && (() => props?.onBrush(null)),
        '+': () => zoomBy(1.4),
        '=': () => zoomBy(1.4),
        '-': () => zoomBy(1 / 1.4),
        0: fit,
        ArrowLeft: () => (event.shiftKey ? extend(-1) : panBy(-width / 5)),
        ArrowRight: () => (event.shiftKey ? extend(1) : panBy(width / 5)),
        Home: () => panBy(-Infinity),
        End: () => panBy(columns() * zoom),
      };
      const act = keys[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !act) return;
      event.preventDefault();
      act();
    },
  };
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return b === undefined ? 0 : Math.abs(a - b);
  };

  const resized = new ResizeObserver(([{ contentRect }]) => {
    if (!canvas || contentRect.width === 0) return;
    width = contentRect.width;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(HEIGHT * ratio);
    canvas.getContext('2d')?.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (props) paint(canvas, props);
  });
  const attach = ref((element) => {
    if (element === canvas || (!element && !canvas)) return;
    canvas = /** @type {HTMLCanvasElement | null} */ (element ?? null);
    resized.disconnect();
    if (!canvas) return;
    colours = null;
    canvas.style.height = `${HEIGHT}px`;
    resized.observe(canvas);
    for (const [name, listener] of Object.entries(on))
      if (name !== 'keydown')
        canvas.addEventListener(name, /** @type {EventListener} */ (listener), { passive: false });
  });

  /**
   * @param {HTMLCanvasElement} target
   * @param {Timeline} shown
   */
  function paint(target, shown) {
    const context = target.getContext('2d');
    if (!context || width === 0) return;
    colours ??= readColours(target);
    if (following) left = Infinity;
    bound();
    context.clearRect(0, 0, width, HEIGHT);
    draw(context, layout, colours, {
      ...shown,
      range: brushing ?? shown.range,
      first: Math.max(0, layout.indexAt(left - 1) - 1),
      end: Math.min(layout.at.length, layout.indexAt(left + width / zoom + 1) + 1),
      width,
      zoom,
      x,
    });
  }

  return {
    /** @param {Timeline} next */
    render(next) {
      props = next;
      const { records, selected, range } = next;
      const last = records.length - 1;
      const scrubbed = (/** @type {Event} */ event) => {
        const value = Number(/** @type {HTMLInputElement} */ (event.currentTarget).value);
        if (value > last) next.onNow();
        else next.onSelect(value);
      };
      const byClock = () => {
        layout = new TimelineLayout(!layout.byClock);
        following = true;
        redraw();
      };
      return html`<div class="timeline">
        <div class="lanes" aria-hidden="true">
          <small>${layout.byClock ? 'UTC' : 'step'}</small>
          ${LANES.map((lane) => html`<span class=${`lane-${lane}`}>${lane}</span>`)}
        </div>
        <div
          class="picture"
          tabindex="0"
          role="group"
          aria-label="Timeline: plus and minus zoom, the arrows pan, 0 shows all, Enter lists what is in sight, Shift with the arrows lists a stretch"
          @keydown=${on.keydown}
        >
          <canvas
            role="img"
            aria-label=${`Timeline of ${plural(records.length, 'record')}. The trace lists them in words.`}
            ${attach}
          ></canvas>
        </div>
        <div class="scrub">
          <input
            type="range"
            min="0"
            max=${last + 1}
            step="1"
            .value=${String(selected ?? last + 1)}
            aria-label="Moment of the run"
            aria-valuetext=${selected === null ? 'now' : `record ${selected}`}
            @input=${scrubbed}
          />
          ${
            range === null
              ? nothing
              : html`<button
                  class="button small"
                  title="List all records again"
                  @click=${() => next.onBrush(null)}
                >
                  ${range[0]}–${range[1]}${glyph('close')}
                </button>`
          }
          <span class="visually-hidden" role="status"
            >${range && `Records ${range[0]} to ${range[1]} are listed`}</span
          >
          ${tool('minus', 'Zoom out', () => zoomBy(1 / 1.6))}
          ${tool('plus', 'Zoom in', () => zoomBy(1.6))} ${tool('fit', 'Show all', fit)}
          ${tool('clock', 'By the clock, in UTC', byClock, layout.byClock)}
        </div>
      </div>`;
    },

    /**
     * After each drawing: follows the run, or shows the selected column.
     * @param {RecordView[]} records
     * @param {number | null} selected
     */
    settle(records, selected) {
      if (records !== layout.records && selected === null) following = true;
      layout.read(records);
      if (selected !== selectedBefore && selected !== null) {
        const place = x(selected);
        if (place < 0 || place > width) {
          left = layout.at[selected] - width / zoom / 2;
          following = left >= bound() - 0.5;
        } else if (following) {
          following = false;
        }
      }
      if (selected === null && selectedBefore !== null) following = true;
      selectedBefore = selected;
      soon();
    },
  };
}

/**
 * @param {string} sign
 * @param {string} label
 * @param {() => void} action
 * @param {boolean} [pressed]
 */
function tool(sign, label, action, pressed) {
  return html`<button
    class="button small quiet icon"
    aria-label=${label}
    aria-pressed=${pressed === undefined ? nothing : String(pressed)}
    title=${label}
    @click=${action}
  >
    ${glyph(sign)}
  </button>`;
}

/**
 * Colours as the canvas can take them.
 * @param {HTMLElement} element
 */
function readColours(element) {
  const probe = document.createElement('span');
  // Where the reader's own colours are forced on the page, there are two: ink and ground.
  const forced = matchMedia('(forced-colors: active)').matches;
  probe.style.setProperty('forced-color-adjust', 'none');
  element.parentElement?.append(probe);
  /** @type {Record<string, string>} */
  const found = {};
  for (const name of ['ink', 'soft', 'line', 'edge', 'surface', 'world', 'storage', 'memory']) {
    const system = name === 'surface' ? 'Canvas' : 'CanvasText';
    probe.style.color = forced ? system : `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  found.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  probe.remove();
  return { ...found, model: found.world, tools: found.world, person: found.world };
}

/** @param {Lane} lane */
const middle = (lane) => HEAD + LANES.indexOf(lane) * LANE + LANE / 2;

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {TimelineLayout} layout
 * @param {Record<string, string>} colours
 * @param {Timeline & { first: number, end: number, width: number, zoom: number, x: (index: number) => number }} view
 */
function draw(pen, layout, colours, view) {
  const { records } = layout;
  const { first, end, zoom, x, selected, range, worldly, width } = view;
  const bottom = HEAD + LANES.length * LANE;
  const rect = (
    /** @type {string} */ colour,
    /** @type {number[]} */ [left, top, wide, high],
    alpha = 1,
    round = 0,
  ) => {
    pen.globalAlpha = alpha;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.roundRect(left, top, wide, high, round);
    pen.fill();
    pen.globalAlpha = 1;
  };
  const line = (
    /** @type {string} */ colour,
    /** @type {number} */ at,
    alpha = 1,
    wide = 1,
    dash = /** @type {number[]} */ ([]),
  ) => {
    pen.globalAlpha = alpha;
    pen.strokeStyle = colour;
    pen.lineWidth = wide;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(at, HEAD);
    pen.lineTo(at, bottom);
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  };

  for (const lane of LANES) rect(colours.line, [0, middle(lane) - 0.5, width, 1], 0.6);
  if (range) {
    rect(colours.ink, [x(range[0]) - zoom / 2, 0, x(range[1]) - x(range[0]) + zoom, HEIGHT], 0.08);
  }
  if (selected !== null && selected < records.length) {
    const wide = Math.max(7, zoom);
    rect(colours.ink, [x(selected) - wide / 2, HEAD - 3, wide, bottom - HEAD + 6], 0.18, 2);
  }

  // The ruler: as many labels as have room.
  pen.font = colours.font;
  pen.textBaseline = 'middle';
  let free = 0;
  for (const index of layout.steps) {
    const at = x(index) - zoom / 2;
    if (at < -40 || at > width) continue;
    rect(colours.line, [Math.round(at), 4, 1, bottom - 4], zoom < 3 ? 0.4 : 1);
    if (at < free) continue;
    const text = layout.byClock ? records[index].clock.slice(0, 8) : String(records[index].step);
    pen.fillStyle = colours.soft;
    pen.fillText(text, at + 4, 10);
    free = at + pen.measureText(text).width + 10;
  }

  for (const { lane, from, to, attempt } of layout.bars) {
    const [start, stop] = [x(from), x(to)];
    if (stop < -10 || start > width + 10) continue;
    const y = middle(lane);
    if (attempt) rect(colours[lane], [start, y + 5, Math.max(2, stop - start), 2], 0.9, 1);
    else rect(colours[lane], [start, y - 3, Math.max(2, stop - start), 6], 0.3, 3);
  }
  for (const [lane, call] of layout.open) {
    const start = x(call);
    rect(colours[lane], [start, middle(lane) - 1, x(records.length - 1) + zoom - start, 2], 0.35);
  }

  for (let index = Math.max(1, first); index < end; index++) {
    const wait = layout.breaks.get(index);
    if (wait !== undefined) breakMark(pen, colours, (x(index) + x(index - 1)) / 2, zoom, wait);
  }

  /** What has been drawn at the last pixel of a lane: thousands of marks at one place are one. */
  const taken = new Map();
  for (let index = first; index < end; index++) {
    const { type, lane, opens } = records[index];
    const at = x(index);
    if (worldly.has(index)) rect(colours.world, [at - 4, middle('world') - 4, 8, 8], 1, 2);
    const spot = `${lane} ${Math.round(at)}`;
    const important = type === 'crash' || type === 'resume' || type === 'checkpoint';
    if (zoom < 2 && !important) {
      if (taken.has(spot)) continue;
      taken.set(spot, true);
    }
    const y = middle(lane);
    if (type === 'crash') {
      line(colours.ink, at, 1, 2);
      cross(pen, colours.ink, at, bottom + 5);
    } else if (type === 'resume') line(colours.ink, at, 1, 1.5, [2, 4]);
    else if (type === 'checkpoint') {
      if (zoom >= 2) line(colours.storage, at, 0.35);
      rect(colours.storage, [at - 3.5, y - 3.5, 7, 7]);
    } else if (type.endsWith('_retry')) rect(colours[lane], [at - 1, y - 6, 2, 12]);
    else dot(pen, colours[lane], colours.surface, at, y, opens === null);
  }
  if (view.inFlight) head(pen, colours, x(records.length - 1) + zoom, view.inFlight);
}

/**
 * A wait, however long: two strokes and how long it was.
 * @param {CanvasRenderingContext2D} pen
 * @param {Record<string, string>} colours
 * @param {number} at
 * @param {number} zoom
 * @param {number} seconds
 */
function breakMark(pen, colours, at, zoom, seconds) {
  const bottom = HEAD + LANES.length * LANE;
  pen.fillStyle = colours.surface;
  pen.fillRect(at - 4, HEAD, 8, bottom - HEAD);
  pen.strokeStyle = colours.edge;
  pen.lineWidth = 1;
  for (const shift of [-3, 3]) {
    pen.beginPath();
    for (let y = HEAD, side = 1; y <= bottom; y += 7, side = -side)
      pen.lineTo(at + shift + side * 1.5, y);
    pen.stroke();
  }
  if (zoom < 5) return;
  const text = duration(seconds);
  const wide = pen.measureText(text).width;
  pen.fillStyle = colours.surface;
  pen.fillRect(at - wide / 2 - 3, bottom - 8, wide + 6, 14);
  pen.fillStyle = colours.soft;
  pen.fillText(text, at - wide / 2, bottom);
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {string} colour
 * @param {number} at
 * @param {number} y
 */
function cross(pen, colour, at, y) {
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(at - 3.5, y - 3.5);
  pen.lineTo(at + 3.5, y + 3.5);
  pen.moveTo(at + 3.5, y - 3.5);
  pen.lineTo(at - 3.5, y + 3.5);
  pen.stroke();
}

/**
 * @param {CanvasRenderingContext2D} pen
 * @param {string} colour
 * @param {string} ground
 * @param {number} at
 * @param {number} y
 * @param {boolean} full
 */
function dot(pen, colour, ground, at, y, full) {
  pen.fillStyle = full ? colour : ground;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.arc(at, y, 3.5, 0, 7);
  pen.fill();
  pen.stroke();
}

/**
 * What is under way, at the right-hand end.
 * @param {CanvasRenderingContext2D} pen
 * @param {Record<string, string>} colours
 * @param {number} at
 * @param {import('../pkg/crashlab.js').EffectView} effect
 */
function head(pen, colours, at, effect) {
  /** @type {Record<import('../pkg/crashlab.js').Place, Lane>} */
  const lanes = {
    memory: 'storage',
    clock: 'tools',
    storage: 'storage',
    model: 'model',
    tools: 'tools',
    person: 'person',
    world: 'world',
  };
  const lane = lanes[effect.place];
  pen.setLineDash(effect.stage === 'happened' ? [] : [2, 2]);
  dot(pen, colours[lane], colours.surface, at, middle(lane), false);
  pen.setLineDash([]);
}

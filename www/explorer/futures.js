/** Where a run can no longer be saved: per step, how many of the possible futures end with the invariant broken. */
import { html, svg, nothing } from 'lit/html.js';

/**
 * @typedef {import('../study/crashlab.js').SearchRun} SearchRun
 * @typedef {NonNullable<import('../study/crashlab.js').SearchStep['futures']>} Futures
 */

const HEIGHT = 120;
const LEFT = 40;
const BOTTOM = 20;
const TOP = 12;
/** The width of the label at the start. */
const CROWDED = 50;

/** Digits in groups of three, however many: the numbers are larger than a JavaScript number. @param {string} digits */
export const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ',');

/** @param {Futures} futures */
export function percent({ share, broken, all }) {
  if (broken === '0') return '0 %';
  if (broken === all) return '100 %';
  if (share < 0.0001) return 'under 0.01 %';
  if (share > 0.9999) return 'over 99.99 %';
  return `${(100 * share).toFixed(share < 0.01 || share > 0.99 ? 2 : share < 0.1 ? 1 : 0)} %`;
}

/** The first step from which every future ends broken. @param {SearchRun} run @returns {number | null} */
export function noReturn({ run }) {
  const lost = run.steps.findIndex(
    ({ futures }) => futures && futures.all !== '0' && futures.broken === futures.all,
  );
  return lost < 0 ? null : lost;
}

/** @param {SearchRun} run @param {boolean} partial */
export function futures(run, partial) {
  const { steps } = run.run;
  if (steps.some(({ futures }) => futures === null))
    return html`<p class="none">
      ${
        partial
          ? 'How many futures end broken is not known: the search did not see all of them.'
          : 'The futures of this run are too many to be counted.'
      }
    </p>`;
  return html`<figure class="futures">
    <figcaption>${inWords(run)}</figcaption>
    ${plot(run)}
  </figure>`;
}

/** Where the run is lost, in sentences. @param {SearchRun} run */
function inWords(run) {
  const { steps } = run.run;
  const first = /** @type {Futures} */ (steps[0].futures);
  const lost = noReturn(run);
  const start = `At the start ${grouped(first.broken)} of ${grouped(first.all)} futures end with this broken (${percent(first)}).`;
  if (lost === null) return `${start} There is no step from which all of them do.`;
  if (lost === 0) return `${start} Every future does, from the start.`;
  return `${start} The point of no return is step ${lost}, ${steps[lost].at}: from there on all of them do. One step before it was ${percent(/** @type {Futures} */ (steps[lost - 1].futures))}.`;
}

/** @param {SearchRun} run */
function plot(run) {
  const { steps } = run.run;
  // The type in it keeps its size on a phone.
  const WIDTH = innerWidth < 600 ? 360 : 720;
  const x = (/** @type {number} */ step) =>
    LEFT + ((WIDTH - LEFT - 12) * step) / Math.max(steps.length - 1, 1);
  const y = (/** @type {number} */ share) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
  const line = steps
    .map(({ futures }, step) => {
      const at = `${x(step).toFixed(1)} ${y(/** @type {Futures} */ (futures).share).toFixed(1)}`;
      return step === 0 ? `M${at}` : `H${x(step).toFixed(1)}L${at}`;
    })
    .join('');
  const lost = noReturn(run);
  const turns = steps.flatMap(({ plain }, step) => (plain ? [] : [step]));
  return html`<svg
    class="plot"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    role="img"
    aria-label="The share of futures that end broken, step by step. ${inWords(run)}"
  >
    ${[0, 0.5, 1].map(
      (share) =>
        svg`<line class="grid" x1=${LEFT} x2=${WIDTH - 12} y1=${y(share)} y2=${y(share)} />
          <text x=${LEFT - 6} y=${y(share) + 4} text-anchor="end">${100 * share} %</text>`,
    )}
    ${turns.map((step) => svg`<line class="turn" x1=${x(step)} x2=${x(step)} y1=${y(0)} y2=${y(0) + 5} />`)}
    <path class="share" d=${line} />
    ${
      lost === null
        ? nothing
        : svg`<circle class="lost" cx=${x(lost)} cy=${y(1)} r="4" />
          <text x=${x(lost)} y=${HEIGHT - 4} text-anchor=${lost > steps.length / 2 ? 'end' : 'start'}>step ${lost}: no return</text>`
    }
    ${
      lost !== null && x(lost) < LEFT + CROWDED
        ? nothing
        : svg`<text x=${LEFT} y=${HEIGHT - 4}>step 0</text>`
    }
  </svg>`;
}

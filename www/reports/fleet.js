/** What a fleet of agents does to the service that they all need: requests over time, with jitter and without. */
import { html, svg } from 'lit/html.js';
import { duration } from '../ui/format.js';

/**
 * @typedef {import('../pkg/crashlab.js').HerdView} Fleet
 * @typedef {{ jittered: Fleet, plain: Fleet }} Curves
 */

export const SPAN_MS = 500;

const WIDEST = 840;
const NARROWEST = 280;
/** The least that is beside the plot. */
const AROUND = 64;
const HEIGHT = 260;
const LEFT = 44;
const BOTTOM = 38;
const TOP = 24;

/** Whether a scenario is about a fleet. @param {string} json */
export function hasFleet(json) {
  return 'herd' in JSON.parse(json);
}

/** @param {Curves} curves */
export function fleet({ jittered, plain }) {
  const { agents, tool, capacity_per_s, span_s } = jittered;
  return html`<section class="fleet" aria-labelledby="fleet-title">
    <h3 id="fleet-title">${agents} agents and one service</h3>
    <p class="hint">
      Requests to <code>${tool}</code> in each ${duration(span_s)}. It serves ${capacity_per_s} a
      second once it is back.
    </p>
    ${plot(jittered, plain)}
    <ul class="legend">
      <li><span class="with"></span>With jitter: ${load(jittered)}</li>
      <li><span class="without"></span>Without: ${load(plain)}</li>
    </ul>
    <details>
      <summary>The figures as a table</summary>
      ${table(jittered, plain)}
    </details>
  </section>`;
}

/** How much the service had to bear, in a sentence. @param {Fleet} fleet */
function load({ requests, served_agents, agents, most_at_once, last_served_s }) {
  const all = served_agents === agents;
  const end = last_served_s === null ? '' : `, the last after ${duration(last_served_s)}`;
  return `${requests} requests, at most ${most_at_once} repeated ones in the same millisecond; ${all ? 'all' : served_agents} of ${agents} agents served${end}.`;
}

/**
 * @param {Fleet} jittered
 * @param {Fleet} plain
 */
function plot(jittered, plain) {
  // One unit is one pixel, so that the labels have the same size on every screen.
  const width = Math.max(NARROWEST, Math.min(WIDEST, innerWidth - AROUND));
  const { span_s, down_until_s } = jittered;
  const spans = Math.max(jittered.buckets.length, plain.buckets.length, 1);
  const most = Math.max(1, ...[...jittered.buckets, ...plain.buckets].map((one) => one.requests));
  const x = (/** @type {number} */ s) => LEFT + (s / (spans * span_s)) * (width - LEFT - 8);
  const y = (/** @type {number} */ n) => HEIGHT - BOTTOM - (n / most) * (HEIGHT - BOTTOM - TOP);
  const steps = (/** @type {Fleet} */ { buckets }) =>
    buckets
      .map(
        ({ requests }, i) =>
          `${i === 0 ? 'M' : 'L'}${x(i * span_s)} ${y(requests)}H${x((i + 1) * span_s)}`,
      )
      .join('');
  const seconds = ticks(spans * span_s, width / 60);
  return html`<svg
    class="plot"
    viewBox="0 0 ${width} ${HEIGHT}"
    role="img"
    aria-label="Requests over time. Without jitter they come in spikes of up to ${Math.max(...plain.buckets.map((one) => one.requests))}; with jitter, of up to ${Math.max(...jittered.buckets.map((one) => one.requests))}. The figures stand in the table below."
  >
    ${svg`<rect class="down" x=${LEFT} y=${TOP} width=${Math.max(0, x(down_until_s) - LEFT)} height=${HEIGHT - BOTTOM - TOP} />
      <text class="note" x=${LEFT} y=${TOP - 8}>service down</text>
      ${ticks(most, 4).map((n) => svg`<path class="grid" d="M${LEFT} ${y(n)}H${width - 8}" /><text class="tick" x=${LEFT - 6} y=${y(n) + 4} text-anchor="end">${n}</text>`)}
      ${seconds.map((s) => svg`<text class="tick" x=${x(s)} y=${HEIGHT - BOTTOM + 15} text-anchor="middle">${s}</text>`)}
      <text class="axis" x=${(width + LEFT) / 2} y=${HEIGHT - 4} text-anchor="middle">seconds since the start</text>
      <text class="axis" transform="translate(10 ${(HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">requests</text>
      <path class="without" d=${steps(plain)} />
      <path class="with" d=${steps(jittered)} />`}
  </svg>`;
}

/**
 * Round figures from 0 to the end.
 * @param {number} end
 * @param {number} about
 */
function ticks(end, about) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => end / step <= about) ?? 1000;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

/**
 * @param {Fleet} jittered
 * @param {Fleet} plain
 */
function table(jittered, plain) {
  const spans = Math.max(jittered.buckets.length, plain.buckets.length);
  const cells = (/** @type {Fleet} */ { buckets }, /** @type {number} */ i) =>
    html`<td>${buckets[i]?.requests ?? 0}</td>
      <td>${buckets[i]?.served ?? 0}</td>`;
  return html`<table>
    <thead>
      <tr>
        <th scope="col">From</th>
        <th scope="col">Requests with jitter</th>
        <th scope="col">served</th>
        <th scope="col">Requests without</th>
        <th scope="col">served</th>
      </tr>
    </thead>
    <tbody>
      ${Array.from(
        { length: spans },
        (_, i) =>
          html`<tr>
            <th scope="row">${duration(i * jittered.span_s)}</th>
            ${cells(jittered, i)}${cells(plain, i)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

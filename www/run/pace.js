/** How the run's virtual time passes on the screen. */

/** Waits are divided by `factor`, with `beat_ms` between an answer and the next effect. */
export const SPEEDS = [
  { name: 'real time', factor: 1, beat_ms: 160 },
  { name: '2 ×', factor: 2, beat_ms: 90 },
  { name: '5 ×', factor: 5, beat_ms: 40 },
  { name: '20 ×', factor: 20, beat_ms: 12 },
  { name: 'fastest', factor: Infinity, beat_ms: 0 },
];
export const FASTEST = SPEEDS.length - 1;

/** Nobody watches a wait for longer than this; the clock of the run still shows all of it. */
const LONGEST_WAIT_MS = 6000;

/**
 * How long to wait after a tick, in real milliseconds; null at the fastest speed, which waits for nothing.
 * @param {import('../pkg/crashlab.js').Tick} tick
 * @param {number} speed  An index into `SPEEDS`.
 */
export function waitAfter(tick, speed) {
  const { factor, beat_ms } = SPEEDS[speed] ?? SPEEDS[0];
  if (factor === Infinity) return null;
  return tick.type === 'happened' ? Math.min(tick.takes_ms, LONGEST_WAIT_MS) / factor : beat_ms;
}

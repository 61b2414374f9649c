/** Figures as people read them. Numbers of a run arrive as text and are never parsed here. */

/**
 * `4.80 s`, `1:35.82`, `2:00:04`.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 60) return `${seconds.toFixed(2)} s`;
  const whole = Math.floor(seconds);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  if (seconds < 3600)
    return `${Math.floor(whole / 60)}:${(seconds % 60).toFixed(2).padStart(5, '0')}`;
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/** @param {number} count */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1000).toFixed(1)} KB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

const grouped = new Intl.NumberFormat('en');

/** @param {number} n */
export const count = (n) => grouped.format(n);

/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** How much of a list the panels show: a frame costs the same late in a run as early. The trace and the files have everything. */
export const LATEST = 100;

/**
 * @template T
 * @param {T[]} list
 */
export const latest = (list) => (list.length > LATEST ? list.slice(-LATEST) : list);

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/**
 * `5 minutes ago`.
 * @param {number} ms  Milliseconds since 1970.
 */
export function ago(ms) {
  const minutes = (Date.now() - ms) / 60_000;
  if (minutes < 1) return 'just now';
  if (minutes < 60) return relative.format(-Math.floor(minutes), 'minute');
  if (minutes < 24 * 60) return relative.format(-Math.floor(minutes / 60), 'hour');
  return relative.format(-Math.floor(minutes / 60 / 24), 'day');
}

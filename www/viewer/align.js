/**
 * Two traces beside each other: which records are the same, and where the runs part.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 * @typedef {[left: RecordView | null, right: RecordView | null, same: boolean]} Pair
 */

/** Beyond so many cells of a table, what comes after the parting is paired by its index alone. */
const MOST = 4_000_000;

/**
 * What a record says, whenever and under whatever name the run says it.
 * @param {RecordView} record
 */
function saying({ line }) {
  const run_id = /"run_id":"([^"]*)"/.exec(line)?.[1] ?? '';
  return line
    .replace(/^\{"ts":[\d.]+,/, '')
    .replaceAll(run_id || '\0', '')
    .replace(/"(traceparent|tracestate)":"[^"]*"/g, '')
    .replace(/"(until|latency_ms)":[\d.]+/g, '');
}

/**
 * @param {RecordView[]} left
 * @param {RecordView[]} right
 * @returns {{ pairs: Pair[], parting: number }}  `parting`: the first pair that is not the same, or -1.
 */
export function align(left, right) {
  const [a, b] = [left.map(saying), right.map(saying)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (
    tail < Math.min(a.length, b.length) - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail++;
  /** @type {Pair[]} */
  const pairs = [];
  for (let i = 0; i < head; i++) pairs.push([left[i], right[i], true]);
  const [n, m] = [a.length - head - tail, b.length - head - tail];
  if (n * m > MOST) {
    for (let i = 0; i < Math.max(n, m); i++) {
      const [one, other] = [i < n ? head + i : -1, i < m ? head + i : -1];
      pairs.push([left[one] ?? null, right[other] ?? null, one >= 0 && a[one] === b[other]]);
    }
  } else {
    // The longest common sequence, from its end.
    const width = m + 1;
    const length = new Uint32Array((n + 1) * width);
    for (let i = n - 1; i >= 0; i--)
      for (let j = m - 1; j >= 0; j--)
        length[i * width + j] =
          a[head + i] === b[head + j]
            ? length[(i + 1) * width + j + 1] + 1
            : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    for (let i = 0, j = 0; i < n || j < m;) {
      if (i < n && j < m && a[head + i] === b[head + j])
        pairs.push([left[head + i++], right[head + j++], true]);
      else if (j >= m || (i < n && length[(i + 1) * width + j] >= length[i * width + j + 1]))
        pairs.push([left[head + i++], null, false]);
      else pairs.push([null, right[head + j++], false]);
    }
  }
  for (let i = tail; i > 0; i--) pairs.push([left[a.length - i], right[b.length - i], true]);
  const joined = join(pairs);
  // How they were set up is known before they begin; they part where they do something else.
  const differs = (/** @type {Pair} */ [, , same]) => !same;
  const parting = joined.findIndex((pair) => differs(pair) && pair[0]?.type !== 'run_start');
  return { pairs: joined, parting: parting < 0 ? joined.findIndex(differs) : parting };
}

/**
 * Two lonely records of one type stand in one row.
 * @param {Pair[]} pairs
 */
function join(pairs) {
  /** @type {Pair[]} */
  const joined = [];
  /** Rows of the present difference that have no right side yet, by their order. @type {number[]} */
  let waiting = [];
  for (const pair of pairs) {
    const [left, right, same] = pair;
    if (same) waiting = [];
    else if (left && !right) waiting.push(joined.length);
    else if (right && !left) {
      const at = waiting.findIndex((row) => joined[row][0]?.type === right.type);
      if (at >= 0) {
        const row = waiting[at];
        joined[row] = [joined[row][0], right, false];
        waiting = waiting.slice(at + 1);
        continue;
      }
    }
    joined.push(pair);
  }
  return joined;
}

/**
 * The places at which two plain values differ.
 * @param {unknown} left
 * @param {unknown} right
 * @param {string} [path]
 * @returns {{ path: string, left: string, right: string }[]}
 */
export function differences(left, right, path = '') {
  if (left === right) return [];
  if (typeof left === 'object' && typeof right === 'object' && left && right) {
    const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
    const at = (/** @type {object} */ value, /** @type {string} */ key) =>
      /** @type {Record<string, unknown>} */ (value)[key];
    return [...keys].flatMap((key) =>
      differences(at(left, key), at(right, key), path ? `${path}.${key}` : key),
    );
  }
  const text = (/** @type {unknown} */ value) =>
    value === undefined ? 'nothing' : typeof value === 'string' ? value : JSON.stringify(value);
  return [{ path, left: text(left), right: text(right) }];
}

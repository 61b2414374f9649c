/**
 * A trace from a file: JSON Lines, one record per line, of this agent or of another that writes the same fields. There is no run
 * behind it, so it can be read, and nothing else.
 *
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 */
const SLICE_MS = 12;
const TEXT = 140;
/** Records that are drawn at once. */
const MOST = 20_000;

/**
 * Reads a trace without keeping the page waiting: the first records are there at once.
 * @param {string} text
 * @param {RecordView[]} records  Filled as it goes.
 * @param {() => boolean} arrived  Some more are there; false ends the reading.
 * @returns {Promise<{ skipped: number }>}  Lines that are no records.
 */
export async function readTrace(text, records, arrived) {
  let skipped = 0;
  let next = 200;
  let slice = performance.now();
  let first = 0;
  for (let at = 0; at < text.length;) {
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    const line = text.slice(at, end).trim();
    at = end + 1;
    if (line === '') continue;
    const record = recordOf(line, records.length, first);
    if (!record) {
      skipped++;
      continue;
    }
    if (records.length === 0) {
      first = record.at_s;
      record.at_s = 0;
    }
    records.push(record);
    // Drawing costs more than reading, so it is done the more seldom the more there is.
    const drawsNow = records.length >= next;
    if (drawsNow) {
      next = Math.min(2 * next, next + MOST);
      if (!arrived()) return { skipped };
    }
    if (drawsNow || performance.now() - slice > SLICE_MS) {
      await new Promise((resolve) => setTimeout(resolve));
      slice = performance.now();
    }
  }
  arrived();
  return { skipped };
}

/**
 * @param {string} line
 * @param {number} index
 * @param {number} first  When the first record was written, in seconds since 1970.
 * @returns {RecordView | null}
 */
function recordOf(line, index, first) {
  /** @type {Record<string, unknown>} */
  let fields;
  try {
    fields = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof fields !== 'object' || fields === null || typeof fields.type !== 'string') return null;
  const { ts, step, type } = fields;
  const time = typeof ts === 'number' ? ts : first;
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : null);
  return {
    index,
    step: typeof step === 'number' ? step : 0,
    type,
    at_s: Math.round((time - first) * 1000) / 1000,
    clock: `${new Date(time * 1000).toISOString().slice(11, 23)} UTC`,
    tool: text(fields.tool),
    call_id: text(fields.call_id),
    attempt: typeof fields.attempt === 'number' ? fields.attempt : null,
    text: gist(fields),
    tone: toneOf(fields),
    line,
  };
}

/**
 * What a record says in a line.
 * @param {Record<string, unknown>} fields
 */
function gist({
  ts: _ts,
  run_id: _run,
  step: _step,
  type: _type,
  preview,
  thought,
  tool,
  ...rest
}) {
  const said = typeof thought === 'string' ? thought : typeof preview === 'string' ? preview : null;
  const parts = said
    ? [said]
    : Object.entries(rest)
        .slice(0, 6)
        .map(
          ([key, value]) =>
            `${key.replaceAll('_', ' ')} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
        );
  const text = `${typeof tool === 'string' ? `${tool}: ` : ''}${parts.join(', ')}`.replace(
    /\s+/g,
    ' ',
  );
  return text.length > TEXT ? `${text.slice(0, TEXT)} …` : text;
}

/** @param {Record<string, unknown>} fields @returns {RecordView['tone']} */
function toneOf({ type, ok, decision, status }) {
  if (type === 'crash' || type === 'guard' || type === 'replan') return 'bad';
  if (type === 'tool_result') return ok === false ? 'bad' : 'good';
  if (type === 'approval') return decision === 'approved' ? 'good' : 'bad';
  if (type === 'stop') return status === 'done' ? 'good' : 'bad';
  return String(type).endsWith('_retry') || type === 'approval_request' ? 'wait' : 'plain';
}

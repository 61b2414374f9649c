/**
 * How lessons recognise the crash point that they are about, both where it is armed and where an agent died.
 *
 * @typedef {import('../pkg/crashlab.js').Gap} Gap
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 */

/** The refund has happened, and its answer is still on its way. */
export const AFTER_REFUND = 'after:call_tool:issue_refund';

/**
 * A repeated attempt has its number after the point's id, and is the same point.
 * @param {string | undefined} id
 * @param {string} point
 */
const isCrashPoint = (id, point) => id === point || id?.startsWith(`${point}:`) === true;

/** @param {Gap | null} gap @param {string} point */
export const isArmedAt = (gap, point) => gap !== null && isCrashPoint(gap.id, point);

/** @param {RecordView[]} records @param {string} point */
export const diedAt = (records, point) =>
  records.some(({ type, line }) => type === 'crash' && isCrashPoint(JSON.parse(line).point, point));

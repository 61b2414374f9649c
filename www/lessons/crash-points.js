/**
 * How lessons recognise the crash point that they are about, both where it is armed and where an agent died.
 *
 * @typedef {import('../pkg/crashlab.js').Gap} Gap
 * @typedef {import('../pkg/crashlab.js').RecordView} RecordView
 */

/** The refund has happened, and its answer is still on its way. */
export const AFTER_REFUND = 'after the refund happened';

/**
 * The only comparison: a point is recognised by its label, as neither a gap nor a record has an id.
 * @param {string} label
 * @param {string} point
 */
const isCrashPoint = (label, point) => label.includes(point);

/** @param {Gap | null} gap @param {string} point */
export const isArmedAt = (gap, point) => gap !== null && isCrashPoint(gap.label, point);

/** @param {RecordView[]} records @param {string} point */
export const diedAt = (records, point) =>
  records.some(({ type, text }) => type === 'crash' && isCrashPoint(text, point));

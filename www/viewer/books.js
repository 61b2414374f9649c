/** What the world's books say, for who reads records. */

/**
 * The records that changed something out there.
 * @param {import('../pkg/crashlab.js').WorldView} world
 */
export function worldRecords({ refunds, notes, outbox }) {
  const rows = [...refunds, ...notes, ...outbox];
  return new Set(rows.flatMap(({ record }) => (record === null ? [] : [record])));
}

/**
 * Every row of the books as one line.
 * @param {import('../pkg/crashlab.js').WorldView} world
 * @returns {{ seq: number, text: string }[]}
 */
export function ledgerRows({ refunds, notes, outbox, inbox, requests }) {
  return [
    ...refunds.map(({ seq, refund_id, amount, charge_id }) => ({
      seq,
      text: `${refund_id}: ${amount} for ${charge_id}`,
    })),
    ...notes.map(({ seq, text }) => ({ seq, text: `Note: ${text}` })),
    ...outbox.map(({ seq, to }) => ({ seq, text: `Mail to ${to}` })),
    ...inbox.map(({ seq, tool, status }) => ({ seq, text: `Question about ${tool}: ${status}` })),
    ...requests.map(({ seq, tool, outcome }) => ({ seq, text: `Request ${tool}: ${outcome}` })),
  ];
}

/** What the world's books say, for who reads records. */

/** The records that changed something out there. The books only grow, so a drawing costs what is new. */
export class Books {
  /** @type {Set<number>} */
  #records = new Set();
  /** @type {unknown} */
  #read = null;
  #counts = [0, 0, 0];

  /** @param {import('../pkg/crashlab.js').WorldView} world */
  records({ refunds, notes, outbox }) {
    if (this.#read !== refunds) {
      this.#read = refunds;
      this.#records = new Set();
      this.#counts = [0, 0, 0];
    }
    [refunds, notes, outbox].forEach((rows, list) => {
      for (; this.#counts[list] < rows.length; this.#counts[list]++) {
        const { record } = rows[this.#counts[list]];
        if (record !== null) this.#records.add(record);
      }
    });
    return this.#records;
  }
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

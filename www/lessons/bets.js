import { plural } from '../ui/format.js';

/**
 * What a bet on the number of refunds needs beside its question.
 *
 * @type {Omit<import('./types.js').Bet, 'ask'>}
 */
export const ON_REFUNDS = {
  of: (now) => now.world.refunds.length,
  says: (figure) => plural(Number(figure), 'refund'),
  options: [
    { says: 'None', fits: (refunds) => refunds === 0 },
    { says: 'One', fits: (refunds) => refunds === 1 },
    { says: 'Two', fits: (refunds) => refunds === 2 },
  ],
};

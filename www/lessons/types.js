/**
 * What a lesson is made of. Texts may have `code`, **weight** and [[keys]] in them; see markup.js.
 *
 * @typedef {import('./now.js').Now} Now
 * @typedef {object} Lesson
 * @property {string} id  What links and progress call it. It never changes; the number of a lesson is only its place in the list.
 * @property {string} title
 * @property {number} minutes
 * @property {string} scenario  Of the shipped ones, by id.
 * @property {string[]} [off]  Mechanisms that are off at the start.
 * @property {boolean} [secret]  The switches would give the answer away until the task is on.
 * @property {import('../explorer/index.js').OpenOptions} [search]  It is about this search, and not about the present run.
 * @property {string} situation  Three sentences.
 * @property {Bet} bet
 * @property {Act[]} acts  What the reader does.
 * @property {string[]} why  A paragraph each.
 * @property {Code} code
 * @property {Goal[]} goals  The task.
 * @property {string[]} switches  The mechanisms that the task is about.
 * @property {string} end  What the task has shown.
 *
 * @typedef {object} Bet  What the reader says before anything runs, and what the books say after.
 * @property {string} ask
 * @property {(now: Now) => number | string} of
 * @property {(figure: number | string) => string} says  The figure with its unit.
 * @property {Option[]} options
 *
 * @typedef {object} Option
 * @property {string} says
 * @property {(figure: any) => boolean} fits
 *
 * @typedef {object} Act
 * @property {string} say
 * @property {(now: Now) => boolean} [done]
 * @property {(record: import('./now.js').RecordView) => boolean} [at]  It is done by selecting such a record.
 * @property {Tool} [tool]  What it is done with.
 * @property {boolean} [looks]  It changes nothing, and can be done when the run is over.
 *
 * @typedef {object} Goal
 * @property {string} say
 * @property {string} hint
 * @property {(now: Now) => boolean} [met]  By the books and the verdicts of the present run.
 * @property {string[]} [choices]  Mechanisms to choose from, where the task is to name the one that is off.
 * @property {string} [scenario]  Another one that has to be set up for it.
 * @property {Tool} [tool]
 *
 * @typedef {object} Tool  The explorer, with what is chosen in it.
 * @property {string} says
 * @property {import('../explorer/index.js').OpenOptions} options
 *
 * @typedef {object} Code
 * @property {string} says  What the code does.
 * @property {{ path: string, lines: [number, number], load: () => Promise<string> }} at
 */
export {};

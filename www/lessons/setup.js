/**
 * Whether the run, or the search, is the one that the lesson has set up, as only that one counts for its bet and its acts. If it is
 * not, or an act cannot be done in it any more, a sentence says so, and nothing counts until it is set up again.
 *
 * @typedef {import('./types.js').Lesson} Lesson
 * @typedef {import('./types.js').Act} Act
 * @typedef {import('./now.js').Now} Now
 * @typedef {(id: string) => string} Names  What a mechanism or a scenario is called.
 */

/** @param {Act} act @param {Now} now */
export function isDone({ done, at }, now) {
  if (at && (!now.selected || !at(now.selected))) return false;
  return done?.(now) ?? true;
}

/**
 * A sentence, if the present run or search is not what the lesson has set up.
 * @param {Lesson} lesson
 * @param {Now} now
 * @param {Names} names
 */
export function otherwise(lesson, now, names) {
  if (lesson.search) return now.searched === 'other' ? OTHER_SEARCH : '';
  const other = elsewhere(lesson.scenario, now, names);
  if (other) return other;
  const wanted = lesson.off ?? [];
  const missing = now.off.filter((id) => !wanted.includes(id));
  const extra = wanted.filter((id) => !now.off.includes(id));
  if (missing.length + extra.length === 0)
    return now.isAnothers ? 'This is not the run that the lesson has set up.' : '';
  // Naming the mechanism would give the answer away.
  if (lesson.secret) return 'This run has other mechanisms than the lesson has set up.';
  return missing.length > 0
    ? `${listed(missing, names)} off in this run, and on in the lesson’s.`
    : `${listed(extra, names)} on in this run, and off in the lesson’s.`;
}

const OTHER_SEARCH =
  'That was another search. The bet is about the bounds with which the lesson opens the explorer.';

/**
 * A sentence, if the scenario of the present run is another one, or a changed one.
 * @param {string} scenario
 * @param {Now} now
 * @param {Names} names
 */
export function elsewhere(scenario, { view, isChanged }, names) {
  if (view.scenario_id !== scenario) return `This lesson is about “${names(scenario)}”.`;
  return isChanged ? `This is “${names(scenario)}”, and something in it was changed.` : '';
}

/**
 * A sentence, if the run is over, and one of the acts that are left cannot be done in it.
 * @param {Lesson} lesson
 * @param {Now} now
 * @param {Set<number>} acts  Those that are done.
 */
export function astray(lesson, { over, records }, acts) {
  if (lesson.search || !over) return '';
  const isOpen = (/** @type {Act} */ { looks, at }) => (at ? records.some(at) : looks);
  const isLost = lesson.acts.some((act, index) => !acts.has(index) && !isOpen(act));
  return isLost ? 'This run is over, and went another way.' : '';
}

/**
 * The mechanisms that are off although neither the task nor the lesson is about them.
 * @param {Lesson} lesson
 * @param {Iterable<string>} off
 */
export function strange({ search, switches, off: own = [] }, off) {
  return search ? [] : [...off].filter((id) => !switches.includes(id) && !own.includes(id));
}

/** `“A” is`, `“A” and “B” are`. @param {string[]} ids @param {Names} names */
export function listed(ids, names) {
  const list = new Intl.ListFormat('en').format(ids.map((id) => `“${names(id)}”`));
  return `${list} ${ids.length === 1 ? 'is' : 'are'}`;
}

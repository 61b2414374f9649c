/** Finds the lesson that a link names. Links name lessons by their id, so that a lesson can be inserted anywhere. */

/** What links of version 0.1.0 called them. The numbers mean the same lessons for ever. @type {Map<string | null, string>} */
const NUMBERED = new Map([
  ['1', 'loop'],
  ['2', 'retry'],
  ['3', 'timeout'],
  ['4', 'checkpoint'],
  ['5', 'crash'],
  ['6', 'gate'],
  ['7', 'approvals'],
  ['8', 'budgets'],
  ['9', 'cause'],
  ['10', 'explorer'],
]);

/**
 * @template {{ id: string }} Lesson
 * @param {Lesson[]} lessons
 * @param {string | null} wanted
 */
export function findLesson(lessons, wanted) {
  const id = NUMBERED.get(wanted) ?? wanted;
  return lessons.find((one) => one.id === id) ?? null;
}

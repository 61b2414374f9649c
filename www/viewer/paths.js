/** Where two JSON texts differ. They are compared as they are written, so that every number keeps its exact digits. */
import { partsOf } from './tree.js';

/** Characters of a value that are shown. */
const MOST = 200;

/**
 * @param {string} left  JSON.
 * @param {string} right  JSON.
 * @param {string} [path]
 * @returns {{ path: string, left: string, right: string }[]}
 */
export function changedPaths(left, right, path = '') {
  if (left === right) return [];
  const isList = left[0] === '[';
  if (left[0] !== right[0] || !'{['.includes(left[0]))
    return [{ path, left: short(left), right: short(right) }];
  const [a, b] = [inside(left), inside(right)];
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((key) => {
    const at = isList ? `${path}[${key}]` : path ? `${path}.${key}` : key;
    return changedPaths(a.get(key) ?? '', b.get(key) ?? '', at);
  });
}

/** The values in an object or list, by key or place. @param {string} text */
function inside(text) {
  const { parts } = partsOf(text, 0, Infinity);
  return new Map(
    parts.map(({ key, start, end }, i) => [key?.slice(1, -1) ?? String(i), text.slice(start, end)]),
  );
}

/** @param {string} text */
function short(text) {
  if (text === '') return 'nothing';
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}

/**
 * Custom scenarios and their drafts. A draft is what was typed since the scenario was last saved, whether it can be read or not. What
 * the browser refuses to store is kept in the page.
 */
import { CUSTOM, titleOf } from '../custom-scenarios.js';

const DRAFT = 'crashlab:draft/';
const LAST = 'crashlab:editor';

/** What could not be written, by key. @type {Map<string, string>} */
const inPage = new Map();

/**
 * @typedef {object} Document
 * @property {string} key  Its id when it was begun or saved last.
 * @property {string} title
 * @property {boolean} isSaved
 * @property {boolean} isDraft
 */

/** @returns {Document[]} */
export function documents() {
  const keys = [...storedKeys(), ...inPage.keys()];
  const found = keys.flatMap((key) =>
    [CUSTOM, DRAFT]
      .filter((prefix) => key.startsWith(prefix))
      .map((prefix) => key.slice(prefix.length)),
  );
  return [...new Set(found)].sort().map((key) => {
    const saved = read(CUSTOM + key);
    const draft = read(DRAFT + key);
    const title = titleOf(draft ?? '') || titleOf(saved ?? '') || key;
    return { key, title, isSaved: saved !== null, isDraft: draft !== null };
  });
}

/** @param {string} key */
export const savedText = (key) => read(CUSTOM + key);

/** What was typed last. @param {string} key */
export const textOf = (key) => read(DRAFT + key) ?? read(CUSTOM + key);

/**
 * Keeps what was typed.
 * @param {string} key
 * @param {string} text
 * @returns {boolean} Whether it outlasts the page.
 */
export function keepDraft(key, text) {
  write(LAST, key);
  if (text !== read(CUSTOM + key)) return write(DRAFT + key, text);
  remove(DRAFT + key);
  return true;
}

/**
 * Saves a scenario under its id, which may have changed.
 * @param {string} key  What it was until now.
 * @param {string} id
 * @param {string} text
 * @returns {boolean} Whether it outlasts the page.
 */
export function save(key, id, text) {
  const isKept = write(CUSTOM + id, text);
  remove(DRAFT + key);
  if (key !== id) remove(CUSTOM + key);
  write(LAST, id);
  return isKept;
}

/**
 * @param {string} key
 * @returns {() => void} Brings it back.
 */
export function drop(key) {
  const before = [CUSTOM, DRAFT].map(
    (prefix) => /** @type {const} */ ([prefix + key, read(prefix + key)]),
  );
  for (const [name] of before) remove(name);
  return () => {
    for (const [name, text] of before) if (text !== null) write(name, text);
  };
}

/** The document that was worked on last. */
export const last = () => read(LAST);

/** @param {string} key */
function read(key) {
  const kept = inPage.get(key);
  if (kept !== undefined) return kept;
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} text */
function write(key, text) {
  try {
    localStorage.setItem(key, text);
    inPage.delete(key);
    return true;
  } catch {
    inPage.set(key, text);
    return false;
  }
}

/** @param {string} key */
function remove(key) {
  inPage.delete(key);
  try {
    localStorage.removeItem(key);
  } catch {
    // Where nothing can be stored, there is nothing to remove.
  }
}

function storedKeys() {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/**
 * What is wrong with a scenario, and where in its text.
 *
 * @typedef {object} Mistake
 * @property {string} path  Such as `$.script[0].say`.
 * @property {string} says  What was expected, and what is there instead.
 * @property {number} line
 * @property {number} start  What to select, as offsets.
 * @property {number} end
 */
import { follow, lineOf, offsetOf } from './json-path.js';

/**
 * @param {string} text  The scenario.
 * @param {string} message  What the engine says of it: a path, a colon, a sentence.
 * @returns {Mistake}
 */
export function mistakeOf(text, message) {
  const syntax = /: (not valid JSON at line (\d+), column (\d+): .*)$/s.exec(message);
  if (syntax) {
    const [, says, line, column] = syntax;
    const start = offsetOf(text, Number(line), Number(column));
    const path = message.slice(0, syntax.index);
    return { path, says, line: Number(line), start, end: Math.min(start + 1, text.length) };
  }
  const { start, value, end, rest } = follow(text, message);
  // Something missing is reported with the path of what should contain it.
  const missing = rest.indexOf(': ');
  const colon = message.length - rest.length + Math.max(missing, 0);
  return {
    path: message.slice(0, colon),
    says: message.slice(colon + 2),
    line: lineOf(text, start),
    start,
    end: end - start > 200 ? value + 1 : end,
  };
}

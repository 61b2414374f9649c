/**
 * JSON text as a tree. The text is never parsed into values, so that every number keeps its exact digits, and only what is opened is
 * read: a text of megabytes is there at once, cut, and can be shown whole.
 *
 * @typedef {object} Part  A value and where it stands in the text.
 * @property {string | null} key  As written, with its quotes; null in a list.
 * @property {number} start
 * @property {number} end
 */
import { bytes } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';
import { render } from 'lit/html.js';
import 'sheet:./tree.css';

/** Children of one object or list, and characters of one text, that are shown before somebody asks for all. */
const CHILDREN = 100;
const CHARACTERS = 2000;
/** What is shorter is open from the start. */
const OPEN = 1500;

const STOP = /["{}[\]]/g;
const AFTER = /[\s,:]*/y;
const PLAIN = /[^\s,\]}]+/y;

/**
 * The end of the value that begins at a place.
 * @param {string} text
 * @param {number} at
 */
function endOf(text, at) {
  const first = text[at];
  if (first === '"') return endOfString(text, at);
  if (first !== '{' && first !== '[') {
    PLAIN.lastIndex = at;
    const found = PLAIN.exec(text);
    return found ? at + found[0].length : at + 1;
  }
  let depth = 0;
  STOP.lastIndex = at;
  for (let found = STOP.exec(text); found; found = STOP.exec(text)) {
    if (found[0] === '"') STOP.lastIndex = endOfString(text, found.index);
    else if (found[0] === '{' || found[0] === '[') depth++;
    else if (--depth === 0) return found.index + 1;
  }
  return text.length;
}

/**
 * @param {string} text
 * @param {number} at
 */
function endOfString(text, at) {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/**
 * What is directly inside an object or list.
 * @param {string} text
 * @param {number} start
 * @param {number} most
 * @returns {{ parts: Part[], more: boolean }}
 */
export function partsOf(text, start, most) {
  const isObject = text[start] === '{';
  /** @type {Part[]} */
  const parts = [];
  const skip = (/** @type {number} */ at) => {
    AFTER.lastIndex = at;
    AFTER.exec(text);
    return AFTER.lastIndex;
  };
  let at = skip(start + 1);
  while (at < text.length && text[at] !== '}' && text[at] !== ']') {
    if (parts.length === most) return { parts, more: true };
    let key = null;
    if (isObject) {
      const end = endOfString(text, at);
      key = text.slice(at, end);
      at = skip(end);
    }
    const end = endOf(text, at);
    parts.push({ key, start: at, end });
    at = skip(end);
  }
  return { parts, more: false };
}

/**
 * The text of a value as a tree of elements.
 * @param {string} text  JSON.
 * @param {string} label
 */
export function tree(text, label) {
  const list = document.createElement('ul');
  list.className = 'tree';
  list.setAttribute('aria-label', label);
  const start = text.search(/\S/);
  if (start >= 0) {
    if ('{['.includes(text[start])) children(list, text, start, CHILDREN);
    else list.append(item(text, { key: null, start, end: endOf(text, start) }));
  }
  return list;
}

/**
 * @param {HTMLElement} list
 * @param {string} text
 * @param {number} start
 * @param {number} most
 */
function children(list, text, start, most) {
  const { parts, more } = partsOf(text, start, most);
  list.replaceChildren(...parts.map((part) => item(text, part)));
  if (!more) return;
  const li = document.createElement('li');
  li.append(button('link', 'show all', () => children(list, text, start, Infinity)));
  list.append(li);
}

/**
 * @param {string} text
 * @param {Part} part
 */
function item(text, { key, start, end }) {
  const li = document.createElement('li');
  const nests = '{['.includes(text[start]) && end - start > 2;
  const name = key === null ? '' : key.slice(1, -1);
  const word = element('span', 'key', key === null ? '' : `${key}: `);
  if (nests) {
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    summary.append(word, element('span', 'gist', gist(text, start, end)));
    const inner = document.createElement('ul');
    details.append(summary, inner);
    const fill = () => {
      if (details.open && !inner.firstChild) children(inner, text, start, CHILDREN);
    };
    details.addEventListener('toggle', fill);
    details.open = end - start < OPEN;
    fill();
    li.append(details);
  } else {
    const line = document.createElement('div');
    line.className = 'leaf';
    line.append(word, value(text, start, end));
    li.append(line);
  }
  li.append(copy(name, () => text.slice(start, end)));
  return li;
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} end
 */
function value(text, start, end) {
  const span = document.createElement('span');
  span.className = text[start] === '"' ? 'value string' : 'value';
  if (end - start <= CHARACTERS) {
    span.textContent = text.slice(start, end);
    return span;
  }
  const all = button('link', `show all, ${bytes(end - start)}`, () =>
    span.replaceChildren(text.slice(start, end)),
  );
  span.append(`${text.slice(start, start + CHARACTERS)}… `, all);
  return span;
}

/**
 * What a folded value is like.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 */
function gist(text, start, end) {
  if (end - start > 200_000)
    return `${text[start]} ${bytes(end - start)} ${text[start] === '{' ? '}' : ']'}`;
  const { parts, more } = partsOf(text, start, CHILDREN);
  const number = `${parts.length}${more ? '+' : ''}`;
  if (text[start] === '[') return `[ ${number} ${parts.length === 1 ? 'item' : 'items'} ]`;
  return `{ ${parts
    .slice(0, 4)
    .map(({ key }) => key?.slice(1, -1))
    .join(', ')}${parts.length > 4 ? ', …' : ''} }`;
}

/**
 * A button that copies a text.
 * @param {string} name
 * @param {() => string} text
 */
export function copy(name, text) {
  const made = button('copy', '', async () => {
    try {
      await navigator.clipboard.writeText(text());
      made.classList.add('done');
      setTimeout(() => made.classList.remove('done'), 1200);
    } catch {
      made.title = 'The browser does not let this page copy.';
    }
  });
  made.setAttribute('aria-label', name ? `Copy ${name}` : 'Copy');
  render(glyph('copy'), made);
  return made;
}

/**
 * @param {string} name
 * @param {string} text
 * @param {() => unknown} action
 */
function button(name, text, action) {
  const made = /** @type {HTMLButtonElement} */ (element('button', name, text));
  made.type = 'button';
  made.addEventListener('click', action);
  return made;
}

/**
 * @param {string} tag
 * @param {string} name
 * @param {string} text
 */
function element(tag, name, text) {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  return made;
}

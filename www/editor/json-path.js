/**
 * Finds a path in JSON text. The engine names mistakes by their path, and an author wants the line.
 *
 * @typedef {object} Span
 * @property {number} start  Where its key begins, or its value, if it has no key.
 * @property {number} value  Where its value begins.
 * @property {number} end  After its value.
 * @property {string} rest  What is left of the path and of the text after it: that leads no deeper.
 */

/**
 * Follows a path as far as it leads. For something missing, that is what should contain it.
 * @param {string} text  Valid JSON; for other text, whatever can be found of it.
 * @param {string} said  Begins with the path, such as `$.task.id: missing`.
 * @returns {Span}
 */
export function follow(text, said) {
  const walk = new Walk(text);
  walk.value(said.slice(1), 0);
  return walk.found;
}

class Walk {
  #at = 0;
  #text;
  /** @type {Span} */
  found;
  #depth = -1;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
    this.found = { start: 0, value: 0, end: text.length, rest: '' };
  }

  /**
   * @param {string | null} rest  What is still to be followed; null: it leads elsewhere.
   * @param {number} depth
   * @param {number} [start]
   */
  value(rest, depth, start) {
    this.#space();
    const value = this.#at;
    const first = this.#text[value];
    if (first === '{') this.#members('}', rest, depth);
    else if (first === '[') this.#members(']', rest, depth);
    else if (first === '"') this.#string();
    else while (/[^\s,\]}]/.test(this.#text[this.#at] ?? ' ')) this.#at++;
    if (rest === null || depth < this.#depth) return;
    // Of a key that is there twice, the last one counts.
    this.#depth = depth;
    this.found = { start: start ?? value, value, end: this.#at, rest };
  }

  /**
   * @param {'}' | ']'} close
   * @param {string | null} rest
   * @param {number} depth
   */
  #members(close, rest, depth) {
    this.#at++;
    for (let index = 0; this.#at < this.#text.length; index++) {
      this.#space();
      const start = this.#at;
      if (this.#text[start] === close) break;
      let name = `[${index}]`;
      if (close === '}') {
        if (this.#text[start] !== '"') return void (this.#at = this.#text.length);
        name = `.${this.#string()}`;
        this.#space();
        this.#at++;
      }
      const after = rest?.startsWith(name) ? rest.slice(name.length) : null;
      this.value(after !== null && /^($|[.[:])/.test(after) ? after : null, depth + 1, start);
      this.#space();
      if (this.#text[this.#at] === ',') this.#at++;
      else if (this.#at === start) return void (this.#at = this.#text.length);
    }
    this.#at++;
  }

  #space() {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
  }

  #string() {
    const start = this.#at++;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"')
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    this.#at++;
    try {
      return String(JSON.parse(this.#text.slice(start, this.#at)));
    } catch {
      return '';
    }
  }
}

/**
 * The offset of a line and a column, both counted from 1.
 * @param {string} text
 * @param {number} line
 * @param {number} column  In characters.
 */
export function offsetOf(text, line, column) {
  let start = 0;
  for (let before = 1; before < line; before++) start = text.indexOf('\n', start) + 1;
  const [...characters] = text.slice(start).split('\n', 1)[0];
  return start + characters.slice(0, column - 1).join('').length;
}

/**
 * The line of an offset, counted from 1.
 * @param {string} text
 * @param {number} offset
 */
export const lineOf = (text, offset) => text.slice(0, offset).split('\n').length;

/**
 * The same document with other texts for some of its own fields.
 * @param {string} text
 * @param {Record<string, string>} fields
 */
export function withFields(text, fields) {
  let changed = text;
  for (const [key, is] of Object.entries(fields)) {
    const { value, end, rest } = follow(changed, `$.${key}`);
    if (rest === '') changed = changed.slice(0, value) + JSON.stringify(is) + changed.slice(end);
  }
  return changed;
}

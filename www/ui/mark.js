/**
 * `<td ${mark(value)}>` briefly tints the element when `value` is another one than at the last drawing, and when the element is new.
 * Nothing is marked while the page jumps between now and the past, or when the reader prefers no motion.
 */
import { noChange } from 'lit/html.js';
import { Directive, directive } from 'lit/directive.js';

const still = matchMedia('(prefers-reduced-motion: reduce)');
let quiet = true;

/** @param {boolean} value */
export function keepQuiet(value) {
  quiet = value;
}

class Mark extends Directive {
  /** @type {unknown} */
  #last = Mark;

  /** @param {unknown} _value */
  render(_value) {
    return noChange;
  }

  /**
   * @param {import('lit/directive.js').ElementPart} part
   * @param {[unknown]} values
   */
  update(part, [value]) {
    const changed = this.#last !== value;
    this.#last = value;
    if (changed && !quiet && !still.matches) {
      part.element.animate([{ backgroundColor: 'var(--mark)', offset: 0 }], {
        duration: 1400,
        easing: 'ease-out',
      });
    }
    return noChange;
  }
}

export const mark = directive(Mark);

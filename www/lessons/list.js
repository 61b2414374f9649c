/** The list of lessons, and how far the reader is with them. */
import { html, nothing } from 'lit/html.js';
import { plural } from '../ui/format.js';
import { glyph } from '../ui/glyph.js';

/**
 * @typedef {import('./progress.js').Entry} Entry
 * @typedef {object} List
 * @property {import('./types.js').Lesson[]} lessons
 * @property {(id: string) => Entry} of
 * @property {{ all: number, right: number }} bets
 * @property {boolean} isEmpty  Nothing has been done.
 * @property {string} missing  What was asked for and is no lesson.
 * @property {boolean} isForgotten  The progress has just been forgotten, and can be had back.
 * @property {() => void} onReset
 * @property {() => void} onUndo
 * @property {() => void} onClose
 */

/** @param {List} props */
export function list(props) {
  const { lessons, of, bets, isEmpty, missing, isForgotten, onReset, onUndo, onClose } = props;
  const done = lessons.filter(({ id }) => of(id).done).length;
  return html`<section class="lessons" aria-labelledby="lesson-head">
    <header>
      <h2 id="lesson-head" tabindex="-1">Lessons</h2>
      <button class="button small quiet icon" aria-label="Close the lessons" @click=${onClose}>
        ${glyph('close')}
      </button>
    </header>
    ${
      missing
        ? html`<p role="alert">There is no lesson ${missing}: there are ${lessons.length}.</p>`
        : nothing
    }
    <p>
      Each begins with a bet. Then you run the agent, kill it, decide for it, and the books of the
      world say who was right.
    </p>
    <ol class="contents">
      ${lessons.map((one, index) => item(one, index + 1, of(one.id)))}
    </ol>
    ${
      isForgotten
        ? html`<p class="aside">
            Your progress is forgotten.
            <button id="lessons-undo" class="link" @click=${onUndo}>Undo</button>
          </p>`
        : nothing
    }
    ${
      isEmpty
        ? nothing
        : html`<p class="score">
              ${done} of ${plural(lessons.length, 'lesson')}
              done.${bets.all > 0 ? ` The books bore out ${bets.right} of ${plural(bets.all, 'bet')}.` : ''}
            </p>
            <button class="button small" @click=${onReset}>
              ${glyph('reset')}Forget my progress
            </button>`
    }
  </section>`;
}

/**
 * @param {import('./types.js').Lesson} lesson
 * @param {number} number
 * @param {Entry} entry
 */
function item({ id, title, minutes }, number, { done, bet }) {
  const state = done ? 'done' : bet !== null ? 'begun' : `${minutes} minutes`;
  return html`<li class=${done ? 'done' : ''}>
    <a href="#lesson=${id}"
      ><span class="number">${done ? glyph('check') : number}</span><span>${title}</span
      ><small>${state}</small></a
    >
  </li>`;
}

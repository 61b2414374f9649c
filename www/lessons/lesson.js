/** One lesson, step by step: the bet, what is to be done, why, and the task. */
import { html, nothing } from 'lit/html.js';
import { glyph } from '../ui/glyph.js';
import { showCode } from './code.js';
import { listed } from './setup.js';
import { markup } from './markup.js';

/**
 * @typedef {import('./index.js').Step} Step
 * @typedef {object} View
 * @property {import('./types.js').Lesson} lesson
 * @property {number} number
 * @property {import('./types.js').Lesson | null} next
 * @property {Step} step
 * @property {import('./progress.js').Entry} entry
 * @property {import('./now.js').Now | null} now  Null: its scenario is being set up.
 * @property {Set<number>} acts  Those that are done in this run.
 * @property {string} astray  A sentence, if nothing counts before the lesson is set up again.
 * @property {string[]} strange  Mechanisms that are off without being the task's business.
 * @property {string} changed  A sentence, if the scenario is not as it is shipped.
 * @property {import('./setup.js').Names} names
 * @property {import('../pkg/crashlab.js').MechanismInfo[]} mechanisms
 * @property {Set<string>} off
 * @property {boolean} pending  The switches say something else than the present run.
 * @property {unknown} switches
 * @property {(error: string) => void} complain
 * @property {(bet: number | 'skipped') => void} onBet
 * @property {(step: Step) => void} onGo
 * @property {(goal: number, choice: number) => void} onPick
 * @property {(id: string, on: boolean) => void} onSwitch
 * @property {(scenario?: string) => void} onAgain
 * @property {() => void} onSetUpAgain
 * @property {(tool: import('./types.js').Tool) => void} onExplore
 * @property {() => void} onRestart
 */

/** @type {[Step, string][]} */
const STEPS = [
  ['bet', 'Bet'],
  ['do', 'Do'],
  ['why', 'Why'],
  ['task', 'Task'],
];

/** @param {View} props */
export function lesson(props) {
  const { lesson, number, step, entry } = props;
  const isSecret = lesson.secret && !isNamed(props);
  return html`<section class="lessons lesson" aria-labelledby="lesson-head">
    <nav aria-label="Lesson">
      <a href="#lessons">${glyph('back')}All lessons</a>
      <ol>
        ${STEPS.map(([id, word]) => {
          const isOpen = id === 'bet' || id === 'do' || entry.books !== null;
          return html`<li>
            ${
              isOpen
                ? html`<a
                    href="#lesson=${lesson.id}&amp;step=${id}"
                    aria-current=${id === step ? 'step' : 'false'}
                    >${word}</a
                  >`
                : html`<span>${word}</span>`
            }
          </li>`;
        })}
      </ol>
    </nav>
    <h2 id="lesson-head" tabindex="-1"><small>${number}</small> ${lesson.title}</h2>
    ${BODY[step](props)}
    ${
      isSecret
        ? nothing
        : html`<details class="all">
            <summary>All mechanisms</summary>
            ${props.switches}
          </details>`
    }
  </section>`;
}

/** Whether the reader has named the missing mechanism. @param {View} props */
function isNamed({ lesson, entry }) {
  return lesson.goals.every(({ choices }, index) => !choices || entry.met[index]);
}

/** @type {Record<Step, (props: View) => unknown>} */
const BODY = { bet, do: acts, why, task };

/** @param {View} props */
function bet({ lesson, entry, now, astray, onBet, onGo, onRestart, onSetUpAgain }) {
  const { ask, options } = lesson.bet;
  const isOver = entry.books !== null;
  const isLate = !isOver && (lesson.search ? now?.searched === 'this' : now?.begun);
  const isOther = !isOver && !isLate && astray !== '';
  return html`<p>${markup(lesson.situation)}</p>
    <fieldset class="bet" ?disabled=${isOver || isLate || isOther}>
      <legend>${ask}</legend>
      <div class="options">
        ${options.map(
          ({ says }, index) =>
            html`<button
              class="button"
              aria-pressed=${entry.bet === index ? 'true' : 'false'}
              @click=${() => onBet(index)}
            >
              ${says}
            </button>`,
        )}
      </div>
    </fieldset>
    ${
      isOver
        ? html`${verdict(lesson, entry)}
            <p class="actions">
              <button class="button" @click=${onRestart}>${glyph('reset')}Start over</button>
              <button class="button primary" @click=${() => onGo('do')}>Continue</button>
            </p>`
        : isLate
          ? html`<p>The run has begun: it is too late for a bet.</p>
              <p class="actions">
                <button class="button" @click=${onRestart}>${glyph('reset')}Start over</button>
                <button class="button primary" @click=${() => onGo('do')}>Continue without</button>
              </p>`
          : isOther
            ? again(astray, onSetUpAgain)
            : html`<p class="aside">
                Nothing has run yet. A wrong bet costs nothing.
                <button class="link" @click=${() => onBet('skipped')}>Skip it</button>
              </p>`
    }`;
}

/** @param {View} props */
function acts(props) {
  const { lesson, entry, acts, astray, onGo, onSetUpAgain, onExplore } = props;
  const next = lesson.acts.findIndex((_, index) => !acts.has(index));
  return html`<ol class="acts">
      ${lesson.acts.map(({ say, tool }, index) => {
        const state = acts.has(index) ? 'done' : index === next ? 'next' : '';
        return html`<li class=${state} aria-current=${state === 'next' ? 'step' : 'false'}>
          ${glyph(state === 'done' ? 'check' : 'open')}<span
            >${markup(say)}${state === 'done' ? html`<span class="visually-hidden"> Done.</span>` : nothing}${
              tool && state === 'next' ? opener(tool, onExplore) : nothing
            }</span
          >
        </li>`;
      })}
    </ol>
    ${astray ? again(astray, onSetUpAgain) : nothing} ${verdict(lesson, entry)}
    ${
      entry.books === null
        ? nothing
        : html`<p class="actions">
            <button class="button primary" @click=${() => onGo('why')}>Why is that?</button>
          </p>`
    }`;
}

/** @param {import('./types.js').Tool} tool @param {View['onExplore']} onExplore */
const opener = (tool, onExplore) =>
  html`<button class="button small" @click=${() => onExplore(tool)}>
    ${glyph('explore')}${tool.says}
  </button>`;

/** @param {string} why @param {() => void} onSetUpAgain */
const again = (why, onSetUpAgain) =>
  html`<p class="astray" role="status">
    ${why} <button class="link" @click=${onSetUpAgain}>Set it up again</button>
  </p>`;

/** What the books say, beside the bet. @param {View['lesson']} lesson @param {View['entry']} entry */
function verdict({ bet }, { bet: chosen, books, right }) {
  if (books === null) return nothing;
  const option = typeof chosen === 'number' ? bet.options[chosen] : null;
  return html`<div class="verdict">
    <p class="says">The books say <strong>${bet.says(books)}</strong>.</p>
    ${
      option
        ? html`<p>
            ${glyph(right ? 'check' : 'open')}You said
            “${option.says}”${right ? ', and so it was.' : ': now you know.'}
          </p>`
        : html`<p>You made no bet.</p>`
    }
  </div>`;
}

/** @param {View} props */
function why({ lesson, entry, complain, onGo }) {
  return html`${verdict(lesson, entry)} ${lesson.why.map((text) => html`<p>${markup(text)}</p>`)}
    <p class="source">
      ${lesson.code.says}:
      <button class="link" @click=${() => void showCode(lesson.code, complain)}>
        ${lesson.code.at.path}, line ${lesson.code.at.lines[0]}
      </button>
    </p>
    <p class="actions">
      <button class="button primary" @click=${() => onGo('task')}>Now break it</button>
    </p>`;
}

/** @param {View} props */
function task(props) {
  const { lesson, entry, next } = props;
  const { goals } = lesson;
  const open = goals.findIndex((_, index) => !entry.met[index]);
  return html`<ol class="goals">
      ${goals.map((goal, index) => {
        const state = entry.met[index] ? 'met' : index === open ? 'next' : '';
        return html`<li class=${state} aria-current=${state === 'next' ? 'step' : 'false'}>
          ${glyph(state === 'met' ? 'check' : 'open')}
          <div>
            <p>
              ${markup(goal.say)}${state === 'met' ? html`<span class="visually-hidden"> Done.</span>` : nothing}
            </p>
            ${state === 'next' ? help(props, goal, index) : nothing}
          </div>
        </li>`;
      })}
    </ol>
    ${open < 0 ? nothing : knobs(props, goals[open])}
    ${
      entry.done
        ? html`<div class="verdict">
            <p class="says">${glyph('check')}<strong>Done.</strong></p>
            <p>${markup(lesson.end)}</p>
            <p class="actions">
              ${
                next
                  ? html`<a class="button primary next-lesson" href="#lesson=${next.id}"
                      >Next: ${next.title}</a
                    >`
                  : html`<a class="button primary" href="#lessons">That was the last one</a>`
              }
            </p>
          </div>`
        : nothing
    }`;
}

/** @param {View} props @param {import('./types.js').Goal} goal @param {number} index */
function help({ entry, mechanisms, onPick, onExplore }, goal, index) {
  const picked = entry.picks[index] ?? -1;
  return html`${
      goal.choices
        ? html`<div class="options">
              ${goal.choices.map(
                (id, choice) =>
                  html`<button
                    class="button small"
                    aria-pressed=${picked === choice ? 'true' : 'false'}
                    @click=${() => onPick(index, choice)}
                  >
                    ${mechanisms.find((one) => one.id === id)?.name ?? id}
                  </button>`,
              )}
            </div>
            ${picked >= 0 ? html`<p role="status">No: that one was on in the lesson’s run.</p>` : nothing}`
        : nothing
    }
    ${goal.tool ? opener(goal.tool, onExplore) : nothing}
    <details>
      <summary>A hint</summary>
      ${markup(goal.hint)}
    </details>`;
}

/** The switches and buttons with which the task is done. @param {View} props @param {import('./types.js').Goal} goal */
function knobs(props, goal) {
  const { lesson, mechanisms, off, now, pending, names, strange, changed } = props;
  const { onSwitch, onAgain } = props;
  const scenario = goal.scenario ?? lesson.scenario;
  const isElsewhere = now !== null && now.view.scenario_id !== scenario;
  const shown = mechanisms.filter(({ id }) => lesson.switches.includes(id));
  return html`<div class="knobs mechanisms">
    ${
      goal.choices || (lesson.secret && !isNamed(props))
        ? nothing
        : shown.map(
            ({ id, name, what }) =>
              html`<label title=${what}
                ><input
                  type="checkbox"
                  role="switch"
                  .checked=${!off.has(id)}
                  @change=${(/** @type {Event} */ event) =>
                    onSwitch(id, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
                /><span>${name}</span></label
              >`,
          )
    }
    ${
      strange.length > 0
        ? html`<p role="status">
            ${listed(strange, names)} off, and the task does without that.
            <button class="link" @click=${() => strange.forEach((id) => onSwitch(id, true))}>
              Switch on
            </button>
          </p>`
        : nothing
    }
    ${
      isElsewhere || changed
        ? html`${changed ? html`<p role="status">${changed}</p>` : nothing}<button
              class="button small"
              @click=${() => onAgain(scenario)}
            >
              Set up “${names(scenario)}”
            </button>`
        : now?.begun
          ? html`<button class="button small" @click=${() => onAgain()}>
                ${glyph('reset')}Set up a new run
              </button>
              ${pending ? html`<p>The present run continues as it began.</p>` : nothing}`
          : nothing
    }
  </div>`;
}

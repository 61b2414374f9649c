/** One run of a search beside the run that stays fine the longest way along with it. */
import { html, nothing } from 'lit/html.js';
import { duration } from '../ui/format.js';
import { beside } from '../viewer/compare.js';
import { futures, grouped, noReturn, percent } from './futures.js';

/**
 * @typedef {import('../study/crashlab.js').SearchRun} SearchRun
 * @typedef {import('../study/crashlab.js').SearchStep} SearchStep
 * @typedef {'traces' | 'steps'} Side
 * @typedef {object} RunProps
 * @property {SearchRun} run
 * @property {string} from  What it was found by.
 * @property {Side} side
 * @property {boolean} partial  The search has not seen everything.
 * @property {{ name: string, show: () => void }[]} others  What else breaks there.
 * @property {string} said
 * @property {(side: Side) => void} onSide
 * @property {() => void} onBack
 * @property {() => void} onSave
 * @property {() => void} onPlay
 */

/** @type {Record<string, string>} */
const CHOICES = {
  go_on: 'continues',
  approve: 'the person says yes',
  deny: 'the person says no',
  expire: 'nobody decides in time',
  crash: 'the agent dies',
  resume: 'a new agent takes over',
};

/** A choice in words. @param {string | null} choice */
function choiceText(choice) {
  if (choice === null) return 'the run is over';
  return CHOICES[choice] ?? `fault: ${choice.replaceAll('_', ' ')}`;
}

/** @param {RunProps} props */
export function run(props) {
  const { run, from, side, others, said, onSide, onBack, onSave, onPlay } = props;
  const isBroken = run.run.steps.some(({ holds }) => !holds);
  const happens = run.invariant.kind === 'sometimes';
  const title = isBroken
    ? `Broken: ${run.invariant.name}`
    : happens
      ? `It happens: ${run.invariant.name}`
      : 'Fine: no run through this crash breaks anything';
  const { headline, traces } = sides(run, isBroken);
  return html`<article class="story" aria-labelledby="run-title">
    <div class="run-head">
      <button class="button small" @click=${onBack}>← Back</button>
      <h3 id="run-title" class=${isBroken ? 'bad' : ''} tabindex="-1">${title}</h3>
    </div>
    <p class="found">
      ${from} ${isBroken ? why(run) : nothing}
      ${
        others.length === 0
          ? nothing
          : [
              'The same crash can break this too: ',
              others.map(
                ({ name, show }, index) =>
                  html`${index > 0 ? '; ' : nothing}<button class="link" @click=${show}>
                      ${name}
                    </button>`,
              ),
              '.',
            ]
      }
    </p>
    <div class="run-tools">
      <div class="choice" role="group" aria-label="How to read it">
        <button aria-pressed=${side === 'traces'} @click=${() => onSide('traces')}>
          ${run.twin ? 'Trace beside its twin' : 'Trace'}
        </button>
        <button aria-pressed=${side === 'steps'} @click=${() => onSide('steps')}>
          Step by step
        </button>
      </div>
      <button class="button small" ?disabled=${run.run.replay === null} @click=${onSave}>
        Save as a replay file
      </button>
      <button class="button small" @click=${onPlay}>
        ${run.run.deeds ? 'Open in the playground' : 'Read the trace in the page'}
      </button>
    </div>
    <p class="said" role="status">${said}</p>
    ${
      side === 'traces'
        ? html`<p class="headline">${headline}</p>
            ${traces}`
        : [isBroken ? futures(run, props.partial) : nothing, steps(run)]
    }
  </article>`;
}

/** @param {SearchRun} run @param {boolean} isBroken */
function sides({ run, twin, twin_has_all_mechanisms }, isBroken) {
  const left = { name: isBroken ? 'This run' : 'The run', records: run.records, view: run.view };
  // Without anything to compare with, it is read as it is.
  if (!twin)
    return { ...beside(left, left), headline: 'No run stays fine: both sides are this run.' };
  const name = twin_has_all_mechanisms ? 'With all mechanisms' : 'Its twin, which stays fine';
  return beside(left, { name, records: twin.records, view: twin.view });
}

/** @param {SearchRun} run */
function why({ run, twin, twin_has_all_mechanisms, broken_at, parts_at }) {
  const { clause } = run.steps[broken_at];
  const parting =
    twin && parts_at !== null
      ? ` The runs part at step ${parts_at}, ${run.steps[parts_at].at}: here ${choiceText(run.steps[parts_at].choice)}, in the twin ${choiceText(twin.steps[parts_at].choice)}.`
      : twin_has_all_mechanisms && twin
        ? ' No run of this search stays fine; beside it is the same run with all mechanisms.'
        : '';
  return `After ${broken_at} steps: ${clause}.${parting}`.replace('..', '.');
}

/** @param {SearchRun} run */
function steps(run) {
  const { twin, parts_at } = run;
  const lost = noReturn(run);
  return html`<div class="scroll steps" tabindex="0" role="group" aria-label="The run step by step">
    <table>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Time</th>
          <th scope="col">The run</th>
          <th scope="col">${run.invariant.name}</th>
          <th scope="col">Futures that end broken</th>
        </tr>
      </thead>
      <tbody>
        ${run.run.steps.map((step, index) => {
          const other = index === parts_at ? twin?.steps[index] : null;
          const marks = [
            other ? `The twin parts here: ${choiceText(other.choice)}.` : '',
            index === lost ? 'From here on every future ends broken.' : '',
            index === run.broken_at && !step.holds ? 'Broken here.' : '',
          ].filter(Boolean);
          return html`<tr
            class="${step.plain ? 'plain' : 'turn'} ${step.holds ? '' : 'broken'} ${other ? 'parts' : ''}"
          >
            <th scope="row">${index}</th>
            <td class="figure">${duration(step.at_s)}</td>
            <td>
              ${step.at}${step.plain ? nothing : html`: <strong>${choiceText(step.choice)}</strong>`}
              ${marks.map((mark) => html`<small>${mark}</small>`)}
            </td>
            <td>
              <span aria-hidden="true">${step.holds ? '✓' : '✕'}</span
              >${step.holds ? nothing : html`<span class="visually-hidden">broken: </span>`}
              ${step.clause}
            </td>
            <td class="figure">
              ${
                step.futures
                  ? `${grouped(step.futures.broken)} of ${grouped(step.futures.all)}, ${percent(step.futures)}`
                  : 'not known'
              }
            </td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** Runs that leave the explorer: to the playground, as a trace that is read, as a file. */
import { download } from '../editor/files.js';

/**
 * @typedef {import('./index.js').Host} Host
 * @typedef {import('./searcher.js').SearchOptions} SearchOptions
 * @typedef {object} Played  A run that becomes one of the playground.
 * @property {string} name
 * @property {{ scenario: string, mechanisms: Record<string, boolean>, seed: string }} setup
 * @property {string} deeds
 */

/** How many became runs of the playground, for their names there. */
let opened = 0;

/**
 * Makes them runs of the playground: the last one is shown, the others are in the background.
 * @param {Host} host
 * @param {Played[]} runs
 */
export function play(host, runs) {
  const title = `${++opened}: ${host.titleOf(runs[0].setup.scenario)}`;
  host.replayAll(
    runs.map((run) => {
      const { name, setup, deeds } = run;
      // A reload opens the shown run again. The others can be made again, so they are not stored.
      const lasting = run === runs.at(-1) ? undefined : false;
      return {
        options: setup,
        done: JSON.parse(deeds),
        how: { name: `${name} ${title}`, lasting },
      };
    }),
  );
}

/**
 * Shows a log as a trace without a run.
 * @param {Host} host
 * @param {string} name
 * @param {string} log
 */
export async function showTrace(host, name, log) {
  await host.take(new File([log], name));
}

/**
 * Saves a replay file as the files in `tests/replays/` are written and named.
 * @param {string} json
 * @param {SearchOptions} options
 */
export function save(json, { mechanisms = {} }) {
  const replay = JSON.parse(json);
  const off = Object.keys(mechanisms).filter((id) => !mechanisms[id]);
  const name = [replay.scenario, ...off.map((id) => `without-${id}`)].join('-');
  download(`${name}.json`, `${JSON.stringify(replay, null, 2)}\n`);
}

/** Runs that leave the explorer: to the playground, as a trace that is read, as a file. */
import { download } from '../editor/files.js';

/**
 * @typedef {import('../reader.js').Reader} Reader
 * @typedef {import('./searcher.js').SearchOptions} SearchOptions
 * @typedef {object} Retold  A run that becomes one of the playground.
 * @property {string} name
 * @property {{ scenario: string, mechanisms: Record<string, boolean>, seed: string }} setup
 * @property {string} deeds
 */

/** How many became runs of the playground, for their names there. */
let opened = 0;

/**
 * Makes them runs of the playground: the last one is shown, the others stand beside it.
 * @param {Reader} reader
 * @param {Retold[]} runs
 */
export function retell(reader, runs) {
  const { engine } = reader;
  // The last one is kept as one that a link tells: a reload opens it again. The others can be had again, and stay out of storage.
  const told = reader.attempt(() => {
    const title = `${++opened}: ${engine.read(runs[0].setup.scenario).title}`;
    for (const run of runs) {
      const { name, setup, deeds } = run;
      const lasting = run === runs.at(-1) ? undefined : false;
      engine.retell(setup, JSON.parse(deeds), `${name} ${title}`, lasting);
    }
  });
  if (told) reader.arrive();
}

/**
 * Shows a log as what it is: a trace without a run behind it.
 * @param {Reader} reader
 * @param {string} name
 * @param {string} log
 */
export async function showTrace(reader, name, log) {
  const { take } = await import('../files/index.js');
  await take(reader, new File([log], name));
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

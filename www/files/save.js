/** What can be saved of a run as a file. */

/**
 * @param {string} name
 * @param {BlobPart} content
 * @param {string} [type]
 */
export function download(name, content, type = 'application/json') {
  const anchor = document.createElement('a');
  anchor.href = URL.createObjectURL(new Blob([content], { type }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

/** @typedef {import('./index.js').Host} Host */

/** The trace that the page shows, as text. @param {Host} host */
export function logOf(host) {
  const foreign = host.foreign();
  return foreign ? foreign.records.map(({ line }) => `${line}\n`).join('') : host.run().logText();
}

/** The name of a file of what the page shows, without its ending. @param {Host} host */
export function nameOf(host) {
  const foreign = host.foreign();
  if (foreign) return foreign.name.replace(/\.(jsonl|json|log|txt)$/i, '');
  return host.run().view?.run_id ?? 'run';
}

/**
 * The whole run as one file.
 * @param {Host} host
 * @param {import('../worker/client.js').WorkerClient} client
 * @returns {Promise<string>}
 */
export function runFile(host, client) {
  const { view, done, scenario, branch, origin } = host.run();
  const options = {
    scenario: scenario?.json,
    off: view?.mechanisms.filter(({ on }) => !on).map(({ id }) => id),
    seed: view?.seed,
    branch,
    checkpoint: origin,
  };
  return client.call('run_file', options, JSON.stringify(done), host.run().logText());
}

/** What of a run can be taken home as a file. */

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

/**
 * What the page shows, as a text that other software reads as a trace.
 * @param {import('../reader.js').Reader} reader
 */
export function logOf(reader) {
  const { foreign, engine } = reader;
  return foreign ? foreign.records.map(({ line }) => `${line}\n`).join('') : engine.logText();
}

/** The name of a file of what the page shows, without its ending. @param {import('../reader.js').Reader} reader */
export function nameOf({ foreign, engine }) {
  if (foreign) return foreign.name.replace(/\.(jsonl|json|log|txt)$/i, '');
  return engine.view?.run_id ?? 'run';
}

/**
 * The whole run as one file.
 * @param {import('../reader.js').Reader} reader
 * @param {import('../worker/client.js').WorkerClient} client
 * @returns {Promise<string>}
 */
export function runFile({ engine }, client) {
  const { view, done, about, branch, origin } = engine;
  const options = {
    scenario: about?.json,
    off: view?.mechanisms.filter(({ on }) => !on).map(({ id }) => id),
    seed: view?.seed,
    branch,
    checkpoint: origin,
  };
  return client.call('run_file', options, JSON.stringify(done), engine.logText());
}

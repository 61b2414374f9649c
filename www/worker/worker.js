/** The worker's side of client.js: it waits for the compiled module, then answers calls of the module's functions and of tasks. */
import init, * as study from '../study/crashlab.js';
import { isTask, runTask } from './search.js';

/** @type {(module: WebAssembly.Module) => void} */
let start;
const ready = new Promise((resolve) => (start = resolve)).then((module) =>
  init({ module_or_path: /** @type {WebAssembly.Module} */ (module) }),
);

self.addEventListener('message', async ({ data: { module, id, name, args } }) => {
  if (module) return start(module);
  try {
    await ready;
    const value = isTask(name)
      ? await runTask(name, args, (news) => self.postMessage({ id, news }))
      : await callModule(name, args);
    self.postMessage({ id, value });
  } catch (error) {
    const { message, code } = /** @type {Error & { code?: string }} */ (error);
    self.postMessage({ id, error: { message: message ?? String(error), code } });
  }
});

/** @param {string} name @param {unknown[]} args */
async function callModule(name, args) {
  const call = /** @type {Record<string, unknown>} */ (study)[name];
  if (typeof call !== 'function') throw new Error(`There is no function ${name}.`);
  // A file is read here and not in the page.
  const bytes = (/** @type {unknown} */ arg) =>
    arg instanceof Blob ? arg.arrayBuffer().then((buffer) => new Uint8Array(buffer)) : arg;
  return call(...(await Promise.all(args.map(bytes))));
}

/** The worker's side of background.js: one call after the other, on the wasm module of what is computed on demand. */
import init, * as study from './study/crashlab.js';

const ready = init();

self.addEventListener('message', async ({ data: { id, name, args } }) => {
  try {
    await ready;
    const call = /** @type {Record<string, unknown>} */ (study)[name];
    if (typeof call !== 'function') throw new Error(`There is no function ${name}.`);
    // A file is read here and not in the page.
    const bytes = (/** @type {unknown} */ arg) =>
      arg instanceof Blob ? arg.arrayBuffer().then((buffer) => new Uint8Array(buffer)) : arg;
    self.postMessage({ id, value: call(...(await Promise.all(args.map(bytes)))) });
  } catch (error) {
    const { message, code } = /** @type {Error & { code?: string }} */ (error);
    self.postMessage({ id, error: { message: message ?? String(error), code } });
  }
});

// In Node: the wasm is read from beside this file.
import { readFileSync } from 'node:fs';
// @ts-expect-error The published types leave out how the wasm is loaded.
import { initSync } from './crashlab.js';

initSync({ module: readFileSync(new URL('./crashlab_bg.wasm', import.meta.url)) });
export { Agent, version } from './crashlab.js';
export { drive, Failure, Fenced, memoryStore, webStore } from './driver.js';

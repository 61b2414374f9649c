// In a page: the wasm is fetched from beside this file.
import init from './crashlab.js';

// @ts-expect-error The published types leave out how the wasm is loaded.
await init();
export { Agent, version } from './crashlab.js';
export { drive, Failure, Fenced, memoryStore, webStore } from './driver.js';

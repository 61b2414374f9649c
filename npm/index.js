// In a page: the wasm is fetched from beside this file.
import init from './crashlab.js';

await init();
export { Agent, version } from './crashlab.js';
export { drive, Failure, Fenced, memoryStore, webStore } from './driver.js';

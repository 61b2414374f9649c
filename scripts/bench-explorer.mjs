// `make bench-explorer`: states per second of the search, natively and in the page's wasm, and how long the default matrix takes.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { buildWasm } from './build/wasm.mjs';
import { install } from './install.mjs';
import { launchBrowser } from './lib/browser.mjs';
import { root } from './lib/paths.mjs';
import { main, Problem } from './lib/problem.mjs';
import { capture } from './lib/process.mjs';

const ROUNDS = 5;
const types = {
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
};

// The worker, with the page's own module. It begins by itself: a message would come before it listens.
const worker = `
import init, { Explorer, Matrix } from './crashlab.js';
const scenario = await (await fetch('double-charge.json')).text();
await init();
let statesPerS = 0;
let matrixMs = Infinity;
for (let round = 0; round < ${ROUNDS}; round += 1) {
  let start = performance.now();
  const explorer = new Explorer({ scenario, crashes: 2, faults: 1 });
  let progress;
  do progress = explorer.step(5000);
  while (!progress.done);
  statesPerS = Math.max(statesPerS, (1000 * progress.states) / (performance.now() - start));
  explorer.free();
  start = performance.now();
  const matrix = new Matrix({ scenario });
  while (!matrix.step(1000).done) matrix.view();
  matrix.view();
  matrixMs = Math.min(matrixMs, performance.now() - start);
  matrix.free();
}
postMessage({ statesPerS: Math.round(statesPerS), matrixMs: Math.round(matrixMs) });
`;

await main(async () => {
  await install({ browser: true });
  await buildWasm();
  const native = await benchNatively();
  const { statesPerS, matrixMs } = await benchInBrowser();
  console.log(`states_per_s_native: ${native.states_per_s_native}`);
  console.log(`states_per_s_wasm: ${statesPerS}`);
  console.log(`wasm_to_native: ${(statesPerS / native.states_per_s_native).toFixed(2)}`);
  console.log(`ours_to_stateright: ${native.ours_to_stateright.toFixed(2)}`);
  console.log(`matrix_ms: ${matrixMs}`);
});

async function benchNatively() {
  const { code, output } = await capture('cargo', ['bench', '-q', '--bench', 'explorer']);
  if (code !== 0)
    throw new Problem('The native benchmark failed, for the reason that stands above.');
  const figures = output.matchAll(/^(\w+): ([\d.]+)$/gm);
  return Object.fromEntries([...figures].map(([, name, figure]) => [name, Number(figure)]));
}

/** A worker with the page's own module, as the page uses it. */
async function benchInBrowser() {
  const server = await serveModule();
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(server.url);
    return await page.evaluate(
      () =>
        new Promise((resolve, reject) => {
          const worker = new Worker('worker.js', { type: 'module' });
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = ({ message }) => reject(new Error(message));
        }),
    );
  } finally {
    await browser.close();
    await server.close();
  }
}

async function serveModule() {
  const files = {
    '/crashlab.js': join(root, 'www/study/crashlab.js'),
    '/crashlab_bg.wasm': join(root, 'www/study/crashlab_bg.wasm'),
    '/double-charge.json': join(root, 'src/lab/scenarios/double-charge.json'),
  };
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://127.0.0.1').pathname;
    if (path === '/') return response.setHeader('content-type', 'text/html').end('<!doctype html>');
    const body = path === '/worker.js' ? worker : files[path] && (await readFile(files[path]));
    if (!body) return response.writeHead(404).end();
    return response.setHeader('content-type', types[extname(path)]).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

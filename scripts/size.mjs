// `make size`: what the page weighs and how fast it starts, against the budgets.
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { build } from './build.mjs';
import { install } from './install.mjs';
import { launchBrowser } from './lib/browser.mjs';
import { dist } from './lib/paths.mjs';
import { main, Problem } from './lib/problem.mjs';
import { serve } from './serve.mjs';

const FIRST_LOAD_BUDGET_BYTES = 200 * 1024;
const COLD_START_BUDGET_MS = 500;
const STARTS = 9;

await main(async () => {
  await install({ browser: true });
  await build();
  const { coldStartMs, requested } = await measureStarts();
  const rows = await measureFiles(requested);
  printTable(rows);
  const firstLoad = sum(rows.filter((row) => row.first).map((row) => row.brotli));
  const wasm = sum(rows.filter((row) => row.name.endsWith('.wasm')).map((row) => row.brotli));
  console.log(`first_load_budget_bytes: ${FIRST_LOAD_BUDGET_BYTES}`);
  console.log(`cold_start_budget_ms: ${COLD_START_BUDGET_MS}`);
  console.log(`first_load_brotli_bytes: ${firstLoad}`);
  console.log(`wasm_brotli_bytes: ${wasm}`);
  console.log(`cold_start_ms: ${coldStartMs}`);
  if (firstLoad > FIRST_LOAD_BUDGET_BYTES || coldStartMs > COLD_START_BUDGET_MS)
    process.exitCode = 1;
});

/** The median time to the page's own `usable` mark over fresh contexts, and which files the page asked for until it was idle. */
async function measureStarts() {
  const server = await serve();
  const browser = await launchBrowser();
  const times = [];
  const requested = new Set();
  try {
    for (let start = 0; start < STARTS; start += 1) {
      const context = await browser.newContext();
      const page = await context.newPage();
      context.on('request', (request) =>
        requested.add(new URL(request.url()).pathname.slice(1) || 'index.html'),
      );
      await page.goto(server.url);
      await page
        .waitForFunction(() => document.documentElement.dataset.ready === 'true', undefined, {
          timeout: 15_000,
        })
        .catch(() => {
          throw new Problem(
            'The page did not become ready within 15 seconds (data-ready on the html element).',
          );
        });
      await page.waitForLoadState('networkidle');
      times.push(await page.evaluate(() => performance.getEntriesByName('usable')[0]?.startTime));
      await context.close();
    }
  } finally {
    await browser.close();
    await server.close();
  }
  if (times.includes(undefined))
    throw new Problem("The page is ready but never called performance.mark('usable').");
  times.sort((a, b) => a - b);
  return { coldStartMs: Math.round(times[(STARTS - 1) / 2]), requested };
}

/** Brotli at its best quality, which is what a static host serves. */
async function measureFiles(requested) {
  const rows = [];
  for (const name of (await readdir(dist)).sort()) {
    if (!['.html', '.js', '.css', '.wasm'].includes(extname(name))) continue;
    const contents = await readFile(join(dist, name));
    const brotli = brotliCompressSync(contents, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
      },
    });
    rows.push({ name, raw: contents.length, brotli: brotli.length, first: requested.has(name) });
  }
  return rows;
}

function printTable(rows) {
  const width = Math.max(...rows.map((row) => row.name.length));
  const line = (name, raw, brotli, first) =>
    console.log(
      `${name.padEnd(width)}  ${String(raw).padStart(9)}  ${String(brotli).padStart(9)}  ${first}`,
    );
  line('file', 'raw', 'brotli', 'loaded at first');
  for (const row of rows) line(row.name, row.raw, row.brotli, row.first ? 'yes' : 'no');
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

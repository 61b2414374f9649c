// The package in a page: the README's examples, from files as any server would give them.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { launchBrowser } from '../../scripts/lib/browser.mjs';
import { examples, LOOP_ENDS_WITH, pkg, REFUNDED } from './support.js';

const types = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const files = new Map();
let browser;
let server;

before(async () => {
  server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://page').pathname;
    const found =
      files.get(path) ??
      (await readFile(join(pkg, path.replace(/^\/pkg\//, ''))).catch(() => null));
    response.writeHead(found === null ? 404 : 200, {
      'Content-Type': types[extname(path)] ?? 'text/html; charset=utf-8',
      'Content-Security-Policy':
        "default-src 'none'; img-src data:; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; connect-src 'self'",
    });
    response.end(found ?? '');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  server.close();
});

/** Runs a script as the page's own, and gives what it printed. */
async function printed(script, lastLine) {
  files.set(
    '/',
    `<!doctype html><link rel="icon" href="data:,">
     <script type="importmap">{"imports": {"crashlab": "/pkg/index.js"}}</script>
     <script type="module" src="/main.js"></script>`,
  );
  files.set('/main.js', script);
  const page = await browser.newPage();
  const lines = [];
  page.on('pageerror', (error) => assert.fail(error));
  const ends = page.waitForEvent('console', (message) => {
    lines.push(message.text());
    return lastLine.test(message.text());
  });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await ends;
  await page.close();
  return lines;
}

test('the ten lines of the README run', async () => {
  const { loop, parts } = await examples();
  files.set('/my-agent.js', parts);
  const lines = await printed(loop, /^done /);
  assert.deepEqual(lines.slice(-2), LOOP_ENDS_WITH);
});

test('the callbacks of the README run, with localStorage', async () => {
  const { callbacks } = await examples();
  const script = callbacks
    .replace('memoryStore }', 'webStore }')
    .replace('memoryStore()', 'webStore(config.run_id)')
    .replace(/console\.log\((.*)\);/, 'console.log(JSON.stringify([$1]));');
  const [line] = await printed(script, /^\[/);
  assert.deepEqual(JSON.parse(line), [{ status: 'done', final: 'It is refunded.' }, REFUNDED]);
});

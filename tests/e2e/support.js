// What every test of the built page needs. Importing this file is enough for cleanup: after each test its pages are closed, and
// the test fails if the page logged an error, threw, or met its Content-Security-Policy. Tests must not be nested in each other
// (`describe` and `it` are fine), because the cleanup runs after every one of them.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach } from 'node:test';
import { fontEnv } from '../../scripts/install/fonts.mjs';
import { launchBrowser } from '../../scripts/lib/browser.mjs';
import { dist } from '../../scripts/lib/paths.mjs';
import { serve } from '../../scripts/serve.mjs';

/** By the fonts that they have; '' are those of the machine. */
const browsers = new Map();
let shared;
const servers = [];
const contexts = new Set();
const problems = [];

/**
 * Serves dist/ on a free port. It is closed after the file's last test.
 *
 * @param {{ base?: string }} [options] `base` is the folder that the page stands in, such as `/sub/folder/`.
 * @returns {Promise<{ url: string, port: number, close: () => Promise<void> }>}
 */
export async function startServer(options) {
  assert.ok(existsSync(join(dist, 'index.html')), 'The page is not built: run `make build` first.');
  const server = await serve(options);
  servers.push(server);
  return server;
}

/**
 * Opens the page and waits until it is usable.
 *
 * @param {object} [options]
 * @param {string} [options.path] what follows the page's address: a query, a fragment.
 * @param {'light' | 'dark'} [options.colorScheme]
 * @param {{ width: number, height: number }} [options.viewport]
 * @param {import('playwright-core').BrowserContext} [options.context] a context of an earlier page, for a second tab that shares
 *   its storage; without it the page gets a fresh one.
 * @param {import('playwright-core').BrowserContextOptions} [options.contextOptions] anything else for a fresh context.
 * @param {string} [options.fonts] a set of scripts/install/fonts.mjs; without it the machine's own.
 * @param {string} [options.url] another server's address.
 * @param {boolean} [options.ready] `false` does not wait until the page is usable.
 * @returns {Promise<{ page: import('playwright-core').Page, context: import('playwright-core').BrowserContext,
 *   problems: string[], url: string }>} A test that expects a problem takes it out of `problems`.
 */
export async function openPage(options = {}) {
  const url = options.url ?? (shared ??= await startServer()).url;
  const context = options.context ?? (await openContext(options));
  const page = await context.newPage();
  await page.goto(new URL(options.path ?? '', url).href);
  if (options.ready !== false) await waitUntilReady(page);
  return { page, context, problems, url };
}

/** Waits until the page says that it is usable, also after a reload. */
export async function waitUntilReady(page) {
  await page.waitForFunction(() => document.documentElement.dataset.ready === 'true');
}

function browserWith(fonts) {
  if (!browsers.has(fonts))
    browsers.set(
      fonts,
      Promise.resolve(fonts && fontEnv(fonts)).then((env) => launchBrowser(env || {})),
    );
  return browsers.get(fonts);
}

async function openContext({ colorScheme, viewport, contextOptions, fonts = '' }) {
  const browser = await browserWith(fonts);
  const context = await browser.newContext({ colorScheme, viewport, ...contextOptions });
  contexts.add(context);
  // Long enough for a machine that does much else: a page that works is never waited for.
  context.setDefaultTimeout(90_000);
  context.on('console', (message) => {
    if (message.type() === 'error')
      problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) =>
    problems.push(`thrown: ${error.error().stack ?? error.error()}`),
  );
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      console.error(`Content-Security-Policy: ${event.violatedDirective} ${event.blockedURI}`);
    });
  });
  return context;
}

afterEach(async () => {
  for (const context of contexts) await context.close();
  contexts.clear();
  const seen = problems.splice(0);
  assert.deepEqual(seen, [], 'the page reported problems');
});

after(async () => {
  for (const browser of browsers.values()) await (await browser).close();
  for (const server of servers) await server.close();
});

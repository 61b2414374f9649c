import { existsSync } from 'node:fs';
import { which } from './paths.mjs';
import { Problem } from './problem.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const macApplication = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/** The path of Chromium or Chrome, or null. CHROME names one that is not on the PATH. */
export function findBrowser() {
  if (process.env.CHROME) return process.env.CHROME;
  for (const name of names) {
    const path = which(name);
    if (path) return path;
  }
  return existsSync(macApplication) ? macApplication : null;
}

/**
 * Starts a headless browser. The sandbox is off because it cannot be had as root, which is what CI machines are.
 *
 * @param {Record<string, string>} [env] more variables of its environment.
 */
export async function launchBrowser(env = {}) {
  const executablePath = findBrowser();
  if (!executablePath)
    throw new Problem(
      'Chromium is missing: run `make test`, which installs it, or set CHROME to its path.',
    );
  const { chromium } = await import('playwright-core');
  return chromium.launch({
    executablePath,
    env: { ...process.env, ...env },
    // A busy machine can need more than the half minute that is usual.
    timeout: 180_000,
    args: ['--no-sandbox', '--disable-background-networking'],
  });
}

import { findBrowser } from '../lib/browser.mjs';
import { which } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { capture, installer } from '../lib/process.mjs';

const SENTENCE =
  'Chromium and its chromedriver are missing: install both (Debian: `apt-get install chromium chromium-driver`)';

/** A browser for the tests, and the driver of the same version that wasm-pack steers it with. */
export async function installBrowser() {
  if (findBrowser() && which('chromedriver')) return [];
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const mayInstall =
    which('apt-get') && (sudo.length === 0 || (await capture('sudo', ['-n', 'true'])).code === 0);
  if (!mayInstall) throw new Problem(`${SENTENCE}.`);
  console.log('installing chromium and chromium-driver (half a minute)');
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', 'chromium', 'chromium-driver'],
  ]) {
    // Waiting for the lock means that a machine which is still setting itself up does not fail here.
    const [command, ...rest] = [...sudo, 'apt-get', '-o', 'DPkg::Lock::Timeout=120', ...args];
    await installer('chromium', command, rest, SENTENCE, {
      env: { DEBIAN_FRONTEND: 'noninteractive' },
    });
  }
  if (!findBrowser() || !which('chromedriver')) throw new Problem(`${SENTENCE}.`);
  return ['chromium'];
}

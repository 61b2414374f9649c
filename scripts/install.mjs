import { installBrowser } from './install/browser.mjs';
import { installPackages } from './install/npm.mjs';
import { installReceivers } from './install/python.mjs';
import { installRust, installRustLinters, installWasmTools } from './install/rust.mjs';
import { timed } from './lib/time.mjs';

/**
 * Installs what is missing for one purpose, and nothing else. Downloads run beside cargo's builds, as one waits for the network and
 * the other for the processor.
 */
export async function install({ linters = false, browser = false, receivers = false } = {}) {
  await timed('install', async () => {
    const results = await Promise.allSettled([
      installRustSide(linters),
      installPackages(),
      browser ? installBrowser() : [],
      receivers ? installReceivers() : [],
    ]);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    return results.flatMap((result) => result.value).join(', ') || 'nothing was missing';
  });
}

async function installRustSide(linters) {
  const rust = await installRust();
  return [...rust, ...(linters ? await installRustLinters() : []), ...(await installWasmTools())];
}

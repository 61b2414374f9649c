import { installBrowser } from './install/browser.mjs';
import { installFonts } from './install/fonts.mjs';
import { installPackages } from './install/npm.mjs';
import { installReceivers } from './install/python.mjs';
import {
  installBindgen,
  installRust,
  installRustLinters,
  installWasmPack,
} from './install/rust.mjs';
import { all } from './lib/process.mjs';
import { timed } from './lib/time.mjs';

/**
 * Installs what is missing for one purpose, and nothing else. Downloads run beside cargo's builds, as one waits for the network and
 * the other for the processor.
 */
export async function install({
  linters = false,
  browser = false,
  fonts = false,
  receivers = false,
  wasmPack = false,
} = {}) {
  await timed('install', async () => {
    const installed = await all([
      installRustSide({ linters, wasmPack }),
      installPackages(),
      browser ? installBrowser() : [],
      fonts ? installFonts() : [],
      receivers ? installReceivers() : [],
    ]);
    return installed.flat().join(', ') || 'nothing was missing';
  });
}

async function installRustSide({ linters, wasmPack }) {
  const rust = await installRust();
  return [
    ...rust,
    ...(linters ? await installRustLinters() : []),
    ...(await installBindgen()),
    ...(wasmPack ? await installWasmPack() : []),
  ];
}

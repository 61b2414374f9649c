import { pathToFileURL } from 'node:url';
import { bundle } from './build/bundle.mjs';
import { buildWasm } from './build/wasm.mjs';
import { install } from './install.mjs';
import { main } from './lib/problem.mjs';
import { timed } from './lib/time.mjs';

/** Builds the wasm and the page into dist/. */
export async function build() {
  await timed('wasm', buildWasm);
  await timed('bundle', bundle);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    await install();
    await build();
  });
}

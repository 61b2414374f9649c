// `make lint` checks everything without changing a file; `make fmt` formats (`--fix`).
import { pathToFileURL } from 'node:url';
import { buildPackage } from './build/package.mjs';
import { buildWasm } from './build/wasm.mjs';
import { install } from './install.mjs';
import { which } from './lib/paths.mjs';
import { main } from './lib/problem.mjs';
import { all, capture } from './lib/process.mjs';
import { timed } from './lib/time.mjs';

const wasm32 = ['--target', 'wasm32-unknown-unknown'];
const warnings = ['--', '-D', 'warnings'];
const denied = { env: { RUSTDOCFLAGS: '-D warnings' } };
const prettied = ['www', 'npm', 'tests', 'scripts', '*.json', '*.js', '.github'];

/** Checks everything, and tells what failed. */
export async function lint() {
  /** @type {string[]} */
  const failed = [];
  const check = (name, command, args, options) =>
    timed(name, async () => {
      const { code, output } = await capture(command, args, options);
      if (code === 0) return undefined;
      console.log(output.trim());
      failed.push(name);
      return 'failed';
    });

  const clippy = ['clippy', '-q', '--locked', '--all-targets'];
  const doc = ['doc', '-q', '--locked', '--no-deps'];
  // cargo lets only one of its commands work on the crate at a time, so they are one after the other, and the rest beside them.
  await all([
    (async () => {
      await check('rustfmt', 'cargo', ['fmt', '--all', '--check']);
      await check('clippy', 'cargo', [...clippy, ...warnings]);
      // src/web exists for wasm32 alone, so a native run sees none of it.
      await check('clippy_wasm32', 'cargo', [...clippy, ...wasm32, ...warnings]);
      await check('rustdoc', 'cargo', doc, denied);
      await check('rustdoc_wasm32', 'cargo', [...doc, ...wasm32], denied);
      await deny(check);
      // wasm-bindgen writes the types of what the page and the package call.
      await timed('types', async () => {
        const remarks = [await buildWasm('typed'), await buildPackage('typed')];
        return remarks.every(Boolean) ? 'unchanged' : undefined;
      });
      for (const project of ['tsconfig.json', 'npm', 'scripts'])
        await check(`tsc_${project.replace('tsconfig.json', 'www')}`, 'tsc', ['-p', project]);
    })(),
    (async () => {
      await check('prettier', 'prettier', ['--check', '--log-level', 'warn', ...prettied]);
      await check('eslint', 'eslint', ['.']);
    })(),
  ]);
  return failed;
}

/** Licences, bans and sources. The advisories are fetched from elsewhere, so they are a matter for CI with a network. */
async function deny(check) {
  if (!which('cargo-deny')) {
    console.log('cargo-deny is not installed, so deny.toml is not checked here.');
    return;
  }
  await check('deny', 'cargo', ['deny', '--offline', 'check', 'bans', 'licenses', 'sources']);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    await install({ linters: true });
    if (process.argv.includes('--fix')) {
      await capture('cargo', ['fmt', '--all']);
      await capture('prettier', ['--write', '--log-level', 'warn', ...prettied]);
      return;
    }
    const failed = await lint();
    if (failed.length > 0) {
      console.error(`Failed: ${failed.join(', ')}.`);
      process.exitCode = 1;
    }
  });
}

// `make lint` checks everything without changing a file; `make fmt` formats (`--fix`).
import { buildWasm } from './build/wasm.mjs';
import { install } from './install.mjs';
import { main } from './lib/problem.mjs';
import { show } from './lib/process.mjs';
import { timed } from './lib/time.mjs';

const wasm32 = ['--target', 'wasm32-unknown-unknown'];
const denied = { env: { RUSTDOCFLAGS: '-D warnings' } };
const prettied = [
  'www',
  'npm',
  'tests',
  'scripts',
  'package.json',
  'tsconfig.json',
  'webdriver.json',
];
const failed = [];

async function check(name, command, args, options) {
  await timed(name, async () => {
    if ((await show(command, args, options)) === 0) return undefined;
    failed.push(name);
    return 'failed';
  });
}

await main(async () => {
  await install({ linters: true });
  if (process.argv.includes('--fix')) {
    await check('rustfmt', 'cargo', ['fmt', '--all']);
    await check('prettier', 'prettier', ['--write', '--log-level', 'warn', ...prettied]);
  } else {
    await check('rustfmt', 'cargo', ['fmt', '--all', '--check']);
    await check('prettier', 'prettier', ['--check', '--log-level', 'warn', ...prettied]);
    await check('clippy', 'cargo', ['clippy', '-q', '--all-targets', '--', '-D', 'warnings']);
    // src/web exists for wasm32 alone, so a native run sees none of it.
    await check('clippy_wasm32', 'cargo', [
      'clippy',
      '-q',
      ...wasm32,
      '--all-targets',
      '--',
      '-D',
      'warnings',
    ]);
    await check('rustdoc', 'cargo', ['doc', '-q', '--no-deps'], denied);
    await check('rustdoc_wasm32', 'cargo', ['doc', '-q', '--no-deps', ...wasm32], denied);
    // The types of www/pkg come from the wasm build.
    await timed('wasm', buildWasm);
    await check('tsc', 'tsc', ['--noEmit', '--project', 'tsconfig.json']);
  }
  if (failed.length > 0) {
    console.error(`Failed: ${failed.join(', ')}.`);
    process.exitCode = 1;
  }
});

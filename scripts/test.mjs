// `make test`: every test there is. All runners run even if one fails, and node's is last, so the output ends with the summaries.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from './build.mjs';
import { buildPackage } from './build/package.mjs';
import { install } from './install.mjs';
import { receiversPython } from './install/python.mjs';
import { root } from './lib/paths.mjs';
import { main } from './lib/problem.mjs';
import { show } from './lib/process.mjs';
import { secondsSince, timed } from './lib/time.mjs';

const failed = [];

async function runner(name, command, args, options) {
  console.log(`\n== ${name}: ${command} ${args.join(' ')}`);
  const start = performance.now();
  if ((await show(command, args, options)) !== 0) failed.push(name);
  return start;
}

async function testsIn(folder) {
  const files = await readdir(join(root, 'tests', folder)).catch(() => []);
  return files
    .filter((name) => name.endsWith('.test.js'))
    .sort()
    .map((name) => `tests/${folder}/${name}`);
}

await main(async () => {
  await install({ browser: true, receivers: true });
  await build();
  await timed('package', buildPackage);

  const native = await runner('native', 'cargo', ['test']);
  console.log(`native_tests_s: ${secondsSince(native)}`);

  // What the native tests exported, read by software that others wrote.
  const exported = join(root, 'target', 'tmp', 'otlp');
  await runner('receivers', await receiversPython(), ['tests/otel/accept.py', exported]);

  // A cold Chromium on a busy machine can need more than the runner's default of twenty seconds.
  const env = { WASM_BINDGEN_TEST_TIMEOUT: '120' };
  const wasm = await runner('wasm', 'wasm-pack', ['test', '--headless', '--chrome'], { env });
  console.log(`wasm_tests_s: ${secondsSince(wasm)}`);

  // TAP's last lines are its summary, `# tests N` to `# duration_ms N`, on a terminal and in a file alike.
  const files = [
    ...(await testsIn('js')),
    ...(await testsIn('package')),
    ...(await testsIn('e2e')),
  ];
  await runner('javascript', process.execPath, ['--test', '--test-reporter=tap', ...files]);
  if (failed.length > 0) {
    console.error(`Failed: ${failed.join(', ')}.`);
    process.exitCode = 1;
  }
});

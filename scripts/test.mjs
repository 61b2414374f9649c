// `make test`: every test there is. All runners run even if one fails, and node's is last, so the output ends with the summaries.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { buildPackage } from './build/package.mjs';
import { install } from './install.mjs';
import { receiversPython } from './install/python.mjs';
import { root } from './lib/paths.mjs';
import { main } from './lib/problem.mjs';
import { show } from './lib/process.mjs';
import { secondsSince, timed } from './lib/time.mjs';

/** Half of a browser test's time is spent waiting, so two files at once fill two cores. */
const FILES_AT_ONCE = 2;

/** Runs test runners one after the other, and remembers which of them failed. */
export function runners() {
  /** @type {string[]} */
  const failed = [];
  return {
    failed,
    async run(name, command, args, options) {
      console.log(`\n== ${name}: ${command} ${args.join(' ')}`);
      const start = performance.now();
      if ((await show(command, args, options)) !== 0) failed.push(name);
      console.log(`${name}_tests_s: ${secondsSince(start)}`);
    },
    /** TAP's last lines are its summary, `# tests N` to `# duration_ms N`, on a terminal and in a file alike. */
    async javascript(...folders) {
      const files = (await Promise.all(folders.map(testsIn))).flat();
      const options = ['--test', `--test-concurrency=${FILES_AT_ONCE}`, '--test-reporter=tap'];
      const { execPath } = process;
      if ((await show(execPath, [...options, ...files])) !== 0) failed.push('javascript');
    },
    report(name) {
      console.log(`${name}: ${secondsSince(0)}`);
      if (failed.length === 0) return;
      console.error(`Failed: ${failed.join(', ')}.`);
      process.exitCode = 1;
    },
  };
}

async function testsIn(folder) {
  const files = await readdir(join(root, 'tests', folder));
  return files
    .filter((name) => name.endsWith('.test.js'))
    .sort()
    .map((name) => `tests/${folder}/${name}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    await install({ browser: true, fonts: true, receivers: true, wasmPack: true });
    await build();
    await timed('package', buildPackage);
    const { run, javascript, report } = runners();

    await run('native', 'cargo', ['test', '--locked']);

    // What the native tests exported, read by software that others wrote.
    const exported = join(root, 'target', 'tmp', 'otlp');
    await run('receivers', await receiversPython(), ['tests/otel/accept.py', exported]);

    // On a busy machine the driver needs more than the runner's five seconds, and a cold Chromium more than its twenty.
    const env = {
      WASM_BINDGEN_TEST_TIMEOUT: '300',
      WASM_BINDGEN_TEST_DRIVER_TIMEOUT: '300',
    };
    await run('wasm', 'wasm-pack', ['test', '--headless', '--chrome'], { env });

    await javascript('js', 'package', 'e2e');
    report('test_s');
  });
}

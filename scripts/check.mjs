// `make check`: what is known within a minute or so. Lint, and the tests that need no browser.
import { install } from './install.mjs';
import { lint } from './lint.mjs';
import { main } from './lib/problem.mjs';
import { show } from './lib/process.mjs';
import { secondsSince } from './lib/time.mjs';
import { testsIn } from './test.mjs';

await main(async () => {
  await install({ linters: true });
  const failed = await lint();
  const runner = async (name, command, args) => {
    console.log(`\n== ${name}: ${command} ${args.join(' ')}`);
    if ((await show(command, args)) !== 0) failed.push(name);
  };
  await runner('native', 'cargo', ['test', '--locked']);
  await runner('javascript', process.execPath, [
    ...['--test', '--test-reporter=tap'],
    ...(await testsIn('js')),
  ]);
  console.log(`check_s: ${secondsSince(0)}`);
  if (failed.length > 0) {
    console.error(`Failed: ${failed.join(', ')}.`);
    process.exitCode = 1;
  }
});

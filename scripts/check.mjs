// `make check`: what is known within a minute or so. Lint, and the tests that need no browser.
import { install } from './install.mjs';
import { lint } from './lint.mjs';
import { main } from './lib/problem.mjs';
import { runners } from './test.mjs';

await main(async () => {
  await install({ linters: true });
  const { failed, run, javascript, report } = runners();
  failed.push(...(await lint()));
  await run('native', 'cargo', ['test', '--locked']);
  await javascript('js');
  report('check_s');
});

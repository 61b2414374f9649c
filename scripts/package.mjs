// `make package`: the npm package in pkg/.
import { buildPackage } from './build/package.mjs';
import { install } from './install.mjs';
import { main } from './lib/problem.mjs';
import { timed } from './lib/time.mjs';

await main(async () => {
  await install();
  await timed('package', buildPackage);
});

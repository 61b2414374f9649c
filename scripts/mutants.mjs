// `make mutants`: changes the program in one place at a time and runs the quick tests. A change that no test notices is printed.
//
// `FILES=src/agent/run.rs,src/log/*.rs` tries those alone, `SHARD=0/20` every twentieth change, and `DIFF=main` what differs from
// another commit. All of them together take hours, so this is no part of `make test`. What is left on purpose is in
// tests/mutants.md, and what is tried and by which tests in .cargo/mutants.toml.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installMutants, installRust } from './install/rust.mjs';
import { root } from './lib/paths.mjs';
import { main, Problem } from './lib/problem.mjs';
import { capture, show } from './lib/process.mjs';
import { timed } from './lib/time.mjs';

/** The agent, its log and its world. Reports and bindings show what these decide. */
const EXAMINED = 'src/agent/**,src/base/**,src/lab/**,src/log/**,src/record/**';

const out = join(root, 'target', 'mutants');

await main(async () => {
  await timed('install', async () => {
    const installed = [...(await installRust()), ...(await installMutants())];
    return installed.join(', ') || 'nothing was missing';
  });
  await mkdir(out, { recursive: true });
  // The copy that is changed is built in one place, so that the next run finds what this one has built.
  const env = { CARGO_TARGET_DIR: join(out, 'build') };
  const code = await show('cargo', ['mutants', '--output', out, ...(await chosen())], { env });
  // 2: some were not noticed; 3: some ran into the time limit. Both are answers, not failures of the run.
  if (![0, 2, 3].includes(code))
    throw new Problem('The run failed, for the reason that stands above.');
  const figures = JSON.parse(await readFile(join(out, 'mutants.out', 'outcomes.json'), 'utf8'));
  for (const name of ['total_mutants', 'caught', 'timeout', 'unviable', 'missed']) {
    console.log(`mutants_${name}: ${figures[name]}`);
  }
  console.log(`The changes that no test noticed are in ${join(out, 'mutants.out', 'missed.txt')}.`);
});

/** Which changes are tried. */
async function chosen() {
  const { FILES, SHARD, DIFF } = process.env;
  const args = (FILES ?? EXAMINED)
    .split(',')
    .filter(Boolean)
    .flatMap((file) => ['--file', file]);
  if (SHARD) args.push('--shard', SHARD);
  if (DIFF) {
    const { code, output } = await capture('git', ['diff', DIFF, '--', 'src']);
    if (code !== 0) throw new Problem(`git cannot compare with ${DIFF}: ${output.trim()}`);
    const file = join(out, 'changes.diff');
    await writeFile(file, output);
    args.push('--in-diff', file);
  }
  return args;
}

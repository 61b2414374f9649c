// Puts the npm package together in pkg/: the engine's wasm with its bindings, and what lies in npm/.
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { show } from '../lib/process.mjs';
import { hashOfInputs } from './wasm.mjs';

const folder = join(root, 'pkg');
const stamp = join(folder, '.stamp');

export async function buildPackage() {
  const inputs = await hashOfInputs(['scripts/build/package.mjs']);
  const isBuilt = (await readFile(stamp, 'utf8').catch(() => '')) === inputs;
  if (!isBuilt) {
    await rm(folder, { recursive: true, force: true });
    const args = ['build', '--release', '--target', 'web', '--out-dir', 'pkg', '--no-pack'];
    const features = ['--', '--no-default-features', '--features', 'engine'];
    const code = await show('wasm-pack', ['--quiet', ...args, ...features]);
    if (code !== 0) throw new Problem('The wasm build failed, for the reason that stands above.');
    await plainTypes(join(folder, 'crashlab.d.ts'));
  }
  await cp(join(root, 'npm'), folder, { recursive: true });
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const [, version] = /^version = "(.*)"$/m.exec(await readFile(join(root, 'Cargo.toml'), 'utf8'));
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...manifest, version }, null, 2)}\n`,
  );
  await writeFile(stamp, inputs);
  if (isBuilt) return 'unchanged';
}

/**
 * What wasm-bindgen declares beside the crate's own types needs the newest library and the DOM of whoever compiles with them. None of it
 * is exported by the package.
 */
const NEEDS_MORE = [
  // An `Agent` is given back by `free`.
  /^ +\[Symbol\.dispose\]\(\): void;\n/gm,
  // How the wasm is loaded: index.js and node.js do that.
  /^export type InitInput = [^]*$/gm,
];

async function plainTypes(file) {
  let types = await readFile(file, 'utf8');
  for (const part of NEEDS_MORE) {
    const found = types.match(part)?.length ?? 0;
    if (found !== 1)
      throw new Problem(`${part} is found ${found} times in ${file}, expected was once.`);
    types = types.replace(part, '');
  }
  await writeFile(file, types);
}

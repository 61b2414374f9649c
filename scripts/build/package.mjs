// Puts the npm package together in pkg/: the engine's wasm with its bindings, and what lies in npm/.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { crate } from '../install/rust.mjs';
import { packageNotices } from './notices.mjs';
import { buildModule, engine } from './wasm.mjs';

const folder = join(root, engine.folder);

export async function buildPackage(kind = 'optimised') {
  const remark = await buildModule(engine, {
    kind,
    others: ['scripts/build/package.mjs'],
    finish: () => plainTypes(join(folder, 'crashlab.d.ts')),
  });
  await cp(join(root, 'npm'), folder, { recursive: true });
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  await writeFile(join(folder, 'NOTICES.txt'), await packageNotices());
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const { version } = await crate();
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...manifest, version }, null, 2)}\n`,
  );
  return remark;
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

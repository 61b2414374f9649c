import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root, www } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { capture, show } from '../lib/process.mjs';

const stamp = join(www, 'pkg', '.stamp');

/** Two modules of one crate: the playground, small, and what is computed on demand, fast. */
const modules = [
  { feature: 'lab', folder: 'www/pkg', profile: ['--release'] },
  { feature: 'study', folder: 'www/study', profile: ['--profile', 'study'] },
];

/**
 * Builds a module without the sentences of panics, which nobody reads in a page: 5 KB less to load. That takes the source of std and
 * two switches that are not stable yet, so where it does not work, the module is built as any other.
 */
const unworded = {
  flags: ['-Zbuild-std=std,panic_abort', '-Zbuild-std-features=optimize_for_size'],
  env: { RUSTC_BOOTSTRAP: '1', RUSTFLAGS: '-Zunstable-options -Cpanic=immediate-abort' },
};

/**
 * Builds www/pkg and www/study from the crate. cargo knows by itself what changed, but wasm-bindgen and wasm-opt would run every time, so the
 * stamp keeps the hash of everything that the output depends on. It is written last: a build that was cut short is done again.
 */
export async function buildWasm() {
  const inputs = await hashOfInputs();
  if ((await readFile(stamp, 'utf8').catch(() => '')) === inputs) return 'unchanged';
  await rm(stamp, { force: true });
  for (const { feature, folder, profile } of modules) {
    const args = ['build', ...profile, '--target', 'web', '--out-dir', folder, '--no-pack'];
    const features = ['--', '--no-default-features', '--features', feature];
    const command = ['--quiet', ...args, ...features];
    if (feature === 'lab' && (await hasSourceOfStd())) {
      const { flags, env } = unworded;
      if ((await capture('wasm-pack', [...command, ...flags], { env })).code === 0) continue;
    }
    const code = await show('wasm-pack', command);
    if (code !== 0) throw new Problem('The wasm build failed, for the reason that stands above.');
  }
  await writeFile(stamp, inputs);
}

async function hasSourceOfStd() {
  const sysroot = (await capture('rustc', ['--print', 'sysroot'])).output.trim();
  return existsSync(join(sysroot, 'lib', 'rustlib', 'src', 'rust', 'library', 'Cargo.lock'));
}

/** A hash of everything that the wasm is built from, and of other files. */
export async function hashOfInputs(others = []) {
  const files = ['Cargo.toml', 'Cargo.lock', 'package-lock.json', ...others];
  for (const entry of await readdir(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      files.push(join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1));
  }
  const hash = createHash('sha256');
  hash.update((await capture('rustc', ['--version'])).output);
  for (const file of files.sort()) {
    hash.update(`\0${file}\0`).update(await readFile(join(root, file)));
  }
  return hash.digest('hex');
}

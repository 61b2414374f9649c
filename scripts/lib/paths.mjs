import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const www = join(root, 'www');
export const dist = join(root, 'dist');
/** What the dev server serves: dist/ is for other people, and whole. */
export const served = join(root, 'target', 'page');

const cargoBin = join(process.env.CARGO_HOME || join(homedir(), '.cargo'), 'bin');

/** Where a tool goes when the user already has another version of it, which is not ours to overwrite. */
export function privateToolRoot(name, version) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'crashlab', `${name}-${version}`);
}

const preferred = new Set([join(root, 'node_modules', '.bin')]);

/** Puts a directory before everything else on the PATH of the programs that the scripts start. */
export function preferOnPath(directory) {
  preferred.add(directory);
}

/**
 * The environment for every program that the scripts start. node_modules/.bin comes first because wasm-pack takes `wasm-opt` from
 * the PATH, and the pinned one must win; cargo's bin directory comes last because a shell without rustup's profile lacks it.
 */
export function toolEnv() {
  const path = [...preferred].reverse().concat(process.env.PATH ?? '', cargoBin);
  return { ...process.env, PATH: path.join(delimiter) };
}

/** The full path of a program, or null. */
export function which(name) {
  for (const directory of toolEnv().PATH.split(delimiter)) {
    if (directory && existsSync(join(directory, name))) return join(directory, name);
  }
  return null;
}

import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root, which } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { installer } from '../lib/process.mjs';

/**
 * The npm packages of package-lock.json. The stamp holds the lock file's hash and is written last, so that an installation that
 * was cut short is done again.
 */
export async function installPackages() {
  const lock = createHash('sha256')
    .update(await readFile(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = join(root, 'node_modules', '.crashlab-lock');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === lock) return [];
  if (!which('npm')) throw new Problem('npm is missing: install it (it comes with Node).');
  const sentence = 'The npm packages are missing and could not be installed: run `npm ci`';
  // None of the packages needs its install script, and what does not run cannot surprise.
  await installer('npm', 'npm', ['ci', '--ignore-scripts'], sentence);
  await writeFile(stamp, lock);
  return ['npm packages'];
}

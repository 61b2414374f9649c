import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { root, which } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { installer } from '../lib/process.mjs';

/** The npm packages of package-lock.json. */
export async function installPackages() {
  return (await installLocked(root)) ? ['npm packages'] : [];
}

/**
 * Installs what a folder's package-lock.json lists, and tells whether it had to. The stamp holds the lock file's hash and is written
 * last, so that an installation that was cut short is done again.
 *
 * @param {string} folder
 */
export async function installLocked(folder) {
  const lock = createHash('sha256')
    .update(await readFile(join(folder, 'package-lock.json')))
    .digest('hex');
  const stamp = join(folder, 'node_modules', '.crashlab-lock');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === lock) return false;
  if (!which('npm')) throw new Problem('npm is missing: install it (it comes with Node).');
  const place = relative(root, folder);
  const sentence = `The npm packages are missing and could not be installed: run \`npm ci\`${place && ` in ${place}`}`;
  // None of the packages needs its install script, and what does not run cannot surprise.
  await installer('npm', 'npm', ['ci', '--ignore-scripts'], sentence, { cwd: folder });
  await writeFile(stamp, lock);
  return true;
}

// The package as it would be installed, and the examples of its README.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { root } from '../../scripts/lib/paths.mjs';

export const pkg = join(root, 'pkg');
assert.ok(existsSync(join(pkg, 'node.js')), 'The package is not built: run `make package` first.');

const folders = [];

/** A folder in which `import … from 'crashlab'` finds the package. */
export async function project() {
  const folder = await mkdtemp(join(tmpdir(), 'crashlab-package-'));
  folders.push(folder);
  await mkdir(join(folder, 'node_modules'));
  await symlink(pkg, join(folder, 'node_modules', 'crashlab'));
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  return folder;
}

after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** The JavaScript of the README, block by block: the ten lines, what they import, and the driver for callbacks. */
export async function examples() {
  const text = await readFile(join(pkg, 'README.md'), 'utf8');
  const blocks = [...text.matchAll(/^```js.*\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
  assert.equal(blocks.length, 3);
  const [loop, parts, callbacks] = blocks;
  return { loop, parts, callbacks };
}

/** What the two examples print. */
export const LOOP_ENDS_WITH = ['stop', 'done Hello Priya!'];
export const REFUNDED = ['288 USD for CH-2'];

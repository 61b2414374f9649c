import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './lib/paths.mjs';

const folder = join(root, 'tests', 'scenarios');

/**
 * Writes `tests/scenarios/list.rs`, the scenarios of that folder, for the tests in the browser: a page cannot read a folder. Whoever
 * drops a scenario there need not think of it.
 */
export async function listScenarios() {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  const entries = names.map(
    (name) => `    (${JSON.stringify(name)}, include_str!(${JSON.stringify(name)})),\n`,
  );
  const text = `// Written by scripts/scenarios.mjs.\n[\n${entries.join('')}]\n`;
  const list = join(folder, 'list.rs');
  if ((await readFile(list, 'utf8').catch(() => '')) !== text) await writeFile(list, text);
}

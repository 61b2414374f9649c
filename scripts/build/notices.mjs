// The notices that the licences of other people's work ask for, from what really is in the build.
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { capture } from '../lib/process.mjs';

/** One of these is enough where a package may be taken under one of several licences, the plainest first. */
const files = ['LICENSE-MIT', 'LICENSE', 'LICENSE.md', 'LICENSE.txt', 'COPYING'];

/**
 * The notices of the page.
 *
 * @param {string[]} inputs the files that were bundled
 */
export async function pageNotices(inputs) {
  const names = inputs.flatMap(
    (path) => /node_modules\/((@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  const packages = await Promise.all([...new Set(names)].sort().map(npmPackage));
  return notices([...packages, ...(await crates())]);
}

/** The notices of the npm package. */
export async function packageNotices() {
  return notices(await crates());
}

async function npmPackage(name) {
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  return { name, version, license, text: await licenceIn(folder, name) };
}

/** The crates that are in a module: not those that only cargo needs, such as macros and what macros need. */
async function crates() {
  const { code, output } = await capture('cargo', [
    ...['metadata', '--format-version', '1', '--locked', '--quiet'],
    ...['--filter-platform', 'wasm32-unknown-unknown'],
  ]);
  if (code !== 0) throw new Problem(`cargo cannot tell what the crate depends on:\n${output}`);
  const { packages, resolve } = JSON.parse(output.slice(output.indexOf('{"')));
  const packageOf = new Map(packages.map((one) => [one.id, one]));
  const nodeOf = new Map(resolve.nodes.map((node) => [node.id, node]));
  const found = new Set();
  const follow = (id) => {
    for (const { pkg, dep_kinds } of nodeOf.get(id).deps) {
      const isMacro = packageOf.get(pkg).targets.some(({ kind }) => kind.includes('proc-macro'));
      if (found.has(pkg) || isMacro || !dep_kinds.some(({ kind }) => kind === null)) continue;
      found.add(pkg);
      follow(pkg);
    }
  };
  follow(resolve.root);
  const all = [...found].map((id) => packageOf.get(id));
  all.sort((a, b) => a.name.localeCompare(b.name, 'en'));
  return Promise.all(
    all.map(async ({ name, version, license, manifest_path }) => {
      return { name, version, license, text: await licenceIn(dirname(manifest_path), name) };
    }),
  );
}

async function licenceIn(folder, name) {
  const present = await readdir(folder);
  const file = files.find((wanted) => present.includes(wanted));
  if (!file) throw new Problem(`${name} ships, and has no licence file that is known here.`);
  return (await readFile(join(folder, file), 'utf8')).replaceAll('\r', '').trim();
}

/** The same words stand once. */
function notices(packages) {
  /** @type {Map<string, string[]>} */
  const byText = new Map();
  for (const { name, version, license, text } of packages) {
    const line = `${name} ${version} (${license})`;
    byText.set(text, [...(byText.get(text) ?? []), line]);
  }
  const parts = [...byText].map(([text, lines]) => `${lines.join('\n')}\n\n${text}\n`);
  const head = [
    'Crashlab contains the work of other people, whose licences ask for these notices.',
    'The Rust standard library is in it too: copyright The Rust Project Developers, MIT OR Apache-2.0.',
  ].join('\n');
  return [`${head}\n`, ...parts].join(`\n${'-'.repeat(80)}\n\n`);
}

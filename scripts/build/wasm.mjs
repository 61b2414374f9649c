import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { all, capture, show } from '../lib/process.mjs';

const FAILED = 'The wasm build failed, for the reason that stands above.';

/**
 * The modules of the crate. The page loads two: the playground, small, and what is computed on demand, fast. The npm package has
 * the engine. `optimise` is what wasm-opt does for a build that goes to other people.
 *
 * @typedef {{ feature: string, folder: string, profile: string, optimise: string[] }} Module
 */
/** @type {Module} */
export const lab = {
  feature: 'lab',
  folder: 'www/pkg',
  profile: 'release',
  optimise: ['-Oz'],
};
/** @type {Module} */
export const study = {
  feature: 'study',
  folder: 'www/study',
  profile: 'study',
  optimise: ['-O3'],
};
/** @type {Module} */
export const engine = {
  feature: 'engine',
  folder: 'pkg',
  profile: 'release',
  optimise: ['-Oz'],
};

/** What rustc emits beside plain wasm, and every browser that the page supports knows. */
const features = [
  '--enable-bulk-memory',
  '--enable-nontrapping-float-to-int',
  '--enable-sign-ext',
  '--enable-mutable-globals',
];

/** Builds both modules of the page. */
export async function buildWasm(kind = 'optimised') {
  const remarks = [await buildModule(lab, { kind }), await buildModule(study, { kind })];
  return remarks.every(Boolean) ? 'unchanged' : undefined;
}

/** How much is done for a module, each with all that stands after it: for types alone, to try it, for other people. */
const kinds = ['typed', 'plain', 'optimised'];

/**
 * Compiles a module, gives it its bindings and optimises it.
 *
 * The stamp beside a module keeps the hash of everything that it depends on: cargo knows by itself what changed, but the other two
 * would run every time. It is written last, so that a build that was cut short is done again.
 *
 * @param {Module} module
 * @param {object} [options]
 * @param {string} [options.kind] `plain` leaves wasm-opt out, and is larger but otherwise the same; `typed` is quickly compiled and
 *   slow. A better one that is there is taken.
 * @param {string[]} [options.others] files that `finish` depends on.
 * @param {(folder: string) => Promise<void>} [options.finish] what else belongs to the build.
 * @param {() => Promise<void>} [options.tools] waits for wasm-bindgen, which may still be on its way while cargo compiles.
 */
export async function buildModule(
  module,
  { kind = 'optimised', others = [], finish = async () => {}, tools = async () => {} } = {},
) {
  const folder = join(root, module.folder);
  const stamp = join(folder, '.stamp');
  const inputs = await hashOfInputs(others);
  const enough = kinds.slice(kinds.indexOf(kind)).map((name) => `${inputs} ${name}`);
  if (enough.includes(await readFile(stamp, 'utf8').catch(() => ''))) {
    await tools();
    return 'unchanged';
  }
  const profile = kind === 'typed' ? 'dev' : module.profile;
  const [code] = await all([compile(module, profile), tools()]);
  if (code !== 0) throw new Problem(FAILED);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await run('wasm-bindgen', [
    compiled(profile),
    ...['--target', 'web', '--out-dir', folder, '--out-name', 'crashlab'],
    // It says which compiler made the module, which is nobody's business and costs bytes.
    '--remove-producers-section',
  ]);
  if (kind === 'optimised') {
    const wasm = join(folder, 'crashlab_bg.wasm');
    const strip = ['--strip-debug', '--strip-producers', '--strip-target-features'];
    await run('wasm-opt', [wasm, '-o', wasm, ...module.optimise, ...strip, ...features]);
  }
  await finish(folder);
  await writeFile(stamp, enough[0]);
  return undefined;
}

async function run(command, args) {
  if ((await show(command, args)) !== 0) throw new Problem(FAILED);
}

/** @param {string} profile */
function compiled(profile) {
  const target = process.env.CARGO_TARGET_DIR || join(root, 'target');
  const name = profile === 'dev' ? 'debug' : profile;
  return join(target, 'wasm32-unknown-unknown', name, 'crashlab.wasm');
}

async function compile({ feature }, profile) {
  const target = ['--lib', '--target', 'wasm32-unknown-unknown', '--profile', profile];
  const features = ['--no-default-features', '--features', feature];
  const args = ['build', '--quiet', '--locked', ...target, ...features];
  return show('cargo', args, { env: { CARGO_ENCODED_RUSTFLAGS: await flags() } });
}

/** The places of a panic name files, so the folders of whoever builds would be in the module. */
async function flags() {
  const sysroot = (await capture('rustc', ['--print', 'sysroot'])).output.trim();
  const cargoHome = process.env.CARGO_HOME || join(homedir(), '.cargo');
  const names = [
    [cargoHome, 'cargo'],
    [join(sysroot, 'lib', 'rustlib', 'src', 'rust'), 'rust'],
    [root, 'crashlab'],
  ];
  const own = names.map(([from, to]) => `--remap-path-prefix=${from}=${to}`);
  const given =
    process.env.CARGO_ENCODED_RUSTFLAGS?.split('\x1f') ?? process.env.RUSTFLAGS?.split(' ') ?? [];
  return [...given.filter(Boolean), ...own].join('\x1f');
}

/** A hash of everything that the wasm is built from, and of other files. */
export async function hashOfInputs(others = []) {
  const files = [
    'Cargo.toml',
    'Cargo.lock',
    'build.rs',
    'package-lock.json',
    'scripts/build/wasm.mjs',
    ...others,
  ];
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

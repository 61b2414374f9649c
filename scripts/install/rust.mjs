import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preferOnPath, privateToolRoot, root, which } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { capture, installer } from '../lib/process.mjs';

const WASM_PACK = '0.15.1';
const WASM_PACK_AT_LEAST = '0.13.0';
const CARGO_MUTANTS = '27.1.0';

/** The compiler, new enough, with the wasm32 target. Says what it installed, if anything. */
export async function installRust() {
  const installed = [];
  if (!which('cargo') && !which('rustup')) {
    throw new Problem('Rust is missing: install rustup, then run this again.');
  }
  if ((await capture('rustc', ['--version'])).code !== 0) {
    await installer(
      'rust',
      'rustup',
      ['default', 'stable'],
      'Rust has no toolchain and none could be installed: run `rustup default stable`',
    );
    installed.push('rust');
  }
  const version = versionIn((await capture('rustc', ['--version'])).output);
  const wanted = /^rust-version = "(.*)"/m.exec(
    await readFile(join(root, 'Cargo.toml'), 'utf8'),
  )[1];
  if (isOlder(version, wanted)) {
    throw new Problem(`Rust ${version} is older than ${wanted}: run \`rustup update stable\`.`);
  }
  const sysroot = (await capture('rustc', ['--print', 'sysroot'])).output.trim();
  if (!existsSync(join(sysroot, 'lib', 'rustlib', 'wasm32-unknown-unknown'))) {
    const command = ['target', 'add', 'wasm32-unknown-unknown'];
    await installer(
      'wasm32',
      'rustup',
      command,
      `Rust's wasm32 target is missing: run \`rustup ${command.join(' ')}\``,
    );
    installed.push('wasm32-unknown-unknown');
  }
  if (which('rustup') && !existsSync(join(sysroot, 'lib', 'rustlib', 'src', 'rust', 'library'))) {
    // Only the smallest build needs it, and there is another one.
    const { code } = await capture('rustup', ['component', 'add', 'rust-src']);
    if (code === 0) installed.push('rust-src');
  }
  return installed;
}

/** rustfmt and clippy, which a minimal Rust lacks. */
export async function installRustLinters() {
  const installed = [];
  for (const [program, component] of [
    ['cargo-fmt', 'rustfmt'],
    ['cargo-clippy', 'clippy'],
  ]) {
    if ((await capture(program, ['--version'])).code === 0) continue;
    await installer(
      component,
      'rustup',
      ['component', 'add', component],
      `${component} is missing: run \`rustup component add ${component}\``,
    );
    installed.push(component);
  }
  return installed;
}

/** wasm-pack, and the wasm-bindgen of exactly the version in Cargo.lock, because the two formats only match then. */
export async function installWasmTools() {
  const lock = await readFile(join(root, 'Cargo.lock'), 'utf8');
  const bindgen = /^name = "wasm-bindgen"\nversion = "(.*)"/m.exec(lock)[1];
  const installed = [];
  if (!(await has('wasm-pack', (found) => !isOlder(found, WASM_PACK_AT_LEAST), WASM_PACK))) {
    // Its own lock file is known to build.
    installed.push(await cargoInstall('wasm-pack', 'wasm-pack', WASM_PACK, 0, ['--locked']));
  }
  if (!(await has('wasm-bindgen', (found) => found === bindgen, bindgen))) {
    // The published lock file names versions that were withdrawn, so this one is built without it.
    installed.push(await cargoInstall('wasm-bindgen-cli', 'wasm-bindgen', bindgen, 1, []));
  }
  return installed;
}

/** What changes the program to see whether a test notices: always this version, as the list of changes is part of it. */
export async function installMutants() {
  const name = 'cargo-mutants';
  if (await has(name, (found) => found === CARGO_MUTANTS, CARGO_MUTANTS)) return [];
  return [await cargoInstall(name, name, CARGO_MUTANTS, 1, ['--locked'])];
}

async function has(program, accepts, version) {
  const bin = join(privateToolRoot(program, version), 'bin');
  if (existsSync(join(bin, program))) {
    preferOnPath(bin);
    return true;
  }
  const { code, output } = await capture(program, ['--version']);
  return code === 0 && accepts(versionIn(output));
}

/**
 * cargo builds in a temporary folder and moves the finished program, so a failure leaves nothing half done. Little optimisation is
 * asked for, as it would cost a first run two minutes: wasm-pack only starts other programs, and wasm-bindgen reads one small file.
 */
async function cargoInstall(crate, program, version, optimisation, flags) {
  await needLinker();
  const args = ['install', crate, '--version', version, ...flags];
  // Few need cargo-mutants, so it stays out of the way of what they have.
  if (which(program) || program === 'cargo-mutants') {
    const privateRoot = privateToolRoot(program, version);
    args.push('--root', privateRoot);
    preferOnPath(join(privateRoot, 'bin'));
  }
  console.log(`installing ${crate} ${version} (cargo builds it: one to three minutes)`);
  const sentence = `${crate} ${version} is missing and could not be built: run \`cargo ${args.join(' ')}\``;
  const env = {
    CARGO_PROFILE_RELEASE_OPT_LEVEL: String(optimisation),
    CARGO_PROFILE_RELEASE_LTO: 'off',
  };
  await installer(crate, 'cargo', args, sentence, { cwd: tmpdir(), env });
  return `${crate} ${version}`;
}

async function needLinker() {
  if (!which('cc')) {
    throw new Problem(
      'A C compiler is missing, which Rust links with: install gcc or clang (Debian: `apt-get install gcc libc6-dev`).',
    );
  }
}

function versionIn(text) {
  return /\d+\.\d+\.\d+/.exec(text)?.[0] ?? '0.0.0';
}

function isOlder(version, wanted) {
  return version.localeCompare(wanted, 'en', { numeric: true }) < 0;
}

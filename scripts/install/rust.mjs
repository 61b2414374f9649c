import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preferOnPath, privateToolRoot, which } from '../lib/paths.mjs';
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
      ['toolchain', 'install', 'stable', '--profile', 'minimal'],
      'Rust has no toolchain and none could be installed: run `rustup toolchain install stable`',
    );
    installed.push('rust');
  }
  const version = versionIn((await capture('rustc', ['--version'])).output);
  const { rust_version: wanted } = await crate();
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
  return installed;
}

/** The crate's own manifest, as cargo reads it. */
export async function crate() {
  const { code, output } = await capture('cargo', [
    ...['metadata', '--no-deps', '--format-version', '1', '--quiet'],
  ]);
  if (code !== 0) throw new Problem(`cargo cannot read Cargo.toml:\n${output.trim()}`);
  return JSON.parse(output.slice(output.indexOf('{'))).packages[0];
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

/** The wasm-bindgen of exactly the version in Cargo.lock, because the two formats only match then. */
export async function installBindgen() {
  const { code, output } = await capture('cargo', ['pkgid', 'wasm-bindgen']);
  if (code !== 0) throw new Problem(`cargo cannot read Cargo.lock:\n${output.trim()}`);
  const version = versionIn(output.slice(output.lastIndexOf('@')));
  if (await has('wasm-bindgen', (found) => found === version, version)) return [];
  // The published lock file names versions that were withdrawn, so it is built without it. It reads one small file, so an optimised
  // build would cost minutes and save a second; what it could do on the network is not needed.
  const flags = ['--debug', '--no-default-features'];
  return [await cargoInstall('wasm-bindgen-cli', 'wasm-bindgen', version, flags)];
}

/** wasm-pack, which runs the tests in a browser. */
export async function installWasmPack() {
  if (await has('wasm-pack', (found) => !isOlder(found, WASM_PACK_AT_LEAST), WASM_PACK)) return [];
  // Its own lock file is known to build. It only starts other programs, so it need not be fast.
  return [await cargoInstall('wasm-pack', 'wasm-pack', WASM_PACK, ['--debug', '--locked'])];
}

/** What changes the program to see whether a test notices: always this version, as the list of changes is part of it. */
export async function installMutants() {
  const name = 'cargo-mutants';
  if (await has(name, (found) => found === CARGO_MUTANTS, CARGO_MUTANTS)) return [];
  return [await cargoInstall(name, name, CARGO_MUTANTS, ['--locked'])];
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

/** cargo builds in a temporary folder and moves the finished program, so a failure leaves nothing half done. */
async function cargoInstall(crate, program, version, flags) {
  await needLinker();
  const args = ['install', crate, '--version', version, ...flags];
  // Few need cargo-mutants, so it stays out of the way of what they have.
  if (which(program) || program === 'cargo-mutants') {
    const privateRoot = privateToolRoot(program, version);
    args.push('--root', privateRoot);
    preferOnPath(join(privateRoot, 'bin'));
  }
  console.log(`installing ${crate} ${version} (cargo builds it: about a minute)`);
  const sentence = `${crate} ${version} is missing and could not be built: run \`cargo ${args.join(' ')}\``;
  const env = { CARGO_PROFILE_DEV_DEBUG: '0', CARGO_INCREMENTAL: '0' };
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

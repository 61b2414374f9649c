import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root, toolEnv } from './paths.mjs';
import { Problem } from './problem.mjs';

/** Runs a program with its output on the terminal, and tells how it ended. */
export function show(command, args, { env = {}, cwd = root } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...toolEnv(), ...env },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('error', () => resolve(127));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** Runs a program silently, and gives its exit code and everything it printed. */
export function capture(command, args, { env = {}, cwd = root } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...toolEnv(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ code: 127, output: String(error.message) }));
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/**
 * Runs an installer silently. When it fails, everything it printed is kept in target/install/, and the sentence says what the
 * reader can do instead.
 */
export async function installer(name, command, args, sentence, options) {
  const { code, output } = await capture(command, args, options);
  if (code === 0) return;
  const log = join('target', 'install', `${name}.log`);
  await mkdir(join(root, 'target', 'install'), { recursive: true });
  await writeFile(join(root, log), output);
  throw new Problem(`${sentence} (the installer's output is in ${log}).`);
}

/** Waits for everything, also when one part fails: what it started is over before the failure is reported. */
export async function all(work) {
  const results = await Promise.allSettled(work);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { privateToolRoot, root, which } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { capture, installer } from '../lib/process.mjs';

const requirements = join('tests', 'otel', 'requirements.txt');

/** The Python that has the packages of tests/otel/requirements.txt. */
export async function receiversPython() {
  return join(await environment(), 'bin', 'python');
}

/**
 * A virtual environment of its own, named by what is in it and by the Python that made it. The stamp is written last, so that an
 * installation that was cut short is done again.
 */
export async function installReceivers() {
  const home = await environment();
  const stamp = join(home, '.crashlab-complete');
  if (existsSync(stamp)) return [];
  const sentence = `The packages of ${requirements} could not be installed`;
  await installer(
    'venv',
    'python3',
    ['-m', 'venv', '--clear', home],
    `${sentence}, as Python's venv module is missing: install it (Debian: \`apt-get install python3-venv\`)`,
  );
  const options = ['--quiet', '--disable-pip-version-check', '--only-binary', ':all:'];
  const args = ['-m', 'pip', 'install', ...options, '-r', requirements];
  await installer('receivers', join(home, 'bin', 'python'), args, sentence);
  await writeFile(stamp, '');
  return ['receivers of OpenTelemetry'];
}

async function environment() {
  if (!which('python3'))
    throw new Problem(
      'Python 3 is missing: install it (Debian: `apt-get install python3 python3-venv`).',
    );
  const { output } = await capture('python3', [
    '-c',
    'import sys; print(sys.version, sys.executable)',
  ]);
  const wanted = await readFile(join(root, requirements), 'utf8');
  const version = createHash('sha256').update(output).update(wanted).digest('hex').slice(0, 12);
  return privateToolRoot('otel-receivers', version);
}

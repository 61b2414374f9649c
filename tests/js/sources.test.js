// The lines of the crate that a lesson names are found at build time, or the build fails.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as esbuild from 'esbuild';
import { shared } from '../../scripts/build/options.mjs';
import { sources } from '../../scripts/build/sources.mjs';
import { root } from '../../scripts/lib/paths.mjs';

async function build(item) {
  const contents = `export { default } from ${JSON.stringify(`source:${item}`)};`;
  const { outputFiles } = await esbuild.build({
    ...shared,
    logLevel: 'silent',
    stdin: { contents, resolveDir: root },
    plugins: [sources()],
  });
  const text = Buffer.from(outputFiles[0].contents).toString('base64');
  return (await import(`data:text/javascript;base64,${text}`)).default;
}

test('an anchor has its lines and the text of its file', async () => {
  const { path, lines, load } = await build('src/agent/retry.rs#backoff');
  const text = await load();
  assert.equal(text, await readFile(join(root, path), 'utf8'));
  const [first, last] = lines;
  const before = text.split('\n').slice(first - 2, last + 1);
  assert.match(before[0], /^ +\/\/ ANCHOR: backoff$/);
  assert.match(before[1], /^ +\/\/\/ /);
  assert.match(before.at(-2), /^ +\}$/);
  assert.match(before.at(-1), /^ +\/\/ ANCHOR_END: backoff$/);
});

test('an anchor that is not there fails the build', async () => {
  await assert.rejects(
    build('src/agent/retry.rs#nowhere'),
    /to stand once in src\/agent\/retry\.rs/,
  );
});

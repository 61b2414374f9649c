// An item of the crate that a lesson names is found at build time, or the build fails.
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

test('an item has its comment, its lines and the text of its file', async () => {
  const { path, lines, load } = await build('src/agent/guards.rs#fn alternating(');
  const text = await load();
  assert.equal(text, await readFile(join(root, path), 'utf8'));
  const [first, last] = lines;
  const item = text.split('\n').slice(first - 1, last);
  assert.match(item[0], /^\/\/\/ A, B, A, B/);
  assert.match(item[1], /^fn alternating\(/);
  assert.equal(item.at(-1), '}');
});

test('an item that is not there, or is there twice, fails the build', async () => {
  await assert.rejects(build('src/agent/guards.rs#fn nowhere('), /where it stands 0 times/);
  await assert.rejects(build('src/agent/guards.rs#fn check'), /where it stands \d times/);
});

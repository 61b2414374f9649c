// What goes to other people: it names nothing of the machine that built it, and has the notices of what is in it.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dist, root } from '../../scripts/lib/paths.mjs';
import { pkg } from './support.js';

/** Every place that a build could take a path from; a home of `/` would be found everywhere. */
const places = [root, homedir(), process.env.CARGO_HOME ?? '', process.env.RUSTUP_HOME ?? ''];

for (const [name, folder] of Object.entries({ dist, pkg })) {
  test(`${name}/ names no folder of the machine that built it`, async () => {
    for (const file of await readdir(folder)) {
      const contents = await readFile(join(folder, file));
      for (const place of places.filter((path) => path.length > 1))
        assert.equal(contents.indexOf(`${place}/`), -1, `${place} in ${file}`);
    }
  });
}

test('the notices name what ships, with the words of its licence', async () => {
  const page = await readFile(join(dist, 'NOTICES.txt'), 'utf8');
  const module = await readFile(join(pkg, 'NOTICES.txt'), 'utf8');
  assert.match(page, /^lit-html \d[\d.]+ \(BSD-3-Clause\)$/m);
  assert.match(page, /Copyright \(c\) 2017 Google LLC/);
  for (const text of [page, module]) {
    for (const crate of ['serde_json', 'wasm-bindgen'])
      assert.match(text, new RegExp(`^${crate} \\d[\\d.]+ \\(MIT OR Apache-2.0\\)$`, 'm'));
    assert.match(text, /Permission is hereby granted/);
    // It only makes code while the crate is compiled.
    assert.doesNotMatch(text, /^syn /m);
  }
  assert.doesNotMatch(module, /^lit/m);
  const single = await readFile(join(dist, 'crashlab.html'), 'utf8');
  assert.ok(single.includes('Copyright (c) 2017 Google LLC'));
});

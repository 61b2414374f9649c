// A link names a lesson by its id, so that lessons can be inserted and moved without breaking one.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as esbuild from 'esbuild';
import { shared } from '../../scripts/build/options.mjs';
import { sources } from '../../scripts/build/sources.mjs';
import { root } from '../../scripts/lib/paths.mjs';
import { findLesson } from '../../www/lessons/find.js';

const { outputFiles } = await esbuild.build({
  ...shared,
  entryPoints: [join(root, 'www', 'lessons', 'course.js')],
  plugins: [sources()],
});
const bundled = Buffer.from(outputFiles[0].contents).toString('base64');
/** @type {{ LESSONS: import('../../www/lessons/types.js').Lesson[] }} */
const { LESSONS } = await import(`data:text/javascript;base64,${bundled}`);

const EARLIER = 'loop retry timeout checkpoint crash gate approvals budgets cause explorer'.split(
  ' ',
);

test('every lesson has an id of its own, which is no number', () => {
  const ids = LESSONS.map(({ id }) => id);
  assert.deepEqual([...new Set(ids)], ids);
  assert.deepEqual(
    ids.filter((id) => !/^[a-z][a-z-]*$/.test(id)),
    [],
  );
});

test('a lesson that is inserted breaks no link', () => {
  const inserted = { id: 'inserted' };
  const lessons = [LESSONS[0], inserted, ...LESSONS.slice(1)];
  for (const { id } of LESSONS) assert.equal(findLesson(lessons, id)?.id, id);
  assert.equal(findLesson(lessons, 'inserted'), inserted);
  for (const [index, id] of EARLIER.entries())
    assert.equal(findLesson(lessons, String(index + 1))?.id, id);
});

test('what names no lesson finds none', () => {
  for (const wanted of [null, '', '0', '11', '1e0', '-1', '01', 'constructor'])
    assert.equal(findLesson(LESSONS, wanted), null);
});

test('progress that version 0.1.0 has stored is about lessons of today', () => {
  const visitor = new URL('../stored/v1/visitor.json', import.meta.url);
  const { entries } = JSON.parse(readFileSync(visitor, 'utf8'));
  const [, text] = entries.find(([key]) => key === 'crashlab:lessons');
  const ids = Object.keys(JSON.parse(text).lessons);
  assert.ok(ids.length > 0);
  for (const id of ids) assert.equal(findLesson(LESSONS, id)?.id, id);
});

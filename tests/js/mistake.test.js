// Where the editor looks for a mistake that the engine names by its path.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mistakeOf } from '../../www/editor/mistake.js';
import { withFields } from '../../www/editor/json-path.js';

const TEXT = `{
  "id": "mine",
  "task": { "id": "T-1", "ticket": "a \\"quoted\\" {brace}, [bracket]" },
  "script": [
    { "when": { "start": true }, "say": "One." },
    { "when": { "after": "x" }, "say": 7, "calls": [] }
  ],
  "odd key: yes": 1,
  "person": {
  }
}`;

const shown = (message, text = TEXT) => {
  const { path, says, line, start, end } = mistakeOf(text, message);
  return [path, says, line, text.slice(start, end)];
};

test('a path leads to its key and value', () => {
  assert.deepEqual(shown('$.script[1].say: expected a string, found a number (7)'), [
    '$.script[1].say',
    'expected a string, found a number (7)',
    6,
    '"say": 7',
  ]);
  assert.deepEqual(shown('$.task.id: expected more: or less').slice(0, 3), [
    '$.task.id',
    'expected more: or less',
    3,
  ]);
});

test('what is missing is shown where it should stand', () => {
  assert.deepEqual(shown('$.person.name: missing, expected a string'), [
    '$.person.name',
    'missing, expected a string',
    9,
    '"person": {\n  }',
  ]);
  assert.deepEqual(shown('$.script[7].say: missing').slice(0, 3), [
    '$.script[7].say',
    'missing',
    4,
  ]);
});

test('a key may have any name', () => {
  assert.deepEqual(shown('$.odd key: yes: unknown key'), [
    '$.odd key: yes',
    'unknown key',
    8,
    '"odd key: yes": 1',
  ]);
});

test('of a key that stands twice, the last one counts', () => {
  const text = '{\n"a": 1,\n"a": 2\n}';
  assert.deepEqual(shown('$.a: wrong', text), ['$.a', 'wrong', 3, '"a": 2']);
});

test('a mistake in the syntax has a line and a column, in characters', () => {
  const text = '{\n  "🙂": x\n}';
  const message = '$.🙂: not valid JSON at line 2, column 8: expected a value, found `x`';
  assert.deepEqual(shown(message, text).slice(2), [2, 'x']);
});

test('no text hangs the search', () => {
  for (const text of [
    '',
    '{',
    '[',
    '{"a"',
    '{"a":',
    '[1 2 3',
    '{]}',
    '[}',
    '{"a":1,,}',
    '"\\',
    ']',
  ])
    for (const message of ['$.a: wrong', '$[0]: wrong', '$: wrong'])
      assert.equal(typeof mistakeOf(text, message).line, 'number');
});

test('a copy gets its own id and title, and nothing else changes', () => {
  assert.equal(
    withFields('{ "title": "a", "task": {"id": 1}, "id" : "b" }', { id: 'c', title: '"d"' }),
    '{ "title": "\\"d\\"", "task": {"id": 1}, "id" : "c" }',
  );
});

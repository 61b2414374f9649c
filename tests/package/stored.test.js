// What an earlier version of the package has stored is gone on from: tests/stored/ has the entries.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { drive, memoryStore, webStore } from '../../pkg/node.js';
import { outside, storageOf } from './outside.js';

const stored = new URL('../stored/v1/package/', import.meta.url);

/** The same run in both stores of the package. */
const STORES = {
  localStorage: ({ run_id }, entries) => webStore(run_id, storageOf(entries)),
  memory: (_, entries) => {
    const texts = (part) => entries.filter(([key]) => key.includes(part)).map(([, text]) => text);
    return memoryStore({ lines: texts('/log/'), checkpoints: texts('/checkpoint/') });
  },
};

for (const name of readdirSync(stored)) {
  const run = JSON.parse(readFileSync(new URL(name, stored), 'utf8'));
  for (const [where, storeOf] of Object.entries(STORES)) {
    test(`the stored run ${run.config.run_id} goes on in ${where}, wherever it was killed`, async () => {
      for (const [place, instant] of run.instants.entries()) {
        const world = structuredClone(instant.world);
        const entries = instant.entries.map((entry) => run.entries[entry]);
        const store = storeOf(run.config, entries);
        const callbacks = outside(run, world, instant.now_ms);
        const resumes = [];
        const watch = ({ record }) => record?.type === 'resume' && resumes.push(record);
        const end = await drive(run.config, { ...callbacks, store, watch });
        const deeds = world.deeds.map(({ tool, args }) => ({ tool, args }));
        const found = { ...end, deeds, questions: world.questions.length };
        assert.deepEqual(found, run.end, `${place}: ${instant.name}`);
        const isOver = entries.some(([, text]) => text.includes('"type":"stop"'));
        assert.equal(resumes.length, isOver ? 0 : 1, `${place}: ${instant.name}`);
      }
    });
  }
}

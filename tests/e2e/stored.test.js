// What an earlier version of the page left in the browser is gone on from: tests/stored/ has the entries.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openLab } from './lab.js';
import { waitUntilReady } from './support.js';

const stored = new URL('../stored/v1/', import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(path, stored), 'utf8'));

/** Nobody is asked, and no agent dies, more often than this. */
const MOST_TURNS = 40;

/** Loads the page again with these entries in the browser's storage, and nothing else. */
async function loadWith(page, entries) {
  await page.evaluate((entries) => {
    localStorage.clear();
    for (const [key, value] of entries) localStorage.setItem(key, value);
  }, entries);
  await page.reload();
  await waitUntilReady(page);
}

/** Where the run stands, and its newest record: what is different once something has happened. */
const standing = (page) =>
  page.evaluate(() => {
    const records = [...document.querySelectorAll('[data-record]')];
    const newest = Math.max(-1, ...records.map(({ dataset }) => Number(dataset.record)));
    return `${document.querySelector('.status .state')?.textContent} ${newest}`;
  });

async function goesOn(page, act) {
  const before = await standing(page);
  await act();
  for (const end = Date.now() + 15_000; (await standing(page)) === before;)
    assert.ok(Date.now() < end, `nothing happened behind ${before}`);
}

/** Resumes the run, and after that whenever its agent dies; the person answers as the scenario's would. */
async function resume(page, lab, { answers, end }) {
  await page.getByText(/its agent is gone\. Resume\?/).waitFor();
  const button = lab.button('Resume').and(page.locator(':enabled'));
  await goesOn(page, () => button.click());
  for (let turns = 0; turns < MOST_TURNS; turns++) {
    await lab.stands('waiting', 'agent gone', end.status);
    const word = await lab.state.textContent();
    if (word === end.status) return;
    if (word === 'waiting') {
      const { questions } = await lab.books();
      const answer = answers[Math.min(questions, answers.length) - 1];
      const name = answer === 'approved' ? /^Approve/ : /^Deny/;
      await goesOn(page, () => lab.question.getByRole('button', { name }).click());
    } else await goesOn(page, () => button.click());
  }
  assert.fail('The run did not end.');
}

for (const name of readdirSync(new URL('page/', stored))) {
  const run = read(`page/${name}`);
  test(`a stored run of ${run.scenario} is offered, and ends as it should`, async () => {
    const { page, lab } = await openLab();
    for (const instant of run.instants) {
      await loadWith(
        page,
        instant.entries.map((place) => run.entries[place]),
      );
      await resume(page, lab, run).catch((error) =>
        assert.fail(`${instant.name}: ${error.message}`),
      );
      const end = { status: await lab.state.textContent(), ...(await lab.books()) };
      assert.deepEqual(end, run.end, instant.name);
      assert.deepEqual(await lab.brokenInvariants(), [], instant.name);
    }
  });
}

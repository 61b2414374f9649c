// What an earlier version of the page left in the browser is gone on from: tests/stored/ has the entries.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { filesOf } from './files.js';
import { openLab } from './lab.js';
import { waitUntilReady } from './support.js';

const stored = new URL('../stored/v1/', import.meta.url);
const text = (path) => readFileSync(new URL(path, stored), 'utf8');
const read = (path) => JSON.parse(text(path));

/** Nobody is asked, and no agent dies, more often than this. */
const MOST_TURNS = 40;

/** Loads the page anew with these entries in the browser's storage, and nothing else. */
async function loadWith(page, entries, fragment = '') {
  await page.evaluate((entries) => {
    localStorage.clear();
    for (const [key, value] of entries) localStorage.setItem(key, value);
  }, entries);
  const [address] = page.url().split('#');
  await page.goto('about:blank');
  await page.goto(address + fragment);
  await waitUntilReady(page);
}

/** In the page: where the run stands, and its newest record. Null as long as both are as `before`. */
const standing = (before) => {
  const records = [...document.querySelectorAll('[data-record]')];
  const newest = Math.max(-1, ...records.map(({ dataset }) => Number(dataset.record)));
  const now = `${document.querySelector('.status .state')?.textContent} ${newest}`;
  return now === before ? null : now;
};

/** Does something and waits until something has happened. */
async function goesOn(page, act) {
  const before = await page.evaluate(standing);
  await act();
  await page.waitForFunction(standing, before);
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
      // Where a mechanism is off, a kill may show what it was for.
      const broken = (await lab.brokenInvariants()).map((name) =>
        name.trim().replace(/: broken$/, ''),
      );
      assert.deepEqual(broken, run.broken ?? [], instant.name);
    }
  });
}

test('everything that a visitor has left is still there', async () => {
  const { page, lab } = await openLab();
  await loadWith(page, read('visitor.json').entries);
  const offers = page.getByRole('region', { name: 'Unfinished runs' });
  await offers.getByText('Branch 1 at record 8').waitFor();
  // The run that was looked at last is one of a scenario of the visitor's own.
  await page.getByRole('heading', { name: 'A ticket of my own' }).waitFor();
  await page.locator('.card').getByText('its agent is gone. Resume?').waitFor();
  await lab.button('Resume').and(page.locator(':enabled')).first().click();
  await lab.stands('done');
  assert.equal((await lab.books()).mails, 1);

  await offers.getByRole('button', { name: 'Resume' }).click();
  await lab.stands('waiting');
  await lab.question.getByRole('button', { name: /^Deny/ }).click();
  await lab.stands('done');
  const nothingMoved = { refunded: '0.00 USD', refunds: 0, questions: 1, mails: 1 };
  assert.deepEqual(await lab.books(), nothingMoved);
  const runs = page.getByRole('navigation', { name: 'Runs beside each other' });
  assert.equal(await runs.locator('.present').innerText(), 'Branch 1 at record 8');
  await runs.getByRole('button', { name: 'First run', exact: true }).click();
  await lab.stands('done');
  assert.deepEqual(await lab.books(), nothingMoved);

  const own = page.locator('.brand optgroup[label="Yours"] option');
  assert.deepEqual(await own.allTextContents(), ['A ticket of my own']);
  await page.goto(`${page.url().split('#')[0]}#lesson=3`);
  const bet = page.locator('.bet').getByRole('button', { pressed: true });
  assert.equal(await bet.innerText(), 'Two');
});

test('a run is opened from its file, and stands where it stood', async () => {
  const { page, lab } = await openLab();
  const files = readdirSync(new URL('files/', stored)).filter((name) => name.endsWith('.run.json'));
  for (const name of files) {
    const { end } = read(`page/${name.replace('.run', '')}`);
    await loadWith(page, []);
    await filesOf(page).pick(name, text(`files/${name}`));
    await lab.stands(end.status);
    assert.deepEqual({ status: end.status, ...(await lab.books()) }, end, name);
  }
});

test('a checkpoint from its file begins a run', async () => {
  const { page, lab } = await openLab({ path: '?speed=max#v=1&scenario=replanned-refund' });
  const files = filesOf(page);
  await files.pick('checkpoint.json', text('files/checkpoint.json'));
  await files.dialog.getByRole('button', { name: 'Set up a run from it' }).click();
  await lab.stands('ready');
  await lab.run();
  await lab.finish();
  const { status, ...books } = read('page/from-checkpoint.json').end;
  assert.deepEqual(await lab.books(), books, status);
});

test('links lead where they led', async () => {
  const { page, lab } = await openLab();
  for (const { link, state, scenario, books, off = 0, record, lesson } of read('links.json')) {
    await loadWith(page, [], link);
    await lab.stands(state);
    const chosen = page.getByRole('combobox', { name: 'Scenario' });
    assert.equal(await chosen.inputValue(), scenario, link);
    assert.equal(await page.getByRole('switch', { checked: false }).count(), off, link);
    if (books) assert.deepEqual(await lab.books(), books, link);
    if (record) await page.getByText(`You are looking at record ${record} of`).waitFor();
    if (lesson)
      assert.match(await page.locator('#lesson-head').innerText(), RegExp(`^${lesson}\\b`));
    assert.equal(await page.getByRole('alert').locator('.notice').count(), 0, link);
  }
});

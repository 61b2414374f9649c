// The scenario editor, from a copy of a shipped scenario to a file and back.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { drive, openLab } from './lab.js';
import { waitUntilReady } from './support.js';

async function openEditor(page) {
  const tab = page.getByRole('navigation').getByRole('button', { name: 'Scenario' });
  if (await tab.isVisible()) await tab.click();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const editor = editorOf(page);
  await editor.dialog.waitFor();
  return editor;
}

function editorOf(page) {
  const dialog = page.getByRole('dialog', { name: 'Scenario editor' });
  const button = (name) => dialog.getByRole('button', { name, exact: true });
  const text = dialog.getByRole('textbox', { name: 'The scenario as JSON' });
  return {
    dialog,
    button,
    text,
    path: dialog.locator('.verdict code'),
    says: dialog.locator('.verdict .says'),
    said: dialog.locator('.said'),
    fine: dialog.getByText('This is a scenario that can be run.'),
    which: dialog.getByRole('combobox', { name: 'Scenario to edit' }),
    replace: async (from, to) => {
      const before = await text.inputValue();
      assert.ok(before.includes(from), `${from} stands in the text`);
      await text.fill(before.replace(from, () => to));
    },
  };
}

const menuOf = (page) => page.getByRole('combobox', { name: 'Scenario', exact: true });

test('a copy is broken, kept, mended, run, saved, exported, deleted and imported', async () => {
  const { page } = await openLab();
  let editor = await openEditor(page);
  await editor.button('Duplicate to edit').click();
  await editor.fine.waitFor();
  assert.match(await editor.text.inputValue(), /"id": "double-charge-copy"/);

  await editor.replace('"customer": "priya.raman@mail.example"', '"customer": 7');
  await editor.path.waitFor();
  const path = await editor.path.innerText();
  assert.equal(path, '$.task.customer');
  assert.equal(
    await editor.says.innerText(),
    'expected a string that is not empty, found a number (7)',
  );
  const broken = await editor.text.inputValue();
  await editor.button('Run').click();
  assert.ok(await editor.dialog.isVisible(), 'a scenario with a mistake does not run');
  const selected = await editor.text.evaluate((area) =>
    area.value.slice(area.selectionStart, area.selectionEnd),
  );
  assert.equal(selected, '"customer": 7');

  await page.reload();
  await waitUntilReady(page);
  editor = await openEditor(page);
  assert.equal(await editor.text.inputValue(), broken);
  assert.equal(await editor.path.innerText(), path);

  const whole = JSON.parse(broken);
  whole.title = 'A ticket of my own';
  whole.task.customer = 'kim@mail.example';
  await editor.text.fill(JSON.stringify(whole, null, 2));
  await editor.fine.waitFor();
  await editor.button('Run').click();
  const lab = drive(page);
  await lab.finish();
  assert.equal((await lab.books()).refunds, 1);
  await page.getByRole('heading', { name: 'A ticket of my own' }).waitFor();

  editor = await openEditor(page);
  await editor.button('Save').click();
  await editor.said.getByText('“A ticket of my own” is saved.').waitFor();
  await editor.button('Close').click();
  const own = page.locator('.brand optgroup[label="Yours"] option');
  assert.deepEqual(await own.allTextContents(), ['A ticket of my own']);
  assert.equal(await menuOf(page).inputValue(), 'double-charge-copy');

  editor = await openEditor(page);
  const downloading = page.waitForEvent('download');
  await editor.button('Export').click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), 'double-charge-copy.json');
  const file = await download.path();
  assert.equal(await readFile(file, 'utf8'), JSON.stringify(whole, null, 2));

  await editor.button('Delete').click();
  await editor.said.getByText('is deleted').waitFor();
  assert.equal(await own.count(), 1, 'only what is chosen still stands there');
  assert.equal(
    await page.evaluate(
      () => Object.keys(localStorage).filter((key) => /yours|draft/.test(key)).length,
    ),
    0,
  );
  await editor.button('Undo').click();
  await editor.said.getByText('is back').waitFor();
  await editor.button('Delete').click();

  await editor.dialog.locator('input[type=file]').setInputFiles({
    name: 'mine.json',
    mimeType: 'application/json',
    buffer: await readFile(file),
  });
  await editor.said.getByText('“A ticket of my own” is saved.').waitFor();
  await page.keyboard.press('Escape');
  await page.reload();
  await waitUntilReady(page);
  await menuOf(page).selectOption('double-charge-copy');
  await page.getByRole('heading', { name: 'A ticket of my own' }).waitFor();
});

test('a mistake in the syntax names line and column, and leads there', async () => {
  const { page } = await openLab();
  const editor = await openEditor(page);
  await editor.button('Duplicate to edit').click();
  await editor.text.fill('{\n  "id": "mine",\n  "title" "no colon"\n}');
  await editor.says
    .getByText(/not valid JSON at line 3, column 11: expected .+, found `\\"`/)
    .waitFor();
  await editor.button('Go to line 3').click();
  assert.deepEqual(
    await editor.text.evaluate((area) => [
      area === document.activeElement,
      area.value.slice(area.selectionStart).split('\n')[0],
    ]),
    [true, '"no colon"'],
  );
  // What is missing is looked for where it should stand.
  await editor.text.fill('{\n  "id": "mine",\n  "title": "t",\n  "task": {}\n}');
  await editor.path.getByText('$.').waitFor();
  await editor.says.getByText(/^missing, expected/).waitFor();
});

test('ids are the keys: those of shipped scenarios and of others are taken', async () => {
  const { page } = await openLab();
  const editor = await openEditor(page);
  await editor.button('Duplicate to edit').click();
  await editor.button('Save').click();
  await editor.replace('"double-charge-copy"', '"double-charge"');
  await editor.says.getByText('“double-charge” is a shipped scenario').waitFor();
  assert.equal(await editor.path.innerText(), '$.id');
  await editor.button('Save').click();
  await editor.replace('"double-charge"', '"renamed"');
  await editor.fine.waitFor();
  await page.keyboard.press('Control+s');
  await editor.said.getByText('is saved').waitFor();
  const keys = await page.evaluate(() =>
    Object.keys(localStorage).filter((key) => key.startsWith('crashlab:yours/')),
  );
  assert.deepEqual(keys, ['crashlab:yours/renamed']);
});

test('a link to a scenario of one’s own says that its file is needed too', async () => {
  const { page } = await openLab({
    contextOptions: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  const editor = await openEditor(page);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await page.locator('.notice').count(), 0);
  await openEditor(page);
  await editor.button('Duplicate to edit').click();
  await editor.button('Save').click();
  await page.keyboard.press('Control+Enter');
  await drive(page).finish();
  await page.getByRole('button', { name: /Share|Copied/ }).click();
  await page.getByRole('alert').getByText('a scenario of your own').waitFor();
});

test('by keys: Tab indents, Escape gives it back and then closes, and the focus returns', async () => {
  const { page } = await openLab();
  await page.getByRole('button', { name: 'Edit', exact: true }).focus();
  await page.keyboard.press('Enter');
  const editor = editorOf(page);
  await editor.button('Duplicate to edit').focus();
  await page.keyboard.press('Enter');
  const focused = () => editor.text.evaluate((area) => area === document.activeElement);
  assert.ok(await focused(), 'typing can begin');
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('Tab');
  assert.match(await editor.text.inputValue(), /^ {2}\{/);
  await page.keyboard.press('Control+z');
  assert.match(await editor.text.inputValue(), /^\{/);
  await page.keyboard.press('Escape');
  assert.ok(await editor.dialog.isVisible());
  await page.keyboard.press('Tab');
  assert.ok(!(await focused()), 'Tab leaves the field');
  await page.keyboard.press('Escape');
  await editor.dialog.waitFor({ state: 'hidden' });
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), 'Edit');
});

test('a saved scenario brings its mechanisms with it, however it is chosen', async () => {
  const { page } = await openLab();
  const editor = await openEditor(page);
  await editor.button('Duplicate to edit').click();
  await editor.fine.waitFor();
  const own = JSON.parse(await editor.text.inputValue());
  await editor.text.fill(JSON.stringify({ ...own, mechanisms: { retries: false } }));
  await editor.fine.waitFor();
  await editor.button('Save').click();
  await editor.said.getByText('is saved').waitFor();
  await editor.button('Close').click();
  const off = page.getByRole('switch', { checked: false });
  assert.equal(await off.count(), 0);

  await menuOf(page).selectOption('double-charge-copy');
  await off.waitFor();
  const retries = page.getByRole('switch', { name: 'Retries' });
  assert.equal(await retries.isChecked(), false);
  assert.equal(await off.count(), 1);

  // They are the scenario's, and go with it; what the reader switches stays.
  await menuOf(page).selectOption('happy-path');
  await page.waitForFunction(() => !document.querySelector('[role=switch]:not(:checked)'));
  await page.getByRole('switch', { name: 'Jitter' }).uncheck();
  await menuOf(page).selectOption('double-charge-copy');
  await page.waitForFunction(
    () => document.querySelectorAll('[role=switch]:not(:checked)').length === 2,
  );
});

test('where nothing can be kept, the editor says so and goes on', async () => {
  const { context } = await openLab();
  await context.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    };
  });
  const { page, lab } = await openLab({ context });
  const editor = await openEditor(page);
  await editor.button('Duplicate to edit').click();
  await editor.said.getByText('keeps nothing more for this page').waitFor();
  await editor.replace('"title": "', '"title": "Kept nowhere: ');
  await editor.fine.waitFor();
  await editor.button('Run').click();
  await lab.finish();
  assert.equal((await lab.books()).refunds, 1);
  const again = await openEditor(page);
  assert.match(await again.text.inputValue(), /Kept nowhere: /);
});

test('a file that is dropped and cannot be read is kept as a draft', async () => {
  const { page } = await openLab();
  const editor = await openEditor(page);
  await editor.dialog.evaluate((dialog) => {
    const data = new DataTransfer();
    data.items.add(new File(['{"id": "half"'], 'half.json', { type: 'application/json' }));
    dialog.dispatchEvent(
      new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }),
    );
  });
  await editor.said.getByText('half.json is imported as a draft').waitFor();
  assert.equal(await editor.text.inputValue(), '{"id": "half"');
  await editor.says.getByText('found the end of the text').waitFor();
});

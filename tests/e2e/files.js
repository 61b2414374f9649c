// What the tests of files do with the page: hand it a file, and take one from it.
import { readFile } from 'node:fs/promises';

/** @param {import('playwright-core').Page} page */
export function filesOf(page) {
  const dialog = page.getByRole('dialog', { name: 'Files' });
  return {
    dialog,
    complaint: dialog.getByRole('alert'),

    async open() {
      if (!(await dialog.isVisible()))
        await page.locator('.tools').getByRole('button', { name: 'Files' }).click();
      await dialog.waitFor();
    },

    async close() {
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    },

    /** By the file picker of the window. */
    async pick(name, content) {
      await this.open();
      await dialog
        .locator('input[type=file]')
        .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
    },

    /** By dropping it on the page. */
    async drop(name, content, signs = ['dragenter', 'dragover', 'drop']) {
      const base64 = Buffer.from(content).toString('base64');
      for (const sign of signs) {
        await page.evaluate(
          ([sign, name, base64]) => {
            const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], name));
            const target = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
            target.dispatchEvent(
              new DragEvent(sign, { bubbles: true, cancelable: true, dataTransfer }),
            );
          },
          [sign, name, base64],
        );
        // What takes files is loaded when one is first dragged over the page.
        if (sign === 'dragenter') await page.locator('.drop-target').waitFor({ state: 'attached' });
      }
    },

    /** What a button of the window saves. */
    async save(name) {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        dialog.getByRole('button', { name, exact: true }).click(),
      ]);
      return {
        name: download.suggestedFilename(),
        bytes: await readFile(await download.path()),
      };
    },
  };
}

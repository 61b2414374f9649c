// What axe-core finds, for the browser tests.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const source = await readFile(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

/**
 * @param {import('playwright-core').Page} page
 * @param {string} [within] a selector; the whole page without it.
 * @returns {Promise<string[]>} a line for each rule that is broken, with the places.
 */
export async function violations(page, within) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(source);
  return page.evaluate(async (selector) => {
    const found = await globalThis.axe.run(selector ?? document, { resultTypes: ['violations'] });
    return found.violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(', ')}`,
    );
  }, within);
}

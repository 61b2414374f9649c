// The page at many sizes and with many fonts. A walk through the page's states is made once with each set of fonts, and in each state
// the window is resized, because reaching the state takes longer than looking at it.
import { violations } from './axe.js';

/** Each set of fonts, and each theme at least once. */
export const LOOKS = [
  { fonts: 'narrow', colorScheme: 'light' },
  { fonts: 'wide', colorScheme: 'dark' },
  { fonts: 'wide monospace', colorScheme: 'light' },
];

/** Where a walk takes place. */
export const PHONE = { width: 390, height: 900 };

/**
 * What `openLab` is given for a look.
 *
 * @param {typeof LOOKS[number]} look
 */
export function optionsOf({ fonts, colorScheme }) {
  return { fonts, colorScheme, viewport: PHONE, contextOptions: { reducedMotion: 'reduce' } };
}

/**
 * Looks at the page in windows of these sizes, and leaves it as it was.
 *
 * @param {import('playwright-core').Page} page
 * @param {[number, number][]} sizes width and height
 * @param {() => Promise<string[]>} look gives what is wrong, a line each.
 * @returns {Promise<string[]>} all of it, with the size.
 */
export async function atSizes(page, sizes, look) {
  const found = [];
  for (const [width, height] of sizes) {
    await resize(page, { width, height });
    for (const problem of await look()) found.push(`${width} × ${height}: ${problem}`);
  }
  await resize(page, PHONE);
  return found;
}

/**
 * The same for people who use assistive technology, on a phone and on a screen, and what `look` finds there.
 *
 * @param {import('playwright-core').Page} page
 * @param {{ within?: string, look: () => Promise<string[]> }} options
 */
export function forEverybody(page, { within, look }) {
  const sizes = [390, 1440].map((width) => [width, PHONE.height]);
  return atSizes(page, sizes, async () => [...(await violations(page, within)), ...(await look())]);
}

/** Resizes the window, and waits until the page has been laid out and drawn for that. */
async function resize(page, size) {
  await page.setViewportSize(size);
  await page.evaluate(
    () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  );
}

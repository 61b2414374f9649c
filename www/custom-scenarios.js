/** Custom scenarios: the reader's own, in the browser's storage, each as the text that was typed, under its id. */
export const CUSTOM = 'crashlab:yours/';

/** Those that can be chosen: none where the browser keeps nothing. */
export function customScenarios() {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(CUSTOM))
      .sort()
      .map((key) => {
        const id = key.slice(CUSTOM.length);
        const text = localStorage[key];
        return { id, title: titleOf(text) ?? id, own: true, load: async () => text };
      });
  } catch {
    return [];
  }
}

/**
 * @param {string} text
 * @returns {string | undefined}  Undefined: it has none that can be read.
 */
export function titleOf(text) {
  try {
    return JSON.parse(text).title?.trim();
  } catch {
    return undefined;
  }
}

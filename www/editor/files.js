/** Reading and saving text files. */
const LARGEST_BYTES = 4_000_000;

/** @param {string} name @param {string} text */
export function download(name, text) {
  const anchor = document.createElement('a');
  anchor.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

/**
 * The text of a file, with the line ends of a text field.
 * @param {File} file
 * @param {string} [kind]  What it should be.
 */
export async function readText(file, kind = 'a scenario') {
  if (file.size > LARGEST_BYTES)
    throw new Error(`${file.name} is too large to be ${kind}: these have some kilobytes.`);
  const text = await file.text();
  return text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
}

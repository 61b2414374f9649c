import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { www } from '../lib/paths.mjs';

const tag = /<(script|link)\b[^>]*?\b(src|href)="([^"]+)"[^>]*>/g;

/** The local files that index.html names in its script and link tags, as [as it is written, path] pairs. */
export function localReferences(html) {
  return [...html.matchAll(tag)]
    .map((match) => match[3])
    .filter((address) => !/^(\w+:|#|\/)/.test(address) && existsSync(join(www, address)))
    .map((address) => [address, join(www, address)]);
}

/**
 * Puts the built names into index.html, and into its head what the page will ask for anyway, so that the browser fetches the wasm
 * beside the script and not after it.
 */
export function fillIn(html, names, { stylesheets, modules, wasm }) {
  const filled = html.replace(tag, (whole, _tag, attribute, address) =>
    names.has(address)
      ? whole.replace(`${attribute}="${address}"`, `${attribute}="./${names.get(address)}"`)
      : whole,
  );
  const links = [
    ...stylesheets.map((name) => `<link rel="stylesheet" href="./${name}" />`),
    ...wasm.map(
      (name) =>
        `<link rel="preload" href="./${name}" as="fetch" type="application/wasm" crossorigin />`,
    ),
    ...modules.map((name) => `<link rel="modulepreload" href="./${name}" />`),
  ];
  return filled.replace(
    /\s*<\/head>/,
    (end) => links.map((link) => `\n    ${link}`).join('') + end,
  );
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { www } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';

const tag = /<(script|link)\b[^>]*?\b(src|href)="([^"]+)"[^>]*>(<\/script>)?/g;

/** The local files that index.html names in its script and link tags: address as it is written, and path. */
export function localReferences(html) {
  const addresses = [...html.matchAll(tag)].map((match) => match[3]);
  return addresses
    .filter((address) => !/^(\w+:|#|\/)/.test(address))
    .map((address) => {
      const path = join(www, address);
      if (!existsSync(path)) {
        throw new Problem(`www/index.html names ${address}, which is not there.`);
      }
      return { address, path };
    });
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
  return appendToHead(filled, [
    ...stylesheets.map((name) => `<link rel="stylesheet" href="./${name}" />`),
    ...wasm.map(
      (name) =>
        `<link rel="preload" href="./${name}" as="fetch" type="application/wasm" crossorigin />`,
    ),
    ...modules.map((name) => `<link rel="modulepreload" href="./${name}" />`),
  ]);
}

/** Takes the tags of these addresses out. */
export function withoutTags(html, addresses) {
  return html.replace(tag, (whole, _tag, _attribute, address) =>
    addresses.includes(address) ? '' : whole,
  );
}

export function appendToHead(html, elements) {
  const lines = elements.map((element) => `\n    ${element}`).join('');
  return html.replace(/\s*<\/head>/, (end) => lines + end);
}

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import { root } from '../lib/paths.mjs';
import { appendToHead, withoutTags } from './html.mjs';
import { localUrls } from './local-urls.mjs';
import { shared } from './options.mjs';
import { scenarioCatalogue } from './scenarios.mjs';
import { sheets } from './sheets.mjs';
import { sources } from './sources.mjs';

/**
 * The page as one HTML file that works from disk without a network. The wasm is a data URL and the worker a blob, because a page
 * from disk may fetch no other file. The Content-Security-Policy allows exactly these scripts and styles, by their hashes.
 */
export async function singleFile(esbuild, html, references, notices) {
  const embedded = {};
  const options = { ...shared, splitting: false, sourcemap: false, legalComments: 'eof' };
  const replace = {
    async worker(entry) {
      const plugins = [localUrls(replace)];
      // Chromium starts no module worker from a blob of a page from disk, so this one is a classic script.
      const classic = { ...options, format: 'iife', entryPoints: [entry], plugins };
      const result = await esbuild.build(classic);
      const name = basename(entry);
      embedded[name] = result.outputFiles[0].text;
      // The worker starts with everything that is embedded, as it cannot reach into the page for it.
      const parts = `['globalThis.embedded=', JSON.stringify(globalThis.embedded), ';', globalThis.embedded['${name}']]`;
      return `new URL(URL.createObjectURL(new Blob(${parts}, { type: 'text/javascript' })))`;
    },
    async asset(path) {
      // Both wasm modules are files of one name.
      const name = relative(root, path);
      const type = name.endsWith('.wasm') ? 'application/wasm' : 'application/octet-stream';
      embedded[name] = `data:${type};base64,${(await readFile(path)).toString('base64')}`;
      return `new URL(globalThis.embedded['${name}'])`;
    },
  };
  const bundled = references.filter(({ path }) => /\.(m?js|css)$/.test(path));
  const entryPoints = bundled.map(({ path }) => path);
  const plugins = [scenarioCatalogue(), sources(), sheets(esbuild), localUrls(replace)];
  const { outputFiles } = await esbuild.build({ ...options, entryPoints, plugins });
  const textOf = (extension) =>
    outputFiles
      .filter((file) => file.path.endsWith(extension))
      .map((file) => file.text)
      .join('\n');
  const script = inert(`globalThis.embedded=${JSON.stringify(embedded)};\n${textOf('.js')}`);
  const style = textOf('.css');
  const page = withoutTags(
    html,
    bundled.map(({ address }) => address),
  );
  const whole = appendToHead(withPolicy(page, script, style), [
    `<style>${style}</style>`,
    `<script type="module">${script}</script>`,
  ]);
  // The file goes round on its own, so the notices are in it. Two hyphens would end the comment.
  return `${whole}<!--\n${notices.replace(/-(?=-)/g, '- ')}-->\n`;
}

/** Writes what could end or nest an HTML script element in a way that only JavaScript reads as the same text. */
function inert(script) {
  return script.replace(/<(?=!--|\/?script)/gi, '\\x3C');
}

function withPolicy(html, script, style) {
  return html
    .replace(/script-src 'self'/, `script-src ${hashOf(script)}`)
    .replace(/style-src 'self'/, `style-src ${hashOf(style)}`)
    .replace(/worker-src 'self'/, 'worker-src blob:')
    .replace(/connect-src 'self'/, 'connect-src data:');
}

function hashOf(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

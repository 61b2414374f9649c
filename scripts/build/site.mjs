import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, extname, join, relative } from 'node:path';
import { root, www } from '../lib/paths.mjs';
import { fillIn } from './html.mjs';
import { localUrls } from './local-urls.mjs';
import { shared } from './options.mjs';
import { scenarioCatalogue } from './scenarios.mjs';
import { sheets } from './sheets.mjs';
import { sources } from './sources.mjs';

/** @satisfies {import('esbuild').BuildOptions} */
const options = {
  ...shared,
  splitting: true,
  sourcemap: true,
  // Lit's licence asks for its notice to be kept; beside the bundle it costs the first load nothing.
  legalComments: 'external',
  // A new page never meets an old script, worker or wasm, as each has its content's hash in its name.
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
};

/**
 * The esbuild options for the page as files side by side.
 *
 * @param {typeof import('esbuild')} esbuild
 * @param {string[]} entryPoints
 * @param {Map<string, Uint8Array>} emitted receives what the scripts name by URL: workers and assets.
 * @param {object} more
 * @param {string[]} [more.watched] files whose change is a change of the page.
 * @param {string[]} [more.later] folders of www/ whose modules are left where they are.
 */
export function siteOptions(esbuild, entryPoints, emitted, { watched = [], later = [] }) {
  const replace = {
    async worker(entry, watchFiles) {
      const plugins = [external(later), localUrls(replace)];
      const result = await esbuild.build({ ...options, entryPoints: [entry], plugins });
      watchFiles.push(...Object.keys(result.metafile.inputs).map((input) => join(root, input)));
      for (const file of result.outputFiles) emitted.set(basename(file.path), file.contents);
      const { outputs } = result.metafile;
      const name = /** @type {string} */ (
        Object.keys(outputs).find((output) => outputs[output].entryPoint)
      );
      return `${url(basename(name))}, { type: 'module' }`;
    },
    async asset(path) {
      const name = relative(www, path);
      const isLater = later.some((folder) => name.startsWith(`${folder}/`));
      return url(isLater ? name : await emitAsset(emitted, path));
    },
  };
  return {
    ...options,
    entryPoints,
    plugins: [scenarioCatalogue(), sources(), sheets(esbuild), localUrls(replace, watched)],
  };
}

/** All scripts of the page lie in one folder, so `study/crashlab.js` is found from each of them by that name. */
function external(folders) {
  return {
    name: 'external',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => {
        const name = relative(www, join(resolveDir, path));
        const isLater = folders.some((folder) => name.startsWith(`${folder}/`));
        return isLater ? { path: `./${name}`, external: true } : undefined;
      });
    },
  };
}

function url(name) {
  return `new URL('./${name}', import.meta.url)`;
}

async function emitAsset(files, path) {
  const contents = await readFile(path);
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase();
  const extension = extname(path);
  const name = `${basename(path, extension)}-${hash}${extension}`;
  files.set(name, contents);
  return name;
}

/** The files of the site, by name. */
export async function siteFiles(result, emitted, html, references) {
  const files = new Map(emitted);
  for (const file of result.outputFiles) files.set(basename(file.path), file.contents);
  const names = new Map();
  /** @type {Record<'stylesheets' | 'modules' | 'wasm', string[]>} */
  const head = { stylesheets: [], modules: [], wasm: [] };
  const { outputs } = result.metafile;
  for (const { address, path } of references) {
    const name = Object.keys(outputs).find(
      (output) => outputs[output].entryPoint === relative(root, path),
    );
    names.set(address, name ? basename(name) : await emitAsset(files, path));
    if (!name) continue;
    if (outputs[name].cssBundle) head.stylesheets.push(basename(outputs[name].cssBundle));
    for (const chunk of importedAtOnce(outputs, name)) {
      if (chunk !== name) head.modules.push(basename(chunk));
      const source = Buffer.from(files.get(basename(chunk))).toString();
      const named = [...files.keys()].filter((file) => source.includes(file));
      head.wasm.push(...named.filter((file) => file.endsWith('.wasm')));
    }
  }
  files.set('index.html', Buffer.from(fillIn(html, names, head)));
  return files;
}

/** A bundle and the chunks that it imports statically, which the page needs before it can start. */
function importedAtOnce(outputs, name, seen = new Set()) {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const { path, kind } of outputs[name]?.imports ?? []) {
    if (kind === 'import-statement') importedAtOnce(outputs, path, seen);
  }
  return seen;
}

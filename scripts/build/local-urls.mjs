import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

const reference = /new URL\(\s*(['"])([^'"]+)\1,\s*import\.meta\.url,?\s*\)/g;

/**
 * An esbuild plugin for `new URL('./file', import.meta.url)`, which esbuild leaves alone. A script is bundled as a worker of its own,
 * any other file is copied; both get their content's hash into the name, so that a new page never meets an old worker or old wasm.
 *
 * @param {Map<string, Uint8Array>} emitted receives every file, by its name in dist/.
 * @param {(entry: string) => Promise<import('esbuild').BuildResult>} bundleWorker
 * @param {string[]} watched files that esbuild does not read itself, but whose change is a change of the page.
 */
export function localUrls(emitted, bundleWorker, watched = []) {
  return {
    name: 'local-urls',
    setup(build) {
      build.onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        if (path.includes('node_modules')) return undefined;
        const watchFiles = [path, ...watched];
        let contents = '';
        let end = 0;
        for (const match of source.matchAll(reference)) {
          const target = join(dirname(path), match[2]);
          const name = /\.m?js$/.test(target)
            ? await worker(target, watchFiles)
            : await asset(target, watchFiles);
          contents += `${source.slice(end, match.index)}new URL('./${name}', import.meta.url)`;
          end = match.index + match[0].length;
        }
        return { contents: contents + source.slice(end), loader: 'js', watchFiles };
      });
    },
  };

  async function worker(entry, watchFiles) {
    const result = await bundleWorker(entry);
    watchFiles.push(...Object.keys(result.metafile.inputs));
    for (const file of result.outputFiles) emitted.set(basename(file.path), file.contents);
    const [name] = Object.entries(result.metafile.outputs).find(([, output]) => output.entryPoint);
    return basename(name);
  }

  async function asset(path, watchFiles) {
    watchFiles.push(path);
    return emitAsset(emitted, path);
  }
}

/** Copies a file under a name with its content's hash, and gives that name. */
export async function emitAsset(emitted, path) {
  const contents = await readFile(path);
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase();
  const extension = extname(path);
  const name = `${basename(path, extension)}-${hash}${extension}`;
  emitted.set(name, contents);
  return name;
}

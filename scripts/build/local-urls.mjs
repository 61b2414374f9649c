import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const reference =
  /new URL\(\s*(['"])([^'"]+)\1,\s*import\.meta\.url,?\s*\)(,\s*\{\s*type: *(['"])module\4,?\s*\})?/g;

/**
 * An esbuild plugin for `new URL('./file', import.meta.url)`, which esbuild leaves alone.
 *
 * @param {object} replace what to write instead, as JavaScript. Each gets the file's path and the list of files to watch.
 * @param {(path: string, watchFiles: string[]) => Promise<string>} replace.worker for a script, with the `, { type: 'module' }` that follows
 * @param {(path: string, watchFiles: string[]) => Promise<string>} replace.asset for any other file
 * @param {string[]} watched files that esbuild does not read itself, but whose change is a change of the page.
 */
export function localUrls(replace, watched = []) {
  return {
    name: 'local-urls',
    setup(build) {
      build.onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
        if (path.includes('node_modules')) return undefined;
        const source = await readFile(path, 'utf8');
        const watchFiles = [path, ...watched];
        let contents = '';
        let end = 0;
        for (const match of source.matchAll(reference)) {
          const target = join(dirname(path), match[2]);
          const kind = /\.m?js$/.test(target) ? 'worker' : 'asset';
          watchFiles.push(target);
          contents += source.slice(end, match.index) + (await replace[kind](target, watchFiles));
          end = match.index + match[0].length;
        }
        return { contents: contents + source.slice(end), loader: 'js', watchFiles };
      });
    },
  };
}

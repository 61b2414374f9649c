import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';

const folder = join(root, 'src', 'lab', 'scenarios');

/**
 * An esbuild plugin for `import { catalogue } from 'scenarios:catalogue'`: the scenarios that `shipped.txt` lists, in its order. The
 * first one comes with the page; each other one is a file of its own, loaded when it is chosen.
 */
export function scenarioCatalogue() {
  return {
    name: 'scenario-catalogue',
    setup(build) {
      build.onResolve({ filter: /^scenarios:catalogue$/ }, ({ path }) => ({
        path,
        namespace: 'scenarios',
      }));
      build.onLoad({ filter: /.*/, namespace: 'scenarios' }, async () => {
        const list = join(folder, 'shipped.txt');
        const lines = (await readFile(list, 'utf8')).split('\n').map((line) => line.trim());
        const names = lines.filter((line) => line && !line.startsWith('#'));
        const files = names.map((name) => `./${name}.json`);
        const entries = await Promise.all(files.map(entry));
        // The addresses are relative, as they stand in the source map.
        const contents = `import first from ${JSON.stringify(files[0])};
          export const catalogue = [${entries.join(',\n')}];`;
        const watchFiles = [list, ...files.map((file) => join(folder, file))];
        return { contents, loader: 'js', resolveDir: folder, watchFiles };
      });
    },
  };
}

async function entry(file, index) {
  const { id, title } = JSON.parse(await readFile(join(folder, file), 'utf8'));
  const load =
    index === 0
      ? 'async () => first'
      : `async () => (await import(${JSON.stringify(file)})).default`;
  return `{ id: ${JSON.stringify(id)}, title: ${JSON.stringify(title)}, load: ${load} }`;
}

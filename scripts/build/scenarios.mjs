import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';

const lab = join(root, 'src', 'lab');

/**
 * An esbuild plugin for `import { catalogue } from 'scenarios:catalogue'`: the scenarios that `shipped.rs` lists, in its order. The
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
        const list = join(lab, 'shipped.rs');
        const names = (await readFile(list, 'utf8')).matchAll(/include_str!\("([^"]+)"\)/g);
        const files = [...names].map(([, name]) => join(lab, name));
        const entries = await Promise.all(files.map(entry));
        const contents = `import first from ${JSON.stringify(files[0])};
          export const catalogue = [${entries.join(',\n')}];`;
        return { contents, loader: 'js', resolveDir: lab, watchFiles: [list, ...files] };
      });
    },
  };
}

async function entry(file, index) {
  const { id, title } = JSON.parse(await readFile(file, 'utf8'));
  const load =
    index === 0
      ? 'async () => first'
      : `async () => (await import(${JSON.stringify(file)})).default`;
  return `{ id: ${JSON.stringify(id)}, title: ${JSON.stringify(title)}, load: ${load} }`;
}

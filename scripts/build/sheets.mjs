import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { root } from '../lib/paths.mjs';
import { shared } from './options.mjs';

/**
 * An esbuild plugin for `import 'sheet:./part.css'`: the stylesheet of a part that is loaded on demand comes with its script and
 * takes effect when that runs. (A plain `import './part.css'` goes into the page's one stylesheet.)
 */
export function sheets(esbuild) {
  return {
    name: 'sheets',
    setup(build) {
      build.onResolve({ filter: /^sheet:/ }, ({ path, resolveDir }) => ({
        // Its name stands in the source map, so it does not begin at the root of whoever builds.
        path: relative(root, join(resolveDir, path.slice('sheet:'.length))),
        namespace: 'sheet',
      }));
      build.onLoad({ filter: /.*/, namespace: 'sheet' }, async ({ path: name }) => {
        const path = join(root, name);
        const { target } = shared;
        const source = await readFile(path, 'utf8');
        const { code } = await esbuild.transform(source, { loader: 'css', minify: true, target });
        const contents = `const sheet = new CSSStyleSheet();
          sheet.replaceSync(${JSON.stringify(code.trim())});
          document.adoptedStyleSheets.push(sheet);`;
        return { contents, loader: 'js', watchFiles: [path] };
      });
    },
  };
}

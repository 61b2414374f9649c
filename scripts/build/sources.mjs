import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';

/**
 * An esbuild plugin for `import code from 'source:src/agent/next.rs#gate'`: the lines of the crate between the comments
 * `// ANCHOR: gate` and `// ANCHOR_END: gate`. The file's text is loaded when it is wanted. A pair that is not there, or is there
 * twice, fails the build, so that no text points at code that has moved.
 */
export function sources() {
  return {
    name: 'sources',
    setup(build) {
      build.onResolve({ filter: /^source:/ }, ({ path }) => ({ path, namespace: 'source' }));
      build.onLoad({ filter: /.*/, namespace: 'source' }, async ({ path }) => {
        const [file, anchor] = path.slice('source:'.length).split('#');
        const full = join(root, file);
        const lines = linesOf(await readFile(full, 'utf8'), file, anchor);
        // The address is relative, as it stands in the source map.
        const contents = `export default {
          path: ${JSON.stringify(file)}, lines: ${JSON.stringify(lines)},
          load: async () => (await import(${JSON.stringify(`./${file}`)})).default,
        };`;
        return { contents, loader: 'js', resolveDir: root, watchFiles: [full] };
      });
    },
  };
}

/** The first and the last line between the two comments of an anchor, counted from 1. */
function linesOf(text, file, anchor) {
  const lines = text.split('\n').map((line) => line.trim());
  const place = (comment) => {
    const first = lines.indexOf(comment);
    if (first < 0 || first !== lines.lastIndexOf(comment))
      throw new Problem(`A lesson needs “${comment}” to stand once in ${file}.`);
    return first;
  };
  return [place(`// ANCHOR: ${anchor}`) + 2, place(`// ANCHOR_END: ${anchor}`)];
}

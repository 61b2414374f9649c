import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';

/**
 * An esbuild plugin for `import code from 'source:src/agent/next.rs#fn check_and_gate('`: an item of the crate, with the lines that
 * it takes, found at build time. The file's text is loaded when it is wanted. An item that is not there, or is there twice, fails
 * the build, so that no text points at code that has moved.
 */
export function sources() {
  return {
    name: 'sources',
    setup(build) {
      build.onResolve({ filter: /^source:/ }, ({ path }) => ({ path, namespace: 'source' }));
      build.onLoad({ filter: /.*/, namespace: 'source' }, async ({ path }) => {
        const [file, item] = path.slice('source:'.length).split('#');
        const full = join(root, file);
        const lines = linesOf((await readFile(full, 'utf8')).split('\n'), file, item);
        const contents = `export default {
          path: ${JSON.stringify(file)}, lines: ${JSON.stringify(lines)},
          load: async () => (await import(${JSON.stringify(full)})).default,
        };`;
        return { contents, loader: 'js', resolveDir: root, watchFiles: [full] };
      });
    },
  };
}

/** The first and the last line of an item with its comment, counted from 1. */
function linesOf(lines, file, item) {
  const places = lines.flatMap((line, place) => (line.includes(item) ? [place] : []));
  if (places.length !== 1)
    throw new Problem(
      `A lesson names “${item}” in ${file}, where it stands ${places.length} times.`,
    );
  const [place] = places;
  const indent = /^ */.exec(lines[place])[0];
  let first = place;
  while (/^\s*(\/\/\/|#\[)/.test(lines[first - 1] ?? '')) first -= 1;
  const end = lines.findIndex((line, n) => n >= place && line.startsWith(`${indent}}`));
  return [first + 1, (end < 0 ? place : end) + 1];
}

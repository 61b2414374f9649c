import { dist, root } from '../lib/paths.mjs';

/** What every bundle has in common. @satisfies {import('esbuild').BuildOptions} */
export const shared = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  format: 'esm',
  minify: true,
  write: false,
  metafile: true,
  target: ['chrome123', 'firefox126', 'safari17.5'],
  loader: {
    '.json': 'text',
    '.md': 'text',
    '.rs': 'text',
    '.txt': 'text',
    '.svg': 'dataurl',
    '.woff2': 'dataurl',
  },
};

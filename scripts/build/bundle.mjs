import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { dist, root, www } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { fillIn, localReferences } from './html.mjs';
import { emitAsset, localUrls } from './local-urls.mjs';

const index = join(www, 'index.html');

const shared = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  format: 'esm',
  splitting: true,
  minify: true,
  write: false,
  metafile: true,
  sourcemap: true,
  // Lit's licence asks for its notice to be kept; beside the bundle it costs the first load nothing.
  legalComments: 'external',
  target: ['chrome123', 'firefox126', 'safari17.5'],
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.md': 'text', '.txt': 'text', '.svg': 'dataurl', '.woff2': 'file' },
};

/** Bundles www/ into dist/ once. */
export async function bundle() {
  const { esbuild, options } = await prepare(() => {});
  try {
    await esbuild.build(options);
  } catch (error) {
    if (!error.errors) throw error;
    throw new Problem('The bundle failed, for the reason that stands above.');
  }
}

/** Bundles www/ into dist/ now and after every change, and calls back each time. Gives a function that ends it. */
export async function watchBundle(onBuilt) {
  const { esbuild, options } = await prepare(onBuilt);
  const context = await esbuild.context(options);
  await context.watch();
  return () => context.dispose();
}

async function prepare(onBuilt) {
  const esbuild = await import('esbuild');
  const emitted = new Map();
  const bundleWorker = (entry) =>
    esbuild.build({ ...shared, entryPoints: [entry], plugins: [localUrls(emitted, bundleWorker)] });
  const html = await readFile(index, 'utf8').catch(() => {
    throw new Problem('www/index.html is missing: there is no page to build.');
  });
  const entryPoints = localReferences(html)
    .map(([, path]) => path)
    .filter((path) => /\.(m?js|css)$/.test(path));
  const plugins = [localUrls(emitted, bundleWorker, [index]), writer(emitted, onBuilt)];
  return { esbuild, options: { ...shared, entryPoints, plugins } };
}

function writer(emitted, onBuilt) {
  return {
    name: 'writer',
    setup(build) {
      build.onStart(() => emitted.clear());
      build.onEnd(async (result) => {
        if (result.errors.length > 0) return;
        const files = new Map(emitted);
        for (const file of result.outputFiles) files.set(basename(file.path), file.contents);
        files.set('index.html', await page(result.metafile, files));
        await writeAll(files);
        await onBuilt();
      });
    },
  };
}

async function page(metafile, files) {
  const html = await readFile(index, 'utf8');
  const names = new Map();
  const head = { stylesheets: [], modules: [], wasm: [] };
  for (const [address, path] of localReferences(html)) {
    const found = Object.entries(metafile.outputs).find(
      ([, output]) => output.entryPoint === relative(root, path),
    );
    if (!found) {
      names.set(address, await emitAsset(files, path));
      continue;
    }
    const [name, output] = found;
    names.set(address, basename(name));
    if (output.cssBundle) head.stylesheets.push(basename(output.cssBundle));
    for (const chunk of importedAtOnce(metafile, name)) {
      if (chunk !== name) head.modules.push(basename(chunk));
      const source = Buffer.from(files.get(basename(chunk))).toString();
      head.wasm.push(
        ...[...files.keys()].filter((file) => file.endsWith('.wasm') && source.includes(file)),
      );
    }
  }
  return Buffer.from(fillIn(html, names, head));
}

/** A bundle and the chunks that it imports statically, which the page needs before it can start. */
function importedAtOnce(metafile, name, seen = new Set()) {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const { path, kind } of metafile.outputs[name]?.imports ?? []) {
    if (kind === 'import-statement') importedAtOnce(metafile, path, seen);
  }
  return seen;
}

/** Writes dist/ so that it is whole at any moment: what index.html names comes before it, what nothing names goes after it. */
async function writeAll(files) {
  await mkdir(dist, { recursive: true });
  const names = [...files.keys()].filter((name) => name !== 'index.html');
  for (const name of [...names, 'index.html']) {
    const target = join(dist, name);
    const before = await readFile(target).catch(() => null);
    if (before && before.equals(files.get(name))) continue;
    await writeFile(`${target}.new`, files.get(name));
    await rename(`${target}.new`, target);
  }
  for (const name of await readdir(dist)) {
    if (!files.has(name)) await rm(join(dist, name), { recursive: true });
  }
}

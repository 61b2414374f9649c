import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dist, www } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { localReferences } from './html.mjs';
import { singleFile } from './single-file.mjs';
import { siteFiles, siteOptions } from './site.mjs';

const index = join(www, 'index.html');

/** Bundles www/ into dist/ once. */
export async function bundle() {
  const { esbuild, options } = await prepare(() => {});
  try {
    await esbuild.build(options);
  } catch (error) {
    // esbuild has printed its own errors by then.
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
  const { references } = await readIndex();
  const entryPoints = references
    .map(({ path }) => path)
    .filter((path) => /\.(m?js|css)$/.test(path));
  const options = siteOptions(esbuild, entryPoints, emitted, [index]);
  options.plugins.push(writer(esbuild, emitted, onBuilt));
  return { esbuild, options };
}

async function readIndex() {
  const html = await readFile(index, 'utf8').catch(() => {
    throw new Problem('www/index.html is missing: there is no page to build.');
  });
  return { html, references: localReferences(html) };
}

function writer(esbuild, emitted, onBuilt) {
  return {
    name: 'writer',
    setup(build) {
      build.onStart(() => emitted.clear());
      build.onEnd(async (result) => {
        if (result.errors.length > 0) return;
        const { html, references } = await readIndex();
        const files = await siteFiles(result, emitted, html, references);
        const single = await singleFile(esbuild, html, references);
        files.set('crashlab.html', Buffer.from(single));
        await writeAll(files);
        await onBuilt();
      });
    },
  };
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

import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dist, served, www } from '../lib/paths.mjs';
import { Problem } from '../lib/problem.mjs';
import { localReferences } from './html.mjs';
import { pageNotices } from './notices.mjs';
import { singleFile } from './single-file.mjs';
import { siteFiles, siteOptions } from './site.mjs';

const index = join(www, 'index.html');

/** Bundles www/ into dist/ once. */
export async function bundle() {
  const { esbuild, options } = await prepare(async ({ files, html, references, inputs }) => {
    const notices = await pageNotices(inputs);
    const single = await singleFile(esbuild, html, references, notices);
    files.set('crashlab.html', Buffer.from(single));
    files.set('NOTICES.txt', Buffer.from(notices));
    await writeAll(dist, files);
  });
  try {
    await esbuild.build(options);
  } catch (error) {
    // esbuild has printed its own errors by then.
    if (!(error instanceof Error && 'errors' in error)) throw error;
    throw new Problem('The bundle failed, for the reason that stands above.');
  }
}

/**
 * Bundles www/ for the dev server, now and after every change, and calls back each time. The modules of `later` are not bundled: the
 * workers ask the server for them. Gives a function that ends it.
 *
 * @param {{ later: string[], onBuilt: () => void }} options
 */
export async function watchBundle({ later, onBuilt }) {
  const { esbuild, options } = await prepare(async ({ files }) => {
    await writeAll(served, files);
    onBuilt();
  }, later);
  const context = await esbuild.context(options);
  await context.watch();
  return () => context.dispose();
}

/**
 * @param {(built: { files: Map<string, Buffer>, html: string, references: any[], inputs: string[] }) => Promise<void>} write
 * @param {string[]} [later]
 */
async function prepare(write, later = []) {
  const esbuild = await import('esbuild');
  const emitted = new Map();
  const { references } = await readIndex();
  const entryPoints = references
    .map(({ path }) => path)
    .filter((path) => /\.(m?js|css)$/.test(path));
  const options = siteOptions(esbuild, entryPoints, emitted, { watched: [index], later });
  options.plugins.push(writer(emitted, write));
  return { esbuild, options };
}

async function readIndex() {
  const html = await readFile(index, 'utf8').catch(() => {
    throw new Problem('www/index.html is missing: there is no page to build.');
  });
  return { html, references: localReferences(html) };
}

function writer(emitted, write) {
  return {
    name: 'writer',
    setup(build) {
      build.onStart(() => emitted.clear());
      build.onEnd(async (result) => {
        if (result.errors.length > 0) return;
        const { html, references } = await readIndex();
        const files = await siteFiles(result, emitted, html, references);
        await write({ files, html, references, inputs: Object.keys(result.metafile.inputs) });
      });
    },
  };
}

/** Writes a folder so that it is whole at any moment: what index.html names comes before it, what nothing names goes after it. */
async function writeAll(folder, files) {
  await mkdir(folder, { recursive: true });
  const names = [...files.keys()].filter((name) => name !== 'index.html');
  for (const name of [...names, 'index.html']) {
    const target = join(folder, name);
    const before = await readFile(target).catch(() => null);
    if (before && before.equals(files.get(name))) continue;
    await writeFile(`${target}.new`, files.get(name));
    await rename(`${target}.new`, target);
  }
  for (const name of await readdir(folder)) {
    if (!files.has(name)) await rm(join(folder, name), { recursive: true });
  }
}

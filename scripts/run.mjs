// `make run`: builds what the first view shows, serves the page on loopback, and loads it anew after every change in www/.
import { join } from 'node:path';
import { watchBundle } from './build/bundle.mjs';
import { buildModule, lab, study } from './build/wasm.mjs';
import { installPackages } from './install/npm.mjs';
import { installBindgen, installRust } from './install/rust.mjs';
import { root, served } from './lib/paths.mjs';
import { main } from './lib/problem.mjs';
import { all } from './lib/process.mjs';
import { secondsSince, timed } from './lib/time.mjs';
import { serve } from './serve.mjs';

const DEFAULT_PORT = 8000;
/** Without wasm-opt: it takes longer than it saves where nothing goes over a network. */
const plain = { kind: 'plain' };

await main(async () => {
  const installed = await installAndCompile();
  let server;
  let endWatch;
  await timed('bundle', async () => {
    await /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        const onBuilt = () => {
          server?.changed();
          resolve();
        };
        watchBundle({ later: ['study'], onBuilt }).then((end) => (endWatch = end), reject);
      })
    );
  });
  const wanted = Number(process.env.PORT || DEFAULT_PORT);
  let builds;
  const built = new Promise((resolve, reject) => (builds = { resolve, reject }));
  await timed('serve', async () => {
    const later = { name: 'study', folder: join(root, study.folder), built };
    server = await serve({ folder: served, later, port: wanted, reload: true });
  });
  if (server.port !== wanted)
    console.log(`Port ${wanted} is in use, so the page is on ${server.port}.`);
  console.log(`Crashlab: ${server.url} (Ctrl-C ends it)`);
  if (installed) console.log(`run_from_nothing_s: ${secondsSince(0)}`);
  const end = async () => {
    await endWatch?.();
    await server.close();
    process.exit(0);
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
  // The page is there; what only the explorer and files need follows.
  built.catch((error) => console.error(error.message));
  await timed('study', () => buildModule(study, plain)).then(builds.resolve, builds.reject);
});

/** cargo compiles the module while the tools that it needs next are installed. Tells whether anything was. */
async function installAndCompile() {
  const installed = [];
  let tools;
  await timed('install', async () => {
    installed.push(...(await installRust()));
    tools = all([installBindgen(), installPackages()]);
    // Who waits for it hears of a failure.
    tools.catch(() => {});
    return installed.join(', ') || undefined;
  });
  await timed('wasm', () =>
    buildModule(lab, {
      ...plain,
      tools: async () => void installed.push(...(await tools).flat()),
    }),
  );
  return installed.length > 0;
}

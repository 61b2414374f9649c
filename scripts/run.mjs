// `make run`: builds the page, serves it on loopback, and loads it anew after every change in www/.
import { watchBundle } from './build/bundle.mjs';
import { buildWasm } from './build/wasm.mjs';
import { install } from './install.mjs';
import { main } from './lib/problem.mjs';
import { timed } from './lib/time.mjs';
import { serve } from './serve.mjs';

const DEFAULT_PORT = 8000;

await main(async () => {
  await install();
  await timed('wasm', buildWasm);
  let server;
  let endWatch;
  await timed('bundle', async () => {
    await new Promise((resolve, reject) => {
      watchBundle(() => {
        server?.changed();
        resolve();
      }).then((end) => (endWatch = end), reject);
    });
  });
  const wanted = Number(process.env.PORT || DEFAULT_PORT);
  await timed('serve', async () => {
    server = await serve({ port: wanted, reload: true });
  });
  if (server.port !== wanted)
    console.log(`Port ${wanted} is in use, so the page is on ${server.port}.`);
  console.log(`Crashlab: ${server.url} (Ctrl-C ends it)`);
  const end = async () => {
    await endWatch?.();
    await server.close();
    process.exit(0);
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
});

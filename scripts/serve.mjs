import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { dist } from './lib/paths.mjs';
import { Problem } from './lib/problem.mjs';

const compress = promisify(brotliCompress);

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
};

/**
 * Serves a folder on loopback only.
 *
 * @param {object} [options]
 * @param {string} [options.folder] dist/, unless it is another one.
 * @param {{ name: string, folder: string, built: Promise<void> }} [options.later] a folder under a name of its own: what is asked for
 *   there is answered once it is built.
 * @param {number} [options.port] 0 takes any free port; another one that is in use gives way to the next.
 * @param {string} [options.base] the folder that the page stands in, to try that it works in a subfolder.
 * @param {boolean} [options.reload] the page loads itself anew when `changed()` is called.
 */
export async function serve({ folder = dist, later, port = 0, base = '/', reload = false } = {}) {
  const listeners = new Set();
  const respond = site({ folder, later, base, reload, listeners });
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  });
  await listen(server, port);
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}${base}`,
    changed: () => listeners.forEach((response) => response.write('data: changed\n\n')),
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}

async function listen(server, wanted) {
  for (let port = wanted; port <= wanted + 50; port += 1) {
    const error = await new Promise((resolve) => {
      server.once('error', resolve);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', resolve);
        resolve(null);
      });
    });
    if (!error) return;
    if (error.code !== 'EADDRINUSE')
      throw new Problem(`Port ${port} cannot be used (${error.code}): set PORT to another one.`);
  }
  throw new Problem(`No port from ${wanted} to ${wanted + 50} is free: set PORT to another one.`);
}

function site({ folder, later, base, reload, listeners }) {
  const compressed = new Map();
  return async (request, response) => {
    const name = nameOf(request.url, base);
    if (reload && name === '__reload') return keepInformed(response, listeners);
    if (reload && name === '__reload.js')
      return send(
        response,
        '.js',
        "new EventSource('./__reload').onmessage = () => location.reload();",
      );
    if (name === null) return notFound(response);
    let path = join(folder, name);
    if (later && name.startsWith(`${later.name}/`)) {
      try {
        await later.built;
      } catch {
        return unavailable(response, later.name);
      }
      path = join(later.folder, name.slice(later.name.length + 1));
    }
    const found = await stat(path).catch(() => null);
    if (!found?.isFile()) return notFound(response);
    const type = types[extname(path)] ?? 'application/octet-stream';
    /** @type {Buffer} */
    let body = await readFile(path);
    if (reload && name === 'index.html') body = withReload(body);
    const headers = {
      'content-type': type,
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
      // A name with a hash never gets other contents.
      'cache-control': /-[0-9A-Z]{8}\.\w+$/.test(name)
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
    };
    if (/\bbr\b/.test(request.headers['accept-encoding'] ?? '') && !type.startsWith('font/')) {
      headers['content-encoding'] = 'br';
      const key = `${name}:${found.mtimeMs}`;
      if (!compressed.has(key)) compressed.set(key, brotli(body));
      body = await compressed.get(key);
    }
    response.writeHead(200, { ...headers, 'content-length': body.length });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}

function nameOf(url, base) {
  let path;
  try {
    path = normalize(decodeURIComponent(new URL(url, 'http://localhost').pathname));
  } catch {
    return null;
  }
  if (!path.startsWith(base) || path.includes('\0')) return null;
  return path.slice(base.length) || 'index.html';
}

/** A quality that takes milliseconds: on loopback the best one would cost more than it saves. */
function brotli(body) {
  return compress(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
}

function notFound(response) {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
  response.end('Not found.\n');
}

function unavailable(response, name) {
  response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${name} could not be built: the terminal says why.\n`);
}

function send(response, extension, body) {
  response.writeHead(200, { 'content-type': types[extension], 'cache-control': 'no-store' });
  response.end(body);
}

function keepInformed(response, listeners) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': connected\n\n');
  listeners.add(response);
  response.on('close', () => listeners.delete(response));
}

/** A script file and not an inline script, because the page's Content-Security-Policy holds here too. */
function withReload(html) {
  return Buffer.from(
    String(html).replace('</head>', '<script type="module" src="./__reload.js"></script></head>'),
  );
}

// Sending a trace, against a collector on this computer that answers as it is told.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, beforeEach, test } from 'node:test';
import { DEFAULT_URL, send } from '../../www/otlp.js';

const answers = [];
const requests = [];
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    requests.push({ method: request.method, path: request.url, headers: request.headers, body });
    const { status = 200, headers = {}, text = '{"partialSuccess":{}}' } = answers.shift() ?? {};
    response.writeHead(status, headers);
    response.end(text);
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${server.address().port}/v1/traces`;
after(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  answers.length = 0;
  requests.length = 0;
});

const BODY = '{"resourceSpans":[]}';

/** Sends with a clock that stands still, and tells what was waited for. */
async function sending(address = url, means = {}) {
  const waits = [];
  const wait = async (ms) => void waits.push(ms);
  const outcome = await send(address, BODY, {
    fetch,
    wait,
    now: () => 0,
    random: () => 1,
    ...means,
  });
  return { outcome, waits };
}

test('the body is sent once, as JSON', async () => {
  const { outcome } = await sending();
  assert.equal(outcome.kind, 'taken');
  assert.equal(outcome.offerFile, false);
  assert.equal(requests.length, 1);
  assert.deepEqual([requests[0].method, requests[0].path], ['POST', '/v1/traces']);
  assert.equal(requests[0].headers['content-type'], 'application/json');
  assert.equal(requests[0].body, BODY);
  assert.equal(DEFAULT_URL, 'http://localhost:4318/v1/traces');
});

test('a header that a receiver wants goes along', async () => {
  await sending(url, { header: ' x-mlflow-experiment-id :  a key: with a colon ' });
  assert.equal(requests[0].headers['x-mlflow-experiment-id'], 'a key: with a colon');
  assert.equal(requests[0].headers['content-type'], 'application/json');
  await sending(url, { header: '  ' });
  assert.equal(requests.length, 2);
  const means = { fetch: browserThatRefuses(true), origin: 'https://lab.example' };
  const { outcome } = await sending(url, { ...means, header: 'x-key: 1' });
  assert.match(outcome.message, /`https:\/\/lab\.example`, and `cors\.allowed_headers` `x-key`/);
});

test('what is no header that a page may send is refused before anything is sent', async () => {
  for (const [header, why] of [
    ['x-key', /a name, a colon and a value/],
    ['x-key:', /a name, a colon and a value/],
    [': 1', /a name, a colon and a value/],
    ['x key: 1', /a name, a colon and a value/],
    ['x-key: 1\nx-other: 2', /a name, a colon and a value/],
    ['x-key: ключ', /The value of x-key has characters/],
    ['content-TYPE: text/plain', /leave out Content-Type/],
  ]) {
    const { outcome } = await sending(url, { header });
    assert.deepEqual([outcome.kind, outcome.attempts], ['bad_header', 0], header);
    assert.match(outcome.message, why);
  }
  assert.equal(requests.length, 0);
});

for (const status of [429, 502, 503, 504]) {
  test(`${status} is sent again, with longer and longer waits`, async () => {
    answers.push({ status }, { status }, {});
    const { outcome, waits } = await sending();
    assert.deepEqual([outcome.kind, outcome.attempts], ['taken', 3]);
    assert.deepEqual(waits, [1_000, 2_000]);
    assert.ok(requests.every((request) => request.body === BODY));
  });
}

for (const status of [400, 401, 403, 404, 408, 413, 500, 501, 505]) {
  test(`${status} is not sent again`, async () => {
    answers.push({ status, text: '{"code":3,"message":"not like this"}' });
    const { outcome, waits } = await sending();
    assert.deepEqual(
      [outcome.kind, outcome.status, waits.length, requests.length],
      ['answered', status, 0, 1],
    );
    assert.match(outcome.message, new RegExp(`${status}.*not like this`));
    assert.equal(outcome.offerFile, true);
  });
}

test('a busy collector is asked five times', async () => {
  answers.push(...Array(9).fill({ status: 503 }));
  const { outcome, waits } = await sending();
  assert.deepEqual([outcome.kind, outcome.status, requests.length], ['busy', 503, 5]);
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000]);
  assert.equal(outcome.offerFile, true);
});

test('Retry-After is honoured, in seconds and as a date, and bounded', async () => {
  answers.push({ status: 429, headers: { 'retry-after': '7' } });
  answers.push({ status: 503, headers: { 'retry-after': 'Thu, 01 Jan 1970 00:00:20 GMT' } });
  answers.push({ status: 503, headers: { 'retry-after': 'Wed, 01 Jan 1969 00:00:00 GMT' } });
  answers.push({ status: 503, headers: { 'retry-after': 'soon' } });
  assert.deepEqual((await sending()).waits, [7_000, 20_000, 0, 8_000]);
  answers.push({ status: 429, headers: { 'retry-after': '3600' } });
  const { outcome, waits } = await sending();
  assert.deepEqual([outcome.kind, waits], ['busy', []]);
  assert.match(outcome.message, /3600 s/);
});

test('a partial success is reported, with the number in either form', async () => {
  for (const rejectedSpans of [3, '3']) {
    const text = JSON.stringify({ partialSuccess: { rejectedSpans, errorMessage: 'too old' } });
    answers.push({ text });
    const { outcome } = await sending();
    assert.deepEqual(
      [outcome.kind, outcome.rejected, outcome.offerFile],
      ['partly_taken', 3, true],
    );
    assert.match(outcome.message, /not 3 spans: too old/);
  }
  assert.equal(requests.length, 2, 'it is not sent again');
  answers.push({ text: '{"partialSuccess":{"errorMessage":"use a newer version"}}' });
  const { outcome } = await sending();
  assert.equal(outcome.kind, 'taken');
  assert.match(outcome.message, /use a newer version/);
});

test('an answer that is no JSON counts by its status', async () => {
  for (const text of ['', 'null', '7', 'ok', '{"partialSuccess":null}']) {
    answers.push({ text });
    assert.equal((await sending()).outcome.kind, 'taken', text);
  }
  answers.push({ status: 404, text: '<html>no</html>' });
  assert.match((await sending()).outcome.message, /\(404\): <html>no/);
});

/** A browser that shows the page no answer; `isThere`: the request arrives all the same. */
function browserThatRefuses(isThere) {
  return async (_address, { mode }) => {
    if (mode === 'no-cors' && isThere) return new Response(null);
    throw new TypeError('Failed to fetch');
  };
}

test('when the browser refuses, the setting is named and the file is offered', async () => {
  const means = { fetch: browserThatRefuses(true), origin: 'https://lab.example' };
  const { outcome, waits } = await sending(url, means);
  assert.deepEqual([outcome.kind, outcome.offerFile, waits.length], ['not_allowed', true, 0]);
  assert.match(outcome.message, /browser does not let this page/);
  assert.match(outcome.message, /`cors\.allowed_origins`.*`https:\/\/lab\.example`/);
  assert.match(outcome.message, /save the file/);
  const fromDisk = await sending(url, { ...means, origin: 'null' });
  assert.match(fromDisk.outcome.message, /`\*`/);
});

test('when nobody answers, that is said too', async () => {
  const { outcome } = await sending(url, {
    fetch: browserThatRefuses(false),
    origin: 'https://lab.example',
  });
  assert.deepEqual([outcome.kind, outcome.offerFile], ['unreachable', true]);
  assert.match(outcome.message, /Nobody answers/);
  assert.match(outcome.message, /cors\.allowed_origins/);
  // Port 9 of this computer: nobody listens.
  assert.equal((await sending('http://127.0.0.1:9/v1/traces')).outcome.kind, 'unreachable');
});

test('a collector that hangs is given up', async () => {
  const hangs = async () => {
    throw new DOMException('The operation timed out.', 'TimeoutError');
  };
  const { outcome } = await sending(url, { fetch: hangs });
  assert.equal(outcome.kind, 'unreachable');
  assert.match(outcome.message, /did not answer within 10 s/);
});

test('an address that the page may not send to is refused before anything is sent', async () => {
  for (const address of [
    '',
    'localhost',
    'ftp://localhost/',
    'http://collector.example:4318/v1/traces',
    'javascript:0',
    'https://maya:secret@collector.example/v1/traces',
    'http://maya@localhost:4318/v1/traces',
  ]) {
    const { outcome } = await sending(address);
    assert.deepEqual([outcome.kind, outcome.attempts], ['bad_url', 0], address);
  }
  assert.equal(requests.length, 0);
  const { outcome } = await sending('http://maya:secret@localhost:4318/v1/traces');
  assert.match(outcome.message, /no address with a name or a password in it/);
  assert.ok(!outcome.message.includes('secret'));
});

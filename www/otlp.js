// Sends a trace to an OpenTelemetry collector: OTLP over HTTP, as JSON.

/** Where a collector on the same computer listens. */
export const DEFAULT_URL = 'http://localhost:4318/v1/traces';

/** What OTLP/HTTP says may be sent again; everything else would be answered the same way. */
const RETRYABLE = [429, 502, 503, 504];
const MOST_ATTEMPTS = 5;
const FIRST_WAIT_MS = 1_000;
/** A collector that asks for more patience than this is not waited for. */
const LONGEST_WAIT_MS = 30_000;
const TIMEOUT_MS = 10_000;

/**
 * What sending needs of its surroundings.
 *
 * @typedef {object} Means
 * @property {typeof globalThis.fetch} fetch
 * @property {(ms: number) => Promise<unknown>} wait
 * @property {() => number} [now] milliseconds since 1970
 * @property {() => number} [random] from 0 to 1
 * @property {string} [origin] the page's own, which a collector has to allow
 * @property {string} [header] what this receiver wants besides, such as a key: `name: value`
 */

/**
 * What came of it. A trace that was not taken can be saved as a file instead, so `offerFile` says when to offer that.
 *
 * - `taken`: all of it. A message, if there is one, is the collector's own.
 * - `partly_taken`: `rejected` spans were refused.
 * - `answered`: the collector refused it, with the status.
 * - `busy`: it was busy each time, or wants a longer wait than is bearable.
 * - `not_allowed`: the browser kept the page from it (CORS); `cors.allowed_origins` has to name the page.
 * - `unreachable`: nobody answered.
 * - `bad_url`, `bad_header`: this is no address that the page may send to, or no header that it may send.
 *
 * @typedef {object} Outcome
 * @property {'taken' | 'partly_taken' | 'answered' | 'busy' | 'not_allowed' | 'unreachable' | 'bad_url' | 'bad_header'} kind
 * @property {string} message for people
 * @property {number} attempts
 * @property {number} rejected spans that the collector did not take
 * @property {number | null} status
 * @property {boolean} offerFile
 */

/**
 * Sends a trace, again if the collector is busy.
 *
 * @param {string} url
 * @param {string} body an `ExportTraceServiceRequest` as JSON
 * @param {Means} means
 * @returns {Promise<Outcome>}
 */
export async function send(url, body, means) {
  const { fetch, wait, now = Date.now, random = Math.random, header = '' } = means;
  const complaint = complaintAbout(url);
  if (complaint) return failed('bad_url', complaint, 0);
  const [name, value] = header.match(HEADER)?.slice(1) ?? [];
  const objection = header.trim() === '' ? null : objectionTo(name, value);
  if (objection) return failed('bad_header', objection, 0);
  const headers = name === undefined ? {} : { [name]: value };
  for (let attempt = 1; ; attempt += 1) {
    const response = await post(fetch, url, body, headers);
    if (!(response instanceof Response)) return noAnswer(response, url, attempt, means);
    if (response.ok) return taken(await textOf(response), response.status, attempt);
    if (!RETRYABLE.includes(response.status)) return refused(response, attempt);
    const asked = retryAfter(response.headers.get('retry-after'), now());
    const waitMs = asked ?? FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + random() / 2);
    if (attempt === MOST_ATTEMPTS || waitMs > LONGEST_WAIT_MS) {
      const times = attempt === 1 ? 'once' : `${attempt} times`;
      const until = waitMs > LONGEST_WAIT_MS ? `, and wants ${Math.ceil(waitMs / 1_000)} s` : '';
      const message = `The collector is busy (${response.status}): it was asked ${times}${until}. Try again later, or save the file.`;
      return failed('busy', message, attempt, response.status);
    }
    await wait(waitMs);
  }
}

/**
 * Why the page may not send there; null if it may. The page's Content-Security-Policy says the same.
 *
 * @param {string} url
 */
function complaintAbout(url) {
  if (!URL.canParse(url)) return `\`${url}\` is no address, such as ${DEFAULT_URL}.`;
  const { protocol, hostname, username, password } = new URL(url);
  if (username || password)
    return 'Browsers send to no address with a name or a password in it. Leave out what is before the `@`; a key goes into the header.';
  const isHere = hostname === 'localhost' || hostname === '127.0.0.1';
  if (protocol === 'https:' || (protocol === 'http:' && isHere)) return null;
  return `The page sends only to https addresses, and to this computer over http (${DEFAULT_URL}).`;
}

/** `name: value`. */
const HEADER = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*:\s*(\S.*?)\s*$/;

/**
 * Why the page may not send this header; null if it may.
 *
 * @param {string | undefined} name
 * @param {string} value
 */
function objectionTo(name, value) {
  if (name === undefined)
    return 'A header is a name, a colon and a value, such as `x-mlflow-experiment-id: 0`.';
  if (!/^[\t\x20-\x7e]*$/.test(value))
    return `The value of ${name} has characters that no header may have.`;
  if (name.toLowerCase() === 'content-type')
    return 'The page itself says that it sends JSON: leave out Content-Type.';
  // A browser silently drops the headers that pages may not set.
  const { headers } = new Request(DEFAULT_URL, { headers: { [name]: value } });
  return headers.has(name) ? null : `Browsers let no page set the header ${name}.`;
}

/**
 * @param {typeof globalThis.fetch} fetch
 * @param {string} url
 * @param {string} body
 * @param {Record<string, string>} headers
 * @returns {Promise<Response | unknown>} the answer, or why there is none
 */
async function post(fetch, url, body, headers) {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    return error;
  }
}

/**
 * A browser gives the same error for a collector that is not there and for one whose answer it may not show. A request without CORS
 * tells them apart: it arrives even where the page may not read the answer.
 *
 * @param {unknown} error
 * @param {string} url
 * @param {number} attempt
 * @param {Means} means
 */
async function noAnswer(error, url, attempt, { fetch, origin, header = '' }) {
  const { host } = new URL(url);
  if (error instanceof Error && error.name === 'TimeoutError') {
    const message = `${host} did not answer within ${TIMEOUT_MS / 1_000} s. Try again later, or save the file.`;
    return failed('unreachable', message, attempt);
  }
  const isThere = await fetch(url, {
    mode: 'no-cors',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).then(
    () => true,
    () => false,
  );
  const page =
    origin === undefined || origin === 'null' ? '`*`, as this page is a file' : `\`${origin}\``;
  const name = header.match(HEADER)?.[1];
  const besides = name === undefined ? '' : `, and \`cors.allowed_headers\` \`${name}\``;
  const setting = `the setting \`cors.allowed_origins\` of its HTTP receiver has to hold ${page}${besides}`;
  if (isThere) {
    const message = `The browser does not let this page talk to ${host}. The collector has to allow it: ${setting}. Or save the file and send it from elsewhere.`;
    return failed('not_allowed', message, attempt);
  }
  const message = `Nobody answers at ${host}, or the browser does not let this page reach it. Is the collector running? If it is, ${setting}. Or save the file and send it from elsewhere.`;
  return failed('unreachable', message, attempt);
}

/**
 * @param {string} text
 * @param {number} status
 * @param {number} attempts
 * @returns {Outcome}
 */
function taken(text, status, attempts) {
  const partial = partialSuccess(text);
  const rejected = Number(partial?.rejectedSpans ?? 0);
  const says = typeof partial?.errorMessage === 'string' ? partial.errorMessage.trim() : '';
  if (rejected > 0) {
    const spans = rejected === 1 ? '1 span' : `${rejected} spans`;
    const message = `The collector took the trace, but not ${spans}${says ? `: ${says}` : '.'}`;
    return { kind: 'partly_taken', message, attempts, rejected, status, offerFile: true };
  }
  const message = says
    ? `The collector took the trace, and says: ${says}`
    : 'The collector took the trace.';
  return { kind: 'taken', message, attempts, rejected: 0, status, offerFile: false };
}

/** @param {string} text */
function partialSuccess(text) {
  try {
    return JSON.parse(text)?.partialSuccess ?? null;
  } catch {
    // Some collectors answer with nothing, or with protobuf.
    return null;
  }
}

/**
 * @param {Response} response
 * @param {number} attempts
 */
async function refused(response, attempts) {
  const text = await textOf(response);
  let reason = text;
  try {
    const said = JSON.parse(text)?.message;
    if (typeof said === 'string') reason = said;
  } catch {
    // Not every collector answers with JSON.
  }
  const shown = reason.trim().slice(0, 200);
  const message = `The collector did not take the trace (${response.status})${shown ? `: ${shown}` : '.'}`;
  return failed('answered', message, attempts, response.status);
}

/**
 * @param {Exclude<Outcome['kind'], 'taken' | 'partly_taken'>} kind
 * @param {string} message
 * @param {number} attempts
 * @param {number | null} [status]
 * @returns {Outcome}
 */
function failed(kind, message, attempts, status = null) {
  return { kind, message, attempts, rejected: 0, status, offerFile: true };
}

/**
 * A Retry-After field in milliseconds from now, seconds or a date; null if there is none that can be read.
 *
 * @param {string | null} field
 * @param {number} nowMs
 */
function retryAfter(field, nowMs) {
  if (field === null) return null;
  if (/^\d+$/.test(field.trim())) return Number(field) * 1_000;
  const date = Date.parse(field);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

/** @param {Response} response */
function textOf(response) {
  return response.text().catch(() => '');
}

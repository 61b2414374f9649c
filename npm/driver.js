/**
 * A driver for one's own model, tools and approver. It carries out what the agent wants, one effect at a time, and brings back what
 * came of it; it decides nothing. Callbacks may return a value or a promise.
 */
import { Agent } from './crashlab.js';

/** Thrown by a store: another agent has the run, and this one may write nothing more. */
export class Fenced extends Error {
  name = 'Fenced';
}

/** Thrown by a model or a tool that knows what its failure means. */
export class Failure extends Error {
  name = 'Failure';

  /** @param {string} code @param {string} message @param {{ retry_after?: string }} [options] */
  constructor(code, message, { retry_after } = {}) {
    super(message);
    this.code = code;
    this.retry_after = retry_after;
  }
}

/** Runs an agent to its end, from the start or from what the store has. */
export async function drive(
  config,
  /** @type {any} */ {
    model,
    tools = {},
    approver,
    store = memoryStore(),
    now = Date.now,
    wait = sleep,
    watch = () => {},
  } = {},
) {
  const given = { approver: approver != null, ...config };
  // What is missing is said before the store is asked, which may take the run from somebody.
  check({ model, tools, store, now, wait, watch });
  if (approver != null || given.approver) is('function', 'approver', approver);
  new Agent(given, now()).free();
  for (const { name } of given.tools) {
    is('function', `tools.${name}`, Object.hasOwn(tools, name) ? tools[name] : undefined);
  }
  const stored = await store.load();
  const agent = new Agent(given, now(), stored);
  if (agent.is_torn) await store.drop_last_line();
  try {
    for (let effect; (effect = agent.poll());) {
      watch(effect);
      if (effect.type === 'stop') return { status: effect.status, final: effect.final };
      const answer = await perform(effect, { model, tools, approver, store, now, wait });
      handle(agent, effect, answer, now());
    }
    return { status: agent.is_fenced ? 'fenced' : agent.status, final: null };
  } finally {
    agent.free();
  }
}

/** Refuses what is no callback, by its name. */
function is(kind, name, value) {
  if (typeof value === kind && value !== null) return;
  const expected = kind === 'object' ? 'an object' : 'a function';
  const found = value === undefined ? 'nothing' : value === null ? 'null' : `a ${typeof value}`;
  const message = `callbacks.${name}: expected ${expected}, found ${found}`;
  throw Object.assign(new TypeError(message), { code: 'bad_argument' });
}

function check({ store, tools, ...functions }) {
  for (const [name, value] of Object.entries(functions)) is('function', name, value);
  is('object', 'tools', tools);
  is('object', 'store', store);
  for (const name of ['load', 'append', 'save', 'drop_last_line']) {
    is('function', `store.${name}`, store[name]);
  }
}

async function perform(effect, { model, tools, approver, store, now, wait }) {
  switch (effect.type) {
    case 'append':
      return stores(() => store.append(effect.line), 'durable');
    case 'save_checkpoint':
      return stores(() => store.save(effect.text, effect.generation), 'saved');
    case 'call_model': {
      const start = now();
      const said = (completion) => ({
        latency_ms: Math.max(0, now() - start),
        ...fields(completion, 'a completion'),
        type: 'completion',
      });
      return calls(() => model(effect.request, effect), said);
    }
    case 'call_tool': {
      const { tool, args } = effect;
      // Own properties alone, so that no model calls `constructor`.
      if (!Object.hasOwn(tools, tool))
        return { type: 'failed', code: 'rejected', message: `nobody carries out ${tool}` };
      return calls(
        () => tools[tool](args, effect),
        (result) => ({ type: 'result', result: result ?? null }),
      );
    }
    case 'ask_approval':
      return decided(await approver(effect));
    case 'wait':
      await wait(Math.max(0, effect.until_ms - now()));
      return { type: 'time_has_come' };
    default:
      throw new Error(`this driver does not know the effect ${effect.type}`);
  }
}

/**
 * Hands an answer over. One that cannot be read is a failure and stands in the log as such: what led to it has happened, and an
 * error here would have the next start do it again.
 */
function handle(agent, effect, answer, at_ms) {
  try {
    agent.handle({ effect: effect.id, at_ms, answer });
  } catch (/** @type {any} */ error) {
    if (error?.code !== 'bad_argument') throw error;
    const why = error.message.replace(/^event \$\.answer/, '$');
    agent.handle({ effect: effect.id, at_ms, answer: unreadable(effect, answer, why) });
  }
}

function unreadable(effect, answer, why) {
  const failed = (code, message) => ({ type: 'failed', code, message });
  if (effect.type === 'ask_approval') {
    const note = `the approver’s answer cannot be read: ${why}`;
    return { type: 'decided', approved: false, approver: 'policy:unreadable_answer', note };
  }
  if (answer.type === 'failed') return failed('malformed', `${answer.message} (${why})`);
  if (effect.type === 'call_model')
    return failed('malformed', `what the model answered cannot be read: ${why}`);
  const { tool, call_id } = effect;
  // Another attempt would be a second deed, and its result could not be read either.
  return failed(
    'rejected',
    `${tool} was carried out for call ${call_id}, but its result cannot be read: ${why}`,
  );
}

async function stores(write, type) {
  try {
    await write();
    return { type };
  } catch (error) {
    if (error instanceof Fenced) return { type: 'fenced' };
    return { type: 'storage_failed', message: text(error) };
  }
}

async function calls(call, answer) {
  try {
    return answer(await call());
  } catch (error) {
    return failed(error);
  }
}

/**
 * What an error says about the effect. Of one that says nothing, nobody knows whether the call was carried out.
 *
 * @param {any} error
 */
function failed(error) {
  const message = text(error);
  const retry_after = error?.retry_after == null ? null : text(error.retry_after);
  const of = (code) => ({ type: 'failed', code, message, retry_after });
  if (error instanceof Failure) return of(error.code);
  if (error?.name === 'TimeoutError') return of('timeout');
  const status = error?.status;
  if (status === 429) return of('rate_limited');
  if (status === 503) return of('unavailable');
  if (status === 408 || status === 504) return of('timeout');
  if (status >= 400 && status < 500) return of('rejected');
  return of('reply_lost');
}

/** What somebody threw, in words. */
function text(error) {
  const said = error?.message || error?.name || error;
  if (typeof said !== 'object') return String(said);
  try {
    return JSON.stringify(said).slice(0, 300);
  } catch {
    return 'something that cannot be shown';
  }
}

function fields(given, expected) {
  if (typeof given === 'object' && given !== null) return given;
  throw new Failure(
    'malformed',
    `expected ${expected}, found ${given === null ? 'null' : `a ${typeof given}`}`,
  );
}

/** `null`: nobody decided in time. */
function decided(decision) {
  if (decision === null || decision === undefined) return { type: 'expired' };
  const { approver = 'human:unnamed', ...rest } =
    typeof decision === 'object' ? decision : { approved: decision };
  return { ...rest, approver, type: 'decided' };
}

/** @param {number} ms */
function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Storage that is gone with the process; `lines` and `checkpoints` may be given to go on from. */
export function memoryStore({ lines = [], checkpoints = [] } = {}) {
  return {
    lines,
    checkpoints,
    load: () => ({ log: lines.map((line) => `${line}\n`).join(''), checkpoints: [...checkpoints] }),
    append: (line) => void lines.push(line),
    save: (text) => void (checkpoints.unshift(text), checkpoints.splice(2)),
    drop_last_line: () => void lines.pop(),
  };
}

/**
 * Storage in localStorage or something with the same methods: one key a record, two slots for snapshots, and the owner's token, so
 * that an agent of an older page may write nothing more.
 */
export function webStore(run_id, storage = globalThis.localStorage) {
  const key = (rest) => `crashlab-run/${run_id}/${rest}`;
  const line = (index) => key(`log/${index}`);
  const token = `${Date.now()}-${Math.random()}`;
  let count = 0;
  const write = (name, value) => {
    if (storage.getItem(key('owner')) !== token) throw new Fenced('another agent has the run');
    storage.setItem(name, value);
  };
  return {
    load() {
      storage.setItem(key('owner'), token);
      let log = '';
      for (count = 0; ; count++) {
        const found = storage.getItem(line(count));
        if (found === null) break;
        log += `${found}\n`;
      }
      const slots = [storage.getItem(key('checkpoint/0')), storage.getItem(key('checkpoint/1'))];
      return { log, checkpoints: slots.filter((text) => text !== null) };
    },
    append(text) {
      write(line(count), text);
      count++;
    },
    save: (text, generation) => write(key(`checkpoint/${generation % 2}`), text),
    drop_last_line() {
      count--;
      storage.removeItem(line(count));
    },
    /** Takes the run away. */
    clear() {
      const own = key('');
      const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
      for (const name of keys) if (name?.startsWith(own)) storage.removeItem(name);
    },
  };
}

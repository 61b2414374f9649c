// The package in Node: the README's examples, and a run that is killed at every effect.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Agent, drive, Failure, memoryStore, version, webStore } from '../../pkg/node.js';
import { root } from '../../scripts/lib/paths.mjs';
import { examples, LOOP_ENDS_WITH, pkg, project, REFUNDED } from './support.js';

const node = promisify(execFile);

async function run(files) {
  const folder = await project();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const { stdout } = await node(process.execPath, ['main.js'], { cwd: folder });
  return stdout.trim().split('\n');
}

test('the ten lines of the README run', async () => {
  const { loop, parts } = await examples();
  const lines = loop.trim().split('\n');
  assert.ok(lines.slice(lines.indexOf('') + 1).length <= 10, 'the driver has more than ten lines');
  const printed = await run({ 'main.js': loop, 'my-agent.js': parts });
  assert.deepEqual(printed.slice(-2), LOOP_ENDS_WITH);
  assert.deepEqual(printed.slice(0, 3), ['append', 'append', 'call_model']);
});

test('the callbacks of the README run', async () => {
  const { callbacks } = await examples();
  const printed = (await run({ 'main.js': callbacks })).join(' ');
  assert.match(printed, /status: 'done', final: 'It is refunded\.'/);
  assert.ok(printed.includes(REFUNDED[0]));
});

test('the manifest has the version of the crate and the files that it names', async () => {
  const manifest = JSON.parse(await readFile(join(pkg, 'package.json'), 'utf8'));
  assert.equal(manifest.version, version());
  for (const file of manifest.files) assert.ok(await readFile(join(pkg, file)), file);
});

/** A refund with a flaky service, a person, and a clock of its own. */
function scene() {
  let clock = Date.UTC(2026, 2, 3, 8, 10);
  const world = { refunds: new Map(), questions: new Set(), asked: 0, models: 0 };
  const calls = [
    { id: 'a', name: 'get_charge', args: { charge: 'CH-2' } },
    { id: 'b', name: 'issue_refund', args: { charge: 'CH-2', usd: 288 } },
  ];
  const tool = (name, properties, annotations, rest = {}) => ({
    name,
    description: name,
    inputSchema: { type: 'object', properties, required: Object.keys(properties) },
    annotations,
    ...rest,
  });
  const config = {
    run_id: 'r-1',
    system: 'You refund.',
    task: 'Refund CH-2.',
    prices: { input_usd_per_million: 1, output_usd_per_million: 2 },
    tools: [
      tool('get_charge', { charge: { type: 'string' } }, { readOnlyHint: true }),
      tool(
        'issue_refund',
        { charge: { type: 'string' }, usd: { type: 'number' } },
        { idempotentHint: true },
        { intent: ['charge'] },
      ),
    ],
  };
  const failures = [new Failure('unavailable', '503'), { status: 429, message: 'slow down' }];
  const callbacks = {
    now: () => clock,
    wait: async (ms) => (clock += ms),
    model: async ({ messages }) => {
      world.models += 1;
      clock += 700;
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const tool_calls = turn < 2 ? [calls[turn]] : [];
      return { thought: `turn ${turn}`, tool_calls, usage: { input_tokens: 50, output_tokens: 9 } };
    },
    tools: {
      get_charge: async () => {
        const failure = failures.shift();
        if (failure) throw failure;
        return { usd: 288 };
      },
      issue_refund: async ({ usd }, { idempotency_key }) => {
        world.refunds.set(idempotency_key, usd);
        return { ok: true };
      },
    },
    approver: async ({ approval_key }) => {
      world.asked += world.questions.has(approval_key) ? 0 : 1;
      world.questions.add(approval_key);
      return { approved: true, approver: 'human:maya' };
    },
  };
  return { config, callbacks, world };
}

test('a run that is killed at every effect ends with one refund and one question', async () => {
  const calm = scene();
  const store = memoryStore();
  const effects = [];
  const watch = ({ type }) => effects.push(type);
  const end = await drive(calm.config, { ...calm.callbacks, store, watch });
  assert.deepEqual(end, { status: 'done', final: 'turn 2' });
  assert.deepEqual([...new Set(effects)].sort(), [
    'append',
    'ask_approval',
    'call_model',
    'call_tool',
    'save_checkpoint',
    'stop',
    'wait',
  ]);
  for (let killed = 0; killed < effects.length; killed++) {
    const { config, callbacks, world } = scene();
    const store = memoryStore();
    let seen = 0;
    const dies = () => {
      if (seen++ === killed) throw new Error('killed');
    };
    await assert.rejects(drive(config, { ...callbacks, store, watch: dies }), /killed/);
    const end = await drive(config, { ...callbacks, store });
    assert.deepEqual(end, { status: 'done', final: 'turn 2' }, `killed at ${effects[killed]}`);
    assert.deepEqual([...world.refunds.values()], [288], `killed at ${effects[killed]}`);
    assert.equal(world.asked, 1, `killed at ${effects[killed]}`);
  }
});

test('a log that was cut is gone on from, and the piece is taken away', async () => {
  const { config, callbacks, world } = scene();
  const store = memoryStore();
  const watch = ({ type, tool }) => {
    if (type === 'call_tool' && tool === 'issue_refund') throw new Error('killed');
  };
  await assert.rejects(drive(config, { ...callbacks, store, watch }), /killed/);
  store.lines.push(store.lines.pop().slice(0, 40));
  assert.equal((await drive(config, { ...callbacks, store })).status, 'done');
  for (const line of store.lines) JSON.parse(line);
  assert.equal(world.refunds.size, 1);
});

const circular = {};
circular.self = { list: [circular] };
for (const [result, why] of [
  [{ v: 10n }, '$.result.v: a bigint cannot stand in JSON'],
  [circular, '$.result.self.list[0]: it stands in itself, which cannot stand in JSON'],
  [() => 1, '$.result: a function cannot stand in JSON'],
  [Symbol('x'), '$.result: a symbol cannot stand in JSON'],
  [{ rate: NaN }, '$.result.rate: NaN cannot stand in JSON'],
  [new Map([[1, 2]]), '$.result: a Map cannot stand in JSON'],
  [JSON.parse('['.repeat(150) + ']'.repeat(150)), /not valid JSON/],
  [JSON.parse('['.repeat(9000) + ']'.repeat(9000)), /nested too deeply/],
]) {
  test(`a result that cannot be kept is a recorded failure, and is not repeated: ${why}`, async () => {
    const { config, callbacks } = scene();
    for (const idempotentHint of [true, false]) {
      config.tools[1].annotations = { idempotentHint };
      const store = memoryStore();
      let done = 0;
      const issue_refund = () => (done++, result);
      const tools = { ...callbacks.tools, issue_refund };
      const end = await drive(config, { ...callbacks, tools, store });
      assert.deepEqual(end, { status: 'done', final: 'turn 2' });
      assert.equal(done, 1);
      const records = store.lines.map((line) => JSON.parse(line));
      const [, { ok, result: kept }] = records.filter(({ type }) => type === 'tool_result');
      assert.deepEqual([ok, kept.ok, kept.retryable], [false, false, false]);
      assert.match(
        kept.error,
        /^issue_refund was carried out for call b, but its result cannot be read: /,
      );
      if (why instanceof RegExp) assert.match(kept.error, why);
      else assert.ok(kept.error.endsWith(why), kept.error);
    }
  });
}

/** The errors of the first failures that a run has recorded. */
async function errorsOf(change) {
  const { config, callbacks } = scene();
  const store = memoryStore();
  config.limits = { max_steps: 3 };
  const { status } = await drive(config, { ...callbacks, ...change(callbacks), store });
  const records = store.lines.map((line) => JSON.parse(line));
  return [status, ...records.map(({ error, result }) => error ?? result?.error).filter(Boolean)];
}

test('a failure with a code that nobody knows is one of which nobody knows the outcome', async () => {
  const failures = [new Failure('oops', 'it broke'), new Failure(undefined, 'and again')];
  const [status, first, second] = await errorsOf(({ tools }) => ({
    tools: {
      ...tools,
      get_charge() {
        if (failures.length > 0) throw failures.shift();
        return {};
      },
    },
  }));
  assert.equal(status, 'done');
  assert.match(
    first,
    /^malformed: it broke \(\$\.code: expected unavailable, .*found a string \("oops"\)\)$/,
  );
  assert.match(second, /^malformed: and again \(\$\.code: missing/);
});

test('what was thrown is logged in words', async () => {
  for (const [thrown, said] of [
    [{ reason: 'closed', port: 7 }, 'reply_lost: {"reason":"closed","port":7}'],
    [Object.create(null), 'reply_lost: {}'],
    ['a text', 'reply_lost: a text'],
    [7n, 'reply_lost: 7'],
    [undefined, 'reply_lost: undefined'],
    [Symbol('x'), 'reply_lost: Symbol(x)'],
    [circular, 'reply_lost: something that cannot be shown'],
    [new TypeError(), 'reply_lost: TypeError'],
  ]) {
    const failures = [thrown];
    const [status, error] = await errorsOf(({ tools }) => ({
      tools: {
        ...tools,
        get_charge() {
          if (failures.length > 0) throw failures.shift();
          return {};
        },
      },
    }));
    assert.deepEqual([status, error], ['done', said]);
  }
});

test('what a model answered and cannot be read is a recorded failure', async () => {
  for (const [completion, why] of [
    ['Hello', 'malformed: expected a completion, found a string'],
    [null, 'malformed: expected a completion, found null'],
    [
      {},
      'malformed: what the model answered cannot be read: $.thought: missing, expected a string',
    ],
    [
      { thought: '', tool_calls: [{ id: 'a', name: 'get_charge', args: { n: 1n } }] },
      'malformed: what the model answered cannot be read: $.tool_calls[0].args.n: a bigint cannot stand in JSON',
    ],
    [
      { type: 'result', thought: 7 },
      'malformed: what the model answered cannot be read: $.thought: expected a string, found a number (7)',
    ],
  ]) {
    const odd = [completion];
    const [status, error] = await errorsOf(({ model }) => ({
      model: (request) => (odd.length > 0 ? odd.pop() : model(request)),
      tools: { get_charge: () => ({}), issue_refund: () => ({}) },
    }));
    assert.deepEqual([status, error], ['done', why]);
  }
});

test('a decision that cannot be read is a denial', async () => {
  for (const decision of [
    'yes',
    1,
    {},
    { approved: 'yes' },
    { approved: true, approver: '' },
    { approved: true, by: 'me' },
  ]) {
    const { config, callbacks, world } = scene();
    const store = memoryStore();
    assert.equal(
      (await drive(config, { ...callbacks, approver: () => decision, store })).status,
      'done',
    );
    assert.equal(world.refunds.size, 0);
    const approval = store.lines
      .map((line) => JSON.parse(line))
      .find(({ type }) => type === 'approval');
    assert.deepEqual(
      [approval.decision, approval.approver],
      ['denied', 'policy:unreadable_answer'],
    );
    assert.match(
      approval.note,
      /^the approver’s answer cannot be read: \$\.(approved|approver|by)/,
    );
  }
});

test('what the driver is not given is named before anything runs', async () => {
  const { config, callbacks, world } = scene();
  const store = memoryStore();
  const load = () => assert.fail('the store was asked');
  const refused = (change, message) =>
    assert.rejects(
      drive(
        { ...config, ...change.config },
        { ...callbacks, store: { ...store, load }, ...change.callbacks },
      ),
      {
        code: 'bad_argument',
        message,
      },
    );
  await refused(
    { callbacks: { model: undefined } },
    'callbacks.model: expected a function, found nothing',
  );
  await refused(
    { callbacks: { tools: undefined } },
    'callbacks.tools.get_charge: expected a function, found nothing',
  );
  await refused({ callbacks: { tools: null } }, 'callbacks.tools: expected an object, found null');
  await refused(
    { callbacks: { tools: { ...callbacks.tools, issue_refund: 7 } } },
    /tools\.issue_refund: .*found a number/,
  );
  await refused(
    { callbacks: { approver: 'maya' } },
    'callbacks.approver: expected a function, found a string',
  );
  await refused(
    { config: { approver: true }, callbacks: { approver: undefined } },
    /callbacks\.approver: .*found nothing/,
  );
  await refused(
    { callbacks: { store: {} } },
    'callbacks.store.load: expected a function, found nothing',
  );
  await refused({ callbacks: { now: 7 } }, 'callbacks.now: expected a function, found a number');
  await refused({ callbacks: { now: () => NaN } }, /^now_ms: expected milliseconds since 1970/);
  await refused({ config: { tools: undefined } }, 'config $.tools: missing, expected an array');
  await refused(
    { config: { limits: { budget_usd: NaN } } },
    'config $.limits.budget_usd: NaN cannot stand in JSON',
  );
  await assert.rejects(drive(config), {
    message: 'callbacks.model: expected a function, found nothing',
  });
  assert.equal(world.models, 0);
});

test('a store that is full stops the run before anything more happens', async () => {
  const { config, callbacks, world } = scene();
  const store = memoryStore();
  const append = (line) => {
    if (store.lines.length > 3) throw new Error('disk full');
    store.lines.push(line);
  };
  const end = await drive(config, { ...callbacks, store: { ...store, append } });
  assert.deepEqual(end, { status: 'storage_failed', final: null });
  assert.equal(world.refunds.size, 0);
  assert.equal((await drive(config, { ...callbacks, store })).status, 'done');
});

test('localStorage has one writer, and the older agent is kept out', async () => {
  const kept = new Map();
  const storage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
    key: (index) => [...kept.keys()][index] ?? null,
    get length() {
      return kept.size;
    },
  };
  storage.setItem('other', 'kept');
  const { config, callbacks, world } = scene();
  let second;
  const watch = ({ type }) => {
    if (type === 'ask_approval' && !second) {
      second = drive(config, { ...callbacks, store: webStore('r-1', storage) });
    }
  };
  const first = await drive(config, {
    ...callbacks,
    approver: async (question) => {
      await second;
      return callbacks.approver(question);
    },
    store: webStore('r-1', storage),
    watch,
  });
  assert.deepEqual(first, { status: 'fenced', final: null });
  assert.deepEqual(await second, { status: 'done', final: 'turn 2' });
  assert.equal(world.refunds.size, 1);
  webStore('r-1', storage).clear();
  assert.deepEqual([...kept], [['other', 'kept']]);
});

test('mistakes of the driver are named', () => {
  const config = { run_id: 'r', system: '', task: '', tools: [] };
  const refused = (options, message) =>
    assert.throws(() => new Agent({ ...config, ...options }, 0), { code: 'bad_argument', message });
  refused({ run_id: '' }, /config \$\.run_id: expected a string that is not empty/);
  refused({ limits: { max_step: 1 } }, /config \$\.limits\.max_step: unknown key/);
  refused({ seed: '-1' }, /config \$\.seed: expected the digits of a number/);
  refused({ tools: [{ name: 'a' }, { name: 'a' }] }, /\$\.tools\[1\]\.name: there is another tool/);
  refused({ tools: [{ name: 'a', lookup: 'b' }] }, /\$\.tools\[0\]\.lookup: there is no tool `b`/);
  refused({ tools: [{ name: 'a', intent: ['x'] }] }, /\$\.tools\[0\]\.intent: a takes no `x`/);
  refused({ policies: { gate: false } }, /config \$\.policies\.gate: unknown key/);
  for (const [number, shown] of [
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
    [5n, 'a bigint'],
  ]) {
    for (const field of ['budget_usd', 'max_steps']) {
      const message = `config $.limits.${field}: ${shown} cannot stand in JSON`;
      refused({ limits: { [field]: number } }, message);
    }
  }
  refused(
    { tools: [{ name: 'a', execute: () => 1 }] },
    /\$\.tools\[0\]\.execute: a function cannot stand in JSON/,
  );
  refused({ tools: undefined }, 'config $.tools: missing, expected an array');
  for (const [now, shown] of [
    ['x', 'a string'],
    [NaN, 'NaN'],
    [undefined, 'nothing'],
    [null, 'null'],
    [-1, '-1'],
    [1e300, '1'],
  ]) {
    const message = `now_ms: expected milliseconds since 1970, from 0 to 8640000000000000, found ${shown}`;
    const named = (error) => error.code === 'bad_argument' && error.message.startsWith(message);
    assert.throws(() => new Agent(config, now), named);
  }
  refused({ traceparent: 'x' }, /config \$\.traceparent: expected a W3C traceparent/);

  const agent = new Agent(config, 0);
  const { id, type } = agent.poll();
  assert.equal(type, 'append');
  assert.equal(agent.poll(), undefined);
  const answer = (event) => () => agent.handle({ effect: id, at_ms: 0, ...event });
  assert.throws(answer({ answer: { type: 'done' } }), {
    code: 'bad_argument',
    message: /event \$\.answer\.type/,
  });
  assert.throws(answer({ answer: { type: 'time_has_come' } }), { code: 'refused' });
  assert.throws(answer({ effect: 9, answer: { type: 'durable' } }), { code: 'refused' });
  answer({ answer: { type: 'durable' } })();
  assert.equal(agent.poll().record.type, 'llm_request');

  const stored = { log: '{"hello": 1}\n{"ts": 1}\n' };
  assert.throws(() => new Agent(config, 0, stored), { code: 'damaged', message: /line 1/ });
  assert.throws(() => new Agent({ ...config, task: 'other' }, 0, { log: memoryLog(config) }), {
    code: 'damaged',
    message: /the scenario has changed since the run began/,
  });
});

function memoryLog(config) {
  const agent = new Agent(config, 0);
  return `${agent.poll().line}\n`;
}

test('numbers of more than 53 bits stay exact as text', async () => {
  const amount = '9007199254740993';
  const config = {
    run_id: 'r',
    system: '',
    task: '',
    seed: '18446744073709551615',
    tools: [
      {
        name: 't',
        inputSchema: { properties: { n: { type: 'integer' } } },
        annotations: { readOnlyHint: true },
      },
    ],
  };
  const agent = new Agent(config, 0);
  const lines = [];
  let seen;
  for (let effect; (effect = agent.poll()) && effect.type !== 'stop';) {
    const answers = {
      append: () => (lines.push(effect.line), { type: 'durable' }),
      save_checkpoint: () => ({ type: 'saved' }),
      call_model: () =>
        effect.request.messages.length > 2
          ? { type: 'completion', thought: 'done' }
          : {
              type: 'completion',
              thought: '',
              tool_calls: [{ id: 'c', name: 't', args_json: `{"n": ${amount}}` }],
            },
      call_tool: () => {
        seen = effect.args_json;
        return { type: 'result', result_json: `[${amount}]` };
      },
    };
    agent.handle({ effect: effect.id, at_ms: 0, answer: answers[effect.type]() });
  }
  assert.equal(seen, `{"n":${amount}}`);
  const text = lines.join('\n');
  assert.ok(text.includes(`"result":[${amount}]`) && text.includes('"seed":18446744073709551615'));
});

const TYPED = `
import { Agent, drive, type Answer, type Callbacks, type Effect } from 'crashlab';
declare const agent: Agent;
export function answer(effect: Effect): Answer | null {
  switch (effect.type) {
    case 'append': return effect.record.type === 'llm_call' ? { type: 'durable' } : { type: 'fenced' };
    case 'save_checkpoint': return { type: 'saved' };
    case 'call_model': return { type: 'completion', thought: effect.request.messages[0].content };
    case 'call_tool': return { type: 'result', result: effect.args };
    case 'ask_approval': return { type: 'decided', approved: true, approver: effect.approval_key };
    case 'wait': return { type: 'time_has_come' };
    case 'stop': return null;
    default: return effect satisfies never;
  }
}
const callbacks: Callbacks = {
  model: async ({ messages }, { attempt }) => ({ thought: String(messages.length + attempt) }),
  tools: { async look(args, { idempotency_key }) { return [args, idempotency_key]; } },
  approver: ({ tool }) => tool === 'look',
};
const effect = agent.poll();
if (effect) agent.handle({ effect: effect.id, at_ms: 0, answer: { type: 'expired' } });
export const end: Promise<{ status: string }> = drive({ run_id: 'r', system: '', task: '', tools: [] }, callbacks);
`;

test('the types of the package accept the README and every effect, and refuse a wrong answer', async () => {
  const folder = await project();
  const { callbacks } = await examples();
  await writeFile(join(folder, 'readme.js'), callbacks);
  await writeFile(join(folder, 'typed.ts'), TYPED);
  await writeFile(join(folder, 'wrong.ts'), TYPED.replace("{ type: 'expired' }", "{ type: 'ok' }"));
  const tsc = (file, lib, ...options) => {
    const all = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'node16', '--types', ''];
    const command = join(root, 'node_modules', '.bin', 'tsc');
    return node(command, [...all, '--lib', lib, ...options, file], { cwd: folder }).catch(
      (error) => error,
    );
  };
  const libs = ['es2022', 'es2022,dom', 'esnext,dom'];
  for (const lib of libs) assert.equal((await tsc('typed.ts', lib)).stdout, '', lib);
  // The README prints.
  assert.equal(
    (await tsc('readme.js', 'es2022,dom', '--checkJs', '--noImplicitAny', 'false')).stdout,
    '',
  );
  assert.match((await tsc('wrong.ts', 'es2022')).stdout, /'"ok"' is not assignable/);
});

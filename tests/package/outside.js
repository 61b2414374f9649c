// What stands around an agent of the package: a scripted model, services with books of their own, a person, and a clock.
import { Failure } from '../../pkg/node.js';

/** What the books of a world say in which nothing has happened. */
export const untouched = () => ({ deeds: [], questions: [], calls: {} });

/**
 * The callbacks of a run. `given` has the agent's `config` and what the others do: `script`, `results` of look-ups, `failures` by
 * tool and call, `answers` of the person. `world` is written to. `happened` is called behind everything that has happened.
 */
export function outside(given, world, now_ms, happened = () => {}) {
  let clock = now_ms;
  const { config, script, results = {}, failures = {}, answers = [] } = given;
  const by_key = (wanted) => world.deeds.find(({ key }) => key === wanted);
  const call = ({ name, annotations: { readOnlyHint, idempotentHint } }) => [
    name,
    async (args, { idempotency_key: key }) => {
      world.calls[name] = (world.calls[name] ?? 0) + 1;
      clock += 40;
      const failure = failures[name]?.[world.calls[name] - 1];
      const is_done = !failure || failure === 'reply_lost';
      if (is_done && !readOnlyHint && !(idempotentHint && by_key(key)))
        world.deeds.push({ tool: name, key, args });
      happened(name);
      if (failure) throw new Failure(failure, 'as the script says');
      if ('idempotency_key' in args) {
        const found = by_key(args.idempotency_key);
        return { found: found !== undefined, result: found ? { done: true } : null };
      }
      return readOnlyHint ? results[name] : { done: true };
    },
  ];
  return {
    now: () => clock,
    wait: async (ms) => void (clock += ms),
    model: async ({ messages }) => {
      clock += 700;
      happened('model');
      return script[messages.filter(({ role }) => role === 'assistant').length];
    },
    tools: Object.fromEntries(config.tools.map(call)),
    approver: async ({ approval_key }) => {
      if (!world.questions.includes(approval_key)) world.questions.push(approval_key);
      happened('question');
      clock += 9000;
      return answers[world.questions.indexOf(approval_key)];
    },
  };
}

/** Something with the methods of localStorage, with these entries in it. */
export function storageOf(entries = []) {
  const kept = new Map(entries);
  return {
    kept,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
    key: (index) => [...kept.keys()][index] ?? null,
    get length() {
      return kept.size;
    },
  };
}

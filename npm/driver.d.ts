import type {
  AgentConfig,
  Answer,
  Effect,
  FailureCode,
  FinalStatus,
  Json,
  ModelRequest,
  Stored,
} from './crashlab.js';

type MaybePromise<T> = T | Promise<T>;
type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

/** What a model says: the fields of the answer `completion`. Its latency is measured if it does not say it. */
export type Completion = Omit<Extract<Answer, { type: 'completion' }>, 'type'>;

/** What a person says; `null`: nobody decided in time. An answer that cannot be read is a denial. */
export type Verdict =
  boolean | null | undefined | { approved: boolean; approver?: string; note?: string | null };

/** Where log and snapshots are kept. A write that returns has to survive a crash; one that fails throws. */
export interface RunStore {
  load(): MaybePromise<Stored>;
  append(line: string): MaybePromise<void>;
  save(text: string, generation: number): MaybePromise<void>;
  /** Takes the last line away, which was cut in a write. */
  drop_last_line(): MaybePromise<void>;
}

export interface Callbacks {
  model(request: ModelRequest, effect: Of<'call_model'>): MaybePromise<Completion>;
  /**
   * By name, one for each tool of the configuration. What a tool throws says whether it may have been carried out: see `Failure`. A
   * result that JSON cannot hold is recorded as a failure, and the call is not repeated.
   */
  tools: Record<
    string,
    (args: any, effect: Of<'call_tool'>) => MaybePromise<Json | undefined | void>
  >;
  /** Without one, irreversible calls are denied. What it throws is a crash: the next start asks again, under the same key. */
  approver?(effect: Of<'ask_approval'>): MaybePromise<Verdict>;
  /** `memoryStore()` if it is absent. */
  store?: RunStore;
  /** Milliseconds since 1970. */
  now?(): number;
  /** Waits; a test returns at once and moves its clock. */
  wait?(ms: number): MaybePromise<unknown>;
  /** Sees every effect before it is carried out. What it throws is a crash. */
  watch?(effect: Effect): void;
}

/** Runs an agent to its end, from the start or from what the store has. */
export function drive(
  config: AgentConfig | Omit<AgentConfig, 'approver'>,
  callbacks: Callbacks,
): Promise<{ status: FinalStatus | 'fenced'; final: string | null }>;

/** Thrown by a model or a tool that knows what its failure means. */
export class Failure extends Error {
  constructor(code: FailureCode, message: string, options?: { retry_after?: string });
  readonly code: FailureCode;
  readonly retry_after?: string;
}

/** Thrown by a store: another agent has the run. */
export class Fenced extends Error {}

/** Storage that is gone with the process. */
export function memoryStore(stored?: {
  lines?: string[];
  checkpoints?: string[];
}): RunStore & { lines: string[]; checkpoints: string[] };

/** The part of the browser's `Storage` that is used. */
export interface KeyValueStorage {
  readonly length: number;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
  key(index: number): string | null;
}

/** Storage in localStorage or something with its methods, for one run. */
export function webStore(run_id: string, storage?: KeyValueStorage): RunStore & { clear(): void };

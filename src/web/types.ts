/** How a run of the lab is started. */
export interface LabOptions {
  /** The scenario as JSON text (of a shipped one: the file of its name in `src/lab/scenarios/`). */
  scenario: string;
  /** Mechanisms by id; one that is not named is on. */
  mechanisms?: Record<string, boolean>;
  /** Decimal digits of a 64-bit number. Absent: drawn afresh. */
  seed?: string;
  /** `local`: localStorage, survives a reload. `memory`: gone with the page. */
  storage: 'local' | 'memory';
  /** Which of the runs of the same input this is; each has its own storage. Absent: 0. */
  branch?: number;
  /** The checkpoint of another run with which this one begins, as JSON text. Absent: it begins at the beginning. */
  checkpoint?: string;
}

/** What a scenario is about. */
export interface ScenarioInfo {
  id: string;
  title: string;
  /** One or two sentences: what happens and what to look at. */
  summary: string;
  /** The ticket as the customer wrote it. */
  ticket: string;
  /** What a learner may try, one sentence each. */
  watch: string[];
  /** The scenario itself, as JSON text. */
  json: string;
}

/** A reliability mechanism that can be switched off. */
export interface MechanismInfo {
  id: string;
  name: string;
  /** What it does, one sentence. */
  what: string;
  /** What happens without it, one sentence. */
  without: string;
  /** The invariant that then breaks, by id. */
  breaks: string;
  /** The shipped scenario that shows it, by id. */
  scenario: string;
}

/** A run found in localStorage. */
export interface SavedRun {
  run_id: string;
  task_id: string;
  scenario_id: string;
  scenario_title: string;
  step: number;
  /** The final status, or null while the run is unfinished. */
  status: string | null;
  /** True: a question to a person is open. */
  question_open: boolean;
  /** A sentence, if parts of it cannot be read. */
  damage: string | null;
  /** Records in its log. */
  records: number;
  /** When it was last written, as the wall clock says: milliseconds since 1970. Null: not known. */
  last_active_ms: number | null;
}

/** What one `tick()` did. A run is driven by calling it again and again. */
export type Tick =
  /** The effect that was asked for has happened outside the agent. Its answer is under way for `takes_ms` of virtual time;
   *  the next tick delivers it. A crash now is a crash "after it happened but before the answer came". */
  | { type: 'happened'; effect: EffectView; takes_ms: number }
  /** The answer reached the agent, which has said what it wants next (`effect`). A crash now is a crash
   *  "before it happened". */
  | { type: 'answered'; effect: EffectView }
  /** A person has to decide first: `decide()`. */
  | { type: 'waiting_for_person'; approval_key: string }
  /** The agent is gone: `resume()`. `armed`: an armed crash went off. */
  | { type: 'crashed'; armed: boolean }
  /** The run is over. */
  | { type: 'stopped'; status: string }
  /** Another writer has taken the run over; this agent may write nothing more. */
  | { type: 'fenced'; message: string };

/** Where an effect takes place: its colour and its lane. */
export type Place = 'memory' | 'storage' | 'model' | 'tools' | 'person' | 'clock' | 'world';

/** An effect, as the page shows it. */
export interface EffectView {
  /** The running number of the effect in this session, from 0: what `arm` takes. */
  index: number;
  type:
    'append' | 'call_model' | 'call_tool' | 'ask_approval' | 'wait' | 'save_checkpoint' | 'stop';
  place: Place;
  step: number;
  /** For example `issue_refund, attempt 1` or `write tool_result`. */
  label: string;
  /** `issued`: asked for, not done. `happened`: done, the answer is under way. */
  stage: 'issued' | 'happened';
}

/** A gap of the run at which a crash can be armed. */
export interface Gap {
  index: number;
  when: 'before' | 'after';
  step: number;
  place: Place;
  /** For example `after:call_tool:issue_refund`, with the attempt after it from the second on. It does not change with the label. */
  id: string;
  /** For example `after the refund happened, before its answer`. */
  label: string;
}

/** One line of the log. */
export interface RecordView {
  /** Position in the log, from 0. */
  index: number;
  step: number;
  type: string;
  /** Seconds since the first record. */
  at_s: number;
  /** For example `14:02:07.250 UTC`. */
  clock: string;
  tool: string | null;
  call_id: string | null;
  attempt: number | null;
  /** A short line that says what happened. */
  text: string;
  tone: 'plain' | 'good' | 'bad' | 'wait';
  lane: 'model' | 'tools' | 'person' | 'storage';
  /** The first of the neighbouring records about the same call: this one, if it begins such a group or stands alone. */
  group: number;
  /** What begins with it: a call with all its attempts, of the model, of a tool or on a person, or one more attempt. */
  opens: 'call' | 'attempt' | null;
  /** What ends with it, each with the record with which it began. */
  closes: { from: number; span: 'call' | 'attempt' }[];
  /** The line as it stands in the log: JSON text of a `LogRecord`. */
  line: string;
}

/** One changed place of the agent's state. */
export interface Change {
  /** For example `plan.version` or `messages[8].content`. */
  path: string;
  /** JSON text; null: was not there. */
  before: string | null;
  after: string | null;
}

/** A record with what it did to the agent. */
export interface RecordDetail {
  record: RecordView;
  /** The record as indented JSON text, numbers exact. */
  json: string;
  changes: Change[];
  /** The state after the record, as indented JSON text of a `Checkpoint`; `null` where two writers have made one log. */
  state_json: string;
  /** The ledger rows that this record caused, by `seq`. */
  ledger: number[];
}

/**
 * Everything the three panels and the controls show, now or as of a record. The present comes without what the caller of
 * `view(known_messages, known_rows)` has already: messages, refunds, notes, outbox, requests, and questions that have not changed.
 */
export interface LabView {
  run_id: string;
  scenario_id: string;
  scenario_title: string;
  task_id: string;
  ticket: string;
  seed: string;
  mechanisms: { id: string; on: boolean }[];
  /** Virtual time in seconds since the first record. */
  now_s: number;
  clock: string;
  phase: 'running' | 'waiting_for_person' | 'crashed' | 'stopped' | 'fenced';
  /** The final status (`done`, `budget_usd`, `max_steps` …), or null. */
  status: string | null;
  /** One sentence for people: what is going on. */
  sentence: string;
  /** What the agent asked for and has not had its answer to. */
  in_flight: EffectView | null;
  armed: { index: number; when: 'before' | 'after' } | null;
  record_count: number;
  /** Null after a crash. */
  memory: MemoryView | null;
  storage: StorageView;
  world: WorldView;
  invariants: InvariantView[];
  /** How often this run was crashed and resumed. */
  crashes: number;
  resumes: number;
  /** The agent from which a second tab has taken the run over while it lived; null: there is none. */
  rival: { state: 'working' | 'fenced' | 'stopped'; step: number } | null;
}

export interface MemoryView {
  step: number;
  status: string;
  plan: { steps: string[]; version: number; needs_replan: boolean };
  messages: { role: string; text: string; tool: string | null }[];
  /** Guards: what was observed, and the limit with its unit: `1,204` of `60,000 tokens`. */
  guards: { name: string; observed: string; limit: string; share: number }[];
  llm_calls: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: string;
}

export interface StorageView {
  records: number;
  log_bytes: number;
  /** Which writer owns the run: 1 at the start, one more with each resume. */
  epoch: number;
  generations: { generation: number; step: number; bytes: number; damage: string | null }[];
  /** The summary of the newest checkpoint, as key and value or `<17 items>`; null before the first. */
  summary: { key: string; value: string }[] | null;
  /** The newest checkpoint as indented JSON text of a `Checkpoint`; null for the present, where `checkpoint_json()` gives it when it
   *  is wanted. */
  checkpoint_json: string | null;
  /** A sentence, if storage is full, absent or damaged. */
  warning: string | null;
}

export interface WorldView {
  /** How long the books are, with rows that are not shown. */
  rows: number;
  meter: { calls: number; input_tokens: number; output_tokens: number; cost_usd: string };
  charges: { charge_id: string; invoice_id: string; amount: string; refunded: string }[];
  refunds: {
    seq: number;
    record: number | null;
    refund_id: string;
    charge_id: string;
    amount: string;
    by: string;
    key: string;
    at_s: number;
  }[];
  /** All refunds together, for example `288.00 USD`. */
  refunded_total: string;
  notes: { seq: number; record: number | null; text: string; at_s: number }[];
  outbox: { seq: number; record: number | null; to: string; text: string; at_s: number }[];
  inbox: Question[];
  /** Requests that reached a service, by tool, with failures. */
  requests: {
    seq: number;
    record: number | null;
    tool: string;
    outcome: string;
    ok: boolean;
    at_s: number;
  }[];
  /** The person who decides; null: nobody is set up. */
  person: { id: string; name: string } | null;
}

/** A question put to a person, and what came of it. */
export interface Question {
  seq: number;
  record: number | null;
  approval_key: string;
  tool: string;
  /** The exact arguments, as indented JSON text. */
  args_json: string;
  /** The arguments one by one, for the card; values as JSON text. */
  args: { name: string; value: string }[];
  /** `lost`: the inbox was kept in memory alone, and went with its agent. */
  status: 'open' | 'approved' | 'denied' | 'expired' | 'lost';
  approver: string | null;
  note: string | null;
  asked_s: number;
  decided_s: number | null;
}

export interface InvariantView {
  id: string;
  name: string;
  kind: 'always' | 'eventually' | 'sometimes';
  verdict: 'holds' | 'broken' | 'open';
  /** The record at which it broke. */
  record: number | null;
  /** With the figures. */
  explanation: string;
}

/** What is searched, and how far. */
export interface SearchOptions {
  /** The scenario as JSON text. */
  scenario: string;
  /** Mechanisms by id; one that is not named is on. Absent: those of the scenario. */
  mechanisms?: Record<string, boolean>;
  /** Decimal digits of a 64-bit number. Absent: 1. */
  seed?: string;
  /** Crashes in one run, beside those of the scenario; 2 if absent, at most 9. A matrix always has one. */
  crashes?: number;
  /** Faults in one run; 1 if absent, at most 9. In a matrix none if absent. */
  faults?: number;
  /** Decisions in one run that are not those of the scenario's person; 1 if absent, at most 9. */
  decisions?: number;
  /** The search stops at so many states; 2,000,000 if absent. */
  states?: number;
}

export interface SearchProgress {
  states: number;
  /** Choices that were carried out. */
  choices: number;
  /** States that are still to be continued. */
  waiting: number;
  /** Choices from the start to the farthest state. */
  depth: number;
  done: boolean;
  /** It stopped at the bound of states, so its verdicts are about what it has seen. */
  hit_limit: boolean;
  /** A limit was near, so it began again with money or time in what makes two states different. */
  restarted: boolean;
}

export interface SearchVerdict {
  id: string;
  name: string;
  kind: 'always' | 'eventually' | 'sometimes';
  /** `happens` and `never` are about what has to hold in some run. */
  verdict: 'holds' | 'broken' | 'happens' | 'never';
  /** How many choices the run has: the least goes wrong in it, and of those it is a shortest one. */
  steps: number | null;
  /** In how many of the states that were seen it is broken. */
  broken_states: number;
  /** Ends of runs that were seen, and at how many of them it holds; an invariant that always has to hold is not counted there. */
  ends: number;
  held_ends: number;
}

/** A run, what an invariant says about each of its states, and the run that stays fine and parts from it latest. */
export interface SearchRun {
  invariant: { id: string; name: string; kind: 'always' | 'eventually' | 'sometimes' };
  /** The state of `run.steps` in which the invariant is broken first. */
  broken_at: number;
  /** To its end, on which nothing goes wrong any more. */
  run: ToldRun;
  twin: ToldRun | null;
  /** No run of the search stays fine, so the twin is one with all mechanisms. */
  twin_has_all_mechanisms: boolean;
  /** The first step at which the two choose differently; null where the twin has all mechanisms. */
  parts_at: number | null;
}

export interface ToldRun {
  steps: SearchStep[];
  /** A replay file, JSON text; of a broken run up to there. */
  replay: string | null;
  /** What makes it a run of the playground, for `Lab.replay`; null where a fault or a silence was chosen, which nobody can do there. */
  deeds: string | null;
  records: RecordView[];
  /** The panels at the end. */
  view: LabView;
}

/** A state of a run, and what was chosen there. */
/** A replay file that has been run again. */
export interface ReplayedRun {
  /** As recorded, byte for byte. */
  log: string;
  /** What is broken where the file ends. */
  broken: { id: string; name: string; clause: string }[];
  /** JSON text. */
  scenario: string;
  mechanisms: Record<string, boolean>;
  seed: string;
  /** To the run's end, as in `ToldRun`. */
  deeds: string | null;
}

export interface SearchStep {
  /** Where the run stands, in words. */
  at: string;
  /** Null at the end. */
  choice: string | null;
  /** It goes on, or resumes because it is dead. */
  plain: boolean;
  at_s: number;
  /** Records and rows so far. */
  records: number;
  rows: number;
  /** Invariants that are broken here. */
  broken: string[];
  /** What the run's invariant says here. */
  holds: boolean;
  clause: string;
  /** How many runs go on from here, and how many of them end with the invariant broken; null if the search has not seen them all. */
  futures: { all: string; broken: string; share: number } | null;
}

export interface MatrixProgress {
  columns: number;
  of: number;
  states: number;
  done: boolean;
}

export interface MatrixView {
  /** Crash points, in the order of the run. */
  rows: {
    label: string;
    place: string;
    earlier: number;
    step: number;
    /** The effect in a few words, such as `write llm_call`. */
    effect: string;
    when: 'before' | 'after';
  }[];
  columns: MatrixColumn[];
}

/** A set of mechanisms, and what a crash at each point then leads to. */
export interface MatrixColumn {
  /** The mechanism that is off; null: all are on. */
  off: string | null;
  name: string;
  /** What breaks without any crash. */
  broken_anyway: string[];
  /** Null until the column has been searched. */
  cells: { verdict: 'fine' | 'broken' | 'not_reached'; broken: string[] }[] | null;
}

/** What every method throws: an `Error` with this `code`. */
export interface LabError extends Error {
  code:
    'bad_scenario' | 'misfit' | 'storage' | 'not_found' | 'refused' | 'damaged' | 'bad_argument';
}

/** What a file is meant to be. What is nothing else is read as a trace. */
export type FileKind = 'trace' | 'checkpoint' | 'run' | 'replay' | 'scenario' | 'otlp';

/** The next lines of a trace that is being read. */
export interface TracePart {
  /** How much of the file has been read, from 0 to 1. */
  part: number;
  /** Without their lines, which come beside it. */
  rows: TraceRow[];
}

/** What a checkpoint says of itself. */
export interface CheckpointSummary {
  task_id: string;
  step: number;
  messages: number;
  llm_calls: number;
  /** Decisions of people in that run. They do not count in another one. */
  approvals: number;
}

/** What a run was set up from, for its file. */
export interface RunFileOptions {
  /** The scenario as JSON text. */
  scenario: string;
  /** The mechanisms that are off. */
  off: string[];
  seed: string;
  branch: number;
  /** What the run began with, if it began with a checkpoint. */
  checkpoint?: string;
}

/** A run from a file: `scenario` to `checkpoint` are `LabOptions`, and `done` is for `Lab.replay`. */
export interface OpenedRun {
  run_id: string;
  scenario: string;
  mechanisms: Record<string, boolean>;
  seed: string;
  branch: number;
  checkpoint: string | null;
  done: { deeds: unknown[]; moment: number };
  records: number;
}

/** How a log becomes a trace of OpenTelemetry. */
export interface OtlpOptions {
  /** The agent's name; `support` if none is given. */
  agent?: string;
  /** The model's name; `scripted` if none is given. */
  model?: string;
  /** True: messages, arguments and results are exported too. */
  content?: boolean;
  /** The scenario as JSON text; with `content`, its first two messages begin the conversation. */
  scenario?: string;
  /** True: the agent is alive, so a log without `stop` is not that of a crash. */
  running?: boolean;
}

/** Any JSON value. Text keeps numbers exact that `JSON.parse` would round. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** One line of the log, parsed. A type that this version does not know is kept and has the four common fields. */
export type LogRecord =
  | RunStartRecord
  | LlmRequestRecord
  | LlmCallRecord
  | LlmRetryRecord
  | ToolRetryRecord
  | ApprovalRequestRecord
  | ApprovalRecord
  | ToolCallRecord
  | ToolResultRecord
  | ReplanRecord
  | GuardRecord
  | CheckpointRecord
  | ResumeRecord
  | StopRecord
  | CrashRecord;

/** What every record begins with. */
export interface RecordBase {
  /** Seconds since 1970, 3 decimals. */
  ts: number;
  run_id: string;
  step: number;
}

export interface RunStartRecord extends RecordBase {
  type: 'run_start';
  format?: number;
  /** Name and digest of what is run. */
  scenario: string;
  /** Up to 64 bits: read it from the line if it has to be exact. */
  seed: number;
  mechanisms: { [id: string]: boolean };
  /** Limits and prices; of the tools, those that are `irreversible`, `not_idempotent` and `read_only`, by name. */
  limits: { [name: string]: number | string[] };
  traceparent: string | null;
  /** Only if the caller gave one with a valid `traceparent`. */
  tracestate?: string;
}

/** Intent: the model is about to be called. */
export interface LlmRequestRecord extends RecordBase {
  type: 'llm_request';
  attempt: number;
  /** The most that the call can cost. */
  projected_usd: number;
}

/** A tool call as the model planned it. Arguments that are no JSON are kept as a string. */
export interface PlannedCall {
  id: string;
  name: string;
  args: Json;
}

/** Result: the model has answered. */
export interface LlmCallRecord extends RecordBase {
  type: 'llm_call';
  thought: string;
  /** Only when it changed. */
  plan?: string[];
  plan_version: number;
  tool_calls: PlannedCall[];
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  latency_ms: number;
  /** The provider's usage could not be read, and the projection stands in for what was missing. */
  usage_partial?: true;
}

export interface LlmRetryRecord extends RecordBase {
  type: 'llm_retry';
  code?: string;
  attempt: number;
  /** The failure's code, a colon, its message. */
  error: string;
  backoff_s: number;
  /** Seconds since 1970. */
  until: number;
}

export interface ToolRetryRecord extends RecordBase {
  type: 'tool_retry';
  call_id?: string;
  code?: string;
  tool: string;
  attempt: number;
  error: string;
  backoff_s: number;
  until: number;
}

/** Intent: a person is about to be asked. */
export interface ApprovalRequestRecord extends RecordBase {
  type: 'approval_request';
  kind?: 'may_run' | 'send_again';
  call_id?: string;
  tool: string;
  args: Json;
  approval_key: string;
}

/** Result: it was decided. */
export interface ApprovalRecord extends RecordBase {
  type: 'approval';
  kind?: 'may_run' | 'send_again';
  call_id?: string;
  tool: string;
  args: Json;
  approval_key: string;
  decision: 'approved' | 'denied' | 'expired';
  /** `human:maya`, `policy:deny_all`, `nobody`. */
  approver: string;
  note: string | null;
  /** An earlier decision covers this call, nobody was asked. */
  reused: boolean;
}

/** Intent: a tool is about to be called. */
export interface ToolCallRecord extends RecordBase {
  type: 'tool_call';
  tool: string;
  args: Json;
  call_id: string;
  attempt: number;
  idempotency_key: string;
  traceparent: string;
}

/** Result: what the model will see of a call. */
export interface ToolResultRecord extends RecordBase {
  type: 'tool_result';
  code?: string;
  tool: string;
  call_id: string;
  ok: boolean;
  result: Json;
  /** The first 120 characters of `result`. */
  preview: string;
}

export interface ReplanRecord extends RecordBase {
  type: 'replan';
  call_id?: string;
  reason: string;
}

export interface GuardRecord extends RecordBase {
  type: 'guard';
  guard: FinalStatus;
  observed: Json;
  limit: Json;
}

export interface CheckpointRecord extends RecordBase {
  type: 'checkpoint';
  bytes: number;
  generation: number;
}

/** A new agent has taken the run over. */
export interface ResumeRecord extends RecordBase {
  type: 'resume';
  from_step: number;
  checkpoint_generation: number | null;
  records_replayed: number;
  in_doubt: InDoubt | null;
}

/** An intent without a result. */
export type InDoubt =
  | { type: 'llm_request'; attempt: number; projected_usd: number }
  | { type: 'tool_call'; tool: string; call_id: string; attempt: number; idempotency_key: string };

/** Why a run is over. `storage_failed` is in no record, as nothing could be written. */
export type FinalStatus =
  | 'done'
  | 'max_steps'
  | 'budget_usd'
  | 'budget_tokens'
  | 'deadline'
  | 'repeated_call'
  | 'stale'
  | 'max_replans'
  | 'max_resumes'
  | 'model_failed'
  | 'storage_failed';

export interface StopRecord extends RecordBase {
  type: 'stop';
  code?: string;
  attempt?: number;
  status: FinalStatus;
  /** USD; for the tokens' budget tokens. */
  used: number;
  /** Of a budget: what the next call could have cost. */
  next_call?: number;
  /** Of a budget. */
  limit?: number;
  /** Why the model could not be had. */
  error?: string;
}

/** The lab has killed the agent here. A real crash writes nothing. */
export interface CrashRecord extends RecordBase {
  type: 'crash';
  point?: string;
  at: string;
}

/** A message of the conversation. */
export type Message =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; tool_calls?: PlannedCall[] }
  | { role: 'tool'; tool_call_id: string; name: string; content: string };

/** The agent's state as it is saved: thirteen keys that any program reads, then what recovery needs. */
export interface Checkpoint {
  task_id: string;
  messages: Message[];
  step: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  llm_calls: number;
  plan: { steps: string[]; version: number; needs_replan: boolean };
  seen_calls: string[];
  fingerprints: string[];
  stale_steps: number;
  status: 'running' | FinalStatus;
  final: string | null;
  version: number;
  log_position: number;
  /** The exact cost in 10⁻¹² USD; up to 64 bits. */
  cost_pico_usd: number;
  replans: number;
  approvals: {
    tool: string;
    identity: string;
    action: string;
    approval_key: string;
    decision: 'approved' | 'denied' | 'expired';
    approver: string;
  }[];
}

/** What a herd of agents did to the service that they all need (`herd()` of the study module gives it as JSON text). */
export interface HerdView {
  agents: number;
  /** The tool that they all need. */
  tool: string;
  /** How many of its calls are served in each second. */
  capacity_per_s: number;
  /** Until when, from the start, every call gets a 503. */
  down_until_s: number;
  /** How long each of the buckets is. */
  span_s: number;
  /** From the start on: requests that came in this span, and how many of them were served. */
  buckets: { requests: number; served: number }[];
  /** All requests together. */
  requests: number;
  /** The most repeated requests that came in one millisecond. */
  most_at_once: number;
  /** Agents that were served at all. */
  served_agents: number;
  /** When the last of them was; null: none was. */
  last_served_s: number | null;
}

// --- Files, judgement, diagnosis -------------------------------------------------------------------------------------------------

/** A trace that was read from a file. */
export interface TraceSummary {
  /** Lines that are not empty; everything that names a record counts these, from 0. */
  records: number;
  /** How many of them have something missing, unknown or wrong. */
  foreign: number;
  /** The runs, in the order in which they begin. */
  runs: { run_id: string; records: number }[];
  /** Lines that cannot be read. They are kept, too. */
  problems: { index: number; line: number; message: string }[];
}

/** A line of a trace from a file. */
export interface TraceRow {
  record: RecordView;
  /** The number of the line in the file, from 1. */
  line_number: number;
  /** `known`: a record of this program. `foreign`: see `remarks`. `broken`: cannot be read; `record.text` says why. */
  form: 'known' | 'foreign' | 'broken';
  /** Absent: nothing is unusual about it. */
  remarks?: Remarks;
}

/** What is unusual about a record. Fields are named as paths, such as `tool_calls[0].id`. */
export interface Remarks {
  unknown_type: boolean;
  missing: string[];
  unknown: string[];
  /** Path, what was expected, what stands there. */
  wrong: string[];
}

/** A run judged from its trace: one for each run of the file. */
export interface Evaluation {
  /** Empty if the records do not name their run. */
  run_id: string;
  records: number;
  /** All eight, always in the same order. */
  checks: Check[];
}

/** One check of one run. */
export interface Check {
  id:
    | 'finished'
    | 'refunded_once'
    | 'approved_by_person'
    | 'approved_before'
    | 'within_budget'
    | 'no_blind_retry'
    | 'told_the_truth'
    | 'complete';
  /** A question that `pass` answers with yes. */
  name: string;
  /** `not_applicable`: nothing of the kind happened, or the trace does not say enough. */
  verdict: 'pass' | 'fail' | 'not_applicable';
  /** The records that prove it. */
  records: number[];
  /** With the figures. */
  sentence: string;
}

/** Why a run stopped and what to change, in a sentence each: one for each run of the file. */
export interface Diagnosis {
  run_id: string;
  /** The final status, or `unfinished`. */
  status: string;
  why: string;
  change: string;
  /** The records that this speaks of. */
  records: number[];
  /** Tools whose calls failed and were repeated, the worst first. */
  flaky: {
    tool: string;
    attempts: number;
    failures: number;
    records: number[];
    sentence: string;
  }[];
}

/** What a run of the package's `Agent` is given. */
export interface AgentConfig {
  /** Names the run in its records and keys. Another run, another name. */
  run_id: string;
  /** The ticket or whatever it works on; the run's name if it is absent. */
  task_id?: string;
  /** What kind of agent this is; stands in the log with a digest of words and tools, and is compared on resume. */
  name?: string;
  /** The first message: who the agent is. */
  system: string;
  /** The second message: what it has to do. */
  task: string;
  /** What jitter is drawn from: a number, or its digits if it is larger than 2^53. */
  seed?: number | string;
  /** Each limit is a guard that stops the run under its own name. */
  limits?: {
    max_steps?: number;
    budget_usd?: number;
    budget_tokens?: number;
    deadline_s?: number;
    max_repeats?: number;
    max_stale_steps?: number;
    max_replans?: number;
    max_resumes?: number;
    /** The most tokens that one answer of the model may have. */
    output_reserve?: number;
  };
  prices?: { input_usd_per_million: number; output_usd_per_million: number };
  retry?: { max_attempts?: number; base_s?: number; cap_s?: number; patience_s?: number };
  tools: ToolDefinition[];
  /** False: nobody can be asked, and an irreversible call is denied. */
  approver?: boolean;
  /** Mechanisms that are taken away, such as `approval_gate: false`. */
  policies?: { [id: string]: boolean };
  traceparent?: string;
  tracestate?: string;
}

/** A tool, as `tools/list` of the Model Context Protocol has it. One without annotations counts as destructive. */
export interface ToolDefinition {
  name: string;
  description?: string;
  inputSchema?: Json;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean; idempotentHint?: boolean };
  /** Arguments that make the business intent: the idempotency key is made from them. */
  intent?: string[];
  /** A read-only tool that tells, by `idempotency_key`, whether a call was executed: `{found, result}`. */
  lookup?: string;
  /** The read whose version goes along, so that the service can refuse if it has changed since. */
  relies_on?: { tool: string; argument: string; version_field: string };
}

/** What a driver has stored of a run. */
export interface Stored {
  /** The log, one line a record. */
  log?: string;
  /** The texts of the last snapshots, in any order. */
  checkpoints?: string[];
}

/** What the agent wants done. It is answered with an `AgentEvent`, all but `stop`. */
export type Effect =
  /** Write the line, and answer `durable` only when it survives a crash. */
  | { id: number; type: 'append'; line: string; record: LogRecord }
  | { id: number; type: 'call_model'; attempt: number; request: ModelRequest }
  | {
      id: number;
      type: 'call_tool';
      tool: string;
      call_id: string;
      args: Json;
      /** The same as text, with numbers exact. */
      args_json: string;
      attempt: number;
      /** The same for every attempt of one action, also after a crash. */
      idempotency_key: string;
      traceparent: string;
      tracestate: string | null;
      expected_version: string | null;
    }
  /** Asked again under the same key it is the same question. */
  | {
      id: number;
      type: 'ask_approval';
      kind: 'may_run' | 'send_again';
      call_id: string;
      tool: string;
      args: Json;
      args_json: string;
      approval_key: string;
    }
  /** Milliseconds since 1970. */
  | { id: number; type: 'wait'; until_ms: number }
  /** Keep the last two texts. */
  | { id: number; type: 'save_checkpoint'; generation: number; text: string }
  | { id: number; type: 'stop'; status: FinalStatus; final: string | null };

/** What is sent to the model. */
export interface ModelRequest {
  messages: Message[];
  tools: {
    name: string;
    description: string;
    inputSchema: Json;
    annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean };
  }[];
  max_output_tokens: number;
}

/** What came of an effect. */
export interface AgentEvent {
  /** The effect's `id`. */
  effect: number;
  /** The driver's clock, in milliseconds since 1970. */
  at_ms: number;
  answer: Answer;
}

export type Answer =
  | { type: 'durable' }
  | { type: 'saved' }
  | { type: 'storage_failed'; message: string }
  /** Another agent has the run. */
  | { type: 'fenced'; owner_epoch?: number }
  | {
      type: 'completion';
      /** Without tool calls it is the final answer. */
      thought: string;
      plan?: string[] | null;
      tool_calls?: (
        { id: string; name: string; args: Json } | { id: string; name: string; args_json: string }
      )[];
      /** Without it the projection is counted. */
      usage?: { input_tokens: number; output_tokens: number } | null;
      latency_ms?: number;
    }
  | { type: 'result'; result: Json }
  | { type: 'result'; result_json: string }
  | { type: 'failed'; code: FailureCode; message: string; retry_after?: string | null }
  | { type: 'decided'; approved: boolean; approver: string; note?: string | null }
  | { type: 'expired' }
  | { type: 'time_has_come' };

/**
 * Kinds of failures. `unavailable`, `rate_limited` and `refused`: certainly not done. `timeout`, `reply_lost` and `malformed`: perhaps
 * done, so only an idempotent call is sent again. `rejected`: it will never work, and the model hears of it.
 */
export type FailureCode =
  'unavailable' | 'rate_limited' | 'refused' | 'timeout' | 'reply_lost' | 'malformed' | 'rejected';

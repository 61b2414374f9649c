//! The records of the log: one JSON object a line.

mod call;
mod codec;
mod failure;
mod status;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::base::money::PicoUsd;

pub use call::{ToolCall, call_identity};
pub use codec::{log_digest, object, read_log, seconds};
pub use failure::{Failure, FailureCode, FailureKind, RecordedFailure};
pub use status::{ApprovalStatus, Decision, QuestionKind, Status, ToolOutcome, UnknownName};

/// The format of the records that this program writes. It reads all formats up to this one.
///
/// 2 has `format` in `run_start`, `call_id` with questions, decisions, tool retries and replans, `kind` with questions and decisions,
/// `code` with failures, and `point` with the lab's crashes. 1 had none of these.
pub const FORMAT: u32 = 2;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Milliseconds since 1970; written as `ts` in seconds with 3 decimals.
    pub ts_ms: u64,
    /// The run it belongs to.
    pub run_id: Arc<str>,
    /// The step it belongs to, from 0. A checkpoint carries the step that comes next.
    pub step: u32,
    /// The rest, by type.
    pub body: RecordBody,
}

/// The types of records with their own fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordBody {
    /// The first record of a run.
    RunStart {
        /// Of the records: [`FORMAT`] for those that this program writes. 1 had no such field.
        format: u32,
        /// Name and digest of what is run, such as `double-charge#1f0c22ab`.
        scenario: Arc<str>,
        /// What jitter is drawn from.
        seed: u64,
        /// Mechanism to on or off.
        mechanisms: Arc<Value>,
        /// Limits and prices.
        limits: Arc<Value>,
        /// The caller's trace context, if it was valid.
        traceparent: Option<Arc<str>>,
        /// What goes with it, if it was valid. Written only when there is one.
        tracestate: Option<Arc<str>>,
    },
    /// Intent: the model is about to be called.
    LlmRequest {
        /// From 1, within the step.
        attempt: u32,
        /// The most that the call can cost.
        projected: PicoUsd,
    },
    /// Result: the model has answered.
    LlmCall(LlmCall),
    /// A model call failed and will be repeated.
    LlmRetry(Retry),
    /// A tool call failed and will be repeated.
    ToolRetry {
        /// The tool.
        tool: Arc<str>,
        /// The call of the conversation that it serves. Format 1 has none.
        call_id: Option<Arc<str>>,
        /// Attempt, failure and wait.
        retry: Retry,
    },
    /// Intent: a person is about to be asked.
    ApprovalRequest {
        /// What is asked.
        kind: QuestionKind,
        /// The call that it is about. Format 1 has none.
        call_id: Option<Arc<str>>,
        /// The tool that wants to run.
        tool: Arc<str>,
        /// Its exact arguments.
        args: Arc<Value>,
        /// The key of question and decision.
        approval_key: Arc<str>,
    },
    /// Result: it was decided.
    Approval {
        /// What was asked.
        kind: QuestionKind,
        /// The call that it is about. Format 1 has none.
        call_id: Option<Arc<str>>,
        /// The tool.
        tool: Arc<str>,
        /// The exact arguments that were decided about.
        args: Arc<Value>,
        /// The key of question and decision.
        approval_key: Arc<str>,
        /// How, by whom, and what they wrote beside it.
        decision: Decision,
        /// True: an earlier decision covers this call, nobody was asked.
        reused: bool,
    },
    /// Intent: a tool is about to be called.
    ToolCall {
        /// The tool; a look-up names the tool that looks up.
        tool: Arc<str>,
        /// The exact arguments.
        args: Arc<Value>,
        /// The call of the conversation that it serves.
        call_id: Arc<str>,
        /// From 1; counts on over crashes.
        attempt: u32,
        /// Sent along.
        idempotency_key: Arc<str>,
        /// Sent along.
        traceparent: Arc<str>,
    },
    /// Result: what the model will see of a call.
    ToolResult {
        /// The tool of the conversation's call.
        tool: Arc<str>,
        /// The call.
        call_id: Arc<str>,
        /// Written as `ok`; what else it says stands in the result.
        outcome: ToolOutcome,
        /// How its last attempt failed, if that is why it is not ok. Format 1 has none.
        code: Option<FailureCode>,
        /// What came back.
        result: Arc<Value>,
    },
    /// A failure makes the model plan again.
    Replan {
        /// The call that failed. Format 1 has none.
        call_id: Option<Arc<str>>,
        /// What failed.
        reason: Arc<str>,
    },
    /// A guard has stopped the run.
    Guard {
        /// Its name, which becomes the status.
        guard: Status,
        /// What was observed.
        observed: Arc<Value>,
        /// What is allowed.
        limit: Arc<Value>,
    },
    /// A snapshot has been saved.
    Checkpoint {
        /// Its size.
        bytes: u64,
        /// Its number, from 1.
        generation: u64,
    },
    /// A new agent has taken the run over.
    Resume {
        /// The step it goes on with.
        from_step: u32,
        /// The snapshot it started from, if there was one.
        checkpoint_generation: Option<u64>,
        /// How many records after the snapshot were replayed.
        records_replayed: u64,
        /// An intent without a result.
        in_doubt: Option<InDoubt>,
    },
    /// The run is over.
    Stop {
        /// Why.
        status: Status,
        /// What was spent: USD, for the tokens' budget tokens.
        used: Arc<Value>,
        /// What explains it.
        cause: StopCause,
    },
    /// The lab has killed the agent here. A real crash writes nothing.
    Crash {
        /// Where, for people.
        at: Arc<str>,
        /// The crash point's id, which does not change with its words. Format 1 has none.
        point: Option<Arc<str>>,
    },
    /// A type that this version does not know; kept as it is.
    Unknown {
        /// Its type.
        kind: Arc<str>,
        /// Its own fields.
        fields: Map<String, Value>,
    },
}

/// What a model call gave.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LlmCall {
    /// The model's text.
    pub thought: Arc<str>,
    /// Only when it changed.
    pub plan: Option<Vec<Arc<str>>>,
    /// After this call.
    pub plan_version: u32,
    /// What it wants to call, as written.
    pub tool_calls: Arc<[ToolCall]>,
    /// As the provider counts.
    pub input_tokens: u64,
    /// As the provider counts.
    pub output_tokens: u64,
    /// Tokens times prices.
    pub cost: PicoUsd,
    /// How long it took.
    pub latency_ms: u64,
    /// True: the provider's usage could not be read, the projection stands in for what was missing. Written only when true.
    pub usage_partial: bool,
}

/// A failed attempt and the wait after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Retry {
    /// The attempt that failed.
    pub attempt: u32,
    /// Written as `code` and `error`.
    pub failure: RecordedFailure,
    /// Written as `backoff_s`.
    pub backoff_ms: u64,
    /// Written as `until`, in seconds since 1970.
    pub until_ms: u64,
}

/// What explains the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StopCause {
    /// The status says it all.
    Plain,
    /// A budget: the next call was refused before it was paid for.
    Budget {
        /// What it could have cost: USD, for the tokens' budget tokens.
        next_call: Value,
        /// What is allowed.
        limit: Value,
    },
    /// The model could not be had.
    ModelFailed {
        /// How its last attempt failed.
        failure: RecordedFailure,
        /// Which attempt that was, from 1. Format 1 says it in the message alone.
        attempt: Option<u32>,
    },
    /// What another program wrote.
    Other(Map<String, Value>),
}

impl StopCause {
    /// Why the model could not be had, in the form of the `error` field: the failure, and in which attempt.
    pub fn error(&self) -> Option<String> {
        match self {
            StopCause::ModelFailed { failure, attempt } => Some(format!("{failure}{}", in_attempt(*attempt))),
            StopCause::Plain | StopCause::Budget { .. } | StopCause::Other(_) => None,
        }
    }

    /// True if the run stopped over a model call that may have been billed. No retry has counted it.
    pub fn model_may_have_run(&self) -> bool {
        matches!(self, StopCause::ModelFailed { failure, .. } if failure.may_have_run())
    }
}

/// How an `error` field ends that says its attempt.
fn in_attempt(attempt: Option<u32>) -> String {
    attempt.map_or(String::new(), |attempt| format!(", in attempt {attempt}"))
}

/// An intent whose result is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InDoubt {
    /// The model may have answered: its projected cost counts as spent.
    Model {
        /// The attempt in doubt.
        attempt: u32,
        /// What is counted.
        projected: PicoUsd,
    },
    /// The tool may have run.
    Tool {
        /// The tool.
        tool: Arc<str>,
        /// The call.
        call_id: Arc<str>,
        /// The attempt in doubt.
        attempt: u32,
        /// Under which it was sent.
        idempotency_key: Arc<str>,
    },
}

impl RecordBody {
    /// The `type` field.
    pub fn kind(&self) -> &str {
        match self {
            RecordBody::RunStart { .. } => "run_start",
            RecordBody::LlmRequest { .. } => "llm_request",
            RecordBody::LlmCall(_) => "llm_call",
            RecordBody::LlmRetry(_) => "llm_retry",
            RecordBody::ToolRetry { .. } => "tool_retry",
            RecordBody::ApprovalRequest { .. } => "approval_request",
            RecordBody::Approval { .. } => "approval",
            RecordBody::ToolCall { .. } => "tool_call",
            RecordBody::ToolResult { .. } => "tool_result",
            RecordBody::Replan { .. } => "replan",
            RecordBody::Guard { .. } => "guard",
            RecordBody::Checkpoint { .. } => "checkpoint",
            RecordBody::Resume { .. } => "resume",
            RecordBody::Stop { .. } => "stop",
            RecordBody::Crash { .. } => "crash",
            RecordBody::Unknown { kind, .. } => kind,
        }
    }

    /// True for what an agent has learnt for good. Checkpoints count these: two runs that learnt the same stand at the same place
    /// of the log, whatever crashes and retries one of them went through.
    pub fn is_settled(&self) -> bool {
        match self {
            RecordBody::LlmCall(_) | RecordBody::Approval { .. } | RecordBody::ToolResult { .. } | RecordBody::Replan { .. } => {
                true
            }
            RecordBody::RunStart { .. }
            | RecordBody::LlmRequest { .. }
            | RecordBody::LlmRetry(_)
            | RecordBody::ToolRetry { .. }
            | RecordBody::ApprovalRequest { .. }
            | RecordBody::ToolCall { .. }
            | RecordBody::Guard { .. }
            | RecordBody::Checkpoint { .. }
            | RecordBody::Resume { .. }
            | RecordBody::Stop { .. }
            | RecordBody::Crash { .. }
            | RecordBody::Unknown { .. } => false,
        }
    }
}

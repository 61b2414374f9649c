//! What the fold needs of a record, from a record of this program or from any JSON object.

use std::sync::Arc;

use serde_json::Value;

use super::recorded_text::question_kind;
use super::{Lane, Outcome, RecordedError};
use crate::base::json::{count, decimal};
use crate::base::money::PicoUsd;
use crate::record::{QuestionKind, Record, RecordBody, Retry, StopCause, ToolCall, ToolOutcome};

/// A record, as far as it can be understood. What it does not say is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The step.
    pub step: Option<u32>,
    /// The rest, by type.
    pub what: What,
}

/// The types of records.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The run begins.
    Start,
    /// Intent: the model is about to be called.
    ModelRequest {
        /// From 1.
        number: Option<u32>,
        /// The most that it can cost.
        projected: Option<PicoUsd>,
    },
    /// The model has answered, and wants these calls.
    ModelAnswer(Vec<Named>),
    /// A model call failed and will be repeated.
    ModelRetry(RecordedError),
    /// Intent: a person is about to be asked.
    Question(Named, QuestionKind),
    /// It was decided.
    Decision(Named, QuestionKind),
    /// Intent: a tool is about to be called.
    ToolIntent {
        /// The call.
        call: Named,
        /// From 1.
        number: Option<u32>,
        /// Sent along.
        idempotency_key: Option<Arc<str>>,
    },
    /// A tool call failed and will be repeated.
    ToolRetry(Named, RecordedError),
    /// What came of a call, and what went wrong.
    ToolResult(Named, Outcome, Option<RecordedError>),
    /// The model has to plan again.
    Replan,
    /// A guard has stopped the run.
    Guard,
    /// A snapshot was saved.
    Checkpoint,
    /// A new agent has taken the run over.
    Resume,
    /// The run is over, because of this error if there is one.
    Stop(Option<RecordedError>),
    /// The agent was killed.
    Crash,
    /// A type that is not known, with the lane that its name suggests, or a line that cannot be read.
    Unknown(Lane),
}

/// How a record names a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: Option<Arc<Value>>,
    /// The id of the call.
    pub call_id: Option<Arc<str>>,
}

impl Entry {
    /// A line that cannot be read.
    pub fn unreadable() -> Entry {
        Entry { step: None, what: What::Unknown(Lane::Storage) }
    }

    /// A record of this program.
    pub fn of(record: &Record) -> Entry {
        Entry { step: Some(record.step), what: of_body(&record.body) }
    }

    /// Any JSON value. Empty names and ids are none.
    pub fn read(value: &Value) -> Entry {
        Entry { step: small(value, "step"), what: read_body(text(value, "type").unwrap_or_default(), value) }
    }
}

/// The name of a tool that has none.
const NAMELESS: &str = "a tool without a name";

fn named(tool: &Arc<str>, args: Option<&Arc<Value>>, call_id: Option<&Arc<str>>) -> Named {
    let call_id = call_id.filter(|id| !id.is_empty()).cloned();
    Named { tool: tool.clone(), args: args.cloned(), call_id }
}

fn of_body(body: &RecordBody) -> What {
    let error = |retry: &Retry| RecordedError::of(&retry.failure);
    match body {
        RecordBody::RunStart { .. } => What::Start,
        RecordBody::LlmRequest { attempt, projected } => {
            What::ModelRequest { number: Some(*attempt), projected: Some(*projected) }
        }
        RecordBody::LlmCall(call) => {
            let planned = |call: &ToolCall| named(&call.name, Some(&call.args), Some(&call.id));
            What::ModelAnswer(call.tool_calls.iter().map(planned).collect())
        }
        RecordBody::LlmRetry(retry) => What::ModelRetry(error(retry)),
        RecordBody::ToolRetry { tool, call_id, retry } => What::ToolRetry(named(tool, None, call_id.as_ref()), error(retry)),
        RecordBody::ApprovalRequest { kind, call_id, tool, args, .. } => {
            What::Question(named(tool, Some(args), call_id.as_ref()), *kind)
        }
        RecordBody::Approval { kind, call_id, tool, args, .. } => {
            What::Decision(named(tool, Some(args), call_id.as_ref()), *kind)
        }
        RecordBody::ToolCall { tool, args, call_id, attempt, idempotency_key, .. } => What::ToolIntent {
            call: named(tool, Some(args), Some(call_id)),
            number: Some(*attempt),
            idempotency_key: Some(idempotency_key.clone()),
        },
        RecordBody::ToolResult { tool, call_id, outcome: recorded, result, .. } => {
            let error = result.get("error").and_then(Value::as_str).map(RecordedError::from_text);
            What::ToolResult(named(tool, None, Some(call_id)), (*recorded).into(), error)
        }
        RecordBody::Replan { .. } => What::Replan,
        RecordBody::Guard { .. } => What::Guard,
        RecordBody::Checkpoint { .. } => What::Checkpoint,
        RecordBody::Resume { .. } => What::Resume,
        RecordBody::Stop { cause, .. } => What::Stop(match cause {
            StopCause::ModelFailed { failure, .. } => Some(RecordedError::of(failure)),
            StopCause::Other(fields) => fields.get("error").and_then(Value::as_str).map(RecordedError::from_text),
            StopCause::Plain | StopCause::Budget { .. } => None,
        }),
        RecordBody::Crash { .. } => What::Crash,
        RecordBody::Unknown { kind, .. } => What::Unknown(lane_of(kind)),
    }
}

fn read_body(kind: &str, value: &Value) -> What {
    let call = || read_named(value);
    let question = || question_kind(value);
    let error = || text(value, "error").map(RecordedError::from_text);
    let error_or_none = || error().unwrap_or_else(|| RecordedError::from_text(""));
    match kind {
        "run_start" => What::Start,
        "llm_request" => What::ModelRequest {
            number: small(value, "attempt"),
            projected: value.get("projected_usd").and_then(decimal).and_then(|usd| usd.scaled(12)).map(PicoUsd),
        },
        "llm_call" => {
            let calls = value.get("tool_calls").and_then(Value::as_array);
            What::ModelAnswer(calls.into_iter().flatten().map(read_planned).collect())
        }
        "llm_retry" => What::ModelRetry(error_or_none()),
        "tool_retry" => What::ToolRetry(call(), error_or_none()),
        "approval_request" => What::Question(call(), question()),
        "approval" => What::Decision(call(), question()),
        "tool_call" => What::ToolIntent {
            call: call(),
            number: small(value, "attempt"),
            idempotency_key: text(value, "idempotency_key").map(Arc::from),
        },
        "tool_result" => {
            let (result, ok) = read_result(value);
            let found = text(&result, "error").map(RecordedError::from_text).or_else(error);
            What::ToolResult(call(), outcome(ok, &result), found)
        }
        "replan" => What::Replan,
        "guard" => What::Guard,
        "checkpoint" => What::Checkpoint,
        "resume" => What::Resume,
        "stop" => What::Stop(error()),
        "crash" => What::Crash,
        unknown => What::Unknown(lane_of(unknown)),
    }
}

/// What came back of a call, which in a shortened trace may be its preview, and whether the record says that it went well.
pub fn read_result(value: &Value) -> (Value, Option<bool>) {
    let preview = || text(value, "preview").and_then(|preview| serde_json::from_str::<Value>(preview).ok());
    let result = value.get("result").cloned().or_else(preview).unwrap_or_default();
    let ok = match (value.get("ok"), result.get("ok"), value.get("error")) {
        (Some(Value::Bool(ok)), _, _) | (None, Some(Value::Bool(ok)), _) => Some(*ok),
        (None, _, Some(error)) if !error.is_null() => Some(false),
        _ => None,
    };
    (result, ok)
}

fn outcome(ok: Option<bool>, result: &Value) -> Outcome {
    match (ok, ToolOutcome::of_result(ok.unwrap_or(false), result).into()) {
        (None, Outcome::Failed) => Outcome::Unstated,
        (_, outcome) => outcome,
    }
}

fn read_named(value: &Value) -> Named {
    Named {
        tool: text(value, "tool").or(text(value, "name")).unwrap_or(NAMELESS).into(),
        args: value.get("args").filter(|args| !args.is_null()).cloned().map(Arc::new),
        call_id: text(value, "call_id").map(Arc::from),
    }
}

fn read_planned(value: &Value) -> Named {
    let args = value.get("args").or(value.get("arguments")).cloned().map(Arc::new);
    Named { args, call_id: text(value, "id").map(Arc::from), ..read_named(value) }
}

/// A text that is not empty.
fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

fn small(value: &Value, key: &str) -> Option<u32> {
    count(value.get(key)?)?.try_into().ok()
}

/// Other programs have types of their own, whose names begin as those of the loop do.
fn lane_of(kind: &str) -> Lane {
    let begins = |word: &str| kind.starts_with(word);
    match () {
        () if begins("llm") => Lane::Model,
        () if begins("tool") => Lane::Tools,
        () if begins("approval") => Lane::Person,
        () => Lane::Storage,
    }
}

//! Records as lines of JSON: written and read in one place.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    ApprovalStatus, Decision, FORMAT, InDoubt, LlmCall, QuestionKind, Record, RecordBody, RecordedFailure, Retry, Status,
    StopCause, ToolCall, ToolOutcome, in_attempt,
};
use crate::base::hash::hash64;
use crate::base::json::{Fields, ReadError, compact, parse, read};
use crate::base::money::{PicoUsd, number};
use crate::base::text::preview;

/// Milliseconds as seconds with 3 decimals.
pub fn seconds(ms: u64) -> Value {
    number(&format!("{}.{:03}", ms / 1_000, ms % 1_000))
}

pub(super) fn text(text: &Arc<str>) -> Value {
    Value::String(text.to_string())
}

/// An object of these fields, in this order.
pub fn object<const N: usize>(mut fields: [(&str, Value); N]) -> Value {
    object_of(&mut fields)
}

/// The same for any number of fields, so that it is compiled once.
fn object_of(fields: &mut [(&str, Value)]) -> Value {
    Value::Object(fields.iter_mut().map(|(key, value)| (key.to_string(), value.take())).collect())
}

impl Record {
    /// The record as JSON text, without the line's end.
    pub fn to_line(&self) -> String {
        compact(&self.to_json())
    }

    /// The record as a line of an earlier format, without what that lacks.
    pub fn to_line_of_format(&self, format: u32) -> String {
        let mut fields = self.common_fields();
        self.body.write(format, &mut fields);
        compact(&Value::Object(fields))
    }

    /// The record as a JSON object: `ts`, `run_id`, `step`, `type`, then its own fields.
    pub fn to_json(&self) -> Value {
        let mut fields = self.common_fields();
        self.body.write(FORMAT, &mut fields);
        Value::Object(fields)
    }

    fn common_fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("ts".into(), seconds(self.ts_ms));
        fields.insert("run_id".into(), text(&self.run_id));
        fields.insert("step".into(), self.step.into());
        fields.insert("type".into(), self.body.kind().into());
        fields
    }

    /// Reads one line. The error names the field.
    pub fn from_line(line: &str) -> Result<Record, ReadError> {
        Record::from_json(&parse(line)?)
    }

    /// Reads what stands in one line. The error names the field.
    pub fn from_json(value: &Value) -> Result<Record, ReadError> {
        read(value, "$", |from| Record {
            ts_ms: from.scaled("ts", 3),
            run_id: from.arc_str("run_id"),
            step: from.u32("step"),
            body: RecordBody::read(from.str("type"), from),
        })
    }
}

impl RecordBody {
    /// `format`: of the line. What a record read from an earlier format lacks is not written in a later one either.
    fn write(&self, format: u32, out: &mut Map<String, Value>) {
        let since_2 = |value: Option<Value>| value.filter(|_| format >= 2);
        let id = |call_id: &Option<Arc<str>>| since_2(call_id.as_ref().map(text));
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_string(), value);
        };
        match self {
            RecordBody::RunStart { format: written, scenario, seed, mechanisms, limits, traceparent, tracestate } => {
                put_known(&mut put, "format", since_2(Some((*written).into())).filter(|_| *written > 1));
                put("scenario", text(scenario));
                put("seed", (*seed).into());
                put("mechanisms", (**mechanisms).clone());
                put("limits", (**limits).clone());
                put("traceparent", traceparent.as_ref().map_or(Value::Null, text));
                if let Some(tracestate) = tracestate {
                    put("tracestate", text(tracestate));
                }
            }
            RecordBody::LlmRequest { attempt, projected } => {
                put("attempt", (*attempt).into());
                put("projected_usd", projected.usd_number());
            }
            RecordBody::LlmCall(call) => {
                put("thought", text(&call.thought));
                if let Some(plan) = &call.plan {
                    put("plan", plan.iter().map(text).collect());
                }
                put("plan_version", call.plan_version.into());
                put("tool_calls", call.tool_calls.iter().map(ToolCall::to_json).collect());
                put("input_tokens", call.input_tokens.into());
                put("output_tokens", call.output_tokens.into());
                put("cost_usd", call.cost.usd_number());
                put("latency_ms", call.latency_ms.into());
                if call.usage_partial {
                    put("usage_partial", true.into());
                }
            }
            RecordBody::LlmRetry(retry) => retry.write(format, &mut put),
            RecordBody::ToolRetry { tool, call_id, retry } => {
                put("tool", text(tool));
                put_known(&mut put, "call_id", id(call_id));
                retry.write(format, &mut put);
            }
            RecordBody::ApprovalRequest { kind, call_id, tool, args, approval_key } => {
                write_question(*kind, id(call_id), (tool, args, approval_key), &mut put);
            }
            RecordBody::Approval { kind, call_id, tool, args, approval_key, decision, reused } => {
                write_question(*kind, id(call_id), (tool, args, approval_key), &mut put);
                put("decision", decision.status.as_str().into());
                put("approver", text(&decision.approver));
                put("note", decision.note.as_ref().map_or(Value::Null, text));
                put("reused", (*reused).into());
            }
            RecordBody::ToolCall { tool, args, call_id, attempt, idempotency_key, traceparent } => {
                put("tool", text(tool));
                put("args", (**args).clone());
                put("call_id", text(call_id));
                put("attempt", (*attempt).into());
                put("idempotency_key", text(idempotency_key));
                put("traceparent", text(traceparent));
            }
            RecordBody::ToolResult { tool, call_id, outcome, code, result } => {
                put("tool", text(tool));
                put("call_id", text(call_id));
                put("ok", outcome.is_ok().into());
                put_known(&mut put, "code", since_2(code.map(|code| code.as_str().into())));
                put("result", (**result).clone());
                put("preview", preview(&compact(result), 120).into());
            }
            RecordBody::Replan { call_id, reason } => {
                put_known(&mut put, "call_id", id(call_id));
                put("reason", text(reason));
            }
            RecordBody::Guard { guard, observed, limit } => {
                put("guard", guard.as_str().into());
                put("observed", (**observed).clone());
                put("limit", (**limit).clone());
            }
            RecordBody::Checkpoint { bytes, generation } => {
                put("bytes", (*bytes).into());
                put("generation", (*generation).into());
            }
            RecordBody::Resume { from_step, checkpoint_generation, records_replayed, in_doubt } => {
                put("from_step", (*from_step).into());
                put("checkpoint_generation", checkpoint_generation.map_or(Value::Null, Value::from));
                put("records_replayed", (*records_replayed).into());
                put("in_doubt", in_doubt.as_ref().map_or(Value::Null, InDoubt::to_json));
            }
            RecordBody::Stop { status, used, cause } => {
                put("status", status.as_str().into());
                put("used", (**used).clone());
                cause.write(format, &mut put);
            }
            RecordBody::Crash { at, point } => {
                put("at", text(at));
                put_known(&mut put, "point", id(point));
            }
            RecordBody::Unknown { fields, .. } => {
                for (key, value) in fields {
                    put(key, value.clone());
                }
            }
        }
    }

    fn read(kind: &str, from: &Fields) -> RecordBody {
        let maybe_shared = |key: &str| from.optional(key, Fields::arc_str);
        let value = |key: &str| Arc::new(from.value(key).clone());
        match kind {
            "run_start" => RecordBody::RunStart {
                format: from.optional("format", Fields::u32).unwrap_or(1),
                scenario: from.arc_str("scenario"),
                seed: from.u64("seed"),
                mechanisms: value("mechanisms"),
                limits: value("limits"),
                traceparent: maybe_shared("traceparent"),
                tracestate: maybe_shared("tracestate"),
            },
            "llm_request" => {
                RecordBody::LlmRequest { attempt: from.u32("attempt"), projected: PicoUsd(from.scaled("projected_usd", 12)) }
            }
            "llm_call" => RecordBody::LlmCall(LlmCall {
                thought: from.arc_str("thought"),
                plan: from.optional("plan", |from, key| from.strs(key).into_iter().map(Arc::from).collect()),
                plan_version: from.u32("plan_version"),
                tool_calls: from.objects("tool_calls").iter().map(ToolCall::from_json).collect(),
                input_tokens: from.u64("input_tokens"),
                output_tokens: from.u64("output_tokens"),
                cost: PicoUsd(from.scaled("cost_usd", 12)),
                latency_ms: from.scaled("latency_ms", 0),
                usage_partial: from.optional("usage_partial", Fields::bool).unwrap_or(false),
            }),
            "llm_retry" => RecordBody::LlmRetry(Retry::read(from)),
            "tool_retry" => {
                RecordBody::ToolRetry { tool: from.arc_str("tool"), call_id: maybe_shared("call_id"), retry: Retry::read(from) }
            }
            "approval_request" => RecordBody::ApprovalRequest {
                kind: read_kind(from),
                call_id: maybe_shared("call_id"),
                tool: from.arc_str("tool"),
                args: value("args"),
                approval_key: from.arc_str("approval_key"),
            },
            "approval" => RecordBody::Approval {
                kind: read_kind(from),
                call_id: maybe_shared("call_id"),
                tool: from.arc_str("tool"),
                args: value("args"),
                approval_key: from.arc_str("approval_key"),
                decision: Decision {
                    status: ApprovalStatus::read(from, "decision"),
                    approver: from.arc_str("approver"),
                    note: maybe_shared("note"),
                },
                reused: from.bool("reused"),
            },
            "tool_call" => RecordBody::ToolCall {
                tool: from.arc_str("tool"),
                args: value("args"),
                call_id: from.arc_str("call_id"),
                attempt: from.u32("attempt"),
                idempotency_key: from.arc_str("idempotency_key"),
                traceparent: from.arc_str("traceparent"),
            },
            "tool_result" => RecordBody::ToolResult {
                tool: from.arc_str("tool"),
                call_id: from.arc_str("call_id"),
                outcome: ToolOutcome::of_result(from.bool("ok"), from.value("result")),
                code: from.optional("code", Fields::str).and_then(|name| name.parse().ok()),
                result: value("result"),
            },
            "replan" => RecordBody::Replan { call_id: maybe_shared("call_id"), reason: from.arc_str("reason") },
            "guard" => {
                RecordBody::Guard { guard: Status::read(from, "guard"), observed: value("observed"), limit: value("limit") }
            }
            "checkpoint" => RecordBody::Checkpoint { bytes: from.u64("bytes"), generation: from.u64("generation") },
            "resume" => RecordBody::Resume {
                from_step: from.u32("from_step"),
                checkpoint_generation: from.optional("checkpoint_generation", Fields::u64),
                records_replayed: from.u64("records_replayed"),
                in_doubt: from.optional("in_doubt", |from, key| InDoubt::from_json(&from.object(key))),
            },
            "stop" => {
                RecordBody::Stop { status: Status::read(from, "status"), used: value("used"), cause: StopCause::read(from) }
            }
            "crash" => RecordBody::Crash { at: from.arc_str("at"), point: maybe_shared("point") },
            unknown => RecordBody::Unknown { kind: unknown.into(), fields: own_fields(from, &[]) },
        }
    }
}

/// The fields beside the four that every record has and those that are read by name.
fn own_fields(from: &Fields, known: &[&str]) -> Map<String, Value> {
    let common = ["ts", "run_id", "step", "type"];
    let own = from.keys().filter(|key| !common.contains(key) && !known.contains(key));
    own.map(|key| (key.to_string(), from.value(key).clone())).collect()
}

/// Writes a field that a record may lack.
fn put_known(put: &mut impl FnMut(&str, Value), key: &str, value: Option<Value>) {
    if let Some(value) = value {
        put(key, value);
    }
}

/// Writes what a question and its decision have in common. `about`: tool, arguments, and approval key.
fn write_question(
    kind: QuestionKind,
    call_id: Option<Value>,
    about: (&Arc<str>, &Arc<Value>, &Arc<str>),
    put: &mut impl FnMut(&str, Value),
) {
    let (tool, args, approval_key) = about;
    put_known(put, "kind", call_id.as_ref().map(|_| kind.as_str().into()));
    put_known(put, "call_id", call_id);
    put("tool", text(tool));
    put("args", (**args).clone());
    put("approval_key", text(approval_key));
}

impl Retry {
    fn write(&self, format: u32, put: &mut impl FnMut(&str, Value)) {
        put("attempt", self.attempt.into());
        let code = self.failure.code.filter(|_| format >= 2);
        put_known(put, "code", code.map(|code| code.as_str().into()));
        put("error", self.failure.to_text().into());
        put("backoff_s", seconds(self.backoff_ms));
        put("until", seconds(self.until_ms));
    }

    fn read(from: &Fields) -> Retry {
        Retry {
            attempt: from.u32("attempt"),
            failure: RecordedFailure::parse(from.str("error")),
            backoff_ms: from.scaled("backoff_s", 3),
            until_ms: from.scaled("until", 3),
        }
    }
}

/// What is asked.
fn read_kind(from: &Fields) -> QuestionKind {
    match from.optional("kind", Fields::str) {
        Some(name) => name.parse().unwrap_or_else(|_| {
            from.note_wrong("kind", "may_run or send_again");
            QuestionKind::MayRun
        }),
        None => QuestionKind::of_format_1_key(from.str("approval_key")),
    }
}

impl StopCause {
    fn write(&self, format: u32, put: &mut impl FnMut(&str, Value)) {
        match self {
            StopCause::Plain => {}
            StopCause::Budget { next_call, limit } => {
                put("next_call", next_call.clone());
                put("limit", limit.clone());
            }
            StopCause::ModelFailed { failure, attempt } => {
                let attempt = attempt.filter(|_| format >= 2);
                let code = failure.code.filter(|_| attempt.is_some());
                put_known(put, "code", code.map(|code| code.as_str().into()));
                put_known(put, "attempt", attempt.map(Value::from));
                put_known(put, "error", self.error().map(Value::from));
            }
            StopCause::Other(fields) => fields.iter().for_each(|(key, value)| put(key, value.clone())),
        }
    }

    fn read(from: &Fields) -> StopCause {
        let mut fields = own_fields(from, &["status", "used"]);
        let is_only = |keys: &[&str]| fields.keys().all(|key| keys.contains(&key.as_str()));
        if fields.is_empty() {
            return StopCause::Plain;
        }
        if is_only(&["next_call", "limit"]) && fields.len() == 2 {
            let mut take = |key: &str| fields.remove(key).unwrap_or_default();
            return StopCause::Budget { next_call: take("next_call"), limit: take("limit") };
        }
        let error = fields.get("error").and_then(Value::as_str);
        if let Some(error) = error.filter(|_| is_only(&["error", "code", "attempt"])) {
            let attempt = from.optional("attempt", Fields::u32);
            let failure = RecordedFailure::parse(error.strip_suffix(&in_attempt(attempt)).unwrap_or(error));
            return StopCause::ModelFailed { failure, attempt };
        }
        StopCause::Other(fields)
    }
}

impl InDoubt {
    fn to_json(&self) -> Value {
        match self {
            InDoubt::Model { attempt, projected } => object([
                ("type", "llm_request".into()),
                ("attempt", (*attempt).into()),
                ("projected_usd", projected.usd_number()),
            ]),
            InDoubt::Tool { tool, call_id, attempt, idempotency_key } => object([
                ("type", "tool_call".into()),
                ("tool", text(tool)),
                ("call_id", text(call_id)),
                ("attempt", (*attempt).into()),
                ("idempotency_key", text(idempotency_key)),
            ]),
        }
    }

    fn from_json(from: &Fields) -> InDoubt {
        match from.str("type") {
            "llm_request" => {
                InDoubt::Model { attempt: from.u32("attempt"), projected: PicoUsd(from.scaled("projected_usd", 12)) }
            }
            "tool_call" => InDoubt::Tool {
                tool: from.arc_str("tool"),
                call_id: from.arc_str("call_id"),
                attempt: from.u32("attempt"),
                idempotency_key: from.arc_str("idempotency_key"),
            },
            _ => {
                from.note_wrong("type", "`llm_request` or `tool_call`");
                InDoubt::Model { attempt: 0, projected: PicoUsd(0) }
            }
        }
    }
}

/// Reads a log: the records, and what is wrong with its end or its middle.
///
/// A torn last line (a write that was cut) is left out and named; anything broken before it is damage.
pub fn read_log(text: &str) -> Result<(Vec<Record>, Option<String>), ReadError> {
    let mut records = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for (index, line) in lines.iter().enumerate() {
        match Record::from_line(line) {
            Ok(record) => records.push(record),
            Err(error) if index + 1 == lines.len() && parse(line).is_err() => {
                return Ok((records, Some(format!("the last line was cut and is left out ({error})"))));
            }
            Err(error) => return Err(ReadError::new(&format!("line {}", index + 1), error.to_string())),
        }
    }
    Ok((records, None))
}

/// How many records there are, and a digest of what they say.
///
/// It covers their text in format 1, which later formats only add to: so a file that an earlier version saved still fits the run that
/// it was saved from.
pub fn log_digest(log: &[Arc<Record>]) -> (usize, u64) {
    let text: String = log.iter().map(|record| record.to_line_of_format(1) + "\n").collect();
    (log.len(), hash64(text.as_bytes()))
}

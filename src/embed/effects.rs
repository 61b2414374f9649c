//! Effects and answers as JSON.

use std::sync::Arc;

use serde_json::Value;

use crate::agent::protocol::{Answer, Completion, Effect, EffectKind, Event, ModelRequest};
use crate::base::json::{Fields, ReadError, compact, parse, read};
use crate::log::checkpoint::{encode, message_json};
use crate::log::store::{SavedSnapshot, seal};
use crate::record::{Decision, Failure, FailureCode, ToolCall, object};
use crate::report::mcp::definition;

fn text(text: &Arc<str>) -> Value {
    Value::from(&**text)
}

fn maybe(text: &Option<Arc<str>>) -> Value {
    text.as_ref().map_or(Value::Null, |text| Value::from(&**text))
}

/// An effect as a JSON object, and what is to be answered if it is a snapshot. `generation`: the number of the next snapshot.
///
/// Arguments stand there twice, as a value and as text: text keeps numbers that the reader's language would round.
pub fn effect_json(effect: &Effect, generation: u64) -> (Value, Option<SavedSnapshot>) {
    let id = ("id", Value::from(effect.id));
    let kind = ("type", Value::from(effect.kind.as_str()));
    let json = match &effect.kind {
        EffectKind::Append(record) => object([id, kind, ("line", record.to_line().into()), ("record", record.to_json())]),
        EffectKind::CallModel { request, attempt } => {
            object([id, kind, ("attempt", (*attempt).into()), ("request", request_json(request))])
        }
        EffectKind::CallTool { call, attempt, idempotency_key, traceparent, tracestate, expected_version } => object([
            id,
            kind,
            ("tool", text(&call.name)),
            ("call_id", text(&call.id)),
            ("args", (*call.args).clone()),
            ("args_json", compact(&call.args).into()),
            ("attempt", (*attempt).into()),
            ("idempotency_key", text(idempotency_key)),
            ("traceparent", text(traceparent)),
            ("tracestate", maybe(tracestate)),
            ("expected_version", maybe(expected_version)),
        ]),
        EffectKind::AskApproval { kind: asked, call_id, tool, args, approval_key } => object([
            id,
            kind,
            ("kind", asked.as_str().into()),
            ("call_id", text(call_id)),
            ("tool", text(tool)),
            ("args", (**args).clone()),
            ("args_json", compact(args).into()),
            ("approval_key", text(approval_key)),
        ]),
        EffectKind::Wait { until_ms } => object([id, kind, ("until_ms", (*until_ms).into())]),
        EffectKind::SaveCheckpoint { state } => {
            let json = encode(state);
            let saved = SavedSnapshot { bytes: json.len() as u64, generation };
            let sealed = seal(generation, &json);
            return (object([id, kind, ("generation", generation.into()), ("text", sealed.into())]), Some(saved));
        }
        EffectKind::Stop { status, final_text } => {
            object([id, kind, ("status", status.as_str().into()), ("final", maybe(final_text))])
        }
    };
    (json, None)
}

fn request_json(request: &ModelRequest) -> Value {
    object([
        ("messages", request.messages.iter().map(|message| message_json(message)).collect()),
        ("tools", request.tools.iter().map(definition).collect()),
        ("max_output_tokens", request.max_output_tokens.into()),
    ])
}

/// Reads an event. `saved`: the snapshot that is out, if one is.
pub fn read_event(json: &str, saved: Option<SavedSnapshot>) -> Result<Event, ReadError> {
    read(&parse(json)?, "$", |from| {
        from.only(&["effect", "at_ms", "answer"]);
        let answer = read_answer(&from.object("answer"), saved);
        Event { effect: from.u64("effect"), at_ms: from.scaled("at_ms", 0), answer }
    })
}

fn read_answer(from: &Fields, saved: Option<SavedSnapshot>) -> Answer {
    let only = |known: &[&str]| {
        let all: Vec<&str> = ["type"].iter().chain(known).copied().collect();
        from.only(&all);
    };
    let shared = |key: &str| from.optional(key, Fields::arc_str);
    match from.str("type") {
        "durable" => {
            only(&[]);
            Answer::Durable
        }
        "saved" => {
            only(&[]);
            // Without a snapshot that is out the agent refuses the answer, whatever stands in it.
            let SavedSnapshot { bytes, generation } = saved.unwrap_or(SavedSnapshot { bytes: 0, generation: 0 });
            Answer::Saved { bytes, generation }
        }
        "storage_failed" => {
            only(&["message"]);
            Answer::StorageFailed { message: from.str("message").to_string() }
        }
        "fenced" => {
            only(&["owner_epoch"]);
            Answer::Fenced { owner_epoch: from.optional("owner_epoch", Fields::u32).unwrap_or(0) }
        }
        "completion" => {
            only(&["thought", "plan", "tool_calls", "usage", "latency_ms"]);
            let plan = from.optional("plan", Fields::strs);
            Answer::Completion(Completion {
                thought: from.arc_str("thought"),
                plan: plan.map(|steps| steps.into_iter().map(Arc::from).collect()),
                tool_calls: from.optional("tool_calls", Fields::objects).unwrap_or_default().iter().map(read_call).collect(),
                usage: from.maybe("usage").cloned().unwrap_or(Value::Null),
                latency_ms: from.optional("latency_ms", |from, key| from.scaled(key, 0)).unwrap_or(0),
            })
        }
        "result" => {
            only(&["result", "result_json"]);
            match from.optional("result_json", Fields::str) {
                None => Answer::Result(from.value("result").clone()),
                Some(json) => Answer::Result(parse(json).unwrap_or_else(|error| {
                    from.note(ReadError::new(&from.path("result_json"), error.to_string()));
                    Value::Null
                })),
            }
        }
        "failed" => {
            only(&["code", "message", "retry_after"]);
            let code = from.str("code").parse().unwrap_or_else(|_| {
                from.note_wrong("code", &FailureCode::ALL.map(FailureCode::as_str).join(", "));
                FailureCode::Malformed
            });
            let retry_after = from.optional("retry_after", Fields::str).map(str::to_string);
            Answer::Failed(Failure { code, message: from.str("message").to_string(), retry_after })
        }
        "decided" => {
            only(&["approved", "approver", "note"]);
            let approver: Arc<str> = from.non_empty_str("approver").into();
            Answer::Decided(Decision::new(from.bool("approved"), approver, shared("note")))
        }
        "expired" => {
            only(&[]);
            Answer::Decided(Decision::expired())
        }
        "time_has_come" => {
            only(&[]);
            Answer::TimeHasCome
        }
        _ => {
            let known = "durable, saved, storage_failed, fenced, completion, result, failed, decided, expired or time_has_come";
            from.note_wrong("type", known);
            Answer::Decided(Decision::expired())
        }
    }
}

/// `args_json` is what a provider sends as text; what is no JSON is kept as it is, and the model is told.
fn read_call(from: &Fields) -> ToolCall {
    from.only(&["id", "name", "args", "args_json"]);
    let args = match from.optional("args_json", Fields::str) {
        Some(json) => parse(json).unwrap_or_else(|_| Value::from(json)),
        None => from.value("args").clone(),
    };
    ToolCall::new(from.str("id"), from.str("name"), args)
}

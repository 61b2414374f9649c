//! One short line for each record.

use serde_json::Value;

use crate::base::json::compact;
use crate::base::text::{grouped, preview};
use crate::record::{ApprovalStatus, Decision, InDoubt, QuestionKind, Record, RecordBody, Status, StopCause, ToolOutcome};

/// How a record is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It happened.
    Plain,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// Something is awaited.
    Wait,
}

impl Tone {
    /// As views name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Tone::Plain => "plain",
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Wait => "wait",
        }
    }
}

/// What a record says in a line, at most about 160 characters.
pub fn line(record: &Record) -> String {
    let short = |text: &str| {
        let mut line = String::new();
        for word in preview(text, 600).split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        let cut = preview(&line, 140);
        if cut.len() < line.len() || line.len() + 60 < text.len() { format!("{cut} …") } else { line }
    };
    match &record.body {
        RecordBody::RunStart { scenario, seed, .. } => format!("{scenario} begins, seed {seed}"),
        RecordBody::LlmRequest { attempt: 1, projected } => format!("at most {} USD", projected.usd()),
        RecordBody::LlmRequest { attempt, projected } => format!("attempt {attempt}, at most {} USD", projected.usd()),
        RecordBody::LlmCall(call) => short(&call.thought),
        RecordBody::LlmRetry(retry) | RecordBody::ToolRetry { retry, .. } => {
            format!(
                "attempt {} failed ({}); again in {}",
                retry.attempt,
                short(&retry.failure.to_text()),
                duration(retry.backoff_ms)
            )
        }
        RecordBody::ApprovalRequest { kind, tool, args, .. } => {
            let again = match kind {
                QuestionKind::SendAgain => "It may have been executed already: ",
                QuestionKind::MayRun => "",
            };
            format!("May {tool} run? {again}{}", short(&prose(args)))
        }
        RecordBody::Approval { tool, decision: Decision { status, approver, note }, reused, .. } => {
            let note = note.as_ref().map_or(String::new(), |note| format!(": “{}”", short(note)));
            let reused = if *reused { ", decided before" } else { "" };
            format!("{tool} {} by {approver}{reused}{note}", status.as_str())
        }
        RecordBody::ToolCall { tool, args, attempt: 1, .. } => format!("{tool}: {}", short(&prose(args))),
        RecordBody::ToolCall { tool, attempt, idempotency_key, .. } => {
            format!("{tool}, attempt {attempt}, key {idempotency_key}")
        }
        RecordBody::ToolResult { tool, outcome: ToolOutcome::Ok, result, .. } => format!("{tool}: {}", short(&prose(result))),
        RecordBody::ToolResult { tool, result, .. } => {
            let error = result.get("error").and_then(|error| error.as_str());
            format!("{tool}: {}", short(error.unwrap_or("it failed")))
        }
        RecordBody::Replan { reason, .. } => short(reason),
        RecordBody::Guard { guard, observed, limit } => {
            format!("{}: {}, allowed {}", guard.as_str(), compact(observed), compact(limit))
        }
        RecordBody::Checkpoint { bytes, generation } => format!("generation {generation}, {} bytes", grouped(*bytes)),
        RecordBody::Resume { from_step, checkpoint_generation, records_replayed, in_doubt } => {
            let base = checkpoint_generation.map_or("no checkpoint".to_string(), |generation| format!("checkpoint {generation}"));
            let replayed = if *records_replayed == 1 { "1 record".to_string() } else { format!("{records_replayed} records") };
            let doubt = match in_doubt {
                Some(InDoubt::Model { attempt, .. }) => format!("; model call, attempt {attempt}, in doubt"),
                Some(InDoubt::Tool { tool, attempt, .. }) => format!("; {tool}, attempt {attempt}, in doubt"),
                None => String::new(),
            };
            format!("from step {from_step}: {base}, {replayed} replayed{doubt}")
        }
        RecordBody::Stop { status, used, cause } => {
            let explained = match cause {
                StopCause::Plain => String::new(),
                StopCause::Budget { next_call, limit } => format!(", next call {}, limit {}", compact(next_call), compact(limit)),
                StopCause::ModelFailed { .. } => format!(", error {}", compact(&Value::from(cause.error()))),
                StopCause::Other(fields) => {
                    fields.iter().map(|(key, value)| format!(", {} {}", key.replace('_', " "), compact(value))).collect()
                }
            };
            let unit = if *status == Status::BudgetTokens { "tokens" } else { "USD" };
            format!("{}; used {} {unit}{explained}", status.as_str(), compact(used))
        }
        RecordBody::Crash { at, .. } => format!("the agent dies {at}"),
        RecordBody::Unknown { fields, .. } => short(&compact(&Value::Object(fields.clone()))),
    }
}

/// Arguments and results as people say them: `refund RF-00001, charge CH-90121, 288.00 USD, status succeeded`. Lists are counted.
/// What is longer than a line is cut before it costs anything.
fn prose(value: &Value) -> String {
    let Value::Object(fields) = value else {
        return plain(value);
    };
    let mut text = String::new();
    for (key, value) in fields {
        let name = key.strip_suffix("_id").unwrap_or(key).replace('_', " ");
        let part = match (key.as_str(), value) {
            ("currency", _) if fields.contains_key("amount") => continue,
            ("amount", amount) => match fields.get("currency") {
                Some(currency) => format!("{} {}", plain(amount), plain(currency)),
                None => format!("{name} {}", plain(amount)),
            },
            (_, Value::Array(items)) => match (items.len(), singular(&name)) {
                (1, Some(one)) => format!("1 {one}"),
                (count, _) => format!("{count} {name}"),
            },
            (_, Value::Bool(true)) => name,
            (_, Value::Bool(false)) => format!("not {name}"),
            (_, Value::Null) => format!("no {name}"),
            (_, other) => format!("{name} {}", plain(other)),
        };
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&part);
        if text.len() > 400 {
            break;
        }
    }
    text
}

/// Of a name for several: `boxes` are a `box`, `charges` a `charge`.
fn singular(name: &str) -> Option<&str> {
    let boxes = name.strip_suffix("es").filter(|one| one.ends_with('x'));
    boxes.or_else(|| name.strip_suffix('s'))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => preview(text, 200).to_string(),
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(fields) => format!("{} fields", fields.len()),
        other => compact(other),
    }
}

/// How a record is meant.
pub fn tone(record: &Record) -> Tone {
    match &record.body {
        RecordBody::ToolResult { outcome: ToolOutcome::Ok, .. } | RecordBody::Stop { status: Status::Done, .. } => Tone::Good,
        RecordBody::Approval { decision: Decision { status: ApprovalStatus::Approved, .. }, .. } => Tone::Good,
        RecordBody::Approval { .. } | RecordBody::ToolResult { .. } | RecordBody::Replan { .. } | RecordBody::Guard { .. } => {
            Tone::Bad
        }
        RecordBody::Stop { .. } | RecordBody::Crash { .. } => Tone::Bad,
        RecordBody::LlmRetry(_) | RecordBody::ToolRetry { .. } | RecordBody::ApprovalRequest { .. } => Tone::Wait,
        RecordBody::RunStart { .. }
        | RecordBody::LlmRequest { .. }
        | RecordBody::LlmCall(_)
        | RecordBody::ToolCall { .. }
        | RecordBody::Checkpoint { .. }
        | RecordBody::Resume { .. }
        | RecordBody::Unknown { .. } => Tone::Plain,
    }
}

/// A duration with its unit.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// The time of day in UTC with milliseconds.
pub fn clock(ms: u64) -> String {
    let day_ms = ms % 86_400_000;
    let (hours, minutes, seconds) = (day_ms / 3_600_000, day_ms / 60_000 % 60, day_ms / 1_000 % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{:03} UTC", day_ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_are_said_in_words_and_lists_are_counted() {
        let refund = json!({"refund_id": "RF-00001", "amount": 288, "currency": "USD", "status": "succeeded"});
        assert_eq!(prose(&refund), "refund RF-00001, 288 USD, status succeeded");
        assert_eq!(prose(&json!({"hits": [1, 2]})), "2 hits");
        assert_eq!(prose(&json!({"hits": [1], "saved": true, "note_count": 1})), "1 hit, saved, note count 1");
        assert_eq!(prose(&json!(["a", "b"])), "2 items");
    }
}

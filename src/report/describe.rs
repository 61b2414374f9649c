//! One short line for each record.

use serde::Serialize;

use crate::agent::money::cents_text;
use crate::agent::text::preview;
use crate::json::decimal;
use crate::log::record::{InDoubt, Record, RecordBody};

/// How a record is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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

/// What a record says in a line, at most about 160 characters.
pub fn line(record: &Record) -> String {
    let short = |text: &str| {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let cut = preview(first, 140);
        if cut.len() < text.trim_end().len() { format!("{cut} …") } else { cut.to_string() }
    };
    match &record.body {
        RecordBody::RunStart { scenario, seed, .. } => format!("{scenario} begins, seed {seed}"),
        RecordBody::LlmRequest { attempt: 1, projected } => format!("at most {} USD", projected.usd()),
        RecordBody::LlmRequest { attempt, projected } => format!("attempt {attempt}, at most {} USD", projected.usd()),
        RecordBody::LlmCall(call) => short(&call.thought),
        RecordBody::LlmRetry(retry) | RecordBody::ToolRetry { retry, .. } => {
            format!("attempt {} failed ({}); again in {}", retry.attempt, short(&retry.error), duration(retry.backoff_ms))
        }
        RecordBody::ApprovalRequest { tool, args, approval_key } => {
            let again = if approval_key.contains(":in-doubt:") { "send it again? It may have been executed: " } else { "" };
            format!("{again}may {tool} run with {}?", short(&args.to_string()))
        }
        RecordBody::Approval { tool, decision, approver, note, reused, .. } => {
            let note = note.as_ref().map_or(String::new(), |note| format!(": “{}”", short(note)));
            let reused = if *reused { ", decided before" } else { "" };
            format!("{tool} {} by {approver}{reused}{note}", decision.word())
        }
        RecordBody::ToolCall { tool, args, attempt: 1, .. } => format!("{tool} {}", short(&args.to_string())),
        RecordBody::ToolCall { tool, attempt, idempotency_key, .. } => {
            format!("{tool}, attempt {attempt}, key {idempotency_key}")
        }
        RecordBody::ToolResult { tool, ok: true, result, .. } => {
            match (result.get("refund_id"), result.get("amount").and_then(decimal)) {
                (Some(refund_id), Some(amount)) => {
                    let amount = amount.scaled(2).map(cents_text).unwrap_or_default();
                    format!("{}: {amount}", refund_id.as_str().unwrap_or_default())
                }
                _ => format!("{tool}: {}", short(&result.to_string())),
            }
        }
        RecordBody::ToolResult { tool, result, .. } => {
            let error = result.get("error").and_then(|error| error.as_str());
            format!("{tool}: {}", short(error.unwrap_or("it failed")))
        }
        RecordBody::Replan { reason } => short(reason),
        RecordBody::Guard { guard, observed, limit } => format!("{}: {observed}, allowed {limit}", guard.word()),
        RecordBody::Checkpoint { bytes, generation } => format!("generation {generation}, {bytes} bytes"),
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
        RecordBody::Stop { status, used, explanation } => {
            let explained: Vec<String> =
                explanation.iter().map(|(key, value)| format!(", {} {value}", key.replace('_', " "))).collect();
            format!("{}; used {used}{}", status.word(), explained.concat())
        }
        RecordBody::Crash { at } => format!("the agent dies {at}"),
        RecordBody::Unknown { fields, .. } => short(&serde_json::Value::Object(fields.clone()).to_string()),
    }
}

/// How a record is meant.
pub fn tone(record: &Record) -> Tone {
    use crate::agent::state::{ApprovalStatus, Status};
    match &record.body {
        RecordBody::ToolResult { ok: true, .. } | RecordBody::Stop { status: Status::Done, .. } => Tone::Good,
        RecordBody::Approval { decision: ApprovalStatus::Approved, .. } => Tone::Good,
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

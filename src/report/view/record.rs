//! One record: as a line of the list, and with what it did.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::base::json::pretty;
use crate::lab::ledger::Row;
use crate::lab::session::Session;
use crate::log::checkpoint;
use crate::record::{Record, RecordBody, ToolCall, object, seconds};
use crate::report::describe::{Tone, clock, line, tone};
use crate::report::diff::{Change, changes};

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordView {
    /// Its place.
    pub index: usize,
    /// The step it belongs to.
    pub step: u32,
    /// Its type.
    pub r#type: String,
    /// Milliseconds since the first record.
    pub at_ms: u64,
    /// The time of day.
    pub clock: String,
    /// The tool it is about.
    pub tool: Option<String>,
    /// The call it is about.
    pub call_id: Option<String>,
    /// The attempt it is about.
    pub attempt: Option<u32>,
    /// What happened, in a line.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// The line itself.
    pub line: String,
}

impl RecordView {
    /// As plain data.
    pub fn to_json(&self) -> Value {
        object([
            ("index", self.index.into()),
            ("step", self.step.into()),
            ("type", self.r#type.as_str().into()),
            ("at_s", seconds(self.at_ms)),
            ("clock", self.clock.as_str().into()),
            ("tool", self.tool.as_deref().into()),
            ("call_id", self.call_id.as_deref().into()),
            ("attempt", self.attempt.into()),
            ("text", self.text.as_str().into()),
            ("tone", self.tone.as_str().into()),
            ("line", self.line.as_str().into()),
        ])
    }
}

impl Serialize for RecordView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// The records of a log from a place on, as the list shows them: each a `RecordView`.
pub fn record_views(log: &[Arc<Record>], from: usize) -> Vec<RecordView> {
    (from..log.len()).filter_map(|index| record_view(log, index)).collect()
}

fn record_view(log: &[Arc<Record>], index: usize) -> Option<RecordView> {
    let record = log.get(index)?;
    let start_ms = log.first()?.ts_ms;
    Some(RecordView {
        index,
        at_ms: record.ts_ms.saturating_sub(start_ms),
        call_id: call_of(log, index).map(|call_id| call_id.to_string()),
        ..lone_record_view(record, record.to_line())
    })
}

/// A record that stands alone, with the line that it was read from.
pub fn lone_record_view(record: &Arc<Record>, line_read: String) -> RecordView {
    let (tool, attempt) = subject(&record.body);
    RecordView {
        index: 0,
        step: record.step,
        r#type: record.body.kind().to_string(),
        at_ms: 0,
        clock: clock(record.ts_ms),
        tool: tool.map(|tool| tool.to_string()),
        call_id: call_of(std::slice::from_ref(record), 0).map(|call_id| call_id.to_string()),
        attempt,
        text: line(record),
        tone: tone(record),
        line: line_read,
    }
}

/// Tool and attempt that a record is about.
fn subject(body: &RecordBody) -> (Option<&Arc<str>>, Option<u32>) {
    match body {
        RecordBody::LlmRequest { attempt, .. } => (None, Some(*attempt)),
        RecordBody::LlmRetry(retry) => (None, Some(retry.attempt)),
        RecordBody::ToolRetry { tool, retry, .. } => (Some(tool), Some(retry.attempt)),
        RecordBody::ApprovalRequest { tool, .. } | RecordBody::Approval { tool, .. } | RecordBody::ToolResult { tool, .. } => {
            (Some(tool), None)
        }
        RecordBody::ToolCall { tool, attempt, .. } => (Some(tool), Some(*attempt)),
        RecordBody::RunStart { .. }
        | RecordBody::LlmCall(_)
        | RecordBody::Replan { .. }
        | RecordBody::Guard { .. }
        | RecordBody::Checkpoint { .. }
        | RecordBody::Resume { .. }
        | RecordBody::Stop { .. }
        | RecordBody::Crash { .. }
        | RecordBody::Unknown { .. } => (None, None),
    }
}

/// The call that a record belongs to. Where the record does not name it, what stands before does: a retry repeats the call that was
/// made last; a question is about the first call of the turn with its tool and arguments that has no result yet; and a new plan
/// follows from the result before it.
fn call_of(log: &[Arc<Record>], index: usize) -> Option<&Arc<str>> {
    let before = || log.iter().take(index).rev().map(|record| &record.body);
    match &log.get(index)?.body {
        RecordBody::ToolCall { call_id, .. } | RecordBody::ToolResult { call_id, .. } => Some(call_id),
        RecordBody::ToolRetry { .. } => before().find_map(|body| match body {
            RecordBody::ToolCall { call_id, .. } => Some(call_id),
            _ => None,
        }),
        RecordBody::Replan { .. } => match before().next() {
            Some(RecordBody::ToolResult { call_id, .. }) => Some(call_id),
            _ => None,
        },
        RecordBody::ApprovalRequest { tool, args, .. } | RecordBody::Approval { tool, args, .. } => {
            let mut answered = Vec::new();
            for body in before() {
                match body {
                    RecordBody::ToolResult { call_id, .. } => answered.push(call_id),
                    RecordBody::LlmCall(turn) => {
                        let asks = |call: &&ToolCall| call.name == *tool && call.args == *args && !answered.contains(&&call.id);
                        return turn.tool_calls.iter().find(asks).map(|call| &call.id);
                    }
                    _ => {}
                }
            }
            None
        }
        _ => None,
    }
}

/// A record with what it did: a `RecordDetail`; `None` if there is no such record.
pub fn record_detail(session: &Session, index: usize) -> Option<Value> {
    let log = session.log();
    let record = record_view(log, index)?;
    let state_at = |count| session.run_at(count).map(|run| checkpoint::to_json(&run.state)).unwrap_or(Value::Null);
    let (before, after) = (state_at(index), state_at(index + 1));
    let caused = |(_, row): &(usize, &Arc<Row>)| row.record == Some(index as u64);
    Some(object([
        ("record", record.to_json()),
        ("json", pretty(&log.get(index)?.to_json()).into()),
        ("changes", changes(&before, &after).iter().map(Change::to_json).collect()),
        ("state_json", pretty(&after).into()),
        ("ledger", session.world().rows().iter().enumerate().filter(caused).map(|(seq, _)| seq).collect()),
    ]))
}

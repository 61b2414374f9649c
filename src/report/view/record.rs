//! One record: as a line of the list, and with what it did.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::base::json::pretty;
use crate::lab::ledger::Row;
use crate::lab::session::Session;
use crate::log::checkpoint;
use crate::log::trace::{Closed, Entry, Lane, Role, Span, Subject, Trace};
use crate::record::{Record, RecordBody, object, seconds};
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
    /// Where it stands in the timeline.
    pub lane: Lane,
    /// The first of the neighbouring records about the same call: this one, if it begins such a group or stands alone.
    pub group: usize,
    /// What begins with it.
    pub opens: Option<Span>,
    /// What ends with it.
    pub closes: Vec<Closed>,
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
            ("lane", self.lane.as_str().into()),
            ("group", self.group.into()),
            ("opens", self.opens.map(Span::as_str).into()),
            ("closes", self.closes.iter().map(closed_json).collect()),
            ("line", self.line.as_str().into()),
        ])
    }
}

impl Serialize for RecordView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

fn closed_json(closed: &Closed) -> Value {
    object([("from", closed.from.into()), ("span", closed.span.as_str().into())])
}

/// A log that grows, as the list shows it. What has been read is not read again.
#[derive(Clone, Debug, Default)]
pub struct LogRows {
    trace: Trace,
    newest: Option<Arc<Record>>,
}

impl LogRows {
    /// The records from a place of the log on.
    pub fn views(&mut self, log: &[Arc<Record>], from: usize) -> Vec<RecordView> {
        self.read(log);
        (from..log.len()).filter_map(|index| self.view(log, index)).collect()
    }

    fn read(&mut self, log: &[Arc<Record>]) {
        let known = self.trace.roles().len();
        // A resume can leave a torn record out, and another tab can have written a longer log.
        if known.checked_sub(1).is_some_and(|newest| log.get(newest) != self.newest.as_ref()) {
            *self = LogRows::default();
        }
        for (index, record) in log.iter().enumerate().skip(self.trace.roles().len()) {
            self.trace.push(index, &Entry::of(record));
        }
        self.newest = log.last().cloned();
    }

    fn view(&self, log: &[Arc<Record>], index: usize) -> Option<RecordView> {
        let (record, role) = (log.get(index)?, self.trace.roles().get(index)?);
        let at_ms = record.ts_ms.saturating_sub(log.first()?.ts_ms);
        Some(RecordView { at_ms, ..record_view(record, record.to_line(), role, &self.trace) })
    }
}

/// The records of a log from a place on, as the list shows them.
pub fn record_views(log: &[Arc<Record>], from: usize) -> Vec<RecordView> {
    LogRows::default().views(log, from)
}

/// A record with the line that it was read from, its part in the run, and the run.
pub fn record_view(record: &Record, line_read: String, role: &Role, trace: &Trace) -> RecordView {
    let (tool, attempt) = subject(&record.body);
    let call = match role.subject {
        Subject::Call(place) => trace.calls.get(place),
        Subject::Run | Subject::Model => None,
    };
    RecordView {
        index: role.record,
        step: record.step,
        r#type: record.body.kind().to_string(),
        at_ms: 0,
        clock: clock(record.ts_ms),
        tool: tool.map(|tool| tool.to_string()),
        call_id: call.and_then(|call| call.call_id.as_ref()).map(|call_id| call_id.to_string()),
        attempt,
        text: line(record),
        tone: tone(record),
        lane: role.lane,
        group: role.group,
        opens: role.opens,
        closes: role.closes.clone(),
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

/// A record with what it did: a `RecordDetail`; `None` if there is no such record.
pub fn record_detail(session: &Session, rows: &mut LogRows, index: usize) -> Option<Value> {
    let log = session.log();
    rows.read(log);
    let record = rows.view(log, index)?;
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

//! Traces and checkpoints from files, also those that other programs wrote.
//!
//! A file is somebody's evidence: nothing of it is lost or corrected. The bytes are kept as they are, and every line is read for
//! itself. A line is a record of this program, or a record with something missing, unknown or wrong, which is named, or it cannot
//! be read, and then it says why. Refused is only what is no trace at all. (The reader of a run's own storage,
//! [`read_log`](crate::record::read_log), is strict instead: an agent continues from it.)

mod reader;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::describe::Tone;
use super::view::{RecordView, record_view};
use crate::agent::state::AgentState;
use crate::base::json::{ReadError, parse, pretty, wrong};
use crate::base::money::number;
use crate::base::text::preview;
use crate::log::checkpoint;
use crate::log::trace::{Entry, Lane, Traces};
use crate::record::{Record, RecordBody, Status};

pub use reader::TraceReader;

/// A file with more records is refused: it would not fit a page's memory.
pub const MAX_RECORDS: usize = 1_000_000;

/// A file with more lines that cannot be read is no trace.
pub const MAX_BROKEN: usize = 1_000;

/// Why a file is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The line of the file that says so, from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ImportError {}

/// A trace as it was read: the bytes of the file, and what each line is.
#[derive(Clone, Debug)]
pub struct Trace {
    bytes: Arc<[u8]>,
    lines: Vec<Line>,
    runs: Vec<RunSummary>,
    traces: Traces,
    start_ms: u64,
}

/// A line that is not empty.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: usize,
    /// What it is.
    pub form: Form,
    start: usize,
    end: usize,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A record of this program, nothing missing and nothing more.
    Known,
    /// A record that has something else in it, or lacks something.
    Foreign(Box<Remarks>),
    /// No JSON object. Says what stands in the way.
    Broken(Box<str>),
}

/// What is unusual about a record. Fields are named as paths, such as `tool_calls[0].id`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Remarks {
    /// True: this program has no records of this type.
    pub unknown_type: bool,
    /// Fields that this type has and the record has not.
    pub missing: Vec<String>,
    /// Fields that this type does not have. They are kept.
    pub unknown: Vec<String>,
    /// Fields with another kind of value: path, what was expected, what stands there.
    pub wrong: Vec<String>,
}

impl Remarks {
    fn is_empty(&self) -> bool {
        *self == Remarks::default()
    }
}

/// A type, its fields with their stand-ins, and the fields that it may have.
type Type = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// The types of records: the fields that each has, with what stands in for a missing one, and the fields that it may have.
const TYPES: [Type; 15] = [
    (
        "run_start",
        &[("scenario", "\"\""), ("seed", "0"), ("mechanisms", "{}"), ("limits", "{}")],
        &["format", "traceparent", "tracestate"],
    ),
    ("llm_request", &[("attempt", "1"), ("projected_usd", "0")], &[]),
    (
        "llm_call",
        &[
            ("thought", "\"\""),
            ("plan_version", "0"),
            ("tool_calls", "[]"),
            ("input_tokens", "0"),
            ("output_tokens", "0"),
            ("cost_usd", "0"),
            ("latency_ms", "0"),
        ],
        &["plan", "usage_partial"],
    ),
    ("llm_retry", &[("attempt", "1"), ("error", "\"\""), ("backoff_s", "0"), ("until", "0")], &["code"]),
    (
        "tool_retry",
        &[("tool", "\"\""), ("attempt", "1"), ("error", "\"\""), ("backoff_s", "0"), ("until", "0")],
        &["call_id", "code"],
    ),
    ("approval_request", &[("tool", "\"\""), ("args", "null"), ("approval_key", "\"\"")], &["kind", "call_id"]),
    (
        "approval",
        &[
            ("tool", "\"\""),
            ("args", "null"),
            ("approval_key", "\"\""),
            ("decision", "\"expired\""),
            ("approver", "\"\""),
            ("reused", "false"),
        ],
        &["kind", "call_id", "note"],
    ),
    (
        "tool_call",
        &[
            ("tool", "\"\""),
            ("args", "null"),
            ("call_id", "\"\""),
            ("attempt", "1"),
            ("idempotency_key", "\"\""),
            ("traceparent", "\"\""),
        ],
        &[],
    ),
    ("tool_result", &[("tool", "\"\""), ("call_id", "\"\""), ("ok", "true"), ("result", "null")], &["code", "preview"]),
    ("replan", &[("reason", "\"\"")], &["call_id"]),
    ("guard", &[("guard", "\"running\""), ("observed", "null"), ("limit", "null")], &[]),
    ("checkpoint", &[("bytes", "0"), ("generation", "0")], &[]),
    ("resume", &[("from_step", "0"), ("records_replayed", "0")], &["checkpoint_generation", "in_doubt"]),
    // Whatever else explains a stop belongs to it.
    ("stop", &[("status", "\"running\""), ("used", "null")], &[]),
    ("crash", &[("at", "\"\"")], &["point"]),
];

/// The fields of every record.
const COMMON: [(&str, &str); 4] = [("ts", "0"), ("run_id", "\"\""), ("step", "0"), ("type", "\"untyped\"")];

impl Trace {
    /// Reads a file. `Err`: it is no trace.
    pub fn read(bytes: &[u8]) -> Result<Trace, ImportError> {
        let mut reader = TraceReader::new(bytes.into());
        while reader.read_lines(usize::MAX)? {}
        reader.finish()
    }

    /// A log as a trace.
    pub fn of_log(log: &[Arc<Record>]) -> Trace {
        let text: String = log.iter().map(|record| record.to_line() + "\n").collect();
        Trace::read(text.as_bytes()).unwrap_or(Trace {
            bytes: [].into(),
            lines: Vec::new(),
            runs: Vec::new(),
            traces: Traces::default(),
            start_ms: 0,
        })
    }

    /// The file as it was, byte for byte: what an export writes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The lines that are not empty. Everything that counts records counts these, from 0.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The text of a line as it stands in the file, without its end.
    pub fn text(&self, index: usize) -> &str {
        let bytes = self.lines.get(index).map_or(&[][..], |line| &self.bytes[line.start..line.end]);
        std::str::from_utf8(bytes).unwrap_or_default().trim_end_matches('\r')
    }

    /// What stands in a line; `None` if it cannot be read.
    pub fn value(&self, index: usize) -> Option<Value> {
        if matches!(self.lines.get(index)?.form, Form::Broken(_)) {
            return None;
        }
        parse_line(self.text(index)).ok().map(|(value, _)| value)
    }

    /// The record of a line. In one that lacks a field stands a neutral value for it (nothing, zero): look at the line's remarks
    /// before you take it for a fact. `None` if the line cannot be read.
    pub fn record(&self, index: usize) -> Option<Record> {
        complete(self.value(index)?).0
    }

    /// What stands in a line, as indented JSON text; numbers are exact.
    pub fn json(&self, index: usize) -> Option<String> {
        self.value(index).map(|value| pretty(&value))
    }

    /// What the lines mean together.
    pub fn traces(&self) -> &Traces {
        &self.traces
    }

    /// All records that can be read.
    pub fn records(&self) -> Vec<Record> {
        (0..self.lines.len()).filter_map(|index| self.record(index)).collect()
    }

    /// What the file is, for the page.
    pub fn summary(&self) -> TraceSummary {
        let runs = self.runs.iter().filter(|run| !run.run_id.is_empty()).cloned().collect();
        let mut summary = TraceSummary { records: self.lines.len(), foreign: 0, runs, problems: Vec::new() };
        for (index, line) in self.lines.iter().enumerate() {
            match &line.form {
                Form::Known => {}
                Form::Foreign(_) => summary.foreign += 1,
                Form::Broken(error) => {
                    summary.problems.push(Problem { index, line: line.number, message: error.to_string() });
                }
            }
        }
        summary
    }

    /// Lines as the page's list shows them: `count` of them, from `first` on.
    pub fn rows(&self, first: usize, count: usize) -> Vec<TraceRow> {
        let end = first.saturating_add(count).min(self.lines.len());
        (first.min(end)..end).map(|index| self.row(index)).collect()
    }

    fn row(&self, index: usize) -> TraceRow {
        let (record, _, value) = self.value(index).map_or((None, Remarks::default(), Value::Null), complete);
        self.row_of(index, record, &value)
    }

    fn row_of(&self, index: usize, record: Option<Record>, value: &Value) -> TraceRow {
        let line = &self.lines[index];
        let text = String::from_utf8_lossy(&self.bytes[line.start..line.end]).trim_end_matches('\r').to_string();
        let Some((record, (role, trace))) = record.zip(self.traces.find(index)) else {
            return self.broken_row(index, text);
        };
        let at_ms = record.ts_ms.saturating_sub(self.start_ms);
        let mut view = RecordView { index, at_ms, ..record_view(&record, text, role, trace) };
        let (form, remarks) = match &line.form {
            Form::Foreign(remarks) => {
                let extra = more_in(value, remarks);
                view.text = foreign_text(&record, remarks, view.text, &view.line, &extra);
                ("foreign", (**remarks).clone())
            }
            Form::Known | Form::Broken(_) => ("known", Remarks::default()),
        };
        TraceRow { record: view, line_number: line.number, form, remarks }
    }

    fn broken_row(&self, index: usize, text: String) -> TraceRow {
        let line = &self.lines[index];
        let error = match &line.form {
            Form::Broken(error) => error.to_string(),
            Form::Known | Form::Foreign(_) => String::new(),
        };
        let record = RecordView {
            index,
            step: 0,
            r#type: "broken".to_string(),
            at_ms: 0,
            clock: String::new(),
            tool: None,
            call_id: None,
            attempt: None,
            text: error,
            tone: Tone::Bad,
            lane: Lane::Storage,
            group: index,
            opens: None,
            closes: Vec::new(),
            line: text,
        };
        TraceRow { record, line_number: line.number, form: "broken", remarks: Remarks::default() }
    }
}

/// The fields that this program does not know, in a few words.
fn more_in(value: &Value, remarks: &Remarks) -> String {
    let said = |name: &String| {
        let value = value.get(name)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        Some(format!("{name} {}", preview(&text, 60)))
    };
    remarks.unknown.iter().take(4).filter_map(said).collect::<Vec<_>>().join(", ")
}

/// What a record of another program says in a line: as one of ours if it says enough, with what it says besides; else as it stands.
fn foreign_text(record: &Record, remarks: &Remarks, as_ours: String, line: &str, extra: &str) -> String {
    let (calls, planned) = match &record.body {
        RecordBody::LlmCall(call) => (
            call.tool_calls.iter().map(|call| call.identity.to_string()).collect(),
            call.plan.iter().flatten().map(|step| step.to_string()).collect(),
        ),
        _ => (Vec::new(), Vec::new()),
    };
    let is_named = |field: &str| remarks.missing.iter().any(|missing| missing == field);
    // What is said of a retry names no tool.
    let is_retry = matches!(record.body, RecordBody::ToolRetry { .. });
    let is_empty =
        ["args", "decision", "approver", "guard", "observed", "status", "error", "backoff_s"].into_iter().any(is_named)
            || (is_named("tool") && !is_retry);
    let said = match as_ours.as_str() {
        "" if !calls.is_empty() => format!("calls {}", preview(&calls.join(", "), 140)),
        "" if !planned.is_empty() => format!("plans {}", preview(&planned.join(", "), 140)),
        "" => return preview(line, 140).to_string(),
        _ if is_empty || !remarks.wrong.is_empty() => return preview(line, 140).to_string(),
        _ => as_ours,
    };
    if extra.is_empty() { said } else { format!("{said}, {extra}") }
}

fn refused(line: usize, message: &str) -> ImportError {
    ImportError { line, message: message.to_string() }
}

/// A line that was read.
struct ReadLine {
    form: Form,
    record: Option<Record>,
    /// What stands in it, with stand-ins for what is missing.
    value: Value,
    /// As it was written: the run that it names, and the rest.
    run_id: Option<String>,
    entry: Entry,
}

/// Reads one line. `is_last`: the file ends in it.
fn read_line(line: &[u8], is_last: bool) -> ReadLine {
    let broken = |form| ReadLine { form, record: None, value: Value::Null, run_id: None, entry: Entry::unreadable() };
    let broken_by = |error: String| {
        let cut = if is_last { "the last line was cut: " } else { "" };
        broken(Form::Broken(format!("{cut}{error}").into()))
    };
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => return broken_by(format!("not UTF-8 text from byte {} of the line on", error.valid_up_to() + 1)),
    };
    match parse_line(text) {
        Ok((value, not_json)) if value.is_object() => {
            let run_id = value.get("run_id").and_then(Value::as_str).map(str::to_string);
            let entry = Entry::read(&value);
            let (record, mut remarks, value) = complete(value);
            remarks.wrong.extend(not_json.map(|word| format!("{word}: JSON has no such number; it is read as null")));
            let form = if remarks.is_empty() { Form::Known } else { Form::Foreign(Box::new(remarks)) };
            ReadLine { form, record, value, run_id, entry }
        }
        Ok((other, _)) => broken(Form::Broken(wrong("$", "an object", &other).message().into())),
        Err(error) => broken_by(in_one_line(&error)),
    }
}

/// The JSON of a line. Python writes numbers that JSON does not have, `NaN` and `Infinity`: `null` is read for each of them, and the
/// first is named.
fn parse_line(text: &str) -> Result<(Value, Option<&'static str>), ReadError> {
    let error = match parse(text) {
        Ok(value) => return Ok((value, None)),
        Err(error) => error,
    };
    let (mut mended, mut first, mut in_string, mut rest) = (String::new(), None, false, text);
    while let Some(character) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"].into_iter().find(|word| !in_string && rest.starts_with(word));
        let taken = match word {
            Some(word) => word.len(),
            // What is escaped ends no string.
            None if in_string && character == '\\' => rest.char_indices().nth(2).map_or(rest.len(), |(end, _)| end),
            None => character.len_utf8(),
        };
        in_string ^= character == '"';
        mended += if word.is_some() { "null" } else { &rest[..taken] };
        first = first.or(word);
        rest = &rest[taken..];
    }
    match first {
        Some(_) => parse(&mended).map(|value| (value, first)).map_err(|_| error),
        None => Err(error),
    }
}

/// Why a line is no JSON: where in it, the column, and what was expected.
fn in_one_line(error: &ReadError) -> String {
    let path = error.path().trim_start_matches('$').trim_start_matches('.');
    let place = if path.is_empty() { String::new() } else { format!("{}: ", preview(path, 100)) };
    format!("{place}{}", error.message().replacen("at line 1, column", "at column", 1))
}

/// What a file is that is no trace.
fn what_it_is(bytes: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches('\u{feff}');
    let Ok(value) = parse(text) else {
        let is_indented = text.trim_start().starts_with('{') && text.lines().next().is_some_and(|first| parse(first).is_err());
        return (is_indented && text.contains("\n}"))
            .then_some("a record goes over several lines; in a trace each stands on one line");
    };
    match value {
        Value::Array(_) => Some("this is a JSON array; a trace has one record, a JSON object, a line"),
        Value::Object(fields) if fields.contains_key("type") => None,
        Value::Object(fields) if fields.contains_key("messages") => Some("this is a checkpoint, not a trace"),
        Value::Object(fields) if fields.contains_key("script") => Some("this is a scenario, not a trace"),
        Value::Object(fields) if fields.contains_key("resourceSpans") => {
            Some("this is an OpenTelemetry export; what is read is the log from which it was made")
        }
        Value::Object(fields) if COMMON.iter().all(|(name, _)| !fields.contains_key(*name)) => {
            Some("this is a JSON object without `ts`, `run_id`, `step` and `type`, no record of a trace")
        }
        _ => None,
    }
}

/// The record in a JSON object, with stand-ins for what is missing or wrong, and what that was; and the object with them.
fn complete(mut value: Value) -> (Option<Record>, Remarks, Value) {
    let mut remarks = Remarks::default();
    let Value::Object(fields) = &mut value else {
        return (None, remarks, value);
    };
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_string();
    let known = TYPES.iter().find(|(name, _, _)| *name == kind);
    remarks.unknown_type = known.is_none() && fields.get("type").is_some_and(Value::is_string);
    let (required, optional) = known.map_or((&[][..], &[][..]), |(_, required, optional)| (*required, *optional));
    if known.is_some() && kind != "stop" {
        let is_known = |key: &str| COMMON.iter().chain(required).any(|(name, _)| *name == key) || optional.contains(&key);
        remarks.unknown = fields.keys().filter(|key| !is_known(key)).cloned().collect();
    }
    if kind == "tool_result" {
        fill_result(fields, &mut remarks);
    }
    if kind == "llm_call" {
        fill_calls(fields, &mut remarks);
    }
    for (name, stand_in) in COMMON.iter().chain(required) {
        if !fields.contains_key(*name) {
            remarks.missing.push(name.to_string());
            fields.insert(name.to_string(), stand_in_of(stand_in));
        }
    }
    // Every round mends the field that the error names, so there are at most as many rounds as fields.
    for _ in 0..=COMMON.len() + required.len() + optional.len() {
        let error = match Record::from_json(&value) {
            Ok(record) => return (Some(record), remarks, value),
            Err(error) => error,
        };
        let path = error.path().trim_start_matches("$.").to_string();
        let name = path.split(['.', '[']).next().unwrap_or_default().to_string();
        match error.message() {
            message if message.starts_with("missing") => remarks.missing.push(path),
            message => remarks.wrong.push(format!("{path}: {message}")),
        }
        let Value::Object(fields) = &mut value else {
            return (None, remarks, value);
        };
        match COMMON.iter().chain(required).find(|(field, _)| **field == name) {
            Some((_, stand_in)) => {
                fields.insert(name, stand_in_of(stand_in));
            }
            None => {
                fields.shift_remove(&name);
            }
        }
    }
    (None, remarks, value)
}

fn stand_in_of(json: &str) -> Value {
    match json {
        "null" => Value::Null,
        "true" | "false" => Value::Bool(json == "true"),
        "[]" => Value::Array(Vec::new()),
        "{}" => Value::Object(Map::new()),
        text if text.starts_with('"') => Value::from(text.trim_matches('"')),
        digits => number(digits),
    }
}

/// A result without its value is shown by its preview; one that does not say whether it went well is judged by its error.
fn fill_result(fields: &mut Map<String, Value>, remarks: &mut Remarks) {
    if !fields.contains_key("ok") {
        let failed = fields.get("error").is_some_and(|error| !error.is_null())
            || fields.get("result").is_some_and(|result| result.get("ok") == Some(&Value::Bool(false)));
        remarks.missing.push("ok".to_string());
        fields.insert("ok".to_string(), Value::Bool(!failed));
    }
    if !fields.contains_key("result") {
        let shown = fields.get("error").or(fields.get("preview")).cloned().unwrap_or_default();
        remarks.missing.push("result".to_string());
        fields.insert("result".to_string(), shown);
    }
}

/// Other programs do not always number their calls.
fn fill_calls(fields: &mut Map<String, Value>, remarks: &mut Remarks) {
    let Some(Value::Array(calls)) = fields.get_mut("tool_calls") else {
        return;
    };
    for (index, call) in calls.iter_mut().enumerate() {
        if let Value::Object(call) = call {
            for (name, stand_in) in [("id", ""), ("name", ""), ("args", "")] {
                if !call.contains_key(name) {
                    remarks.missing.push(format!("tool_calls[{index}].{name}"));
                    call.insert(name.to_string(), stand_in.into());
                }
            }
        }
    }
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceSummary {
    /// Lines that are not empty.
    pub records: usize,
    /// How many of them have something missing, unknown or wrong.
    pub foreign: usize,
    /// The runs in the order in which they begin.
    pub runs: Vec<RunSummary>,
    /// Lines that cannot be read.
    pub problems: Vec<Problem>,
}

/// A run in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Its id.
    pub run_id: String,
    /// How many records it has.
    pub records: usize,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Its place among the records, from 0.
    pub index: usize,
    /// Its number in the file, from 1.
    pub line: usize,
    /// What stands in the way.
    pub message: String,
}

/// A line as the page's list shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceRow {
    /// The record.
    pub record: RecordView,
    /// The number of the line in the file, from 1.
    pub line_number: usize,
    /// `known`, `foreign` or `broken`.
    pub form: &'static str,
    /// What is unusual about it. Left out if nothing is.
    #[serde(skip_serializing_if = "Remarks::is_empty")]
    pub remarks: Remarks,
}

/// Reads a checkpoint that a run can go on from. The error names the path, or the line and the column if it is no JSON.
pub fn read_checkpoint(text: &str) -> Result<AgentState, ReadError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(ReadError::new("$", "the file is empty; a checkpoint is a JSON object"));
    }
    let value = parse(text)?;
    if value.get("type").is_some() && value.get("messages").is_none() {
        return Err(ReadError::new("$", "this is a record of a trace, not a checkpoint"));
    }
    let state = checkpoint::decode_json(&value)?;
    if state.status != Status::Running {
        let status = state.status.as_str();
        return Err(ReadError::new(
            "$.status",
            format!("the run of this checkpoint is over ({status}); nothing is left to resume"),
        ));
    }
    Ok(state)
}

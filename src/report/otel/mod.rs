//! A run as OpenTelemetry traces: OTLP/JSON after the GenAI semantic conventions 1.41.1, from the log's records alone.
//!
//! | span | kind | what it is |
//! |---|---|---|
//! | `invoke_agent {agent}` | internal | The run. Checkpoints, crashes, resumes, guards and new plans are its events. |
//! | `chat {model}` | client | One model call, failed ones included. |
//! | `execute_tool {tool}` | internal | One call of the conversation, over all attempts and crashes; its approvals are its events. An error only if it failed for good: a denial is an answer. |
//! | `tools/call {tool}` | client | One request, below its call, under the span id that its `traceparent` carries. |
//!
//! What no convention covers stands under `crashlab.*`: cost, approval, attempts. Content (messages, arguments, results, texts of
//! errors) is left out unless it is asked for.
//!
//! **Nothing passes through a floating-point number**: 64-bit integers and nanoseconds are decimal strings, as OTLP/JSON wants them,
//! and a cost is printed from its digits. A count above 2⁶³ − 1, which the protocol cannot hold, is a string attribute with its digits. What is zero or empty is left out, as protobuf's JSON does; so a span without an error has
//! the status `{}`, which is code 0.

mod check;
mod content;
mod spans;
mod write;

use serde_json::Value;

use crate::base::trace_context::run_trace_id;
use crate::record::{Record, RecordBody, object};
use write::{attribute, text};

pub use check::problems;

/// The version of the conventions that every span follows.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.1";

/// The provider's name: never a real vendor's, as the model is a script.
pub const PROVIDER: &str = "crashlab";

/// What the log does not say.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The model's name.
    pub model: &'a str,
    /// True: messages, arguments and results are exported too.
    pub includes_content: bool,
    /// The first two messages of the conversation, which are not in the log: who the agent is, and the task.
    pub prompt: Option<(&'a str, &'a str)>,
    /// True: the agent is alive, and a log without `stop` is not that of a crash.
    pub is_running: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { agent: "support", model: "scripted", includes_content: false, prompt: None, is_running: false }
    }
}

/// The trace of a run as one line of JSON, an `ExportTraceServiceRequest`. Of a log with several runs it is the first one's.
pub fn export<'a>(records: impl IntoIterator<Item = &'a Record>, options: &Options) -> String {
    let mut records = records.into_iter().peekable();
    let Some(run_id) = records.peek().map(|record| record.run_id.clone()) else {
        return r#"{"resourceSpans":[]}"#.to_string();
    };
    let records: Vec<&Record> = records.filter(|record| record.run_id == run_id).collect();
    let caller = records.iter().find_map(|record| match &record.body {
        RecordBody::RunStart { traceparent, tracestate, .. } => Some((traceparent.as_deref(), tracestate.as_deref())),
        _ => None,
    });
    let (parent, state) = caller.unwrap_or_default();
    let context = write::Context::new(run_trace_id(parent, &run_id), parent, state);
    let spans = spans::spans_of(&records, &run_id, options);
    let spans: Vec<Value> = spans.iter().map(|span| span.to_json(&context)).collect();
    let scope = object([("name", "crashlab".into()), ("version", env!("CARGO_PKG_VERSION").into())]);
    let service = [("service.name", "crashlab"), ("service.version", env!("CARGO_PKG_VERSION"))];
    let resource = service.into_iter().map(|(key, value)| attribute(key, text(value))).collect();
    let scope_spans = object([("scope", scope), ("spans", spans.into()), ("schemaUrl", SCHEMA_URL.into())]);
    let resource_spans = object([
        ("resource", object([("attributes", resource)])),
        ("scopeSpans", vec![scope_spans].into()),
        ("schemaUrl", SCHEMA_URL.into()),
    ]);
    object([("resourceSpans", vec![resource_spans].into())]).to_string()
}

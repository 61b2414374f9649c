//! Spans and attributes as OTLP/JSON.

use serde_json::{Map, Value};

use crate::base::trace_context::{is_traceparent, is_tracestate};
use crate::record::object;

/// `SPAN_KIND_INTERNAL`.
pub const INTERNAL: u8 = 1;
/// `SPAN_KIND_CLIENT`.
pub const CLIENT: u8 = 3;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;
/// The bits of `flags` that say: the parent is known to be in another process. The lowest bit says that the trace is sampled.
pub const REMOTE_PARENT: u64 = 0x300;

/// The trace that all spans belong to.
pub struct Context {
    trace_id: String,
    /// The caller's span, below which the root stands.
    remote_parent: Option<String>,
    tracestate: Option<String>,
}

impl Context {
    /// `parent` and `state` as the run was given them.
    pub fn new(trace_id: String, parent: Option<&str>, state: Option<&str>) -> Context {
        let parent = parent.filter(|text| is_traceparent(text));
        let state = state.filter(|text| parent.is_some() && is_tracestate(text));
        Context { trace_id, remote_parent: parent.map(|text| text[36..52].to_string()), tracestate: state.map(str::to_string) }
    }
}

/// One span. Times are milliseconds since 1970.
pub struct Span {
    pub name: String,
    pub kind: u8,
    pub id: String,
    /// None for the root.
    pub parent: Option<String>,
    pub start_ms: u64,
    pub end_ms: u64,
    pub attributes: Vec<Value>,
    pub events: Vec<Value>,
    /// True: it ended in an error; its type is an attribute.
    pub failed: bool,
    /// What went wrong, for people.
    pub message: Option<String>,
}

impl Span {
    /// Adds an attribute.
    pub fn set(&mut self, key: &str, value: Value) {
        self.attributes.push(attribute(key, value));
    }

    /// Ends it in an error.
    pub fn fail(&mut self, error_type: &str) {
        self.failed = true;
        self.set("error.type", text(error_type));
    }

    /// The keys stand in the order of the protobuf message.
    pub fn to_json(&self, context: &Context) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| {
            out.insert(key.to_string(), value);
        };
        put("traceId", context.trace_id.as_str().into());
        put("spanId", self.id.as_str().into());
        if let Some(state) = &context.tracestate {
            put("traceState", state.as_str().into());
        }
        match (&self.parent, &context.remote_parent) {
            (Some(parent), _) => put("parentSpanId", parent.as_str().into()),
            (None, Some(caller)) => {
                put("parentSpanId", caller.as_str().into());
                put("flags", (REMOTE_PARENT | 1).into());
            }
            (None, None) => {}
        }
        put("name", self.name.as_str().into());
        put("kind", self.kind.into());
        put("startTimeUnixNano", nanoseconds(self.start_ms));
        put("endTimeUnixNano", nanoseconds(self.end_ms));
        put("attributes", self.attributes.clone().into());
        if !self.events.is_empty() {
            put("events", self.events.clone().into());
        }
        let mut status = Map::new();
        if let Some(message) = self.message.as_ref().filter(|message| self.failed && !message.is_empty()) {
            status.insert("message".to_string(), message.as_str().into());
        }
        if self.failed {
            status.insert("code".to_string(), ERROR.into());
        }
        put("status", Value::Object(status));
        Value::Object(out)
    }
}

/// An event of a span.
pub fn event(name: &str, at_ms: u64, attributes: Vec<Value>) -> Value {
    let time = nanoseconds(at_ms);
    match attributes.is_empty() {
        true => object([("timeUnixNano", time), ("name", name.into())]),
        false => object([("timeUnixNano", time), ("name", name.into()), ("attributes", attributes.into())]),
    }
}

/// An attribute with one of the values below.
pub fn attribute(key: &str, value: Value) -> Value {
    object([("key", key.into()), ("value", value)])
}

/// A string.
pub fn text(text: &str) -> Value {
    object([("stringValue", text.into())])
}

/// A list with one string.
pub fn one_text(word: &str) -> Value {
    object([("arrayValue", object([("values", vec![text(word)].into())]))])
}

/// A whole number, as a decimal string. The protocol has signed 64 bits: what is larger stands as text, as no number is better than a
/// wrong one.
pub fn integer(number: impl Into<u128>) -> Value {
    let number = number.into();
    let key = if number <= i64::MAX.unsigned_abs().into() { "intValue" } else { "stringValue" };
    object([(key, number.to_string().into())])
}

/// True or false.
pub fn boolean(value: bool) -> Value {
    object([("boolValue", value.into())])
}

/// A JSON number, digit for digit.
pub fn decimal(number: Value) -> Value {
    object([("doubleValue", number)])
}

/// The last millisecond that fits.
const LAST_MS: u64 = u64::MAX / 1_000_000;

fn nanoseconds(ms: u64) -> Value {
    (ms.min(LAST_MS) * 1_000_000).to_string().into()
}

//! Tools and their calls in the words of the Model Context Protocol, version 2026-07-28.

use serde_json::{Map, Value};

use crate::agent::tools::{Parameter, ParameterKind, ToolSpec};
use crate::base::json::Fields;
use crate::base::trace_context::is_traceparent;
use crate::record::{Record, RecordBody, object};

/// The version of the protocol.
pub const PROTOCOL_VERSION: &str = "2026-07-28";

/// The method that calls a tool.
pub const CALL_METHOD: &str = "tools/call";

/// A `tool_call` record as the JSON-RPC request that it stands for; nothing for other records.
///
/// The trace context stands in `_meta` under keys without a prefix, an exception that the specification makes for it (basic protocol,
/// `_meta`). Protocol version and capabilities are required in every request there. The idempotency key is no part of the protocol,
/// so its key has a prefix. `tracestate`: the run's, from its `run_start`.
pub fn request(record: &Record, tracestate: Option<&str>) -> Option<Value> {
    let RecordBody::ToolCall { tool, args, idempotency_key, traceparent, .. } = &record.body else {
        return None;
    };
    let mut meta = Map::new();
    let mut put = |key: &str, value: Value| {
        meta.insert(key.to_string(), value);
    };
    let client = object([("name", "crashlab".into()), ("version", env!("CARGO_PKG_VERSION").into())]);
    put("io.modelcontextprotocol/protocolVersion", PROTOCOL_VERSION.into());
    put("io.modelcontextprotocol/clientInfo", client);
    put("io.modelcontextprotocol/clientCapabilities", Value::Object(Map::new()));
    if is_traceparent(traceparent) {
        put("traceparent", traceparent.as_ref().into());
        if let Some(tracestate) = tracestate {
            put("tracestate", tracestate.into());
        }
    }
    put("crashlab/idempotencyKey", idempotency_key.as_ref().into());
    let params = object([("name", tool.as_ref().into()), ("arguments", (**args).clone()), ("_meta", Value::Object(meta))]);
    Some(object([
        ("jsonrpc", "2.0".into()),
        ("id", request_id(record).into()),
        ("method", CALL_METHOD.into()),
        ("params", params),
    ]))
}

/// The `id` of the request that a `tool_call` record stands for: its span's, as every request has a span of its own. Other programs
/// may write no `traceparent`; then step, call, tool and attempt tell requests apart.
pub fn request_id(record: &Record) -> String {
    match &record.body {
        RecordBody::ToolCall { traceparent, .. } if is_traceparent(traceparent) => traceparent[36..52].to_string(),
        RecordBody::ToolCall { call_id, tool, attempt, .. } => format!("{}/{call_id}/{tool}/{attempt}", record.step),
        _ => String::new(),
    }
}

/// The hints of a tool: `readOnlyHint`, `destructiveHint`, `idempotentHint`.
pub fn annotations(tool: &ToolSpec) -> Value {
    object([
        ("readOnlyHint", tool.read_only.into()),
        ("destructiveHint", (tool.irreversible && !tool.read_only).into()),
        ("idempotentHint", tool.idempotent.into()),
    ])
}

/// A tool as `tools/list` shows it.
pub fn definition(tool: &ToolSpec) -> Value {
    let property = |parameter: &Parameter| {
        let kind = match parameter.kind {
            ParameterKind::Text => "string",
            ParameterKind::Number => "number",
            ParameterKind::Boolean => "boolean",
            ParameterKind::List => "array",
            ParameterKind::Object => "object",
            ParameterKind::Any => return (parameter.name.clone(), object([])),
        };
        (parameter.name.clone(), object([("type", kind.into())]))
    };
    let required = tool.parameters.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name.as_str());
    let schema = object([
        ("type", "object".into()),
        ("properties", Value::Object(tool.parameters.iter().map(property).collect())),
        ("required", required.collect()),
        ("additionalProperties", false.into()),
    ]);
    object([
        ("name", tool.name.as_str().into()),
        ("description", tool.description.as_str().into()),
        ("inputSchema", schema),
        ("annotations", annotations(tool)),
    ])
}

/// Reads the flags of a tool from its definition. A tool without annotations is taken to be destructive and not idempotent, which
/// are the protocol's defaults; one that only reads destroys nothing.
pub fn read_annotations(definition: &Fields, tool: &mut ToolSpec) {
    let given = definition.optional("annotations", Fields::object);
    let hint = |key: &str, default: bool| given.as_ref().and_then(|given| given.optional(key, Fields::bool)).unwrap_or(default);
    tool.read_only = hint("readOnlyHint", false);
    tool.irreversible = hint("destructiveHint", true) && !tool.read_only;
    tool.idempotent = hint("idempotentHint", false);
}

//! Traces for other software: OpenTelemetry and MCP.

use js_sys::Reflect;
use wasm_bindgen::prelude::*;

use super::{lab_error, scenario_of};
use crate::base::json::pretty;
use crate::record::{Record, RecordBody, read_log};
use crate::report::imported::Trace;
use crate::report::mcp;
use crate::report::otel::{Options, export, problems};

/// A log as one line of OTLP/JSON.
#[wasm_bindgen]
pub fn otlp(log: &str, #[wasm_bindgen(unchecked_param_type = "OtlpOptions")] options: JsValue) -> Result<String, JsValue> {
    let records = records_of(log)?;
    let field = |name: &str| Reflect::get(&options, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let scenario = field("scenario").as_string().map(|json| scenario_of(&json)).transpose()?;
    let defaults = Options::default();
    let agent = field("agent").as_string();
    let model = field("model").as_string();
    let options = Options {
        agent: agent.as_deref().unwrap_or(defaults.agent),
        model: model.as_deref().unwrap_or(defaults.model),
        includes_content: field("content").is_truthy(),
        prompt: scenario.as_ref().map(|scenario| (&*scenario.system, &*scenario.ticket)),
        is_running: field("running").is_truthy(),
    };
    Ok(export(&records, &options))
}

/// What is wrong with a document of traces in OTLP/JSON, a sentence each; none for a good one.
#[wasm_bindgen]
pub fn otlp_problems(document: &str) -> Vec<String> {
    problems(document)
}

/// The `tool_call` record at a place of the log, from 0, as an MCP request in JSON; nothing for another record.
#[wasm_bindgen]
pub fn mcp_request(log: &str, place: usize) -> Result<Option<String>, JsValue> {
    let records = records_of(log)?;
    let tracestate = records.iter().find_map(|record| match &record.body {
        RecordBody::RunStart { tracestate, .. } => tracestate.clone(),
        _ => None,
    });
    let record = records.get(place).ok_or_else(|| lab_error("not_found", &format!("the log has no record {place}")))?;
    Ok(mcp::request(record, tracestate.as_deref()).map(|request| request.to_string()))
}

/// A line of a trace as an MCP request in JSON, if it is a `tool_call`. `tracestate`: the run's, from its `run_start`.
#[wasm_bindgen]
pub fn mcp_request_of(line: &str, tracestate: Option<String>) -> Result<Option<String>, JsValue> {
    let trace = Trace::read(line.as_bytes()).map_err(|error| lab_error("damaged", &error.to_string()))?;
    let request = trace.record(0).and_then(|record| mcp::request(&record, tracestate.as_deref()));
    Ok(request.map(|request| pretty(&request)))
}

/// The tools of a scenario as MCP's `tools/list` shows them, in JSON.
#[wasm_bindgen]
pub fn mcp_tools(scenario: &str) -> Result<String, JsValue> {
    let scenario = scenario_of(scenario)?;
    let tools: serde_json::Value = scenario.tools.iter().map(|tool| mcp::definition(&tool.spec)).collect();
    Ok(pretty(&tools))
}

fn records_of(log: &str) -> Result<Vec<Record>, JsValue> {
    read_log(log).map(|(records, _)| records).map_err(|error| lab_error("damaged", &error.to_string()))
}

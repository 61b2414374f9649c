//! Trace context, MCP requests, and runs as OpenTelemetry traces.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crashlab::agent::protocol::EffectKind;
use crashlab::agent::tools::ToolSpec;
use crashlab::base::hash::hash64;
use crashlab::base::json;
use crashlab::base::trace_context::is_traceparent;
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::log::store::MemoryStore;
use crashlab::record::{Record, RecordBody, read_log};
use crashlab::report::mcp;
use crashlab::report::otel::{Options, export, problems};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::{
    after, all_scenarios, assert_golden, assert_same, crash_points, document, effects_of, first, log_json, log_text, ran,
    ran_with_crash, read, scenario, scripted, voucher_of,
};

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";

/// `double-charge` handed over by somebody with this trace context.
fn handed_over(traceparent: &str, tracestate: &str) -> Arc<Scenario> {
    let mut document = document("double-charge");
    document["task"]["traceparent"] = traceparent.into();
    document["task"]["tracestate"] = tracestate.into();
    read(&document.to_string())
}

/// `traceparent` and `tracestate` of every tool call that is sent.
fn contexts_sent(scenario: &Arc<Scenario>) -> Vec<(String, Option<String>)> {
    let contexts = effects_of(scenario).into_iter().filter_map(|kind| match kind {
        EffectKind::CallTool { traceparent, tracestate, .. } => {
            Some((traceparent.to_string(), tracestate.map(|state| state.to_string())))
        }
        _ => None,
    });
    contexts.collect()
}

#[test]
fn every_tool_call_carries_the_callers_trace_and_its_state() {
    let scenario = handed_over(CALLER, STATE);
    let sent = contexts_sent(&scenario);
    assert!(sent.len() >= 9, "{sent:?}");
    for (traceparent, tracestate) in &sent {
        assert!(is_traceparent(traceparent) && traceparent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{traceparent}");
        assert_ne!(traceparent, CALLER, "a call has a span of its own");
        assert_eq!(tracestate.as_deref(), Some(STATE));
    }
    let (_, store) = ran(&scenario);
    let start = &log_json(&store)[0];
    assert_eq!((&start["traceparent"], &start["tracestate"]), (&json!(CALLER), &json!(STATE)));
    let recorded: Vec<Value> =
        log_json(&store).iter().filter(|record| record["type"] == "tool_call").map(|call| call["traceparent"].clone()).collect();
    assert_eq!(recorded, sent.iter().map(|(traceparent, _)| json!(traceparent)).collect::<Vec<_>>());
}

#[test]
fn an_invalid_traceparent_is_ignored_together_with_its_tracestate() {
    let own = contexts_sent(&scenario("double-charge"));
    for broken in ["", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad-01"] {
        let sent = contexts_sent(&handed_over(broken, STATE));
        assert_eq!(sent.len(), own.len());
        for (traceparent, tracestate) in sent {
            assert!(is_traceparent(&traceparent) && !traceparent.contains("0af7651916cd43dd8448eb211c80319c"), "{traceparent}");
            assert_eq!(tracestate, None);
        }
    }
    // A broken state does not take a good parent with it.
    for (traceparent, tracestate) in contexts_sent(&handed_over(CALLER, "Rojo=1")) {
        assert!(traceparent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
        assert_eq!(tracestate, None);
    }
}

#[test]
fn no_two_requests_of_a_run_share_a_span() {
    // A voucher that may have been sent is looked up: a second request of the same call and attempt.
    let turns = [first(json!([voucher_of(20)])), after("send_voucher", "ok", json!([]))];
    let in_doubt = scripted(&turns, |document| document["faults"] = json!([{"on": "send_voucher", "kind": "timeout_after"}]));
    let mut forgetful = document("double-charge");
    forgetful["mechanisms"] = json!({"journal": false});
    for scenario in [in_doubt, read(&forgetful.to_string())] {
        for (effect, when, _) in crash_points(&scenario) {
            let (_, store) = ran_with_crash(&scenario, effect, when);
            let calls: Vec<Value> = log_json(&store).into_iter().filter(|record| record["type"] == "tool_call").collect();
            let spans: BTreeSet<&str> = calls.iter().map(|call| call["traceparent"].as_str().unwrap()).collect();
            assert_eq!(spans.len(), calls.len(), "{} {when:?} effect {effect}", scenario.id);
        }
    }
}

// --- MCP -----------------------------------------------------------------------------------------------------------------------

#[test]
fn a_tool_call_is_an_mcp_request_with_its_traceparent_in_meta() {
    let (session, _) = ran(&handed_over(CALLER, STATE));
    let requests: Vec<Value> = session.log().iter().filter_map(|record| mcp::request(record, Some(STATE))).collect();
    let calls = session.log().iter().filter(|record| record.body.kind() == "tool_call").count();
    assert_eq!(requests.len(), calls, "one for each tool call, none for another record");
    let ids: BTreeSet<&str> = requests.iter().map(|request| request["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), calls, "no id twice");
    let refund = requests.iter().find(|request| request["params"]["name"] == "issue_refund").unwrap();
    let meta = &refund["params"]["_meta"];
    assert_eq!((&refund["jsonrpc"], &refund["method"]), (&json!("2.0"), &json!("tools/call")));
    assert_eq!(refund["params"]["arguments"]["charge_id"], "CH-90121");
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    assert_eq!(meta["tracestate"], STATE);
    assert!(is_traceparent(meta["traceparent"].as_str().unwrap()));
}

#[test]
fn a_broken_traceparent_stays_out_of_the_request() {
    let (session, _) = ran(&scenario("double-charge"));
    let mut record = session.log().iter().find(|record| record.body.kind() == "tool_call").unwrap().as_ref().clone();
    let RecordBody::ToolCall { traceparent, .. } = &mut record.body else { panic!() };
    *traceparent = "00-0-0-01".into();
    let meta = mcp::request(&record, Some(STATE)).unwrap()["params"]["_meta"].clone();
    assert_eq!((meta.get("traceparent"), meta.get("tracestate")), (None, None));
}

#[test]
fn calls_of_another_program_have_requests_of_their_own() {
    let call = |step: u32, call_id: &str, attempt: u32| {
        let json = json!({"ts": 1.0, "run_id": "r", "step": step, "type": "tool_call", "tool": "look", "args": {}, "call_id": call_id,
            "attempt": attempt, "idempotency_key": "k", "traceparent": ""});
        mcp::request(&Record::from_line(&json.to_string()).unwrap(), None).unwrap()["id"].clone()
    };
    let ids = [call(1, "a", 1), call(1, "a", 2), call(1, "b", 1), call(2, "a", 1)];
    for (place, id) in ids.iter().enumerate() {
        assert!(!ids[..place].contains(id), "{ids:?}");
    }
    assert_eq!(ids[0], "1/a/look/1");
}

#[test]
fn flags_and_mcps_annotations_say_the_same() {
    let flags = |definition: &Value| {
        let mut tool = ToolSpec::new("t", "A tool.");
        (tool.read_only, tool.irreversible, tool.idempotent) = (true, false, true);
        json::read(definition, "$", |from| mcp::read_annotations(from, &mut tool)).unwrap();
        (tool.read_only, tool.irreversible, tool.idempotent)
    };
    // Nothing said: destructive and not idempotent.
    for silent in [json!({}), json!({"annotations": null}), json!({"annotations": {}}), json!({"annotations": {"title": "T"}})] {
        assert_eq!(flags(&silent), (false, true, false), "{silent}");
    }
    assert_eq!(flags(&json!({"annotations": {"readOnlyHint": true}})), (true, false, false));
    assert_eq!(flags(&json!({"annotations": {"destructiveHint": false, "idempotentHint": true}})), (false, false, true));
    let untold = ToolSpec::new("t", "A tool.");
    assert_eq!((untold.read_only, untold.irreversible, untold.idempotent), (false, true, false));
    // There and back, for every tool of the lab.
    for tool in scenario("double-charge").tools.iter().map(|tool| &tool.spec) {
        let definition = mcp::definition(tool);
        assert_eq!(flags(&definition), (tool.read_only, tool.irreversible, tool.idempotent), "{}", tool.name);
        assert_eq!(definition["inputSchema"]["type"], "object");
    }
    let wrong = json!({"annotations": {"destructiveHint": "no"}});
    let error = json::read(&wrong, "$", |from| mcp::read_annotations(from, &mut ToolSpec::new("t", ""))).unwrap_err();
    assert_eq!(error.path(), "$.annotations.destructiveHint");
}

// --- Export --------------------------------------------------------------------------------------------------------------------

/// The records of a log of text.
fn records_of(log: &str) -> Vec<Record> {
    read_log(log).unwrap().0
}

/// Exports a run, checks it, and reads it as others do.
fn exported(log: &[Arc<Record>], options: &Options, place: &str) -> Vec<Span> {
    let text = export(log.iter().map(Arc::as_ref), options);
    assert_eq!(problems(&text), Vec::<String>::new(), "{place}");
    // By way of a `Value`, because serde hands buffered numbers on as maps where `arbitrary_precision` is on, as it is for us.
    let document: Value = serde_json::from_str(&text).unwrap();
    let read = ExportTraceServiceRequest::deserialize(document).unwrap_or_else(|error| panic!("{place}: {error}"));
    let spans = read.resource_spans.into_iter().flat_map(|resource| {
        assert_eq!(resource.schema_url, "https://opentelemetry.io/schemas/1.41.1");
        resource.scope_spans.into_iter().flat_map(|scope| scope.spans)
    });
    let spans: Vec<Span> = spans.collect();
    assert_eq!(text.matches("\"spanId\"").count(), spans.len(), "{place}: others read as many spans as were written");
    spans
}

fn integer_of(span: &Span, key: &str) -> Option<i64> {
    span.attributes.iter().find(|attribute| attribute.key == key).map(|attribute| {
        match attribute.value.as_ref().unwrap().value.as_ref().unwrap() {
            any_value::Value::IntValue(number) => *number,
            other => panic!("{key}: {other:?}"),
        }
    })
}

fn text_of(span: &Span, key: &str) -> Option<String> {
    span.attributes.iter().find(|attribute| attribute.key == key).map(|attribute| {
        match attribute.value.as_ref().unwrap().value.as_ref().unwrap() {
            any_value::Value::StringValue(text) => text.clone(),
            other => panic!("{key}: {other:?}"),
        }
    })
}

/// Input and output tokens of the `chat` spans.
fn tokens_of(spans: &[Span]) -> (i64, i64) {
    let sum =
        |key: &str| spans.iter().filter(|span| span.name.starts_with("chat ")).filter_map(|span| integer_of(span, key)).sum();
    (sum("gen_ai.usage.input_tokens"), sum("gen_ai.usage.output_tokens"))
}

/// The same of the log.
fn logged_tokens(log: &[Arc<Record>]) -> (i64, i64) {
    let calls = log.iter().filter_map(|record| match &record.body {
        RecordBody::LlmCall(call) => Some((call.input_tokens as i64, call.output_tokens as i64)),
        _ => None,
    });
    calls.fold((0, 0), |sums, call| (sums.0 + call.0, sums.1 + call.1))
}

fn named<'a>(spans: &'a [Span], start: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name.starts_with(start)).collect()
}

/// What every export of a finished run has to be: as many spans of each kind as the log has reasons for, and the log's tokens.
fn assert_faithful(log: &[Arc<Record>], place: &str) -> Vec<Span> {
    let spans = exported(log, &Options::default(), place);
    let count = |kind: &str| log.iter().filter(|record| record.body.kind() == kind).count();
    assert_eq!(named(&spans, "invoke_agent ").len(), 1, "{place}");
    assert_eq!(named(&spans, "chat ").len(), count("llm_request"), "{place}");
    assert_eq!(named(&spans, "tools/call ").len(), count("tool_call"), "{place}");
    assert_eq!(
        named(&spans, "execute_tool ").len(),
        count("tool_result"),
        "{place}: one for each call, however often it was begun"
    );
    assert_eq!(tokens_of(&spans), logged_tokens(log), "{place}");
    let root = (integer_of(&spans[0], "gen_ai.usage.input_tokens"), integer_of(&spans[0], "gen_ai.usage.output_tokens"));
    assert_eq!((root.0.unwrap(), root.1.unwrap()), logged_tokens(log), "{place}");
    let sent: BTreeSet<String> = log_calls(log).map(|traceparent| traceparent[36..52].to_string()).collect();
    let of_attempts: BTreeSet<String> = named(&spans, "tools/call ").iter().map(|span| hex(&span.span_id)).collect();
    assert_eq!(sent, of_attempts, "{place}: an attempt has the id that it was sent under");
    spans
}

fn log_calls(log: &[Arc<Record>]) -> impl Iterator<Item = Arc<str>> {
    log.iter().filter_map(|record| match &record.body {
        RecordBody::ToolCall { traceparent, .. } => Some(traceparent.clone()),
        _ => None,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The spans as an indented list, for people.
fn outline(spans: &[Span]) -> String {
    let mut lines = String::new();
    let start = spans[0].start_time_unix_nano;
    for span in spans {
        let depth = if span.name.starts_with("tools/call") { 2 } else { usize::from(!span.parent_span_id.is_empty()) };
        let time = |at: u64| (at - start) / 1_000_000;
        let code = span.status.as_ref().unwrap().code;
        let error = text_of(span, "error.type").map_or(String::new(), |kind| format!(", error {kind}"));
        lines += &format!(
            "{}{} (kind {}, status {code}{error}) {} to {} ms\n",
            "  ".repeat(depth),
            span.name,
            span.kind,
            time(span.start_time_unix_nano),
            time(span.end_time_unix_nano)
        );
        for event in &span.events {
            lines += &format!("{}* {} at {} ms\n", "  ".repeat(depth + 1), event.name, time(event.time_unix_nano));
        }
    }
    lines
}

#[test]
fn every_shipped_scenario_exports_a_valid_trace_with_the_logs_tokens() {
    for scenario in all_scenarios() {
        let (session, _) = ran(&scenario);
        let spans = exported(session.log(), &Options::default(), &scenario.id);
        assert_eq!(tokens_of(&spans), logged_tokens(session.log()), "{}", scenario.id);
    }
}

#[test]
fn a_run_with_retries_an_approval_and_a_crash_has_its_golden_outline() {
    let (session, _) = ran(&scenario("crash-resume"));
    assert_golden("otel.txt", &outline(&assert_faithful(session.log(), "crash-resume")));
}

#[test]
fn a_run_crashed_at_every_effect_exports_a_valid_trace() {
    let scenario = scenario("double-charge");
    let points = crash_points(&scenario);
    for (effect, when, kind) in &points {
        let place = format!("{when:?} effect {effect} ({})", kind.as_str());
        let (session, _) = ran_with_crash(&scenario, *effect, *when);
        let spans = assert_faithful(session.log(), &place);
        assert_eq!(spans[0].status.as_ref().unwrap().code, 0, "{place}: it was resumed and is done");
        // What the dead agent had out is closed as crashed: the request, and nothing else.
        let crashed: Vec<&str> = spans
            .iter()
            .filter(|span| text_of(span, "error.type").as_deref() == Some("crashed"))
            .map(|span| span.name.as_str())
            .collect();
        let had_out = matches!(kind, EffectKind::CallModel { .. } | EffectKind::CallTool { .. });
        if had_out {
            assert_eq!(crashed.len(), 1, "{place}: {crashed:?}");
            assert!(crashed[0].starts_with("chat ") || crashed[0].starts_with("tools/call "), "{place}: {crashed:?}");
        }
    }
    assert!(points.len() > 100, "{}", points.len());
}

#[test]
fn a_run_that_is_never_resumed_is_closed_as_crashed() {
    let scenario = scenario("double-charge");
    for (effect, when, _) in crash_points(&scenario) {
        let mut store = MemoryStore::default();
        let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
        session.arm(effect, when);
        while !matches!(session.tick(&mut store), Tick::Crashed { .. } | Tick::Stopped { .. }) {}
        let spans = exported(session.log(), &Options::default(), &format!("{when:?} effect {effect}"));
        let Some(root) = spans.first() else { continue };
        // A crash behind the last record finds the run complete.
        let is_complete = session.log().iter().any(|record| record.body.kind() == "stop");
        assert_eq!(root.status.as_ref().unwrap().code, if is_complete { 0 } else { 2 });
        assert_eq!(text_of(root, "error.type").as_deref(), (!is_complete).then_some("crashed"));
        assert_eq!(tokens_of(&spans), logged_tokens(session.log()));
    }
}

#[test]
fn a_run_that_goes_on_is_not_called_crashed_and_keeps_its_ids() {
    let (session, _) = ran(&scenario("double-charge"));
    let log = session.log();
    let ids = |spans: &[Span]| spans.iter().map(|span| (span.name.clone(), hex(&span.span_id))).collect::<Vec<_>>();
    let whole = ids(&exported(log, &Options::default(), "whole"));
    for count in 1..log.len() {
        let options = Options { is_running: true, ..Options::default() };
        let spans = exported(&log[..count], &options, &format!("the first {count} records"));
        assert!(spans.iter().all(|span| text_of(span, "error.type").as_deref() != Some("crashed")), "{count}");
        assert_eq!(ids(&spans), whole[..spans.len()]);
    }
}

#[test]
fn without_the_journal_and_with_every_fault_traces_stay_valid() {
    let turns =
        [first(json!([voucher_of(20)])), after("send_voucher", "ok", json!([])), after("send_voucher", "error", json!([]))];
    let mut scenarios = Vec::new();
    for off in ["journal", "checkpoints", "durable_approvals", "approval_gate", "retries"] {
        let mut document = document("double-charge");
        document["mechanisms"] = json!({off: false});
        scenarios.push(read(&document.to_string()));
    }
    for kind in ["unavailable", "timeout_before", "timeout_after", "reply_lost", "malformed"] {
        scenarios.push(scripted(&turns, |document| document["faults"] = json!([{"on": "send_voucher", "kind": kind}])));
        scenarios.push(scripted(&turns, |document| document["faults"] = json!([{"on": "model", "kind": kind}])));
        scenarios.push(scripted(&turns, |document| {
            document["faults"] = json!([{"on": "send_voucher", "kind": "timeout_after"}, {"on": "find_voucher", "kind": kind}]);
        }));
    }
    let mut spans = 0;
    for scenario in scenarios {
        for (effect, when, _) in crash_points(&scenario).into_iter().step_by(2) {
            let (session, _) = ran_with_crash(&scenario, effect, when);
            let place = format!("{:?} {:?} {when:?} effect {effect}", scenario.mechanisms, scenario.faults);
            spans += exported(session.log(), &Options::default(), &place).len();
        }
    }
    assert!(spans > 10_000, "{spans}");
}

#[test]
fn a_look_up_is_a_request_below_the_call_that_it_is_about() {
    let turns = [first(json!([voucher_of(20)])), after("send_voucher", "ok", json!([]))];
    let scenario = scripted(&turns, |document| document["faults"] = json!([{"on": "send_voucher", "kind": "timeout_after"}]));
    let (session, _) = ran(&scenario);
    let spans = exported(session.log(), &Options::default(), "look-up");
    assert_eq!(named(&spans, "execute_tool ").len(), 1);
    let requests = named(&spans, "tools/call ");
    let names: Vec<&str> = requests.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["tools/call send_voucher", "tools/call find_voucher"]);
    assert_eq!(text_of(requests[0], "error.type").as_deref(), Some("unknown_outcome"));
    assert_eq!(requests[1].status.as_ref().unwrap().code, 0);
    assert_eq!(named(&spans, "execute_tool ")[0].status.as_ref().unwrap().code, 0);
}

#[test]
fn attributes_follow_the_conventions() {
    let (session, _) = ran(&scenario("double-charge"));
    let spans = exported(session.log(), &Options::default(), "double-charge");
    for span in &spans {
        let operation = text_of(span, "gen_ai.operation.name");
        let (kind, expected) = match span.name.split(' ').next().unwrap() {
            "invoke_agent" => (1, Some("invoke_agent")),
            "chat" => (3, Some("chat")),
            "execute_tool" => (1, Some("execute_tool")),
            "tools/call" => (3, None),
            other => panic!("{other}"),
        };
        assert_eq!((span.kind, operation.as_deref()), (kind, expected), "{}", span.name);
        if ["invoke_agent", "chat"].contains(&span.name.split(' ').next().unwrap()) {
            assert_eq!(text_of(span, "gen_ai.provider.name").as_deref(), Some("crashlab"));
        }
        if span.name.starts_with("tools/call ") {
            assert_eq!(text_of(span, "mcp.method.name").as_deref(), Some("tools/call"));
            assert!(integer_of(span, "crashlab.tool.attempt").unwrap() >= 1);
        }
        let failed = span.status.as_ref().unwrap().code == 2;
        assert_eq!(failed, text_of(span, "error.type").is_some(), "{}", span.name);
    }
    // Two attempts failed, the call did not.
    let invoices = named(&spans, "execute_tool get_invoice");
    assert_eq!(text_of(invoices[0], "error.type").as_deref(), Some("tool_error"));
    assert_eq!(text_of(invoices[1], "error.type"), None);
    let attempts: Vec<Option<String>> =
        spans.iter().filter(|span| span.parent_span_id == invoices[1].span_id).map(|span| text_of(span, "error.type")).collect();
    assert_eq!(attempts, [Some("unavailable".to_string()), Some("unavailable".to_string()), None]);
    let refund = named(&spans, "execute_tool issue_refund")[0];
    let events: Vec<&str> = refund.events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(events, ["crashlab.approval_request", "crashlab.approval"]);
    assert!(spans[0].events.iter().any(|event| event.name == "crashlab.checkpoint"));
}

#[test]
fn content_is_exported_only_on_request_and_as_json_text() {
    let scenario = scenario("double-charge");
    let (session, _) = ran(&scenario);
    let log: Vec<&Record> = session.log().iter().map(Arc::as_ref).collect();
    let silent = export(log.iter().copied(), &Options::default());
    for secret in ["CH-90121", "Priya", "INV-2026", "C-48213", "duplicate charge refund", "charged twice"] {
        assert!(!silent.contains(secret), "{secret}");
    }
    let prompt = Some((&*scenario.system, &*scenario.ticket));
    let options = Options { includes_content: true, prompt, ..Options::default() };
    let spans = exported(session.log(), &options, "with content");
    let chats = named(&spans, "chat ");
    for (index, chat) in chats.iter().enumerate() {
        let input: Value = serde_json::from_str(&text_of(chat, "gen_ai.input.messages").unwrap()).unwrap();
        let roles: Vec<&str> = input.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles[..2], ["system", "user"]);
        assert_eq!(roles.len(), 2 + 2 * index, "the conversation so far: {roles:?}");
        let output: Value = serde_json::from_str(&text_of(chat, "gen_ai.output.messages").unwrap()).unwrap();
        assert_eq!((&output[0]["role"], output.as_array().unwrap().len()), (&json!("assistant"), 1));
        let expected = if index + 1 == chats.len() { "stop" } else { "tool_call" };
        assert_eq!(output[0]["finish_reason"], expected);
    }
    // The run's own are the task and the answer.
    let of_root = |key: &str| serde_json::from_str::<Value>(&text_of(&spans[0], key).unwrap()).unwrap();
    assert_eq!(of_root("gen_ai.input.messages")[1]["parts"][0]["content"], *scenario.ticket);
    let answer = of_root("gen_ai.output.messages")[0]["parts"][0]["content"].as_str().unwrap().to_string();
    assert!(answer.starts_with("Hello Priya"), "{answer}");
    let refund = named(&spans, "execute_tool issue_refund")[0];
    let arguments: Value = serde_json::from_str(&text_of(refund, "gen_ai.tool.call.arguments").unwrap()).unwrap();
    assert_eq!(arguments["charge_id"], "CH-90121");
    let result: Value = serde_json::from_str(&text_of(refund, "gen_ai.tool.call.result").unwrap()).unwrap();
    assert_eq!(result["status"], "succeeded");
}

#[test]
fn a_run_that_was_handed_over_stands_in_the_callers_trace() {
    let (session, _) = ran(&handed_over(CALLER, STATE));
    let spans = exported(session.log(), &Options::default(), "handed over");
    assert_eq!(hex(&spans[0].parent_span_id), "b7ad6b7169203331");
    assert_eq!(spans[0].flags, 0x301, "its parent is in another process");
    for span in &spans {
        assert_eq!(hex(&span.trace_id), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.trace_state, STATE);
    }
    let (session, _) = ran(&scenario("double-charge"));
    let text = export(session.log().iter().map(Arc::as_ref), &Options::default());
    let root = &serde_json::from_str::<Value>(&text).unwrap()["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(root.get("parentSpanId"), None, "a root has none");
}

#[test]
fn numbers_and_times_of_64_bits_keep_every_digit() {
    let line = |json: Value| Record::from_line(&json.to_string()).unwrap();
    let common = |kind: &str, more: Value| {
        let mut fields = json!({"ts": 1772525400.123, "run_id": "r", "step": 0, "type": kind});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line(fields)
    };
    let records = [
        common("llm_request", json!({"attempt": 1, "projected_usd": 0.1})),
        common(
            "llm_call",
            json!({"thought": "", "plan_version": 0, "tool_calls": [], "input_tokens": 9007199254740993u64, "output_tokens": 0,
                "cost_usd": 0.0001481, "latency_ms": 0}),
        ),
    ];
    let text = export(&records, &Options::default());
    assert!(text.contains(r#"{"key":"gen_ai.usage.input_tokens","value":{"intValue":"9007199254740993"}}"#), "{text}");
    assert!(text.contains(r#""startTimeUnixNano":"1772525400123000000""#), "{text}");
    assert!(text.contains(r#"{"key":"crashlab.cost_usd","value":{"doubleValue":0.0001481}}"#), "{text}");
    assert!(!text.contains('\n'), "one line");
    // What 64 bits with a sign cannot hold is said digit by digit, and so is the sum.
    let most = common(
        "llm_call",
        json!({"thought": "", "plan_version": 0, "tool_calls": [], "input_tokens": u64::MAX, "output_tokens": i64::MAX,
            "cost_usd": 0, "latency_ms": 0}),
    );
    let text = export([&records[0], &most, &records[0], &most], &Options::default());
    for number in ["18446744073709551615", "36893488147419103230"] {
        assert!(text.contains(&format!(r#""gen_ai.usage.input_tokens","value":{{"stringValue":"{number}"}}"#)), "{text}");
    }
    assert!(text.contains(r#""gen_ai.usage.output_tokens","value":{"intValue":"9223372036854775807"}"#), "{text}");
    assert!(text.contains(r#""gen_ai.usage.output_tokens","value":{"stringValue":"18446744073709551614"}"#), "{text}");
    assert_eq!(problems(&text), Vec::<String>::new());
    // As large as a log may say.
    let late = Record { ts_ms: u64::MAX, ..records[0].clone() };
    assert_eq!(problems(&export([&late], &Options::default())), Vec::<String>::new());
    assert_eq!(export([], &Options::default()), r#"{"resourceSpans":[]}"#);
}

#[test]
fn a_log_in_any_disorder_gives_a_valid_trace() {
    let (_, store) = ran_with_crash(&scenario("double-charge"), 60, crashlab::lab::scenario::When::After);
    let good = records_of(&log_text(&store));
    for seed in 0..300_u64 {
        let mut records = good.clone();
        // Left out, doubled, moved.
        for change in 0..6_u64 {
            let lot = hash64(format!("{seed} {change}").as_bytes());
            let (place, other) = (lot as usize % records.len(), (lot >> 32) as usize % records.len());
            match lot % 3 {
                0 => drop(records.remove(place)),
                1 => records.insert(other, records[place].clone()),
                _ => records.swap(place, other),
            }
        }
        let text = export(&records, &Options { includes_content: seed % 2 == 0, ..Options::default() });
        assert_eq!(problems(&text), Vec::<String>::new(), "seed {seed}");
    }
}

// --- The validator -------------------------------------------------------------------------------------------------------------

/// The problems of a good export after a change of its spans.
fn problems_after(change: impl FnOnce(&mut Vec<Value>)) -> Vec<String> {
    let (session, _) = ran(&scenario("double-charge"));
    let text = export(session.log().iter().map(Arc::as_ref), &Options::default());
    let mut document: Value = serde_json::from_str(&text).unwrap();
    change(document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array_mut().unwrap());
    problems(&document.to_string())
}

#[test]
fn the_validator_finds_what_receivers_let_pass() {
    assert_eq!(problems_after(|_| ()), Vec::<String>::new());
    let found = |expected: &str, change: fn(&mut Vec<Value>)| {
        let problems = problems_after(change);
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected}: {problems:?}");
    };
    found("its traceId has 30 characters instead of 32", |spans| spans[1]["traceId"] = "0".repeat(30).into());
    found("its traceId is all zeros", |spans| spans[1]["traceId"] = "0".repeat(32).into());
    found("its spanId is all zeros", |spans| spans[1]["spanId"] = "0".repeat(16).into());
    found("its spanId is not lower-case hex", |spans| spans[1]["spanId"] = "ABCDEF0123456789".into());
    found("its parentSpanId has 0 characters", |spans| spans[0]["parentSpanId"] = "".into());
    found("is an orphan", |spans| spans[1]["parentSpanId"] = "1".repeat(16).into());
    found("it has 2 roots instead of one", |spans| drop(spans[1].as_object_mut().unwrap().shift_remove("parentSpanId")));
    found("it has 0 roots instead of one", |spans| drop(spans.remove(0)));
    found("ends before it begins", |spans| spans[1]["endTimeUnixNano"] = "1".into());
    found("is not within", |spans| spans[1]["endTimeUnixNano"] = u64::MAX.to_string().into());
    found("is no decimal string of nanoseconds", |spans| spans[1]["endTimeUnixNano"] = json!(1772525400123000000u64));
    found("two spans have the id", |spans| spans[2]["spanId"] = spans[1]["spanId"].clone());
    found("belong to 2 traces", |spans| spans[1]["traceId"] = "a".repeat(32).into());
    found("its kind is no number", |spans| spans[1]["kind"] = "SPAN_KIND_CLIENT".into());
    found("its status code is no number", |spans| spans[1]["status"] = json!({"code": "STATUS_CODE_OK"}));
    found("is no decimal string of 64 bits", |spans| spans[1]["attributes"][0]["value"] = json!({"intValue": 7}));
    found("has no key of its own", |spans| spans[1]["attributes"][1]["key"] = spans[1]["attributes"][0]["key"].clone());
    found("its event `crashlab.checkpoint` is not within it", |spans| spans[0]["events"][0]["timeUnixNano"] = "1".into());
    found("its event `crashlab.checkpoint` is not within it", |spans| {
        spans[0]["events"][0]["timeUnixNano"] = u64::MAX.to_string().into();
    });
    found("is its own ancestor", |spans| {
        (spans[1]["parentSpanId"], spans[2]["parentSpanId"]) = (spans[2]["spanId"].clone(), spans[1]["spanId"].clone());
    });
    for broken in ["", "null", "[]", "{}", r#"{"resourceSpans": 7}"#, "{\n}"] {
        assert_ne!(problems(broken), Vec::<String>::new(), "{broken}");
    }
    for (odd, expected) in [
        (json!({"resourceSpans": [null]}), "resourceSpans[0] is no object"),
        (json!({"resourceSpans": [{"schemaUrl": "x"}]}), "resourceSpans[0] has no list `scopeSpans`"),
        (json!({"resourceSpans": [{"scopeSpans": [null]}]}), "resourceSpans[0].scopeSpans[0] is no object"),
        (
            json!({"resourceSpans": [{"scopeSpans": [{"schemaUrl": "x", "spans": [{}, 7]}]}]}),
            "scopeSpans[0].spans[1] is no object",
        ),
        (json!({"resourceSpans": [{"scopeSpans": [{"spans": []}]}]}), "resourceSpans[0].scopeSpans[0] has no schemaUrl"),
    ] {
        let problems = problems(&odd.to_string());
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{expected}: {problems:?}");
    }
    for odd in [json!({"resourceSpans": [7, {"scopeSpans": [null, {"spans": [3, null, "x"]}]}]}), Value::Object(Map::new())] {
        assert_ne!(problems(&odd.to_string()), Vec::<String>::new(), "{odd}");
    }
}

// --- For software in other languages -------------------------------------------------------------------------------------------

/// `make test` gives these files to receivers that others wrote: `tests/otel/accept.py`.
#[test]
fn exports_are_written_for_other_software() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("otlp");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, log: &[Arc<Record>], options: &Options| {
        let text = export(log.iter().map(Arc::as_ref), options);
        assert_eq!(problems(&text), Vec::<String>::new(), "{name}");
        std::fs::write(folder.join(format!("{name}.json")), text + "\n").unwrap();
    };
    for scenario in all_scenarios() {
        let (session, _) = ran(&scenario);
        let prompt = Some((&*scenario.system, &*scenario.ticket));
        write(&scenario.id, session.log(), &Options::default());
        write(
            &format!("{}-content", scenario.id),
            session.log(),
            &Options { includes_content: true, prompt, ..Options::default() },
        );
    }
    let (session, _) = ran(&handed_over(CALLER, STATE));
    write("handed-over", session.log(), &Options::default());
    let scenario = scenario("double-charge");
    for (effect, when, _) in crash_points(&scenario) {
        let (session, _) = ran_with_crash(&scenario, effect, when);
        write(&format!("crashed-{}-{effect:03}", when.as_str()), session.log(), &Options::default());
    }
    // The same run gives the same text.
    let again = |()| export(ran(&scenario).0.log().iter().map(Arc::as_ref), &Options::default());
    assert_same(&again(()), &again(()), "twice");
}

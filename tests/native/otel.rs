//! Trace context.

use std::collections::BTreeSet;

use crashlab::agent::identity::is_traceparent;
use crashlab::agent::protocol::EffectKind;
use serde_json::{Value, json};

use crate::support::{
    after, crash_points, document, effects_of, first, log_json, ran, ran_with_crash, read, scenario, scripted, voucher_of,
};

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";

/// `double-charge` handed over by somebody with this trace context.
fn handed_over(traceparent: &str, tracestate: &str) -> std::sync::Arc<crashlab::lab::scenario::Scenario> {
    let mut document = document("double-charge");
    document["task"]["traceparent"] = traceparent.into();
    document["task"]["tracestate"] = tracestate.into();
    read(&document.to_string())
}

/// `traceparent` and `tracestate` of every tool call that is sent.
fn contexts_sent(scenario: &std::sync::Arc<crashlab::lab::scenario::Scenario>) -> Vec<(String, Option<String>)> {
    let contexts = effects_of(scenario).into_iter().filter_map(|kind| match kind {
        EffectKind::CallTool { trace_context, tracestate, .. } => {
            Some((trace_context.to_string(), tracestate.map(|state| state.to_string())))
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

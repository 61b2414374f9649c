//! What an agent makes of what it is told: ids, usage, plans, and the version of what it has read.

use crashlab::agent::protocol::{Answer, Completion, EffectKind};
use crashlab::base::money::PicoUsd;
use crashlab::record::{FailureCode, LlmCall, RecordBody};
use serde_json::{Value, json};

use crate::support::{Bench, completion, first, scenario, scripted};

fn asked() -> Bench {
    let mut bench = Bench::new(&scenario("double-charge"));
    bench.writes(&["run_start", "llm_request"]).calls_model();
    bench
}

fn recorded(bench: &Bench) -> &LlmCall {
    match bench.newest() {
        RecordBody::LlmCall(call) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_call_of_an_answer_has_an_id_of_its_own() {
    let own = |ids: &[&str]| -> Vec<String> {
        let calls: Vec<(&str, &str, Value)> = ids.iter().map(|id| (*id, "search_kb", json!({"query": "q"}))).collect();
        let mut bench = asked();
        bench.says("Now.", &calls).writes(&["llm_call"]);
        recorded(&bench).tool_calls.iter().map(|call| call.id.to_string()).collect()
    };
    assert_eq!(own(&["a", "b"]), ["a", "b"]);
    assert_eq!(own(&["a", "a", "a"]), ["a", "a#2", "a#3"]);
    assert_eq!(own(&["a#2", "a", "a"]), ["a#2", "a", "a#3"]);
    assert_eq!(own(&["a", "a", "a#2"]), ["a", "a#2", "a#2#2"]);
    assert_eq!(own(&["", ""]), ["", "#2"]);
}

#[test]
fn what_a_usage_lacks_is_counted_as_projected_each_part_for_itself() {
    for (usage, parts) in [
        (json!({"input_tokens": 7, "output_tokens": 3}), (Some(7), Some(3))),
        (json!({"input_tokens": 7}), (Some(7), None)),
        (json!({"output_tokens": 3}), (None, Some(3))),
        (json!(null), (None, None)),
    ] {
        let mut bench = asked();
        let projection = bench.agent.run().projection(&bench.config);
        bench.answer(Answer::Completion(Completion { usage: usage.clone(), ..completion("Done.", &[]) })).writes(&["llm_call"]);
        let call = recorded(&bench);
        let expected = (parts.0.unwrap_or(projection.input_tokens), parts.1.unwrap_or(projection.output_tokens));
        assert_eq!((call.input_tokens, call.output_tokens), expected, "{usage}");
        assert_eq!(call.usage_partial, parts.0.is_none() || parts.1.is_none(), "{usage}");
        assert_eq!(call.cost, bench.config.prices.cost(expected.0, expected.1), "{usage}");
        let state = &bench.agent.run().state;
        assert_eq!(
            (state.input_tokens, state.output_tokens, state.cost, state.llm_calls),
            (expected.0, expected.1, call.cost, 1)
        );
    }
}

#[test]
fn plans_are_counted_and_an_answer_without_one_leaves_it_as_it_was() {
    let mut bench = asked();
    let mut step = |plan: Option<&[&str]>, nth: u32| {
        let calls = [("c", "search_kb", json!({"query": nth.to_string()}))];
        let plan = plan.map(|steps| steps.iter().map(|step| (*step).into()).collect());
        bench.answer(Answer::Completion(Completion { plan, ..completion("Next.", &calls) })).writes(&["llm_call"]);
        let version = recorded(&bench).plan_version;
        bench.writes(&["tool_call"]).calls_tool("search_kb").gives(json!({"hits": [nth]})).writes(&["tool_result"]);
        let plan = bench.agent.run().state.plan.clone();
        assert_eq!(plan.version, version);
        bench.saves().writes(&["llm_request"]).calls_model();
        (version, plan.steps.len())
    };
    assert_eq!(step(None, 1), (0, 0));
    assert_eq!(step(Some(&["a", "b"]), 2), (1, 2));
    assert_eq!(step(None, 3), (1, 2));
    assert_eq!(step(Some(&["a"]), 4), (2, 1));
}

/// Reads these invoices in one step; each gives a version.
fn reads(bench: &mut Bench, invoices: &[(&str, Value)]) {
    let calls: Vec<(String, Value)> =
        invoices.iter().enumerate().map(|(nth, (id, _))| (format!("r{nth}"), json!({"invoice_id": id}))).collect();
    let calls: Vec<(&str, &str, Value)> = calls.iter().map(|(id, args)| (id.as_str(), "get_invoice", args.clone())).collect();
    bench.says("I read.", &calls).writes(&["llm_call"]);
    for (_, result) in invoices {
        bench.writes(&["tool_call"]).calls_tool("get_invoice").gives(result.clone()).writes(&["tool_result"]);
    }
    bench.saves().writes(&["llm_request"]).calls_model();
}

/// The version that a refund of an invoice carries.
fn carries(bench: &Bench, invoice: &str) -> Option<String> {
    let mut bench = bench.clone();
    let args = json!({"invoice_id": invoice, "charge_id": "C", "amount": 1, "currency": "USD", "reason": "r"});
    bench.says("I refund.", &[("pay", "issue_refund", args)]).writes(&["llm_call", "approval_request"]).asks();
    bench.answer(Answer::Decided(crate::support::yes())).writes(&["approval", "tool_call"]);
    match bench.wants().kind {
        EffectKind::CallTool { expected_version, .. } => expected_version.map(|version| version.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_refund_carries_the_version_that_the_newest_read_of_its_invoice_has_shown() {
    let patient = scripted(&[first(json!([]))], |document| document["mechanisms"] = json!({"loop_guard": false}));
    let mut bench = Bench::new(&patient);
    bench.writes(&["run_start", "llm_request"]).calls_model();
    assert_eq!(carries(&bench, "A"), None, "nothing was read");
    reads(&mut bench, &[("A", json!({"version": "v1"}))]);
    assert_eq!(carries(&bench, "A").as_deref(), Some("v1"));
    assert_eq!(carries(&bench, "B"), None, "another invoice was read");
    reads(&mut bench, &[("B", json!({"version": "v7"})), ("A", json!({"version": "v2"}))]);
    assert_eq!(carries(&bench, "A").as_deref(), Some("v2"));
    assert_eq!(carries(&bench, "B").as_deref(), Some("v7"));
    reads(&mut bench, &[("B", json!({"version": "v8"}))]);
    assert_eq!(carries(&bench, "A").as_deref(), Some("v2"));
    assert_eq!(carries(&bench, "B").as_deref(), Some("v8"));
}

#[test]
fn who_trusts_what_was_read_once_carries_no_version() {
    let trusting = scripted(&[first(json!([]))], |document| document["mechanisms"] = json!({"reread_world": false}));
    let mut bench = Bench::new(&trusting);
    bench.writes(&["run_start", "llm_request"]).calls_model();
    reads(&mut bench, &[("A", json!({"version": "v1"}))]);
    assert_eq!(carries(&bench, "A"), None);
}

#[test]
fn a_write_is_tried_three_times_and_a_success_in_between_begins_anew() {
    let failed = || Answer::StorageFailed { message: "full".to_string() };
    let mut bench = Bench::new(&scenario("double-charge"));
    for _ in 0..2 {
        bench.wants();
        bench.answer(failed());
    }
    bench.writes(&["run_start"]);
    for _ in 0..2 {
        bench.wants();
        bench.answer(failed());
    }
    bench.wants();
    bench.answer(failed()).stops(crashlab::record::Status::StorageFailed).nothing_more();
}

#[test]
fn a_model_call_that_may_have_been_billed_counts_with_its_projection_and_one_that_was_not_does_not() {
    let codes = [
        (FailureCode::Timeout, true),
        (FailureCode::ReplyLost, true),
        (FailureCode::Malformed, true),
        (FailureCode::Unavailable, false),
        (FailureCode::RateLimited, false),
        (FailureCode::Refused, false),
    ];
    for (code, counts) in codes {
        let mut bench = asked();
        let projected = bench.agent.run().projection(&bench.config);
        bench.fails(code).writes(&["llm_retry"]);
        let state = &bench.agent.run().state;
        let expected = if counts { (1, projected.cost, projected.input_tokens) } else { (0, PicoUsd(0), 0) };
        assert_eq!((state.llm_calls, state.cost, state.input_tokens), expected, "{code:?}");
        assert_eq!(state.output_tokens, if counts { projected.output_tokens } else { 0 }, "{code:?}");
    }
}

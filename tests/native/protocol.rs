//! Every answer in every situation, and what a driver can do wrong.

use std::fmt::Write;
use std::sync::Arc;

use crashlab::agent::protocol::{Answer, EffectKind, Event, EventError};
use crashlab::lab::scenario::Scenario;
use crashlab::record::{Decision, Failure, FailureCode, Status};
use serde_json::json;

use crate::support::{Bench, assert_golden, completion, no, scenario, scripted, yes};

/// The ten answers, the failures by code, the decisions by what was decided.
fn answers() -> Vec<(String, Answer)> {
    let mut answers: Vec<(String, Answer)> = [
        Answer::Durable,
        Answer::Saved { bytes: 10, generation: 1 },
        Answer::StorageFailed { message: "full".to_string() },
        Answer::Fenced { owner_epoch: 2 },
        Answer::Completion(completion("Done.", &[])),
        Answer::Result(json!({"found": true, "result": {"voucher_id": "VC-00001"}})),
        Answer::TimeHasCome,
    ]
    .map(|answer| (answer.as_str().to_string(), answer))
    .into();
    let failed = |code: FailureCode| (format!("failed: {}", code.as_str()), Answer::Failed(Failure::new(code, "…")));
    answers.splice(6..6, FailureCode::ALL.map(failed));
    answers.insert(14, ("decided: approved".to_string(), Answer::Decided(yes())));
    answers.insert(15, ("decided: denied".to_string(), Answer::Decided(no())));
    answers.insert(16, ("decided: expired".to_string(), Answer::Decided(Decision::expired())));
    answers
}

/// A run whose model has made this call, up to the point at which the agent acts on it.
fn with_call(scenario: &Arc<Scenario>, tool: &str, args: serde_json::Value) -> Bench {
    let mut bench = Bench::new(scenario);
    bench.writes(&["run_start", "llm_request"]).calls_model();
    bench.says("I call a tool.", &[("call_1", tool, args)]).writes(&["llm_call"]);
    bench
}

fn voucher() -> serde_json::Value {
    json!({"customer_id": "C-48213", "amount": 20, "currency": "USD"})
}

/// Each phase of the agent, and the situations in which one phase takes an answer differently.
fn situations() -> Vec<(&'static str, Bench)> {
    let double_charge = scenario("double-charge");
    let without_lookup = scripted(&[crate::support::first(json!([]))], |document| {
        document["tools"] = json!({"send_voucher": {"lookup": null}});
    });
    let searching = |bench: &mut Bench| {
        bench.writes(&["tool_call"]).calls_tool("search_kb");
    };
    let search = || with_call(&double_charge, "search_kb", json!({"query": "refund"}));
    let sent_voucher = |scenario: &Arc<Scenario>| {
        let mut bench = with_call(scenario, "send_voucher", voucher());
        bench.writes(&["approval_request"]).asks().answer(Answer::Decided(yes()));
        bench.writes(&["approval", "tool_call"]).calls_tool("send_voucher");
        bench
    };
    let mut list = vec![("ready, not polled", Bench::new(&double_charge))];
    let mut add = |name, bench| list.push((name, bench));

    let mut bench = Bench::new(&double_charge);
    bench.writes(&["run_start"]).wants();
    add("append llm_request", bench);

    let mut bench = search();
    searching(&mut bench);
    bench.gives(json!({"hits": []})).wants();
    add("append tool_result", bench);

    let mut bench = search();
    searching(&mut bench);
    bench.gives(json!({"hits": []})).writes(&["tool_result"]).wants();
    add("save_checkpoint", bench);

    let mut bench = Bench::new(&double_charge);
    bench.writes(&["run_start", "llm_request"]).calls_model();
    add("call_model", bench);

    let mut bench = search();
    searching(&mut bench);
    add("call_tool, idempotent", bench);

    add("call_tool, not idempotent", sent_voucher(&double_charge));

    let mut bench = sent_voucher(&double_charge);
    bench.fails(FailureCode::Timeout).writes(&["tool_call"]).calls_tool("find_voucher");
    add("call_tool, looking up", bench);

    let mut bench = with_call(&double_charge, "send_voucher", voucher());
    bench.writes(&["approval_request"]).asks();
    add("ask_approval, at the gate", bench);

    let mut bench = sent_voucher(&without_lookup);
    bench.fails(FailureCode::Timeout).writes(&["approval_request"]).asks();
    add("ask_approval, in doubt", bench);

    let mut bench = search();
    searching(&mut bench);
    bench.fails(FailureCode::Unavailable).writes(&["tool_retry"]).waits();
    add("wait, for a tool", bench);

    let mut bench = Bench::new(&double_charge);
    bench.writes(&["run_start", "llm_request"]).calls_model().fails(FailureCode::Unavailable).writes(&["llm_retry"]).waits();
    add("wait, for the model", bench);

    let mut bench = Bench::new(&double_charge);
    bench.writes(&["run_start", "llm_request"]).calls_model().fails(FailureCode::Rejected).writes(&["stop"]);
    bench.stops(Status::ModelFailed).nothing_more();
    add("stopped", bench);

    let mut bench = Bench::new(&double_charge);
    bench.wants();
    bench.answer(Answer::Fenced { owner_epoch: 2 }).nothing_more();
    assert!(bench.agent.is_fenced());
    add("fenced", bench);
    list
}

/// What the agent wants next, in a few words.
fn next(bench: &mut Bench) -> String {
    match bench.agent.poll().map(|effect| effect.kind) {
        Some(EffectKind::Append(record)) => format!("append {}", record.body.kind()),
        Some(EffectKind::CallTool { call, .. }) => format!("call_tool {}", call.name),
        Some(EffectKind::Stop { status, .. }) => format!("stop {}", status.as_str()),
        Some(kind) => kind.as_str().to_string(),
        None => "nothing".to_string(),
    }
}

#[test]
fn every_answer_in_every_situation_is_taken_or_changes_nothing() {
    let mut table = String::from("situation | what comes of it | after which answers\n");
    for (situation, bench) in situations() {
        let mut outcomes: Vec<(String, Vec<String>)> = Vec::new();
        for (word, answer) in answers() {
            let mut bench = bench.clone();
            let before = bench.agent.clone();
            let effect = bench.awaited().unwrap_or(1);
            let outcome = match bench.agent.handle(Event { effect, at_ms: bench.now_ms + 5, answer }) {
                Ok(()) => {
                    assert_ne!(bench.agent, before, "{situation}, {word}: taken, and nothing came of it");
                    next(&mut bench)
                }
                Err(error) => {
                    assert!(bench.agent == before, "{situation}, {word}: refused, and changed all the same");
                    match error {
                        EventError::NothingAwaited => "refused: nothing is awaited".to_string(),
                        EventError::WrongAnswer { effect, .. } => format!("refused: no answer to {effect}"),
                        EventError::WrongEffect { .. } | EventError::Failed(_) => panic!("{situation}, {word}: {error}"),
                    }
                }
            };
            match outcomes.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, words)) => words.push(word),
                None => outcomes.push((outcome, vec![word])),
            }
        }
        for (outcome, words) in outcomes {
            writeln!(table, "{situation} | {outcome} | {}", words.join(", ")).unwrap();
        }
    }
    assert_golden("state-event.txt", &table);
}

#[test]
fn an_event_for_another_effect_is_refused_and_names_both() {
    let mut bench = Bench::new(&scenario("double-charge"));
    bench.writes(&["run_start"]).wants();
    let awaited = bench.awaited().unwrap();
    for named in [0, awaited - 1, awaited + 1, u64::MAX] {
        let before = bench.agent.clone();
        let refused = bench.agent.handle(Event { effect: named, at_ms: bench.now_ms, answer: Answer::Durable });
        assert_eq!(refused, Err(EventError::WrongEffect { awaited, named }));
        assert_eq!(bench.agent, before);
    }
    bench.answer(Answer::Durable).calls_model();
}

#[test]
fn an_answer_that_comes_twice_is_refused_the_second_time() {
    let mut bench = Bench::new(&scenario("double-charge"));
    bench.writes(&["run_start", "llm_request"]).calls_model();
    let effect = bench.awaited().unwrap();
    let event = Event { effect, at_ms: bench.now_ms, answer: Answer::Completion(completion("Done.", &[])) };
    assert_eq!(bench.agent.handle(event.clone()), Ok(()));
    assert_eq!(bench.agent.handle(event.clone()), Err(EventError::NothingAwaited));
    assert!(bench.agent.poll().is_some());
    assert!(matches!(bench.agent.handle(event), Err(EventError::WrongEffect { .. })));
}

#[test]
fn an_event_before_the_first_poll_is_refused() {
    let mut bench = Bench::new(&scenario("double-charge"));
    let before = bench.agent.clone();
    let event = Event { effect: 1, at_ms: bench.now_ms, answer: Answer::Durable };
    assert_eq!(bench.agent.handle(event), Err(EventError::NothingAwaited));
    assert_eq!(bench.agent, before);
    bench.writes(&["run_start"]);
}

#[test]
fn polling_twice_hands_an_effect_out_once() {
    let mut bench = Bench::new(&scenario("double-charge"));
    bench.wants();
    let out = bench.agent.clone();
    assert_eq!(bench.agent.poll(), None);
    assert_eq!(bench.agent, out);
    bench.answer(Answer::Durable).writes(&["llm_request"]).calls_model();
    assert_eq!(bench.agent.poll(), None);
}

#[test]
fn after_stop_there_is_nothing_for_ever() {
    let mut bench = Bench::new(&scenario("double-charge"));
    bench.writes(&["run_start", "llm_request"]).calls_model().says("That is all.", &[]).writes(&["llm_call"]).saves();
    bench.writes(&["stop"]).stops(Status::Done).nothing_more();
    let over = bench.agent.clone();
    for effect in 0..20 {
        let event = Event { effect, at_ms: bench.now_ms, answer: Answer::Durable };
        assert_eq!(bench.agent.handle(event), Err(EventError::NothingAwaited));
        assert_eq!(bench.agent.poll(), None);
    }
    assert_eq!(bench.agent, over);
}

#[test]
fn effects_are_numbered_from_one_without_a_gap() {
    let mut bench = Bench::new(&scenario("double-charge"));
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(bench.wants().id);
        bench.answer(Answer::Durable);
    }
    ids.push(bench.wants().id);
    assert_eq!(ids, [1, 2, 3]);
}

#[test]
fn no_record_of_a_run_is_older_than_the_one_before() {
    let mut bench = Bench::new(&scenario("double-charge"));
    bench.writes(&["run_start", "llm_request"]).calls_model();
    // The driver's clock is set back by a day.
    bench.now_ms -= 86_400_000;
    bench.says("Done.", &[]).writes(&["llm_call"]).saves().writes(&["stop"]);
    let times: Vec<u64> = bench.store.records().iter().map(|record| record.ts_ms).collect();
    assert!(times.is_sorted(), "{times:?}");
}

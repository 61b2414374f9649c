//! Budget and guards: items 20 to 25.

use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::log::store::MemoryStore;
use crashlab::record::Status;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::support::{
    Books, after, after_nth, assert_unbroken, books, crash_points, document, first, model_calls, of_type, ran, ran_with_crash,
    read, requests, run_until, scripted, search_for, tally, voucher_of,
};

/// A search in every step, each for something else.
fn searches(count: u32) -> Vec<Value> {
    let mut turns = vec![first(json!([search_for("charge 0")]))];
    turns.extend((1..count).map(|nth| after_nth("search_kb", nth, json!([search_for(&format!("charge {nth}"))]))));
    turns.push(after("search_kb", "any", json!([])));
    turns
}

fn last(session: &Session, kind: &str) -> Value {
    of_type(session, kind).pop().unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn f20_of_a_budget_of_1000_tokens_what_was_spent_before_a_crash_stays_spent() {
    let mut turns = searches(3);
    turns[0]["usage"] = json!({"input_tokens": 850, "output_tokens": 50});
    turns[1]["usage"] = json!({"input_tokens": 30, "output_tokens": 10});
    let scenario = scripted(&turns, |document| {
        document["task"]["system"] = json!("s");
        document["task"]["ticket"] = json!("t");
        document["world"]["articles"] = json!([]);
        document["limits"] = json!({"budget_tokens": 1000, "output_reserve": 40});
    });
    let (calm, _) = ran(&scenario);
    let stop = last(&calm, "stop");
    assert_eq!((&stop["status"], &stop["used"], &stop["limit"]), (&json!("budget_tokens"), &json!(940), &json!(1000)));
    assert_eq!(model_calls(calm.world()), 2);
    for (effect, when, kind) in crash_points(&scenario) {
        let (session, _) = ran_with_crash(&scenario, effect, when);
        let place = format!("{when:?} effect {effect}, {}", kind.as_str());
        assert_eq!(session.status(), Some(Status::BudgetTokens), "{place}");
        // A call in doubt counts as projected, so less is left after it, never more.
        let stop = last(&session, "stop");
        let used = stop["used"].as_u64().unwrap();
        assert!((940..=1000).contains(&used), "{place}: {stop}");
        let doubt = of_type(&session, "resume").iter().any(|resume| resume["in_doubt"]["type"] == "llm_request");
        assert!(doubt || used == 940, "{place}: {stop}");
    }
}

#[test]
fn f20_a_budget_in_usd_is_never_exceeded_and_never_handed_out_again() {
    let scenario = crate::support::scenario("budget");
    for (effect, when, kind) in crash_points(&scenario) {
        let (session, _) = ran_with_crash(&scenario, effect, when);
        let place = format!("{when:?} effect {effect}, {}", kind.as_str());
        assert_unbroken(&session, &place);
        assert_eq!(session.status(), Some(Status::BudgetUsd), "{place}");
        let stop = last(&session, "stop");
        assert!(stop["used"].as_f64().unwrap() <= 0.018, "{place}: {stop}");
        assert!(stop["used"].as_f64().unwrap() + stop["next_call"].as_f64().unwrap() > 0.018, "{place}: {stop}");
    }
}

#[test]
fn f20_a_model_call_that_fails_for_good_and_may_have_been_billed_is_counted_by_the_log_too() {
    let scenario = scripted(&searches(2), |document| {
        document["faults"] = json!([{"on": "model", "kind": "timeout_after", "calls": [1, 2, 3, 4]}]);
    });
    let (session, _) = ran(&scenario);
    assert_eq!(session.status(), Some(Status::ModelFailed));
    let from_log = session.run_at(session.log().len()).unwrap();
    assert_eq!(from_log.state, session.agent().unwrap().run().state);
    assert_eq!(last(&session, "stop")["used"], from_log.state.cost.usd_number());
    assert!(from_log.state.cost >= session.world().meter().3, "{}", from_log.state.cost.usd());
    assert_eq!(from_log.state.llm_calls, 4);
}

#[test]
fn f21_three_steps_are_three_in_total_over_all_resumes() {
    let mut turns = vec![first(json!([voucher_of(10)]))];
    turns.extend((1..9).map(|nth| after_nth("send_voucher", nth, json!([voucher_of(10 + u64::from(nth))]))));
    let scenario = scripted(&turns, |document| document["limits"] = json!({"max_steps": 3}));
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup { interactive: true, ..Setup::of(&scenario) }, &mut store).unwrap();
    for _ in 0..3 {
        run_until(&mut session, &mut store, Session::is_waiting_for_person);
        session.crash(&mut store);
        session.resume(&mut store).unwrap();
        run_until(&mut session, &mut store, Session::is_waiting_for_person);
        let Tick::WaitingForPerson { approval_key } = session.tick(&mut store) else { panic!() };
        session.decide(&approval_key, crate::support::yes()).unwrap();
    }
    assert_eq!(session.run_to_end(&mut store), Ok(Status::MaxSteps));
    let expected = Books { vouchers: 3, questions: 3, decisions: 3, hand_overs: 1, ..Books::default() };
    assert_eq!(books(session.world()), expected);
    let guard = last(&session, "guard");
    assert_eq!((&guard["guard"], &guard["observed"], &guard["limit"]), (&json!("max_steps"), &json!(3), &json!(3)));
    assert_unbroken(&session, "over three resumes");
}

/// Lets the agent write `records` records after each resume, and kills it then, for ever.
fn crash_for_ever(scenario: &Arc<Scenario>, records: usize) -> (Session, u32) {
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(scenario), &mut store).unwrap();
    for round in 0..1_000 {
        let written = session.log().len() + records;
        run_until(&mut session, &mut store, |session| session.log().len() >= written || session.status().is_some());
        if session.status().is_some() {
            return (session, round);
        }
        session.crash(&mut store);
        session.resume(&mut store).unwrap();
    }
    panic!("a crash after every {records} records goes on for ever");
}

#[test]
fn f22_crashes_for_ever_are_bounded_and_have_a_reason() {
    let scenario = crate::support::scenario("double-charge");
    for records in 1..12 {
        let (session, rounds) = crash_for_ever(&scenario, records);
        let place = format!("a crash after every {records} records");
        // 25 resumes, and two more agents that write only why it is over.
        assert!(rounds <= 25 + 3, "{place}: {rounds} rounds");
        assert_unbroken(&session, &place);
        assert!(books(session.world()).refunds <= 1, "{place}");
        assert!(model_calls(session.world()) <= 8 + 25, "{place}");
        let status = session.status().unwrap();
        assert!(matches!(status, Status::Done | Status::MaxResumes), "{place}: {status:?}");
        if status == Status::MaxResumes {
            let guard = last(&session, "guard");
            assert_eq!((&guard["guard"], &guard["observed"], &guard["limit"]), (&json!("max_resumes"), &json!(25), &json!(25)));
        }
    }
}

#[test]
fn f22_a_run_that_is_given_up_does_not_forget_what_it_may_have_spent() {
    let scenario = scripted(&searches(3), |document| document["limits"] = json!({"max_resumes": 1}));
    for (effect, when, _) in crash_points(&scenario) {
        let mut store = MemoryStore::default();
        let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
        session.arm(effect, when);
        while session.agent().is_some() && session.status().is_none() {
            session.tick(&mut store);
        }
        if session.status().is_some() {
            continue;
        }
        session.resume(&mut store).unwrap();
        session.arm(session.progress().effects + 3, when);
        session.run_to_end(&mut store).unwrap();
        let (_, _, _, billed) = session.world().meter();
        let used = last(&session, "stop")["used"].as_f64().unwrap();
        let billed: f64 = billed.usd().parse().unwrap();
        assert!(used >= billed, "{when:?} effect {effect}: {used} recorded, {billed} billed");
    }
}

#[test]
fn f23_an_hour_of_waiting_for_a_person_does_not_use_up_a_deadline_of_a_minute() {
    let mut waiting = document("double-charge");
    waiting["person"]["answers_after_s"] = json!(3600);
    waiting["limits"] = json!({"deadline_s": 60});
    waiting["downtime_s"] = json!(3600);
    let scenario = read(&waiting.to_string());
    assert_eq!(ran(&scenario).0.status(), Some(Status::Done));
    for (effect, when, kind) in crash_points(&scenario) {
        let (session, _) = ran_with_crash(&scenario, effect, when);
        assert_eq!(session.status(), Some(Status::Done), "{when:?} effect {effect}, {}", kind.as_str());
    }
}

#[test]
fn f23_a_deadline_that_is_over_stops_the_run_and_says_the_figures() {
    let mut short = document("double-charge");
    short["limits"] = json!({"deadline_s": 2});
    let (session, _) = ran(&read(&short.to_string()));
    assert_eq!(session.status(), Some(Status::Deadline));
    let guard = last(&session, "guard");
    assert_eq!((&guard["guard"], guard["limit"].to_string()), (&json!("deadline"), "2.000".to_string()));
    assert!(guard["observed"].as_f64().unwrap() > 2.0, "{guard}");
}

#[test]
fn f24_a_usage_that_cannot_be_read_is_counted_as_projected_and_marked() {
    let with_usage = |usage: &str| {
        let mut turns = searches(1);
        turns[0]["usage"] = json!("here");
        let scenario = scripted(&turns, |_| {});
        read(&scenario.json.replacen("\"here\"", usage, 1))
    };
    let (whole, _) = ran(&scripted(&searches(1), |_| {}));
    let request = of_type(&whole, "llm_request")[0].clone();
    let unreadable = [
        "{}",
        "null",
        "\"12\"",
        "-1",
        "1e999",
        "[]",
        "{\"input_tokens\": null, \"output_tokens\": null}",
        "{\"input_tokens\": \"12\", \"output_tokens\": \"5\"}",
        "{\"input_tokens\": -1, \"output_tokens\": -1}",
        "{\"input_tokens\": 1e999, \"output_tokens\": 1e999}",
        "{\"input_tokens\": 1.5, \"output_tokens\": 1e-3}",
    ];
    for usage in unreadable {
        let (session, _) = ran(&with_usage(usage));
        let call = &of_type(&session, "llm_call")[0];
        assert_eq!(call["usage_partial"], json!(true), "{usage}");
        assert_eq!(call["output_tokens"], json!(300), "{usage}: the output reserve");
        assert_eq!(call["cost_usd"], request["projected_usd"], "{usage}");
        assert_eq!(session.status(), Some(Status::Done), "{usage}");
        assert_unbroken(&session, usage);
        assert!(!session.log().iter().any(|record| record.to_line().contains("NaN")), "{usage}");
    }
    let (session, _) = ran(&with_usage("{\"input_tokens\": 12.0}"));
    let call = &of_type(&session, "llm_call")[0];
    assert_eq!((&call["input_tokens"], &call["output_tokens"]), (&json!(12), &json!(300)));
    assert_eq!(call["usage_partial"], json!(true));
    let (session, _) = ran(&with_usage("{\"input_tokens\": 12, \"output_tokens\": 3}"));
    assert_eq!(of_type(&session, "llm_call")[0].get("usage_partial"), None);
    let (session, _) = ran(&with_usage("{\"input_tokens\": 9007199254740993, \"output_tokens\": 18446744073709551615}"));
    assert_eq!(session.status(), Some(Status::BudgetTokens), "a huge usage is spent, and does not wrap round");
}

/// Runs with a crash at every instant, and expects the same guard each time.
fn always_stops_as(scenario: &Arc<Scenario>, status: Status, observed: &Value) {
    let check = |session: &Session, place: &str| {
        assert_eq!(session.status(), Some(status), "{place}");
        assert_eq!(&last(session, "guard")["observed"], observed, "{place}");
    };
    check(&ran(scenario).0, "without a crash");
    for (effect, when, kind) in crash_points(scenario) {
        check(&ran_with_crash(scenario, effect, when).0, &format!("{when:?} effect {effect}, {}", kind.as_str()));
    }
}

#[test]
fn f25_the_same_call_with_reordered_keys_is_the_same_call_on_both_sides_of_a_crash() {
    let call = |args: &str| format!(r#"[{{"tool": "send_voucher", "args": {args}}}]"#);
    let orders = [
        r#"{"customer_id": "C-48213", "amount": 20, "currency": "USD"}"#,
        r#"{"amount": 20.00, "currency": "USD", "customer_id": "C-48213"}"#,
        r#"{"currency": "USD", "customer_id": "C-48213", "amount": 2e1}"#,
    ];
    let calls: Vec<Value> = orders.map(|args| serde_json::from_str(&call(args)).unwrap()).into();
    let mut turns = vec![first(calls[0].clone())];
    turns.extend((1..5).map(|nth| after_nth("send_voucher", nth, calls[nth as usize % 3].clone())));
    let scenario = scripted(&turns, |document| document["person"]["answers"] = json!(["denied"]));
    let identity = r#"3 × send_voucher {"amount":20,"currency":"USD","customer_id":"C-48213"}"#;
    always_stops_as(&scenario, Status::RepeatedCall, &json!(identity));
    let (session, _) = ran(&scenario);
    assert_eq!(requests(session.world(), "send_voucher"), 0);
    assert_eq!(books(session.world()).questions, 1);
}

#[test]
fn f25_two_calls_in_turn_are_a_loop_also_across_a_crash() {
    let mut turns = vec![first(json!([search_for("a")]))];
    turns.extend((1..9).map(|nth| after_nth("search_kb", nth, json!([search_for(if nth % 2 == 0 { "a" } else { "b" })]))));
    let pair = r#"search_kb {"query":"a"}, search_kb {"query":"b"}, twice in turn"#;
    always_stops_as(&scripted(&turns, |_| {}), Status::RepeatedCall, &json!(pair));
}

#[test]
fn f25_steps_that_teach_nothing_new_stop_the_run_also_across_a_crash() {
    let mut turns = vec![first(json!([search_for("zzz")]))];
    turns.extend((1..9).map(|nth| after_nth("search_kb", nth, json!([search_for(&"z".repeat(3 + nth as usize))]))));
    always_stops_as(&scripted(&turns, |_| {}), Status::Stale, &json!(3));
}

#[test]
fn f25_failures_that_force_a_new_plan_too_often_stop_the_run_also_across_a_crash() {
    let call = |nth: u32| json!([{"tool": "read_article", "args": {"article_id": format!("KB-{nth}")}}]);
    let mut turns = vec![first(call(0))];
    turns.extend((1..12).map(|nth| after_nth("read_article", nth, call(nth))));
    always_stops_as(&scripted(&turns, |_| {}), Status::MaxReplans, &json!(6));
}

#[test]
fn f25_calls_that_are_made_often_enough_to_be_a_loop_are_counted_over_the_whole_run() {
    // A, B, C, A, B, C, A: no two in turn, and the third A is one too many.
    let mut turns = vec![first(json!([search_for("refund")]))];
    turns.extend(
        (1..12).map(|nth| after_nth("search_kb", nth, json!([search_for(["refund", "charge", "plan"][nth as usize % 3])]))),
    );
    let scenario = scripted(&turns, |document| document["limits"] = json!({"max_stale_steps": 99}));
    always_stops_as(&scenario, Status::RepeatedCall, &json!(r#"3 × search_kb {"query":"refund"}"#));
    let (session, _) = ran(&scenario);
    let made = tally(of_type(&session, "tool_call").iter().map(|call| call["args"]["query"].to_string()));
    assert_eq!(made.values().copied().collect::<Vec<_>>(), [2, 2, 3]);
}

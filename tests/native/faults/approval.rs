//! Approval: items 8 to 15.

use crashlab::lab::inbox::DecisionRefused;
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, SessionError, Setup, Tick};
use crashlab::log::store::MemoryStore;
use crashlab::record::{ApprovalStatus, Decision, Status};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::support::{
    Books, after, after_nth, assert_unbroken, books, crash_points, first, no, observations, of_type, ran, ran_with_crash,
    refund_of, run_until, scenario, scripted, voucher_of, yes,
};

/// A run in which the test decides.
fn interactive(scenario: &Arc<Scenario>) -> (Session, MemoryStore) {
    let mut store = MemoryStore::default();
    let setup = Setup { interactive: true, ..Setup::of(scenario) };
    (Session::start(setup, &mut store).unwrap(), store)
}

/// Runs until a person has a question or the run is over, and gives the question's key.
fn next_question(session: &mut Session, store: &mut MemoryStore) -> Option<String> {
    for _ in 0..10_000 {
        match session.tick(store) {
            Tick::WaitingForPerson { approval_key } => return Some(approval_key.to_string()),
            Tick::Stopped { .. } => return None,
            Tick::Crashed { .. } => session.resume(store).unwrap(),
            Tick::Happened { .. } | Tick::Answered | Tick::Fenced => {}
        }
    }
    panic!("neither a question nor an end");
}

fn person_says(answers: Value) -> impl FnOnce(&mut Value) {
    move |document| document["person"]["answers"] = answers
}

#[test]
fn f08_what_was_denied_is_not_asked_again_when_it_is_proposed_again() {
    let turns = [
        first(json!([refund_of(288)])),
        after_nth("issue_refund", 1, json!([refund_of(288)])),
        json!({"when": {"after": "issue_refund", "nth": 2}, "say": "A person decides about that; you will hear from us."}),
    ];
    let scenario = scripted(&turns, person_says(json!(["denied", "approved"])));
    let check = |session: &Session, place: &str| {
        assert_eq!(session.status(), Some(Status::Done), "{place}");
        let expected = Books { questions: 1, decisions: 1, mails: 1, ..Books::default() };
        assert_eq!(books(session.world()), expected, "{place}");
        let denied = r#"{"ok":false,"denied":true,"error":"denied by human:maya; the decision stands"}"#;
        assert_eq!(observations(session), [denied, denied], "{place}");
        let reused: Vec<_> = of_type(session, "approval").iter().map(|record| record["reused"].clone()).collect();
        assert_eq!(reused, [false, true], "{place}");
        assert_unbroken(session, place);
    };
    check(&ran(&scenario).0, "without a crash");
    for (effect, when, _) in crash_points(&scenario) {
        check(&ran_with_crash(&scenario, effect, when).0, &format!("{when:?} effect {effect}"));
    }
}

#[test]
fn f08_a_decision_under_the_key_of_an_older_question_is_refused() {
    let turns = [
        first(json!([refund_of(300)])),
        after_nth("issue_refund", 1, json!([refund_of(288)])),
        after_nth("issue_refund", 2, json!([])),
    ];
    let scenario = scripted(&turns, |_| {});
    let (mut session, mut store) = interactive(&scenario);
    let older = next_question(&mut session, &mut store).unwrap();
    session.decide(&older, no()).unwrap();
    let newer = next_question(&mut session, &mut store).unwrap();
    assert_ne!(older, newer);
    let refused = session.decide(&older, yes());
    assert_eq!(refused, Err(SessionError::Decision(DecisionRefused::AlreadyDecided(ApprovalStatus::Denied))));
    assert_eq!(session.tick(&mut store), Tick::WaitingForPerson { approval_key: newer.as_str().into() });
    assert_eq!(books(session.world()).refunds, 0);
    assert!(matches!(session.decide("no such key", yes()), Err(SessionError::Decision(DecisionRefused::NoQuestion(_)))));
}

#[test]
fn f09_an_approval_after_a_denied_run_has_ended_runs_nothing() {
    let (mut session, mut store) = interactive(&scenario("denied"));
    let key = next_question(&mut session, &mut store).unwrap();
    session.decide(&key, no()).unwrap();
    assert_eq!(next_question(&mut session, &mut store), None);
    let (rows, records) = (session.world().rows().to_vec(), store.clone());
    assert!(session.decide(&key, yes()).is_err());
    session.resume(&mut store).unwrap();
    for _ in 0..20 {
        session.tick(&mut store);
    }
    assert_eq!(session.world().rows(), rows);
    assert_eq!(store, records);
    assert_eq!(books(session.world()).refunds, 0);
}

#[test]
fn f09_a_question_that_is_open_when_the_run_ends_takes_no_decision() {
    let scenario = scripted(&[first(json!([refund_of(288)]))], |document| document["limits"] = json!({"max_resumes": 1}));
    let (mut session, mut store) = interactive(&scenario);
    let key = next_question(&mut session, &mut store).unwrap();
    for _ in 0..2 {
        session.crash(&mut store);
        session.resume(&mut store).unwrap();
        next_question(&mut session, &mut store);
    }
    assert_eq!(session.status(), Some(Status::MaxResumes));
    assert!(session.decide(&key, yes()).is_err());
    assert_eq!(books(session.world()), Books { questions: 1, hand_overs: 1, ..Books::default() });
}

#[test]
fn f10_an_approval_of_288_does_not_cover_2880() {
    // The first attempt is refused by billing; after that the model proposes ten times as much.
    let turns = [
        first(json!([refund_of(288)])),
        after_nth("issue_refund", 1, json!([refund_of(2_880)])),
        json!({"when": {"after": "issue_refund", "nth": 2}, "say": "Nothing was refunded."}),
    ];
    let refused = json!([{"on": "issue_refund", "calls": [1, 2], "kind": "rejected", "message": "422 try later"}]);
    let scenario = scripted(&turns, |document| {
        document["faults"] = refused;
        document["person"]["answers"] = json!(["approved", "denied"]);
    });
    for (effect, when, _) in crash_points(&scenario) {
        let (session, _) = ran_with_crash(&scenario, effect, when);
        let place = format!("{when:?} effect {effect}");
        assert_eq!(books(session.world()).refunds, 0, "{place}");
        assert_unbroken(&session, &place);
        let asked: Vec<String> = session.world().questions().iter().map(|question| question.args["amount"].to_string()).collect();
        assert_eq!(asked, ["288", "2880"], "{place}");
        let executed = of_type(&session, "tool_call").iter().any(|record| record["args"]["amount"] == json!(2_880));
        assert!(!executed, "{place}");
    }
}

#[test]
fn f11_the_same_call_id_with_other_arguments_is_asked_again() {
    let with_id = |amount: u64| {
        let mut call = voucher_of(amount);
        call["id"] = json!("v1");
        json!([call])
    };
    let turns = [first(with_id(20)), after_nth("send_voucher", 1, with_id(30)), after_nth("send_voucher", 2, json!([]))];
    let (session, _) = ran(&scripted(&turns, |_| {}));
    let asked: Vec<String> = session.world().questions().iter().map(|question| question.args["amount"].to_string()).collect();
    assert_eq!(asked, ["20", "30"]);
    assert_unbroken(&session, "after the second voucher");
    // Approved twice, so sent twice: a call id that comes again is no repeated request.
    assert_eq!(books(session.world()).vouchers, 2, "{:?}", observations(&session));
}

#[test]
fn f12_of_two_identical_calls_in_one_turn_each_gets_its_own_answer() {
    let turns = [first(json!([voucher_of(20), voucher_of(20)])), after("send_voucher", "denied", json!([]))];
    let scenario = scripted(&turns, person_says(json!(["approved", "denied"])));
    let check = |session: &Session, place: &str| {
        let expected = Books { vouchers: 1, questions: 2, decisions: 2, mails: 1, ..Books::default() };
        assert_eq!(books(session.world()), expected, "{place}");
        let shown = observations(session);
        assert!(shown[0].contains("VC-00001"), "{place}: {shown:?}");
        assert!(shown[1].contains("\"denied\":true"), "{place}: {shown:?}");
        assert_unbroken(session, place);
    };
    check(&ran(&scenario).0, "without a crash");
    for (effect, when, _) in crash_points(&scenario) {
        check(&ran_with_crash(&scenario, effect, when).0, &format!("{when:?} effect {effect}"));
    }
}

#[test]
fn f12_of_two_identical_refunds_in_one_turn_the_second_is_the_same_action() {
    let turns = [
        first(json!([refund_of(288), refund_of(288)])),
        json!({"when": {"after": "issue_refund"}, "say": "Refunded: {{issue_refund.refund_id}}."}),
    ];
    let (session, _) = ran(&scripted(&turns, |_| {}));
    let expected = Books { refunds: 1, questions: 1, decisions: 1, mails: 1, ..Books::default() };
    assert_eq!(books(session.world()), expected);
    assert_eq!(observations(&session)[0], observations(&session)[1]);
}

#[test]
fn f13_two_clicks_in_the_same_tick_are_one_decision_and_one_effect() {
    for (first_click, second_click, refunds) in [(yes(), yes(), 1), (yes(), no(), 1), (no(), yes(), 0), (no(), no(), 0)] {
        let (mut session, mut store) = interactive(&scenario("double-charge"));
        let key = next_question(&mut session, &mut store).unwrap();
        session.decide(&key, first_click.clone()).unwrap();
        let decided = first_click.status;
        let refused = Err(SessionError::Decision(DecisionRefused::AlreadyDecided(decided)));
        assert_eq!(session.decide(&key, second_click), refused);
        assert_eq!(next_question(&mut session, &mut store), None);
        assert_eq!(books(session.world()).refunds, refunds);
        assert_eq!(books(session.world()).decisions, 1);
        assert_unbroken(&session, "after two clicks");
    }
}

#[test]
fn f13_a_click_that_lands_while_the_agent_is_dead_is_not_lost() {
    let (mut session, mut store) = interactive(&scenario("double-charge"));
    let key = next_question(&mut session, &mut store).unwrap();
    session.crash(&mut store);
    session.decide(&key, Decision { note: Some("Go ahead.".into()), ..yes() }).unwrap();
    session.resume(&mut store).unwrap();
    assert_eq!(next_question(&mut session, &mut store), None);
    assert_eq!(books(session.world()).refunds, 1);
    let approvals = of_type(&session, "approval");
    assert_eq!(approvals.len(), 1);
    assert_eq!((&approvals[0]["approver"], &approvals[0]["note"]), (&json!("human:maya"), &json!("Go ahead.")));
}

#[test]
fn an_answer_that_was_given_while_the_agent_was_dead_waits_for_the_next_one() {
    // The person of this scenario looks at a question for five minutes, and the agent is away for two.
    let (mut session, mut store) = interactive(&scenario("crash-question"));
    while !matches!(session.tick(&mut store), Tick::Crashed { .. }) {}
    let key = session.world().inbox()[0].key.clone();
    session.decide(&key, yes()).unwrap();
    session.resume(&mut store).unwrap();
    assert_eq!(next_question(&mut session, &mut store), None);
    let at = |kind: &str| of_type(&session, kind)[0]["ts"].as_f64().unwrap();
    assert_eq!(at("approval"), at("resume"), "nobody is waited for");
}

#[test]
fn f14_an_approval_that_expires_is_neither_a_yes_nor_a_persons_no() {
    let scenario = scripted(&[], |document| {
        *document = crate::support::document("double-charge");
        document["person"]["answers"] = json!([]);
        document["person"]["expires_after_s"] = json!(600);
    });
    let (session, _) = ran(&scenario);
    let approvals = of_type(&session, "approval");
    assert_eq!(approvals.len(), 1);
    assert_eq!((&approvals[0]["decision"], &approvals[0]["approver"]), (&json!("expired"), &json!("nobody")));
    let shown = observations(&session);
    assert!(shown.iter().any(|text| text.contains(r#""expired":true"#)), "{shown:?}");
    assert!(!shown.iter().any(|text| text.contains("denied")), "{shown:?}");
    let expected = Books { questions: 1, decisions: 1, escalations: 1, mails: 1, ..Books::default() };
    assert_eq!(books(session.world()), expected);
    assert_unbroken(&session, "after it expired");
}

#[test]
fn f14_with_nobody_there_the_answer_is_no_and_says_who_decided() {
    let scenario = scripted(&[], |document| {
        *document = crate::support::document("double-charge");
        document["person"] = json!(null);
    });
    let (session, _) = ran(&scenario);
    let approvals = of_type(&session, "approval");
    assert_eq!((&approvals[0]["decision"], &approvals[0]["approver"]), (&json!("denied"), &json!("policy:deny_all")));
    assert_eq!(books(session.world()), Books { escalations: 1, mails: 1, ..Books::default() });
}

#[test]
fn f15_arguments_that_are_no_object_become_an_observation_and_ask_nobody() {
    let cases = [
        (
            json!({"raw": "{\"amount\":"}),
            "the arguments of issue_refund are not valid JSON at line 1, column 11: expected a value, found the end of the text",
        ),
        (
            json!({"raw": ""}),
            "the arguments of issue_refund are not valid JSON at line 1, column 1: expected a value, found the end of the text",
        ),
        (json!({"args": []}), "the arguments of issue_refund must be a JSON object, found an array"),
        (json!({"raw": "\"text\""}), "the arguments of issue_refund must be a JSON object, found a string"),
        (json!({"args": null}), "the arguments of issue_refund must be a JSON object, found null"),
        (json!({"args": 288}), "the arguments of issue_refund must be a JSON object, found a number"),
        (json!({"args": {}}), "issue_refund needs `invoice_id` (a string)"),
        (
            json!({"args": {"invoice_id": "INV-2026-004512", "charge_id": "CH-90121", "amount": "288", "currency": "USD", "reason": ""}}),
            "`amount` of issue_refund must be a number, found a string",
        ),
        (
            json!({"args": {"invoice_id": "INV-2026-004512", "charge_id": "CH-90121", "amount": 288, "currency": "USD", "reason": "",
                            "to": "my own card"}}),
            "issue_refund takes no `to`; it takes `invoice_id`, `charge_id`, `amount`, `currency`, `reason`",
        ),
    ];
    for (mut call, error) in cases {
        call["tool"] = json!("issue_refund");
        let turns = [first(json!([call])), after("issue_refund", "error", json!([]))];
        let scenario = scripted(&turns, |_| {});
        let (session, _) = ran(&scenario);
        let shown = serde_json::to_string(&json!({"ok": false, "retryable": false, "error": error})).unwrap();
        assert_eq!(observations(&session)[0].lines().next().unwrap(), shown);
        assert_eq!(books(session.world()), Books { mails: 1, ..Books::default() }, "{error}");
        assert_eq!(of_type(&session, "tool_call").len(), 0, "{error}");
        let (crashed, _) = ran_with_crash(&scenario, 4, When::Before);
        assert_eq!(observations(&crashed), observations(&session), "{error}");
    }
}

#[test]
fn f15_an_unknown_tool_becomes_an_observation_that_names_the_known_ones() {
    let turns = [first(json!([{"tool": "delete_customer", "args": {}}])), after("delete_customer", "error", json!([]))];
    let (session, _) = ran(&scripted(&turns, |_| {}));
    let shown = &observations(&session)[0];
    assert!(
        shown.starts_with(r#"{"ok":false,"retryable":false,"error":"there is no tool `delete_customer`; there are search_kb, "#)
    );
    assert_eq!(books(session.world()), Books { mails: 1, ..Books::default() });
    let (mut again, mut store) = interactive(&scripted(&turns, |_| {}));
    run_until(&mut again, &mut store, |session| of_type(session, "tool_result").len() == 1);
}

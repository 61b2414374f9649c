//! Crash and double execution: items 1 to 7.

use crashlab::agent::protocol::EffectKind;
use crashlab::lab::crash_points::RunProgress;
use crashlab::lab::mechanisms::Mechanism;
use crashlab::lab::scenario::When;
use crashlab::lab::session::{Session, Setup};
use crashlab::lab::world::World;
use crashlab::log::store::{MemoryStore, Store};
use crashlab::record::Status;
use serde_json::{Value, json};

use crate::support::{
    Bench, Books, Site, TextStore, after, assert_same, assert_unbroken, books, crash_points, first, is_at_tool, log_text,
    newest_checkpoint, note_of, observations, of_type, one_of_each, ran, ran_with_crash, refund_of, requests, run_until,
    scenario, scripted, search_for, voucher_of,
};

#[test]
fn f01_a_crash_at_any_storage_write_gives_the_same_trace_every_time_and_one_effect() {
    let scenario = scenario("double-charge");
    let writes = |kind: &EffectKind| matches!(kind, EffectKind::Append(_) | EffectKind::SaveCheckpoint { .. });
    let mut tried = 0;
    for (effect, when, kind) in crash_points(&scenario) {
        if !writes(&kind) {
            continue;
        }
        let (session, store) = ran_with_crash(&scenario, effect, when);
        let (_, again) = ran_with_crash(&scenario, effect, when);
        let place = format!("{when:?} effect {effect}");
        assert_same(&log_text(&again), &log_text(&store), &place);
        assert_eq!(books(session.world()), one_of_each(), "{place}");
        assert_unbroken(&session, &place);
        tried += 1;
    }
    assert_eq!(tried, 2 * (47 + 8));
}

#[test]
fn f01_whatever_follows_an_attempt_that_may_have_run_the_call_stays_in_doubt() {
    let refused =
        json!({"on": "issue_refund", "calls": [2, 3, 4, 5], "kind": "rejected", "message": "401 the session has expired"});
    let unavailable = json!({"on": "issue_refund", "calls": [2, 3, 4, 5], "kind": "unavailable"});
    for then in [refused, unavailable] {
        let lost = json!({"on": "issue_refund", "calls": [1], "kind": "timeout_after"});
        let turns = [first(json!([refund_of(288)])), after("issue_refund", "error", json!([note_of("In doubt.")]))];
        let turns = [&turns[..], &[after("add_internal_note", "ok", json!([]))]].concat();
        let with_timeout = scripted(&turns, |document| document["faults"] = json!([lost, then]));
        let (session, _) = ran(&with_timeout);
        assert_eq!(books(session.world()).refunds, 1);
        let result = &of_type(&session, "tool_result")[0]["result"];
        assert_eq!(result["in_doubt"], true, "{result}");
        // The same if the first answer was lost in a crash.
        let with_crash = scripted(&turns, |document| {
            document["faults"] = json!([then]);
            document["crashes"] = json!([{"effect": "call_tool", "tool": "issue_refund", "when": "after"}]);
        });
        let (session, _) = ran(&with_crash);
        assert_eq!(books(session.world()).refunds, 1);
        let result = &of_type(&session, "tool_result")[0]["result"];
        assert_eq!(result["in_doubt"], true, "{result}");
    }
}

#[test]
fn f01_a_call_that_certainly_did_not_run_is_not_in_doubt() {
    for kind in ["unavailable", "refused"] {
        let fault = json!([{"on": "issue_refund", "calls": [1, 2, 3, 4], "kind": kind}]);
        let turns = [first(json!([refund_of(288)])), after("issue_refund", "error", json!([]))];
        let (session, _) = ran(&scripted(&turns, |document| document["faults"] = fault));
        let result = &of_type(&session, "tool_result")[0]["result"];
        assert_eq!((result.get("in_doubt"), &result["retryable"]), (None, &json!(true)));
    }
}

#[test]
fn f01_a_call_that_is_not_idempotent_is_looked_up_and_sent_again_only_if_it_did_not_run() {
    for (fault, sent) in [("timeout_after", 1), ("timeout_before", 2), ("reply_lost", 1), ("malformed", 1)] {
        let turns = [first(json!([voucher_of(20)])), after("send_voucher", "ok", json!([]))];
        let scenario = scripted(&turns, |document| document["faults"] = json!([{"on": "send_voucher", "kind": fault}]));
        let check = |session: &Session, place: &str| {
            assert_eq!(books(session.world()).vouchers, 1, "{fault}, {place}");
            assert_eq!(books(session.world()).questions, 1, "{fault}, {place}");
            assert!(observations(session)[0].contains("VC-00001"), "{fault}, {place}");
            assert_unbroken(session, place);
        };
        let (calm, _) = ran(&scenario);
        check(&calm, "without a crash");
        assert_eq!(requests(calm.world(), "send_voucher"), sent, "{fault}");
        for (effect, when, _) in crash_points(&scenario) {
            check(&ran_with_crash(&scenario, effect, when).0, &format!("{when:?} effect {effect}"));
        }
    }
}

#[test]
fn f01_a_call_that_cannot_be_looked_up_is_put_to_a_person_and_never_blindly_repeated() {
    for (answers, vouchers, in_doubt) in [(json!(["approved", "denied"]), 1, true), (json!(["approved", "approved"]), 1, false)] {
        let turns = [first(json!([voucher_of(20)])), json!({"when": {"after": "send_voucher"}, "say": "That is all."})];
        let scenario = scripted(&turns, |document| {
            document["tools"] = json!({"send_voucher": {"lookup": null}});
            document["faults"] = json!([{"on": "send_voucher", "kind": "timeout_after"}]);
            document["person"]["answers"] = answers;
        });
        let check = |session: &Session, place: &str| {
            let books = books(session.world());
            assert_eq!((books.vouchers, books.questions, books.decisions), (vouchers, 2, 2), "{place}");
            assert_eq!(observations(session)[0].contains("in_doubt"), in_doubt, "{place}");
            assert_unbroken(session, place);
        };
        check(&ran(&scenario).0, "without a crash");
    }
}

#[test]
fn f01_a_look_up_that_fails_once_is_tried_again_before_a_person_is_asked() {
    for (calls, questions) in [(json!([1]), 1), (json!([1, 2, 3, 4]), 2)] {
        let turns = [first(json!([voucher_of(20)])), after("send_voucher", "ok", json!([]))];
        let scenario = scripted(&turns, |document| {
            let faults = [("send_voucher", "timeout_after", json!([1])), ("find_voucher", "unavailable", calls.clone())];
            document["faults"] = faults.iter().map(|(on, kind, calls)| json!({"on": on, "kind": kind, "calls": calls})).collect();
        });
        let check = |session: &Session, place: &str| {
            assert_eq!(books(session.world()).vouchers, 1, "{place}");
            assert!(books(session.world()).questions <= questions, "{place}");
            assert!(observations(session)[0].contains("VC-00001"), "{place}");
            assert_unbroken(session, place);
        };
        let (calm, _) = ran(&scenario);
        assert_eq!(books(calm.world()).questions, questions);
        assert_eq!(of_type(&calm, "tool_retry")[0]["tool"], "find_voucher");
        check(&calm, "without a crash");
        for (effect, when, _) in crash_points(&scenario) {
            check(&ran_with_crash(&scenario, effect, when).0, &format!("{when:?} effect {effect}"));
        }
    }
}

#[test]
fn f01_calls_of_one_answer_under_the_same_id_are_told_apart() {
    let with_id = |mut call: Value| {
        call["id"] = json!("c1");
        call
    };
    let calls = json!([with_id(note_of("One")), with_id(note_of("Two")), with_id(note_of("One"))]);
    let scenario = scripted(&[first(calls), after("add_internal_note", "ok", json!([]))], |_| {});
    let (calm, _) = ran(&scenario);
    let ids: Vec<Value> = of_type(&calm, "tool_call").iter().map(|call| call["call_id"].clone()).collect();
    assert_eq!(ids, ["c1", "c1#2", "c1#3"]);
    for (effect, when, _) in crash_points(&scenario) {
        let (session, _) = ran_with_crash(&scenario, effect, when);
        let place = format!("{when:?} effect {effect}");
        assert_eq!(books(session.world()).notes, 3, "{place}");
        assert_unbroken(&session, &place);
    }
}

#[test]
fn f02_a_write_that_fails_once_is_tried_again_and_the_tool_is_not() {
    let calm = ran(&scenario("double-charge"));
    let writes = 47 + 8;
    for failing in 0..writes {
        let mut store = TextStore { failing: [failing].into(), ..TextStore::default() };
        let mut session = Session::start(Setup::of(&scenario("double-charge")), &mut store).unwrap();
        assert_eq!(session.run_to_end(&mut store), Ok(Status::Done), "write {failing}");
        assert_unbroken(&session, &format!("write {failing}"));
        assert_eq!(books(session.world()), one_of_each(), "write {failing}");
        for tool in ["search_kb", "read_article", "get_account", "get_invoice", "issue_refund", "add_internal_note"] {
            assert_eq!(requests(session.world(), tool), requests(calm.0.world(), tool), "write {failing}: {tool}");
        }
        // A record is written again; a snapshot is left out with its record, as the log holds what it would have held.
        let was_snapshot = store.written.iter().filter(|(kind, _)| kind == "snapshot").count() == 7;
        assert_eq!(store.writes, if was_snapshot { writes - 1 } else { writes + 1 }, "write {failing}");
    }
}

#[test]
fn f02_storage_that_goes_on_failing_stops_the_run_before_anything_outside_happens() {
    let mut store = TextStore { quota: Some(0), ..TextStore::default() };
    let mut session = Session::start(Setup::of(&scenario("double-charge")), &mut store).unwrap();
    assert_eq!(session.run_to_end(&mut store), Ok(Status::StorageFailed));
    assert_eq!(books(session.world()), Books { hand_overs: 1, ..Books::default() });
    assert_eq!(session.world().meter().0, 0);
}

#[test]
fn f03_a_resume_while_a_slow_tool_runs_leaves_one_effect() {
    let slow = json!([{"on": "issue_refund", "kind": "slow", "by_s": 30}]);
    let scenario = scripted(&[], |document| {
        *document = crate::support::document("double-charge");
        document["faults"] = slow;
    });
    for when in [When::Before, When::After] {
        let mut store = MemoryStore::default();
        let mut first_tab = Session::start(Setup::of(&scenario), &mut store).unwrap();
        run_until(&mut first_tab, &mut store, |session| is_at_tool(session, "issue_refund", when));
        let rows = first_tab.world().rows().to_vec();
        let mut second_tab = Session::reopen(Setup::of(&scenario), rows, RunProgress::default(), &store);
        second_tab.resume(&mut store).unwrap();
        assert_eq!(second_tab.run_to_end(&mut store), Ok(Status::Done));
        let written = store.clone();
        // The first tab's answer arrives, and nothing comes of it.
        for _ in 0..10 {
            first_tab.tick(&mut store);
        }
        assert!(first_tab.is_fenced());
        assert_eq!(store, written);
        assert_eq!(books(second_tab.world()), one_of_each(), "{when:?}");
    }
}

#[test]
fn f03_agents_in_two_tabs_and_one_world_have_one_effect() {
    let slow = json!([{"on": "issue_refund", "kind": "slow", "by_s": 30}]);
    let scenario = scripted(&[], |document| {
        *document = crate::support::document("double-charge");
        document["faults"] = slow;
    });
    let mut site = Site::new(&scenario);
    let mut old = site.open();
    let is_refunding = |kind: &EffectKind| matches!(kind, EffectKind::CallTool { call, .. } if *call.name == *"issue_refund");
    while !old.in_flight().is_some_and(|(kind, _)| is_refunding(kind)) {
        old.step(&mut site);
    }
    // The old agent's request is on its way, and the new one sends it again.
    let mut new = site.open();
    while !new.in_flight().is_some_and(|(kind, when)| is_refunding(kind) && when == When::After) {
        new.step(&mut site);
    }
    old.finish(&mut site);
    new.finish(&mut site);
    assert_eq!(requests(&site.world, "issue_refund"), 2);
    assert_eq!(books(&site.world), one_of_each());
}

/// Crashes at every instant of a small scenario, and hands each run to `check`.
fn crash_everywhere(turns: &[Value], check: impl Fn(&Session, &MemoryStore, &str)) {
    let scenario = scripted(turns, |_| {});
    let (calm, store) = ran(&scenario);
    check(&calm, &store, "without a crash");
    for (effect, when, kind) in crash_points(&scenario) {
        let place = format!("{when:?} effect {effect}, {}", kind.as_str());
        let (session, store) = ran_with_crash(&scenario, effect, when);
        assert_eq!(session.status(), calm.status(), "{place}");
        assert_eq!(observations(&session), observations(&calm), "{place}");
        check(&session, &store, &place);
    }
}

#[test]
fn f04_a_free_and_a_gated_call_in_one_step_each_run_once_and_both_reach_the_model() {
    let turns = [
        first(json!([note_of("I am about to refund."), refund_of(288)])),
        json!({"when": {"after": "issue_refund", "outcome": "ok"}, "say": "Refunded: {{issue_refund.refund_id}}."}),
    ];
    crash_everywhere(&turns, |session, _, place| {
        assert_eq!(books(session.world()), one_of_each(), "{place}");
        assert_unbroken(session, place);
        let shown = observations(session);
        assert_eq!(shown[0], r#"{"saved":true,"note_count":1}"#, "{place}");
        assert!(shown[1].contains("RF-00001"), "{place}: {}", shown[1]);
    });
}

#[test]
fn f05_an_empty_result_is_the_same_observation_after_a_crash() {
    for (result, shown) in
        [(json!(null), "null"), (json!(""), "\"\""), (json!({}), "{}"), (json!([]), "[]"), (json!(false), "false")]
    {
        let mut bench = Bench::new(&scenario("double-charge"));
        bench.writes(&["run_start", "llm_request"]).calls_model();
        bench
            .says("I search.", &[("call_1", "search_kb", json!({"query": "x"})), ("call_2", "search_kb", json!({"query": "y"}))]);
        bench.writes(&["llm_call", "tool_call"]).calls_tool("search_kb").gives(result.clone()).writes(&["tool_result"]);
        let before = bench.agent.run().state.clone();
        bench.dies_and_resumes();
        assert_eq!(bench.agent.run().state, before, "{result}");
        assert_eq!(&**before.messages.last().unwrap().content(), shown);
        // Through text, as a browser stores it.
        let mut store = TextStore::of(&bench.store);
        assert_eq!(store.read().records.last(), bench.store.read().records.last(), "{result}");
        store.take_over().unwrap();
        bench.writes(&["tool_call"]).calls_tool("search_kb").gives(json!("")).writes(&["tool_result"]).saves();
        bench.writes(&["llm_request"]).calls_model().says("Nothing found.", &[]).writes(&["llm_call"]).saves().writes(&["stop"]);
        bench.stops(Status::Done).nothing_more();
    }
}

#[test]
fn f06_an_edited_script_is_a_named_divergence_and_not_silently_continued() {
    let original = scenario("double-charge");
    // With checkpoint or without, and with the crash before `run_start` or behind it.
    for effect in [0, 1, 20, 60] {
        let mut store = MemoryStore::default();
        let mut session = Session::start(Setup::of(&original), &mut store).unwrap();
        session.arm(effect, When::After);
        while session.agent().is_some() {
            session.tick(&mut store);
        }
        session.resume(&mut store).unwrap();
        for _ in 0..5 {
            session.tick(&mut store);
        }
        session.crash(&mut store);
        let edited = scripted(&[], |document| {
            *document = crate::support::document("double-charge");
            let mut turns = document["script"].as_array_mut().unwrap().iter_mut();
            let refund = turns.find(|turn| turn["calls"][0]["tool"] == "issue_refund").unwrap();
            refund["calls"][0]["args"]["amount"] = json!(2880);
        });
        let rows = session.world().rows().to_vec();
        let mut other = Session::reopen(Setup::of(&edited), rows.clone(), RunProgress::default(), &store);
        let error = other.resume(&mut store).unwrap_err().to_string();
        let (was, is) = (&session.config().scenario, &other.config().scenario);
        let expected = format!(
            "the scenario has changed since the run began: recorded is {was}, now it is {is}. Resume it with what was recorded, or \
             start a new run"
        );
        assert_eq!(error, expected);
        assert_ne!(was, is);
        assert_eq!(books(other.world()), books(&World::with_rows(original.clone(), true, rows)));
        // The choice: what was recorded goes on as if nothing had been edited.
        assert_eq!(session.run_to_end(&mut store), Ok(Status::Done));
        assert_eq!(books(session.world()), one_of_each());
    }
}

#[test]
fn f06_another_seed_and_other_mechanisms_are_named_too() {
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(&scenario("double-charge")), &mut store).unwrap();
    run_until(&mut session, &mut store, |session| session.log().len() > 10);
    session.crash(&mut store);
    let resumed_with = |change: fn(&mut Setup)| {
        let mut setup = Setup::of(&scenario("double-charge"));
        change(&mut setup);
        let mut store = store.clone();
        let mut other = Session::reopen(setup, Vec::new(), RunProgress::default(), &store);
        other.resume(&mut store).unwrap_err().to_string()
    };
    let of_seed = resumed_with(|setup| setup.seed = 2);
    assert!(of_seed.starts_with("the seed has changed since the run began: recorded is 1, now it is 2."), "{of_seed}");
    let of_mechanisms = resumed_with(|setup| setup.mechanisms = setup.mechanisms.with(Mechanism::Journal, false));
    assert!(of_mechanisms.starts_with("the mechanism `journal` has changed"), "{of_mechanisms}");
}

#[test]
fn f07_after_a_crash_behind_the_third_of_five_calls_only_the_last_two_run() {
    let five: Vec<Value> = (1..=5).map(|number| note_of(&format!("Note {number}"))).collect();
    let scenario = scripted(&[first(five.into()), after("add_internal_note", "ok", json!([]))], |_| {});
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
    run_until(&mut session, &mut store, |session| of_type(session, "tool_result").len() == 3);
    assert_eq!(requests(session.world(), "add_internal_note"), 3);
    session.crash(&mut store);
    session.run_to_end(&mut store).unwrap();
    assert_eq!(requests(session.world(), "add_internal_note"), 5);
    let calls: Vec<_> = of_type(&session, "tool_call").iter().map(|record| record["call_id"].clone()).collect();
    assert_eq!(calls, ["call_1", "call_2", "call_3", "call_4", "call_5"]);
}

#[test]
fn f07_wherever_five_calls_are_interrupted_each_runs_once() {
    let five = json!([search_for("refund"), note_of("One"), voucher_of(20), note_of("Two"), note_of("Three")]);
    crash_everywhere(&[first(five), after("add_internal_note", "ok", json!([]))], |session, _, place| {
        let expected = Books { notes: 3, vouchers: 1, questions: 1, decisions: 1, mails: 1, ..Books::default() };
        assert_eq!(books(session.world()), expected, "{place}");
        assert_unbroken(session, place);
        assert_eq!(observations(session).len(), 5, "{place}");
    });
}

#[test]
fn f07_a_call_id_that_comes_again_in_a_later_step_is_another_call() {
    let noted = |text: &str| json!([{"id": "call", "tool": "add_internal_note", "args": {"text": text}}]);
    let turns = [
        first(noted("One")),
        crate::support::after_nth("add_internal_note", 1, noted("Two")),
        crate::support::after_nth("add_internal_note", 2, json!([])),
    ];
    crash_everywhere(&turns, |session, store, place| {
        assert_eq!(books(session.world()).notes, 2, "{place}: {:?}", observations(session));
        assert!(newest_checkpoint(store).contains("\"status\":\"done\""), "{place}");
    });
}

//! State, storage, trace: items 26 to 29 and 31. What else the list has there belongs to reports and page.

use crashlab::lab::crash_points::RunProgress;
use crashlab::lab::ledger::{Entry, Row};
use crashlab::lab::scenario::When;
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::log::checkpoint;
use crashlab::log::store::{MemoryStore, Store, seal, unseal};
use crashlab::record::{Record, RecordBody, Status, read_log};
use serde_json::{Value, json};

use crate::support::{
    Books, TextStore, after, after_nth, assert_same, assert_unbroken, books, crash_points, document, finished, first, log_json,
    log_text, newest_checkpoint, observations, of_type, one_of_each, ran, ran_with_crash, read, requests, run_until, scenario,
    scripted,
};

#[test]
fn f26_big_numbers_keep_every_digit_through_arguments_card_checkpoint_trace_and_export() {
    for digits in
        ["9007199254740993", "2512292042121000001", "1000000000000000000000000000000", "0.1000000000000000055511151231257827"]
    {
        let call = json!([{"tool": "send_voucher", "args": {"customer_id": "C-48213", "amount": "here", "currency": "USD"}}]);
        let turns = [first(call), json!({"when": {"after": "send_voucher"}, "say": "Done."})];
        let text = scripted(&turns, |_| {}).json.replacen("\"amount\":\"here\"", &format!("\"amount\":{digits}"), 1);
        let scenario = read(&text);
        let mut store = TextStore::default();
        let mut session = Session::start(Setup { interactive: true, ..Setup::of(&scenario) }, &mut store).unwrap();
        run_until(&mut session, &mut store, Session::is_waiting_for_person);
        let shown = session.world().questions()[0].args["amount"].to_string();
        assert_eq!(shown, digits, "on the approval card");
        // The inbox's own books, as they survive a closed page.
        for row in session.world().rows() {
            assert_eq!(Row::from_line(&row.to_line()).unwrap(), **row);
        }
        session.crash(&mut store);
        session.answer_by_script();
        session.run_to_end(&mut store).unwrap();
        let wanted = format!("\"amount\":{digits}");
        for kind in ["llm_call", "approval_request", "approval", "tool_call"] {
            let line = store.lines.iter().find(|line| line.contains(&format!("\"type\":\"{kind}\""))).unwrap();
            assert!(line.contains(&wanted), "{kind}: {line}");
            assert_eq!(&Record::from_line(line).unwrap().to_line(), line);
        }
        let saved = newest_checkpoint(&store);
        assert!(saved.contains(&wanted), "in the checkpoint: {saved}");
        assert_eq!(checkpoint::encode(&checkpoint::decode(&saved).unwrap()), saved);
    }
}

#[test]
fn f26_two_big_numbers_that_one_double_would_hold_are_two_actions() {
    let voucher = |digits: &str| -> Value {
        let args = format!(
            r#"[{{"tool": "send_voucher", "args": {{"customer_id": "C-48213", "amount": {digits}, "currency": "USD"}}}}]"#
        );
        serde_json::from_str(&args).unwrap()
    };
    let turns = [
        first(voucher("9007199254740993")),
        after_nth("send_voucher", 1, voucher("9007199254740992")),
        json!({"when": {"after": "send_voucher", "nth": 2}, "say": "Done."}),
    ];
    let (session, _) = ran(&scripted(&turns, |_| {}));
    assert_eq!(session.world().questions().len(), 2);
    assert_eq!(books(session.world()).vouchers, 2);
    let cents: Vec<u64> = session
        .world()
        .rows()
        .iter()
        .filter_map(|row| match row.entry {
            Entry::Effect { cents, .. } => cents,
            _ => None,
        })
        .collect();
    assert_eq!(cents, [900_719_925_474_099_300, 900_719_925_474_099_200]);
}

/// Texts that break something somewhere, as they stand in JSON.
const ODD_TEXTS: [&str; 8] = [
    r"half an emoji \ud83d, and the other half \ude00",
    r"nothing \u0000 at all, and a bell \u0007",
    r"right to left: \u202e\u05e9\u05dc\u05d5\u05dd \u202c, isolates \u2067x\u2069",
    r"a family: 👨‍👩‍👧 and a flag 🇩🇪, e\u0301",
    r"line\u2028and\u2029paragraph\r\nseparators\u0085",
    r#"<img src=x onerror=alert(1)> {{7*7}} \"quoted\" \\ back"#,
    r"\ufeffa mark of byte order",
    r"ends with a half \ud83d",
];

#[test]
fn f27_odd_text_in_any_field_survives_storage_and_a_crash() {
    for odd in ODD_TEXTS {
        let text = "here 0";
        let turns = [
            json!({"when": {"start": true}, "say": text, "plan": [text], "calls": [
                {"id": text, "tool": "add_internal_note", "args": {"text": text}}, {"tool": text, "args": {text: text}},
                {"tool": "read_article", "args": {"article_id": "KB-207"}},
            ]}),
            after(
                "read_article",
                "ok",
                json!([{"tool": "send_voucher", "args": {"customer_id": "C-48213", "amount": 1, "currency": text}}]),
            ),
            json!({"when": {"after": "send_voucher"}, "say": text}),
        ];
        let scenario = scripted(&turns, |document| {
            document["task"]["ticket"] = json!(text);
            document["task"]["system"] = json!(text);
            document["person"]["answers"] = json!([{"decision": "denied", "note": text}]);
            document["world"]["articles"][0]["body"] = json!(text);
        });
        let scenario = read(&scenario.json.replace(text, odd));
        let mut store = TextStore::default();
        let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
        let calm = session.run_to_end(&mut store);
        assert_eq!(calm, Ok(Status::Done), "{odd}");
        let (records, torn) = read_log(&(store.lines.join("\n") + "\n")).unwrap();
        assert_eq!(torn, None, "{odd}");
        assert_eq!(records.iter().map(Record::to_line).collect::<Vec<_>>(), store.lines, "{odd}");
        assert!(store.lines.iter().all(|line| !line.contains('\n')), "{odd}");
        for place in 0..session.progress().effects {
            let mut store = TextStore::default();
            let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
            session.arm(place, When::After);
            assert_eq!(session.run_to_end(&mut store), calm, "{odd}, effect {place}");
            assert!(store.read().snapshots.iter().all(|found| found.state.is_ok()), "{odd}, effect {place}");
            assert_unbroken(&session, odd);
        }
    }
}

#[test]
fn f27_a_preview_never_ends_in_half_a_character() {
    let family = "👨‍👩‍👧";
    for length in 60..130 {
        let body = "x".repeat(length) + &family.repeat(20);
        let turns =
            [first(json!([{"tool": "read_article", "args": {"article_id": "KB-1"}}])), after("read_article", "ok", json!([]))];
        let scenario = scripted(&turns, |document| {
            document["world"]["articles"] = json!([{"article_id": "KB-1", "title": "t", "body": body}]);
        });
        let (session, _) = ran(&scenario);
        let preview = of_type(&session, "tool_result")[0]["preview"].as_str().unwrap().to_string();
        assert!((116..=120).contains(&preview.chars().count()), "{length}: {preview}");
        assert!(preview.ends_with(family) || preview.ends_with('x'), "{length}: {preview}");
    }
}

/// 60 steps, each with a result of 50 KB.
fn large_results() -> std::sync::Arc<crashlab::lab::scenario::Scenario> {
    let call = |nth: u32| json!([{"tool": "read_article", "args": {"article_id": format!("KB-{nth}")}}]);
    let mut turns = vec![first(call(0))];
    turns.extend((1..60).map(|nth| after_nth("read_article", nth, call(nth))));
    turns.push(after("read_article", "any", json!([])));
    let articles: Vec<Value> = (0..60)
        .map(|nth| json!({"article_id": format!("KB-{nth}"), "title": "Long", "body": format!("{nth} {}", "words ".repeat(8_500))}))
        .collect();
    scripted(&turns, |document| {
        document["world"]["articles"] = articles.into();
        document["limits"] = json!({"max_steps": 100, "budget_usd": 100, "budget_tokens": 100_000_000u64});
    })
}

#[test]
fn f28_with_little_room_left_the_run_stops_before_an_effect_that_it_could_not_record() {
    let scenario = large_results();
    let start = |quota: usize| {
        let mut store = TextStore { quota: Some(quota), ..TextStore::default() };
        let session = Session::start(Setup::of(&scenario), &mut store).unwrap();
        (session, store)
    };
    // From no room at all to room for a few steps, so that the quota is met at every kind of write.
    for quota in (0..100_000).step_by(4_999).chain([100 * 1024, 400_000]) {
        let (mut session, mut store) = start(quota);
        assert_eq!(session.run_to_end(&mut store), Ok(Status::StorageFailed), "{quota}");
        assert_unbroken(&session, &format!("{quota} bytes"));
        // Each effect has its intent, and at most one intent has no result.
        let intents = store.lines.iter().filter(|line| line.contains("\"type\":\"tool_call\"")).count();
        let results = store.lines.iter().filter(|line| line.contains("\"type\":\"tool_result\"")).count();
        assert_eq!(requests(session.world(), "read_article"), intents, "{quota}");
        assert!(intents - results <= 1, "{quota}");
        // With room again the run goes on where it was, and does nothing twice; whoever took it over gives it back.
        let rows = session.world().rows().to_vec();
        store.quota = None;
        let mut session = Session::reopen(Setup::of(&scenario), rows, session.progress().clone(), &store);
        assert_eq!(session.status(), None, "{quota}");
        session.resume(&mut store).unwrap();
        for _ in 0..60 {
            session.tick(&mut store);
        }
        assert!(!session.log().is_empty());
        assert!(requests(session.world(), "read_article") > intents, "{quota}");
    }
}

#[test]
fn f28_with_room_again_the_same_session_goes_on_asks_and_answers() {
    for quota in (0..24_000).step_by(1_999) {
        let mut store = TextStore { quota: Some(quota), ..TextStore::default() };
        let mut session = Session::start(Setup::of(&crate::support::scenario("double-charge")), &mut store).unwrap();
        assert_eq!(session.run_to_end(&mut store), Ok(Status::StorageFailed), "{quota}");
        // A second failure hands nothing over twice.
        session.resume(&mut store).unwrap();
        assert_eq!(session.run_to_end(&mut store), Ok(Status::StorageFailed), "{quota}");
        let hand_overs = books(session.world()).hand_overs;
        store.quota = None;
        session.resume(&mut store).unwrap();
        assert_eq!(session.run_to_end(&mut store), Ok(Status::Done), "{quota}");
        assert_unbroken(&session, &format!("{quota} bytes"));
        assert_eq!(books(session.world()), Books { hand_overs, ..one_of_each() }, "{quota}");
        assert_eq!(hand_overs, 1, "{quota}");
    }
}

#[test]
fn f28_sixty_steps_of_50_kb_run_to_their_end_if_there_is_room() {
    let mut store = TextStore::default();
    let mut session = Session::start(Setup::of(&large_results()), &mut store).unwrap();
    assert_eq!(session.run_to_end(&mut store), Ok(Status::Done));
    let log: usize = store.lines.iter().map(String::len).sum();
    let all: usize = store.written.iter().map(|(_, bytes)| bytes).sum();
    assert!(log > 60 * 50_000 && all < 4 * log, "{log} bytes of log, {all} written");
}

#[test]
fn f29_a_log_that_was_cut_anywhere_is_read_up_to_the_cut() {
    let scenario = scripted(&[], |document| {
        *document = crate::support::document("double-charge");
        document["task"]["ticket"] = json!("Größe 👨‍👩‍👧 – שלום");
        document["script"][0]["say"] = json!("Ich prüfe das: 👨‍👩‍👧 – שלום");
    });
    let (_, store) = ran(&scenario);
    let text = log_text(&store);
    let lines = text.lines().count();
    let end_of_first_five = text.lines().take(5).map(|line| line.len() + 1).sum::<usize>();
    // Bytes, as a disk or a download is cut; a cut character is what a decoder makes of it.
    for cut in (0..end_of_first_five).chain(text.len() - 300..=text.len()) {
        let cut_text = String::from_utf8_lossy(&text.as_bytes()[..cut]).to_string();
        let (records, torn) = read_log(&cut_text).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let whole = cut_text.matches('\n').count();
        let rest = cut_text.rsplit('\n').next().unwrap();
        let last_is_whole = Record::from_line(rest).is_ok();
        assert_eq!(records.len(), whole + usize::from(last_is_whole), "cut at {cut}");
        assert_eq!(torn.is_some(), !rest.is_empty() && !last_is_whole, "cut at {cut}");
        assert!(records.len() <= lines);
    }
}

#[test]
fn f29_a_checkpoint_that_was_changed_anywhere_is_never_used() {
    let (_, store) = finished(Setup::of(&scenario("double-charge")));
    let sealed = seal(8, &newest_checkpoint(&store));
    assert!(unseal(&sealed).state.is_ok());
    for at in 0..sealed.len() {
        let mut bytes = sealed.clone().into_bytes();
        bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        if let Ok(changed) = String::from_utf8(bytes) {
            let found = unseal(&changed);
            assert!(found.state.is_err(), "changed at {at}");
        }
        let cut = sealed.is_char_boundary(at).then(|| unseal(&sealed[..at]));
        assert!(cut.is_none_or(|found| found.state.is_err()), "cut at {at}");
    }
    for junk in ["", " ", "8", "8 ", "8 0", "x y z", "-1 0 {}", "8 zzzzzzzzzzzzzzzz {}", "99999999999999999999 0 {}"] {
        assert!(unseal(junk).state.is_err(), "{junk:?}");
    }
}

#[test]
fn f29_a_checkpoint_of_another_program_or_version_says_what_does_not_fit() {
    let (_, store) = finished(Setup::of(&scenario("double-charge")));
    let saved = newest_checkpoint(&store);
    let mut value: Value = serde_json::from_str(&saved).unwrap();
    let mut error_with = |key: &str, changed: Value| {
        let kept = value[key].clone();
        value[key] = changed;
        let error = checkpoint::decode(&value.to_string()).unwrap_err().to_string();
        value[key] = kept;
        error
    };
    assert_eq!(error_with("version", json!(2)), "$.version: this is version 2; this program reads version 1");
    assert_eq!(error_with("step", json!(-1)), "$.step: expected a whole number from 0 to 4294967295, found a number (-1)");
    assert_eq!(error_with("messages", json!({})), "$.messages: expected an array, found an object ({})");
    assert_eq!(error_with("status", json!("fine")), "$.status: expected a status, found a string (\"fine\")");
    // The course's own thirteen keys are enough.
    for key in ["version", "log_position", "cost_pico_usd", "replans", "approvals"] {
        value.as_object_mut().unwrap().shift_remove(key);
    }
    let read = checkpoint::decode(&value.to_string()).unwrap();
    assert_eq!((read.step, read.llm_calls, read.messages.len(), read.log_position), (8, 8, 17, 0));
}

#[test]
fn f29_the_course_s_own_keys_cannot_be_left_out() {
    let (_, store) = finished(Setup::of(&scenario("double-charge")));
    let mut value: Value = serde_json::from_str(&newest_checkpoint(&store)).unwrap();
    // The exact cost would stand in for the rounded one.
    value.as_object_mut().unwrap().shift_remove("cost_pico_usd");
    for key in checkpoint::COURSE_KEYS {
        let mut without = value.clone();
        without.as_object_mut().unwrap().shift_remove(key);
        let error = checkpoint::decode(&without.to_string()).map(|_| ());
        if key == "final" {
            // `final` is null until there is one.
            assert_eq!(error, Ok(()));
        } else {
            assert!(error.unwrap_err().to_string().starts_with(&format!("$.{key}: missing")));
        }
    }
}

#[test]
fn f30_after_a_resume_what_was_replayed_stands_once_in_the_trace() {
    let scenario = scenario("double-charge");
    for (effect, when, _) in crash_points(&scenario) {
        let (session, store) = ran_with_crash(&scenario, effect, when);
        let mut spans: Vec<String> = of_type(&session, "tool_call").iter().map(|call| call["traceparent"].to_string()).collect();
        let count = spans.len();
        spans.sort();
        spans.dedup();
        assert_eq!(spans.len(), count, "{when:?} effect {effect}: one span for one attempt");
        let results = log_json(&store).iter().filter(|record| record["type"] == "tool_result").count();
        assert_eq!(results, 7, "{when:?} effect {effect}");
        // The trace alone gives the state, with the crash in it.
        let run = session.run_at(session.log().len()).unwrap();
        assert_eq!(run.state, session.agent().unwrap().run().state, "{when:?} effect {effect}");
    }
}

#[test]
fn f31_two_runs_side_by_side_share_nothing() {
    let alone = |id: &str| {
        let (session, store) = ran(&scenario(id));
        (session.world().rows().to_vec(), store)
    };
    for (left, right) in [("double-charge", "double-charge"), ("double-charge", "denied"), ("crash-resume", "budget")] {
        let mut runs: Vec<(Session, MemoryStore)> = [left, right]
            .map(|id| {
                let mut store = MemoryStore::default();
                (Session::start(Setup::of(&scenario(id)), &mut store).unwrap(), store)
            })
            .into();
        // They take turns, tick by tick, the second one twice as fast.
        while runs.iter().any(|(session, _)| session.status().is_none()) {
            for (place, (session, store)) in runs.iter_mut().enumerate() {
                for _ in 0..=place {
                    if let Tick::Crashed { .. } = session.tick(store) {
                        session.resume(store).unwrap();
                    }
                }
            }
        }
        for ((session, store), id) in runs.iter().zip([left, right]) {
            let (rows, expected) = alone(id);
            assert_eq!(session.world().rows(), rows, "{id} beside another");
            assert_same(&log_text(store), &log_text(&expected), id);
        }
    }
    assert_eq!(books(ran(&scenario("double-charge")).0.world()), one_of_each());
}

#[test]
fn f31_runs_that_differ_in_anything_have_different_names() {
    let base = document("double-charge");
    let mut edited = base.clone();
    edited["script"][0]["say"] = json!("Another thought.");
    let mut other_seed = Setup::of(&read(&base.to_string()));
    other_seed.seed = 2;
    let names =
        [Setup::of(&read(&base.to_string())), Setup::of(&read(&edited.to_string())), other_seed].map(|setup| setup.run_id());
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{names:?}");
    let spaced = serde_json::to_string_pretty(&base).unwrap();
    assert_eq!(Setup::of(&read(&spaced)).run_id(), names[0], "white space is no difference");
}

#[test]
fn f31_a_fresh_reopen_of_a_finished_run_shows_it_as_finished() {
    let (session, store) = ran(&scenario("double-charge"));
    let rows = session.world().rows().to_vec();
    let reopened = Session::reopen(Setup::of(&scenario("double-charge")), rows, RunProgress::default(), &store);
    assert_eq!(reopened.status(), Some(Status::Done));
    assert!(matches!(reopened.log().last().unwrap().body, RecordBody::Stop { .. }));
    assert_eq!(observations(&session).len(), 7);
}

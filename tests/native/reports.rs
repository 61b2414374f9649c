//! Evaluation and diagnosis: what is said of a run from its trace alone.

use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, Setup};
use crashlab::log::store::MemoryStore;
use crashlab::record::Status;
use crashlab::report::diagnose::{Diagnosis, diagnose};
use crashlab::report::evaluate::{Check, Verdict, evaluate};
use crashlab::report::imported::Trace;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::support::{
    TextStore, after, after_nth, all_scenarios, crash_points, document, finished, first, is_at_tool, log_json, log_text, note_of,
    ran, ran_with_crash, read, refund_of, run_until, scenario, scripted, search_for, voucher_of,
};

const IDS: [&str; 8] = [
    "finished",
    "refunded_once",
    "approved_by_person",
    "approved_before",
    "within_budget",
    "no_blind_retry",
    "told_the_truth",
    "complete",
];

fn trace(text: &str) -> Trace {
    Trace::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// The checks of the only run of a trace.
fn checks(text: &str) -> Vec<Check> {
    let mut evaluations = evaluate(&trace(text));
    assert_eq!(evaluations.len(), 1);
    let checks = evaluations.remove(0).checks;
    assert_eq!(checks.iter().map(|check| check.id).collect::<Vec<_>>(), IDS);
    checks
}

fn check(text: &str, id: &str) -> Check {
    checks(text).into_iter().find(|check| check.id == id).unwrap()
}

/// `+` pass, `-` fail, `.` not applicable, in the order of the checks.
fn signs(text: &str) -> String {
    let sign = |check: &Check| match check.verdict {
        Verdict::Pass => '+',
        Verdict::Fail => '-',
        Verdict::NotApplicable => '.',
    };
    checks(text).iter().map(sign).collect()
}

fn run_without(scenario: &Arc<Scenario>, mechanism: Mechanism) -> String {
    log_text(&finished(Setup { mechanisms: Mechanisms::without(mechanism), ..Setup::of(scenario) }).1)
}

fn diagnosis(text: &str) -> Diagnosis {
    let mut diagnoses = diagnose(&trace(text));
    assert_eq!(diagnoses.len(), 1);
    diagnoses.remove(0)
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| value.to_string() + "\n").collect()
}

// --- Evaluate ------------------------------------------------------------------------------------------------------------------

#[test]
fn the_first_four_scenarios_are_judged_as_they_went() {
    for (id, expected) in
        [("double-charge", "++++++++"), ("crash-resume", "++++++++"), ("denied", "+...++++"), ("budget", "-+++++.+")]
    {
        let text = log_text(&ran(&scenario(id)).1);
        assert_eq!(signs(&text), expected.replace(' ', ""), "{id}: {:#?}", checks(&text));
    }
}

#[test]
fn what_proves_a_check_is_named() {
    let text = log_text(&ran(&scenario("double-charge")).1);
    let records = log_json(&ran(&scenario("double-charge")).1);
    let kinds = |check: &Check| -> Vec<String> {
        check.records.iter().map(|index| records[*index]["type"].as_str().unwrap().to_string()).collect()
    };
    let of = |id| check(&text, id);
    assert_eq!(kinds(&of("finished")), ["stop"]);
    assert_eq!(of("finished").sentence, "The run stopped as done after 8 model calls.");
    assert_eq!(kinds(&of("refunded_once")), ["approval_request", "approval", "tool_call", "tool_result"]);
    assert_eq!(of("refunded_once").sentence, "1 charge refunded, once each.");
    assert_eq!(kinds(&of("approved_by_person")), ["approval"]);
    assert_eq!(of("approved_by_person").sentence, "1 approval by human:maya.");
    assert_eq!(kinds(&of("approved_before")), ["approval", "tool_call"]);
    assert_eq!(kinds(&of("told_the_truth")), ["tool_result", "llm_call"]);
    assert_eq!(of("within_budget").records.len(), 8);
    assert_eq!(of("complete").sentence, "Steps 0 to 7 are there, every intent has its outcome.");
    assert_eq!(
        of("no_blind_retry").sentence,
        "2 repeated attempts, each after a failure without effect, or of a call that is safe to repeat."
    );
}

#[test]
fn a_crash_anywhere_is_no_reason_to_fail() {
    let scenario = scenario("double-charge");
    for (effect, when, kind) in crash_points(&scenario) {
        let text = log_text(&ran_with_crash(&scenario, effect, when).1);
        assert_eq!(signs(&text), "++++++++", "{} {}: {:#?}", when.as_str(), kind.as_str(), checks(&text));
    }
}

#[test]
fn a_record_that_is_taken_out_is_missed() {
    let scenario = scenario("double-charge");
    let points = crash_points(&scenario);
    let after_refund = points.iter().rposition(|(_, when, kind)| {
        *when == When::After
            && matches!(kind, crashlab::agent::protocol::EffectKind::CallTool { call, .. } if &*call.name == "issue_refund")
    });
    let (effect, when, _) = &points[after_refund.unwrap()];
    for text in [log_text(&ran(&scenario).1), log_text(&ran_with_crash(&scenario, *effect, *when).1)] {
        let all: Vec<&str> = text.lines().collect();
        for index in 0..all.len() {
            let record: Value = serde_json::from_str(all[index]).unwrap();
            let kind = record["type"].as_str().unwrap();
            // A crash writes nothing by itself, and a snapshot that is not recorded is no step.
            if kind == "crash" || kind == "checkpoint" {
                continue;
            }
            let mut rest = all.clone();
            rest.remove(index);
            let signs = signs(&(rest.join("\n") + "\n"));
            let noticed = signs.starts_with('-') || signs.ends_with('-');
            assert!(noticed, "{index} {}", all[index]);
        }
    }
}

#[test]
fn a_mechanism_that_is_off_shows_in_the_check_that_is_about_it() {
    let calm = scenario("double-charge");
    let text = run_without(&calm, Mechanism::ApprovalGate);
    assert_eq!(signs(&text), "++--++++", "{:#?}", checks(&text));
    assert_eq!(check(&text, "approved_by_person").sentence, "issue_refund ran, and nobody had approved it.");

    // Nobody is there, and a policy says yes.
    let mut alone = document("double-charge");
    alone.as_object_mut().unwrap().shift_remove("person");
    let text = run_without(&read(&alone.to_string()), Mechanism::DefaultDeny);
    assert_eq!(signs(&text), "++-+++++", "{:#?}", checks(&text));
    let found = check(&text, "approved_by_person").sentence;
    assert_eq!(found, "issue_refund was approved by `policy:allow_all`, not by a person.");

    // 288 are approved, 2,880 go out.
    let turns = [
        first(json!([refund_of(144)])),
        after_nth("issue_refund", 1, json!([refund_of(288)])),
        json!({"when": {"after": "issue_refund", "nth": 2}, "say": "I have refunded it: {{issue_refund.refund_id}}."}),
    ];
    let twice = scripted(&turns, |document| document["tools"] = json!({"issue_refund": {"intent": []}}));
    let text = run_without(&twice, Mechanism::ExactArguments);
    let found = check(&text, "approved_before");
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
    assert!(found.sentence.contains("\"amount\":288") && found.sentence.contains("approved were"), "{}", found.sentence);
    let found = check(&text, "refunded_once");
    assert_eq!(found.sentence, "CH-90121 was refunded 2 times: RF-00001, RF-00002.");

    // The refund happened, its answer was lost, and billing does not know the key.
    let mut lost = document("double-charge");
    lost["faults"] = json!([{"on": "issue_refund", "calls": [1], "kind": "timeout_after"}]);
    let lost = read(&lost.to_string());
    let text = log_text(&ran(&lost).1);
    assert_eq!(signs(&text), "++++++++", "{:#?}", checks(&text));
    let text = run_without(&scenario("refund-timeout"), Mechanism::Idempotency);
    let found = check(&text, "refunded_once");
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
    assert!(found.sentence.contains("may have been refunded 2 times"), "{}", found.sentence);
    // Where billing compares with what was read, the second attempt is refused, and only the first is in doubt.
    let text = run_without(&lost, Mechanism::Idempotency);
    let found = check(&text, "refunded_once");
    assert_eq!(found.sentence, "1 charge refunded at most once: what came of 1 is not known.");
    assert_eq!(check(&text, "no_blind_retry").verdict, Verdict::Fail);

    // Without the guard the bill exceeds the budget.
    let mut small = document("budget");
    small["limits"]["budget_usd"] = json!(0.01);
    let text = run_without(&read(&small.to_string()), Mechanism::BudgetGuard);
    let found = check(&text, "within_budget");
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
}

#[test]
fn a_tool_is_judged_by_the_flags_that_its_scenario_gives_it() {
    // A note takes nobody's money back, but here it may not be saved without a person.
    let text = log_text(&ran(&scenario("twelve-questions")).1);
    let sentence = check(&text, "approved_before").sentence;
    assert!(sentence.starts_with("12 irreversible calls"), "{sentence}");
    let text = run_without(&scenario("twelve-questions"), Mechanism::ApprovalGate);
    assert_eq!(check(&text, "approved_before").verdict, Verdict::Fail);
}

#[test]
fn a_voucher_is_looked_up_and_not_sent_blindly() {
    let turns = [first(json!([voucher_of(20)])), json!({"when": {"after": "send_voucher"}, "say": "Done."})];
    let lost = scripted(&turns, |document| {
        document["faults"] = json!([{"on": "send_voucher", "calls": [1], "kind": "timeout_after"}]);
    });
    let text = log_text(&ran(&lost).1);
    assert_eq!(signs(&text), "+.++++++", "{:#?}", checks(&text));
}

#[test]
fn an_answer_that_invents_or_hides_a_refund_is_not_the_truth() {
    let tell = |say: &str| {
        let turns = [first(json!([refund_of(288)])), json!({"when": {"after": "issue_refund"}, "say": say})];
        check(&log_text(&ran(&scripted(&turns, |_| {})).1), "told_the_truth")
    };
    assert_eq!(tell("Refunded: {{issue_refund.refund_id}}.").verdict, Verdict::Pass);
    assert_eq!(tell("We look into it.").sentence, "There is a refund RF-00001, and the answer does not tell of it.");
    let without = |say: &str| {
        let turns = [first(json!([note_of("x")])), json!({"when": {"after": "add_internal_note"}, "say": say})];
        check(&log_text(&ran(&scripted(&turns, |_| {})).1), "told_the_truth")
    };
    assert_eq!(without("I have refunded you.").sentence, "The answer says “have refunded”, and there is no refund.");
    assert_eq!(without("Your refund is RF-00009.").sentence, "The answer tells of a refund RF-00009, and there is none.");
    assert_eq!(without("No money has been sent back yet.").verdict, Verdict::Pass);
}

// --- Foreign traces ------------------------------------------------------------------------------------------------------------

fn python(step: u32, kind: &str, fields: Value) -> Value {
    let mut record = json!({"ts": 10.0 + f64::from(step), "run_id": "r1", "step": step, "type": kind});
    for (key, value) in fields.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

fn python_run() -> Vec<Value> {
    let args = json!({"charge_id": "CH-1", "amount": 288.0});
    vec![
        python(
            0,
            "llm_call",
            json!({"tool_calls": [{"name": "get_invoice", "args": {"invoice_id": "I"}}], "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.0000210, "latency": 0.4}),
        ),
        python(
            0,
            "tool_retry",
            json!({"tool": "get_invoice", "attempt": 1, "error": "503 Service Unavailable", "backoff_s": 0.061}),
        ),
        python(0, "tool_result", json!({"tool": "get_invoice", "ok": true, "preview": "{\"total\": 288.0}"})),
        python(
            1,
            "llm_call",
            json!({"tool_calls": [{"name": "issue_refund", "args": args}], "input_tokens": 200, "output_tokens": 20, "cost_usd": 0.000042}),
        ),
        python(
            1,
            "approval",
            json!({"tool": "issue_refund", "args": {"amount": 288.00, "charge_id": "CH-1"}, "decision": "approved", "approver": "human:maya"}),
        ),
        python(1, "tool_result", json!({"tool": "issue_refund", "ok": true, "result": {"refund_id": "RF-77"}})),
        python(
            2,
            "llm_call",
            json!({"tool_calls": [], "thought": "Your refund is RF-77.", "input_tokens": 300, "output_tokens": 30, "cost_usd": 0.000063}),
        ),
        python(2, "stop", json!({"status": "done"})),
    ]
}

#[test]
fn a_run_of_a_python_program_is_judged_as_far_as_it_tells() {
    let run = python_run();
    assert_eq!(signs(&lines(&run)), "++++.+++", "{:#?}", checks(&lines(&run)));
    let edit = |edit: &dyn Fn(&mut Vec<Value>)| {
        let mut run = python_run();
        edit(&mut run);
        signs(&lines(&run))
    };
    assert_eq!(edit(&|run| run[4]["approver"] = json!("policy:auto")), "++-+.+++");
    assert_eq!(edit(&|run| run[4]["approver"] = json!("maya")), "++.+.+++", "it does not say that maya is a person");
    assert_eq!(edit(&|run| drop(run[4].as_object_mut().unwrap().shift_remove("approver"))), "++.+.+++");
    assert_eq!(edit(&|run| run[4]["args"]["amount"] = json!(28.8)), "+++-.+++");
    assert_eq!(edit(&|run| run.swap(4, 5)), "+++-.+++", "approved afterwards");
    assert_eq!(edit(&|run| drop(run.remove(4))), "++--.+++");
    assert_eq!(edit(&|run| drop(run.remove(7))), "-+++.+.+");
    assert_eq!(edit(&|run| run[6]["thought"] = json!("All is well.")), "++++.+-+");
    assert_eq!(edit(&|run| drop(run.drain(0..3))), "++++.+++", "some programs count steps from 1");
    assert!(edit(&|run| run.retain(|record| record["step"] != 1)).ends_with('-'), "a step is missing");
}

#[test]
fn three_lines_are_too_few_for_most_checks_and_pass_none_by_mistake() {
    let text = lines(&[
        python(
            4,
            "llm_call",
            json!({"plan": [], "tool_calls": [{"name": "get_invoice", "args": {}}], "input_tokens": 787, "output_tokens": 50, "cost_usd": 0.0001481, "latency_ms": 0.0}),
        ),
        python(4, "tool_retry", json!({"tool": "get_invoice", "attempt": 1, "error": "503 x", "backoff_s": 0.061})),
        python(4, "tool_retry", json!({"tool": "get_invoice", "attempt": 2, "error": "503 x", "backoff_s": 0.119})),
    ]);
    assert_eq!(signs(&text), "-....+.-", "{:#?}", checks(&text));
    assert_eq!(check(&text, "complete").sentence, "Something is missing: steps 1 to 3 have no model call.");
    let found = diagnosis(&text);
    assert_eq!(found.status, "unfinished");
    assert_eq!(
        found.why,
        "The trace ends with record 2 (tool_retry), in step 4; get_invoice had failed 2 times and was waiting for the next attempt."
    );
    assert_eq!((found.flaky[0].attempts, found.flaky[0].failures), (2, 2));
}

#[test]
fn a_tool_that_nobody_knows_is_never_passed() {
    let text = lines(&[
        python(0, "llm_call", json!({"tool_calls": [{"name": "wire_money", "args": {"to": "x"}}], "cost_usd": 0.1})),
        python(0, "tool_retry", json!({"tool": "wire_money", "attempt": 1, "error": "timeout", "backoff_s": 1})),
        python(0, "tool_result", json!({"tool": "wire_money", "ok": true})),
    ]);
    assert_eq!(signs(&text), "-......+", "{:#?}", checks(&text));
    let flagged = json!({"wire_money": {"annotations": {"destructiveHint": true, "idempotentHint": false}}});
    let with_flags = python(0, "run_start", json!({"tools": flagged})).to_string() + "\n" + &text;
    assert_eq!(signs(&with_flags), "-.--.-.+", "{:#?}", checks(&with_flags));
}

#[test]
fn two_runs_in_one_file_are_two_evaluations() {
    let mut second = python_run();
    second.iter_mut().for_each(|record| record["run_id"] = json!("r2"));
    second[4]["approver"] = json!("policy:auto");
    let mixed: Vec<Value> = python_run().into_iter().zip(second).flat_map(|(a, b)| [a, b]).collect();
    let evaluations = evaluate(&trace(&lines(&mixed)));
    assert_eq!(evaluations.iter().map(|run| (run.run_id.as_str(), run.records)).collect::<Vec<_>>(), [("r1", 8), ("r2", 8)]);
    assert_eq!(evaluations[0].checks[2].verdict, Verdict::Pass);
    assert_eq!((evaluations[1].checks[2].verdict, &evaluations[1].checks[2].records[..]), (Verdict::Fail, &[9][..]));
}

#[test]
fn a_truncated_trace_is_not_complete() {
    let text = log_text(&ran(&scenario("double-charge")).1);
    let cut = &text[..text.len() - 40];
    assert_eq!(check(cut, "complete").verdict, Verdict::Fail);
    assert!(check(cut, "complete").sentence.contains("line 47 cannot be read"));
    assert_eq!(check(cut, "finished").verdict, Verdict::Fail);
}

#[test]
fn damaged_traces_do_not_panic() {
    let good = log_text(&ran(&scenario("crash-resume")).1);
    let mut lot = 3_u64;
    for _ in 0..2_000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..3 {
            lot = lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (lot >> 20) as usize % bytes.len();
            bytes[at] = (lot >> 50) as u8;
        }
        if let Ok(trace) = Trace::read(&bytes) {
            evaluate(&trace);
            diagnose(&trace);
        }
    }
}

// --- Diagnose ------------------------------------------------------------------------------------------------------------------

#[test]
fn a_budget_stop_says_how_much_of_it_is_the_reserve() {
    let found = diagnosis(&log_text(&ran(&scenario("budget")).1));
    assert_eq!(found.status, "budget_usd");
    // 0.0086895 + 0.0106095 = 0.019299 of 0.018; the reserve is 1,500 tokens at 6 USD per million: 0.009 of 0.0106095, 85 %.
    assert_eq!(
        found.why,
        "The next call could have cost 0.0106095 USD; with the 0.0086895 USD spent that is 0.019299 of the 0.018 USD allowed."
    );
    // 0.018 - 0.0086895 - 0.0016095 = 0.007701 are left for output: 1,283 tokens.
    assert_eq!(
        found.change,
        "0.009 USD of it (85 %) is the output reserve of 1500 tokens: a reserve of at most 1283 would have fitted, and the longest answer took 82."
    );
    assert_eq!(found.records.len(), 7 + 1);
}

#[test]
fn the_other_ends_are_told_with_their_figures() {
    let searches = [first(json!([search_for("a")])), after("search_kb", "ok", json!([search_for("a")]))];
    let found = diagnosis(&log_text(&ran(&scripted(&searches, |_| {})).1));
    assert_eq!(found.status, "repeated_call");
    assert_eq!(found.why, "The model made the same call 3 times; the guard stops a run at 3: search_kb {\"query\":\"a\"}.");
    assert_eq!(found.records.len(), 3 + 1 + 1);

    let limited = |key: &str, value: Value| {
        let (key, value) = (key.to_string(), value);
        diagnosis(&log_text(&ran(&scripted(&searches, move |document| document["limits"] = json!({key.clone(): value}))).1))
    };
    let found = limited("max_steps", json!(1));
    assert_eq!(
        (found.status.as_str(), found.why.as_str()),
        ("max_steps", "The run took 1 step of 1 without an answer; 1 of its calls were to search_kb.")
    );
    let found = limited("max_stale_steps", json!(1));
    assert_eq!(found.status, "stale");
    let found = limited("deadline_s", json!(0.1));
    assert_eq!(found.status, "deadline");
    let found = limited("budget_tokens", json!(700));
    assert_eq!(found.status, "budget_tokens");
    assert!(found.why.contains("of the 700 allowed"), "{}", found.why);

    let mut down = document("double-charge");
    down["faults"] = json!([{"on": "model", "calls": [1, 2, 3, 4], "kind": "unavailable"}]);
    let found = diagnosis(&log_text(&ran(&read(&down.to_string())).1));
    assert_eq!(found.status, "model_failed");
    assert!(found.why.contains("3 repeated attempts"), "{}", found.why);

    let found = diagnosis(&log_text(&ran(&scenario("denied")).1));
    assert_eq!(found.status, "done");
    assert!(found.why.contains("handed over to a person, because issue_refund was denied by human:maya"), "{}", found.why);

    let found = diagnosis(&log_text(&ran(&scenario("double-charge")).1));
    assert_eq!(found.flaky[0].sentence, "get_invoice: 2 of 4 attempts failed (50 %).");
    assert!(found.change.starts_with("Mend what get_invoice was asked: the service refused it (404"), "{}", found.change);
    assert!(found.change.contains("The retries hid this from the model: get_invoice"), "{}", found.change);
}

#[test]
fn a_run_that_fails_again_and_again_names_what_failed_and_how_often() {
    let mut down = document("double-charge");
    down["limits"] = json!({"max_replans": 0});
    down["faults"] = json!([{"on": "search_kb", "calls": [1, 2, 3, 4], "kind": "unavailable"}]);
    let found = diagnosis(&log_text(&ran(&read(&down.to_string())).1));
    assert_eq!(found.status, "max_replans");
    assert_eq!(found.why, "Failures made the model plan again 1 time; allowed: 0 (search_kb 1 ×).");
    assert_eq!(found.flaky[0].sentence, "search_kb: 4 of 4 attempts failed (100 %).");
}

#[test]
fn a_run_that_dies_at_each_resume_names_the_place() {
    let mut few = document("double-charge");
    few["limits"] = json!({"max_resumes": 2});
    let scenario = read(&few.to_string());
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
    while session.status().is_none() {
        run_until(&mut session, &mut store, |session| {
            is_at_tool(session, "issue_refund", When::After) || session.status().is_some()
        });
        if session.status().is_none() {
            session.crash(&mut store);
            session.resume(&mut store).unwrap();
        }
    }
    let found = diagnosis(&log_text(&store));
    assert_eq!(found.status, "max_resumes");
    assert_eq!(
        found.why,
        "The run was resumed 2 times of 2 and died again each time; the last time after the refund happened (attempt 3), before its answer."
    );
    assert_eq!(found.records.len(), 2 + 3 + 1 + 1, "resumes, crashes, guard and stop");
}

#[test]
fn a_full_storage_is_named_where_the_trace_can_still_say_it() {
    let scenario = scenario("double-charge");
    let mut store = TextStore { quota: Some(9_000), ..TextStore::default() };
    let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
    assert_eq!(session.run_to_end(&mut store), Ok(Status::StorageFailed));
    let text: String = session.log().iter().map(|record| record.to_line() + "\n").collect();
    assert_eq!(diagnosis(&text).status, "unfinished", "there was no room for the stop either");

    let stop = json!({"ts": 60, "run_id": &*Setup::of(&scenario).run_id(), "step": 7, "type": "stop", "status": "storage_failed", "used": 0});
    let found = diagnosis(&format!("{text}{stop}\n"));
    assert_eq!(found.status, "storage_failed");
    assert!(found.change.contains("then resume"), "{}", found.change);
}

#[test]
fn a_question_that_nobody_answers_in_time_is_told_as_such() {
    let mut alone = document("double-charge");
    alone["person"] = json!({"id": "maya", "name": "Maya", "answers": [], "expires_after_s": 60});
    let found = diagnosis(&log_text(&ran(&read(&alone.to_string())).1));
    assert!(found.why.contains("nobody decided about issue_refund in time"), "{}", found.why);
    assert_eq!(found.change, "Give the person more time, or put the question where somebody sees it.");
}

#[test]
fn an_unfinished_run_says_where_it_died_and_what_is_in_doubt() {
    let scenario = scenario("double-charge");
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
    run_until(&mut session, &mut store, |session| is_at_tool(session, "issue_refund", When::After));
    session.crash(&mut store);
    let found = diagnosis(&log_text(&store));
    assert_eq!(found.status, "unfinished");
    assert_eq!(
        found.why,
        "The agent died after the refund happened, before its answer; issue_refund (attempt 1) was sent and its outcome is not known, so it is in doubt."
    );
    assert_eq!(found.change, "Resume it: the call is sent again under the same key, which does nothing twice.");
    assert_eq!(session.run_to_end(&mut store), Ok(Status::Done));

    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup { interactive: true, ..Setup::of(&scenario) }, &mut store).unwrap();
    run_until(&mut session, &mut store, Session::is_waiting_for_person);
    assert!(diagnosis(&log_text(&store)).why.ends_with("while a person had the question about issue_refund."));

    let text = log_text(&ran(&scenario).1);
    let until_request: Vec<&str> = text.lines().take(2).collect();
    let found = diagnosis(&until_request.join("\n"));
    assert!(found.why.contains("a model call was under way, so it is in doubt and up to"), "{}", found.why);
}

#[test]
fn every_shipped_scenario_is_evaluated_and_explained() {
    for scenario in all_scenarios() {
        let text = log_text(&ran(&scenario).1);
        let complete = check(&text, "complete");
        assert_eq!(complete.verdict, Verdict::Pass, "{}: {}", scenario.id, complete.sentence);
        let found = diagnosis(&text);
        assert!(found.why.ends_with('.') && found.change.ends_with('.'), "{found:?}");
    }
}

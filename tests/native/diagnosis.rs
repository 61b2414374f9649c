//! What a diagnosis says is true of the run, and fits the mechanisms that were on.

use std::sync::Arc;

use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, Setup};
use crashlab::log::store::MemoryStore;
use crashlab::report::diagnose::{Diagnosis, diagnose};
use crashlab::report::evaluate::{Check, Verdict, evaluate};
use crashlab::report::imported::Trace;
use serde_json::{Value, json};

use crate::support::{
    after, document, effects_of, finished, first, log_text, note_of, ran, read, refund_of, run_until, scenario, scripted,
    search_for,
};

fn trace(text: &str) -> Trace {
    Trace::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn diagnosis(text: &str) -> Diagnosis {
    diagnose(&trace(text)).remove(0)
}

fn check(text: &str, id: &str) -> Check {
    evaluate(&trace(text)).remove(0).checks.into_iter().find(|check| check.id == id).unwrap()
}

fn without(scenario: &Arc<Scenario>, mechanism: Mechanism) -> String {
    log_text(&finished(Setup { mechanisms: Mechanisms::without(mechanism), ..Setup::of(scenario) }).1)
}

/// A trace that ends with the crash at the first place whose label is this.
fn died(scenario: &Arc<Scenario>, mechanisms: Mechanisms, label: &str) -> Diagnosis {
    let effects = effects_of(scenario).len() as u64;
    for effect in 0..effects {
        for when in [When::Before, When::After] {
            let mut store = MemoryStore::default();
            let mut session = Session::start(Setup { mechanisms, ..Setup::of(scenario) }, &mut store).unwrap();
            session.arm(effect, when);
            run_until(&mut session, &mut store, |session| session.agent().is_none() || session.status().is_some());
            let found = diagnosis(&log_text(&store));
            if log_text(&store).lines().last().unwrap().contains(label) {
                return found;
            }
        }
    }
    panic!("nobody dies {label}");
}

#[test]
fn a_run_with_a_failed_check_is_not_told_that_nothing_has_to_change() {
    let rows = [
        ("refund-timeout", Mechanism::Idempotency, "“Idempotent billing” does that, and it was off."),
        ("replanned-refund", Mechanism::IntentKeys, "“Keys from the intent” does that, and it was off."),
        ("happy-path", Mechanism::ApprovalGate, "“The gate in code” does that, and it was off."),
        ("nobody-there", Mechanism::DefaultDeny, "“Default deny” does that, and it was off."),
        ("approved-288", Mechanism::ExactArguments, "“Exact arguments” does that, and it was off."),
        ("budget-crashes", Mechanism::BudgetGuard, "“Budget guard” does that, and it was off."),
        ("crash-resume", Mechanism::Checkpoints, "“Checkpoints” does that, and it was off."),
        ("five-calls", Mechanism::Journal, "“The log as journal” does that, and it was off."),
        ("crash-question", Mechanism::DurableApprovals, "“Durable approvals” does that, and it was off."),
        ("flaky-tool", Mechanism::Retries, "“Retries in the loop” does that, and it was off."),
    ];
    for (id, mechanism, change) in rows {
        let found = diagnosis(&without(&scenario(id), mechanism));
        assert!(found.change.contains(change), "{id}: {found:?}");
        assert!(!found.change.contains("Nothing has to change"), "{id}: {found:?}");
    }
    let found = diagnosis(&without(&scenario("refund-timeout"), Mechanism::Idempotency));
    assert!(found.why.contains("may have been refunded 2 times"), "{}", found.why);
    // Where a mechanism that was off shows nowhere, it is named all the same.
    let found = diagnosis(&without(&scenario("happy-path"), Mechanism::RereadWorld));
    assert_eq!(found.change, "The trace shows nothing that has to change, but “The world is read again” was off.");
    assert_eq!(diagnosis(&log_text(&ran(&scenario("happy-path")).1)).change, "Nothing has to change.");
}

#[test]
fn what_the_model_had_to_hear_of_was_not_hidden_from_it() {
    let found = diagnosis(&log_text(&ran(&scenario("replanned-refund")).1));
    assert!(!found.change.contains("hid"), "{}", found.change);
    assert!(found.why.contains("after 1 call of which the model had to hear that it failed"), "{}", found.why);
    assert!(found.change.starts_with("Mend the service, or allow more or longer waits: issue_refund"), "{}", found.change);

    let found = diagnosis(&log_text(&ran(&scenario("flaky-tool")).1));
    assert!(found.change.contains("The retries hid this from the model: get_invoice"), "{}", found.change);

    let found = diagnosis(&log_text(&ran(&scenario("bad-calls")).1));
    assert!(found.change.starts_with("Describe the tools more strictly: "), "{}", found.change);

    let turns = [
        first(json!([refund_of(0)])),
        after("issue_refund", "error", json!([note_of("x")])),
        json!({"when": {"after": "add_internal_note"}, "say": "We look into it."}),
    ];
    let found = diagnosis(&log_text(&ran(&scripted(&turns, |_| {})).1));
    assert!(
        found.change.starts_with("Mend what issue_refund was asked: the service refused it (422 0 is not"),
        "{}",
        found.change
    );
}

#[test]
fn a_refund_by_somebody_else_is_told_as_such() {
    let text = log_text(&ran(&scenario("refunded-meanwhile")).1);
    let found = check(&text, "told_the_truth");
    assert_eq!(found.verdict, Verdict::Pass);
    assert!(
        found.sentence.starts_with("The answer tells of RF-00001: this run did not make it, and record "),
        "{}",
        found.sentence
    );
    let (_, record) = found.sentence.split_once("record ").unwrap();
    let record: usize = record.split(' ').next().unwrap().parse().unwrap();
    assert!(found.records.contains(&record));
    assert!(text.lines().nth(record).unwrap().contains("RF-00001"));
}

#[test]
fn trace_and_books_judge_an_answer_by_one_rule() {
    let tell = |say: &str, refund: bool| {
        let call = if refund { refund_of(288) } else { note_of("x") };
        let turns = [first(json!([call])), json!({"when": {"outcome": "ok"}, "say": say})];
        let (session, store) = ran(&scripted(&turns, |_| {}));
        let verdict = check(&log_text(&store), "told_the_truth").verdict;
        let is_broken = session.breach("told_the_truth").is_some();
        assert_eq!(verdict == Verdict::Fail, is_broken, "{say}");
        is_broken
    };
    assert!(tell("We have refunded 288.00 USD to your card.", false));
    assert!(tell("Your refund is RF-00007.", false));
    assert!(tell("Your refund is RF-00007.", true));
    assert!(tell("All is well.", true));
    assert!(!tell("Your refund is RF-00001.", true));
    assert!(!tell("Nothing was refunded.", false));
    assert!(!tell("We have not refunded anything. Once it has been refunded, we write again.", false));
}

#[test]
fn a_call_that_never_failed_does_not_wait_for_its_next_attempt() {
    let calm = scenario("happy-path");
    let found = died(&calm, Mechanisms::ALL_ON, "after the decision about issue_refund was written down");
    assert!(found.why.ends_with("; issue_refund was approved and had not been sent."), "{}", found.why);
    let found = died(&calm, Mechanisms::ALL_ON, "before the intent to call issue_refund is written down");
    assert!(
        found.why.contains("before the intent to call issue_refund was written down; issue_refund was approved"),
        "{}",
        found.why
    );
    let found = died(&scenario("nobody-there"), Mechanisms::ALL_ON, "after the decision about issue_refund was written down");
    assert!(found.why.ends_with("; issue_refund was denied, and the model had not heard of it."), "{}", found.why);
}

#[test]
fn a_diagnosis_fits_the_crash_and_what_was_off() {
    let calm = scenario("happy-path");
    let off = Mechanisms::without(Mechanism::DurableApprovals);
    let found = died(&calm, off, "after the question about the refund was asked");
    assert!(found.change.contains("the person is asked the same again") && !found.change.contains("nobody"), "{}", found.change);

    let found = died(&calm, Mechanisms::ALL_ON, "before the question about the refund is asked");
    assert_eq!(
        found.why,
        "The agent died before the question about the refund was asked; the question about issue_refund had not reached a person."
    );
    let found = died(&calm, Mechanisms::ALL_ON, "before the invoice is looked up");
    assert_eq!(
        found.why,
        "The agent died before the invoice was looked up; only the intent to call get_invoice (attempt 1) is written down, so a new agent takes the call to be in doubt."
    );
    let found = died(&calm, Mechanisms::ALL_ON, "before the refund happens");
    assert!(found.why.starts_with("The agent died before the refund happened; only the intent"), "{}", found.why);
    let found = died(&calm, Mechanisms::ALL_ON, "before the model is asked");
    assert!(
        found.why.starts_with("The agent died before the model was asked; only the intent to call the model"),
        "{}",
        found.why
    );
    let found = died(&calm, Mechanisms::without(Mechanism::Idempotency), "after the refund happened");
    assert!(found.change.contains("“Idempotent billing” was off"), "{}", found.change);
}

fn limited(turns: &[Value], key: &str, value: Value) -> Diagnosis {
    let limits = json!({ key: value });
    diagnosis(&log_text(&ran(&scripted(turns, |document| document["limits"] = limits)).1))
}

#[test]
fn the_figures_of_a_guard_are_told_by_its_own_rule() {
    let searches = [first(json!([search_for("a")])), after("search_kb", "ok", json!([search_for("a")]))];
    let found = limited(&searches, "max_repeats", json!(1));
    assert_eq!(found.why, "The model made the same call 1 time; the guard stops a run at 1: search_kb {\"query\":\"a\"}.");
    let found = diagnosis(&log_text(&ran(&scenario("stale")).1));
    assert!(found.why.contains(" ×); the guard stops a run at "), "{}", found.why);
    let found = limited(&searches, "max_stale_steps", json!(0));
    assert!(!found.why.contains("0 steps in a row"), "{}", found.why);
    let found = diagnosis(&log_text(&ran(&scenario("loop-abab")).1));
    assert!(found.why.contains("in turn") && found.change.starts_with("Look at what those calls gave back"), "{found:?}");
    let found = limited(&searches, "deadline_s", json!(0.1));
    assert!(found.why.contains("none of it in waits") && found.change.starts_with("No wait was part of it"), "{found:?}");
    let found = limited(&searches[..1], "max_steps", json!(9));
    assert_eq!(found.change, "The model is a script here: give the scenario a turn that fits what is said there.");
}

#[test]
fn a_figure_that_cannot_be_read_is_not_called_missing() {
    let stop = |stop: Value| {
        let start = json!({"ts": 1, "run_id": "r", "step": 0, "type": "run_start"});
        diagnosis(&format!("{start}\n{stop}\n")).why
    };
    let why = stop(
        json!({"ts": 1, "run_id": "r", "step": 0, "type": "stop", "status": "budget_usd", "used": 0, "next_call": 18_446_744_073_709_u64, "limit": 1}),
    );
    assert!(why.contains("next_call 18446744073709") && !why.contains("does not say"), "{why}");
    let why = stop(json!({"ts": 1, "run_id": "r", "step": 0, "type": "stop", "status": "budget_usd", "used": 0}));
    assert_eq!(why, "The budget stopped the run, and the record does not say next_call and limit.");
}

#[test]
fn one_repeated_attempt_is_not_each_of_them() {
    let mut once = document("happy-path");
    once["faults"] = json!([{"on": "issue_refund", "calls": [1], "kind": "unavailable"}]);
    let found = check(&log_text(&ran(&read(&once.to_string())).1), "no_blind_retry").sentence;
    assert!(found.starts_with("1 repeated attempt, after a failure without effect"), "{found}");
}

//! A trace is judged as the world's books are: scenarios × one mechanism off × crash points.
//!
//! The books know all; a trace may not be sure. So a check may stay open where an invariant is decided, but it never contradicts
//! one.

use std::sync::Arc;

use crashlab::lab::ledger::Entry;
use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::log::store::MemoryStore;
use crashlab::report::diagnose::diagnose;
use crashlab::report::evaluate::{Check, Verdict, evaluate};
use crashlab::report::imported::Trace;

use crate::support::{all_scenarios, document, read, scenario};

/// A run that dies at these places, each once. A log that cannot be gone on with ends it.
fn crashed(scenario: &Arc<Scenario>, mechanisms: Mechanisms, crashes: &[(u64, When)]) -> Session {
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup { mechanisms, ..Setup::of(scenario) }, &mut store).unwrap();
    session.leave_judging_to_me();
    let mut ahead = crashes.iter();
    let mut arm = |session: &mut Session| {
        if let Some((effect, when)) = ahead.next() {
            session.arm(*effect, *when);
        }
    };
    arm(&mut session);
    for _ in 0..20_000 {
        match session.tick(&mut store) {
            Tick::Stopped { .. } | Tick::Fenced => break,
            Tick::Crashed { .. } => {
                if session.resume(&mut store).is_err() {
                    break;
                }
                arm(&mut session);
            }
            Tick::WaitingForPerson { .. } => session.answer_by_script(),
            _ => {}
        }
    }
    session.judge_those(|_| true);
    session
}

fn checks(session: &Session) -> Vec<Check> {
    evaluate(&Trace::of_log(session.log())).remove(0).checks
}

/// What the books say of refunds by the agent: a run's own trace does not show what others do.
fn agent_refunded_twice(session: &Session) -> bool {
    let charges: Vec<&Arc<str>> = session
        .world()
        .rows()
        .iter()
        .filter_map(|row| match &row.entry {
            Entry::Refund { charge_id, by, .. } if **by == *"agent" => Some(charge_id),
            _ => None,
        })
        .collect();
    charges.iter().enumerate().any(|(place, charge)| charges[..place].contains(charge))
}

fn others_refunded(session: &Session) -> bool {
    session.world().rows().iter().any(|row| matches!(&row.entry, Entry::Refund { by, .. } if **by != *"agent"))
}

/// Where trace and books contradict each other.
fn contradictions(session: &Session, checks: &[Check], off: Option<Mechanism>) -> Vec<String> {
    let mut found = Vec::new();
    for check in checks {
        let breaks = match check.id {
            "refunded_once" => agent_refunded_twice(session),
            "told_the_truth" => session.breach("told_the_truth").is_some() && !others_refunded(session),
            "within_budget" => session.breach("within_budget").is_some(),
            _ => continue,
        };
        // An attempt whose outcome nobody learnt is taken for one that happened only where a repetition is another refund.
        let is_careful = check.id == "refunded_once"
            && check.sentence.contains("may have been refunded")
            && matches!(off, Some(Mechanism::Idempotency | Mechanism::IntentKeys));
        // What is in doubt counts as spent.
        let is_careful = is_careful || (check.id == "within_budget" && check.sentence.contains("in doubt"));
        match check.verdict {
            Verdict::Pass if breaks => {
                found.push(format!("{} passes, and the books say otherwise: {}", check.id, check.sentence))
            }
            Verdict::Fail if !breaks && !is_careful => {
                found.push(format!("{} fails, and the books say otherwise: {}", check.id, check.sentence));
            }
            _ => {}
        }
    }
    found
}

/// The checks that a run fails by its scenario's own words: it is to end otherwise than done.
fn unjust(session: &Session, checks: &[Check]) -> Vec<String> {
    let is_done = session.scenario().expect.status.as_deref() == Some("done");
    let expected = |check: &Check| check.id == "finished" && !is_done;
    let broken = |check: &Check| session.scenario().expect.broken.iter().any(|id| id == check.id);
    let failed = checks.iter().filter(|check| check.verdict == Verdict::Fail);
    failed.filter(|check| !expected(check) && !broken(check)).map(|check| format!("{}: {}", check.id, check.sentence)).collect()
}

fn report(complaints: Vec<String>) {
    let count = complaints.len();
    assert!(complaints.is_empty(), "{count}: {:#?}", &complaints[..count.min(12)]);
}

/// Every place at which the agent can die.
fn points(scenario: &Arc<Scenario>) -> Vec<(u64, When)> {
    let effects = crashed(scenario, Mechanisms::ALL_ON, &[]).progress().effects;
    (0..effects).flat_map(|effect| [(effect, When::Before), (effect, When::After)]).collect()
}

/// About this many of them, others for each number.
fn some_points(points: &[(u64, When)], number: usize, count: usize) -> Vec<&[(u64, When)]> {
    let stride = points.len().div_ceil(count);
    (number % stride.max(1)..points.len()).step_by(stride.max(1)).map(|place| &points[place..=place]).collect()
}

/// A run beside a herd of others takes long.
fn is_quick(scenario: &Arc<Scenario>) -> bool {
    scenario.fleet.is_none()
}

#[test]
fn no_check_fails_a_good_run_whatever_crashes() {
    let mut complaints = Vec::new();
    for (number, scenario) in all_scenarios().iter().enumerate() {
        let points = points(scenario);
        let count = if is_quick(scenario) { points.len() } else { 2 };
        for crashes in some_points(&points, number, count).into_iter().chain([&[][..]]) {
            let session = crashed(scenario, Mechanisms::ALL_ON, crashes);
            let checks = checks(&session);
            let found = unjust(&session, &checks).into_iter().chain(contradictions(&session, &checks, None));
            complaints.extend(found.map(|complaint| format!("{} {crashes:?}: {complaint}", scenario.id)));
        }
    }
    report(complaints);
}

#[test]
fn checks_agree_with_the_books_whatever_is_off() {
    let mut complaints = Vec::new();
    for (number, scenario) in all_scenarios().iter().filter(|scenario| is_quick(scenario)).enumerate() {
        let points = points(scenario);
        for (place, mechanism) in Mechanism::ALL.into_iter().enumerate() {
            for crashes in some_points(&points, number + 7 * place, 10).into_iter().chain([&[][..]]) {
                let session = crashed(scenario, Mechanisms::without(mechanism), crashes);
                let found = contradictions(&session, &checks(&session), Some(mechanism));
                let id = mechanism.text().id;
                complaints
                    .extend(found.into_iter().map(|complaint| format!("{} without {id} {crashes:?}: {complaint}", scenario.id)));
            }
        }
    }
    report(complaints);
}

#[test]
fn no_record_is_missed_where_an_agent_dies_again_and_again() {
    let mut complaints = Vec::new();
    for (id, max_resumes, stride) in [("bad-calls", 1, 1), ("happy-path", 2, 1), ("flaky-tool", 25, 1)] {
        let mut document = document(id);
        document["limits"]["max_resumes"] = max_resumes.into();
        let scenario = read(&document.to_string());
        for (number, (effect, when)) in points(&scenario).into_iter().enumerate().step_by(stride) {
            let then = if number % 2 == 0 { When::Before } else { When::After };
            let later = effect + 1 + (number as u64 / 2) % 3;
            let crashes = [(effect, when), (later, then), (later + 1, When::After)];
            let session = crashed(&scenario, Mechanisms::ALL_ON, &crashes);
            let complete = checks(&session).remove(7);
            if complete.verdict == Verdict::Fail {
                complaints.push(format!("{id}, {max_resumes} resumes, {crashes:?}: {}", complete.sentence));
            }
        }
    }
    report(complaints);
}

/// A diagnosis that says “resume it” is right.
#[test]
fn a_run_that_is_to_be_resumed_can_be_resumed() {
    let scenario = scenario("two-tabs");
    for mechanisms in [Mechanisms::ALL_ON, Mechanisms::without(Mechanism::SingleWriter)] {
        for (effect, when) in points(&scenario) {
            let mut store = MemoryStore::default();
            let mut session = Session::start(Setup { mechanisms, ..Setup::of(&scenario) }, &mut store).unwrap();
            session.arm(effect, when);
            session.leave_judging_to_me();
            while !matches!(session.tick(&mut store), Tick::Crashed { .. } | Tick::Stopped { .. } | Tick::Fenced) {}
            if session.agent().is_some() || session.log().is_empty() {
                continue;
            }
            let found = diagnose(&Trace::of_log(store.records())).remove(0);
            let resumed = session.resume(&mut store);
            let says_so = found.change.contains("Resume it") || found.change.contains("can be resumed");
            assert!(resumed.is_ok() || !says_so, "{effect} {when:?}: {resumed:?}, {} {}", found.why, found.change);
            let is_over = found.status != "unfinished";
            assert!(says_so || is_over || mechanisms != Mechanisms::ALL_ON, "{effect} {when:?}: {}", found.change);
        }
    }
}

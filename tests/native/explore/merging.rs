//! Equal states are searched once. That must not hide anything: plain enumeration of every run says the same.

use crashlab::lab::explore::Explorer;
use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::explore::node::SearchStore;
use crashlab::lab::invariants::INVARIANTS;
use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::Setup;
use serde_json::json;
use std::sync::Arc;

use crate::support::{after, first, refund_of, scenario, scripted, search_for, voucher_of};

/// What a search says, in numbers that do not depend on what was merged.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    /// Runs from the start to an end.
    runs: u128,
    /// Per invariant: its kind of verdict and the length of its run, and how many runs end with it broken.
    verdicts: Vec<(String, usize, u128)>,
}

fn said<S: SearchStore>(explorer: &mut Explorer<S>) -> Said {
    let progress = explorer.run();
    assert!(!progress.hit_limit, "{progress:?}");
    let graph = explorer.graph();
    let order = graph.in_order().unwrap();
    let verdict = |place: usize| {
        let text = format!("{:?}", explorer.verdict(place));
        let (kind, run) = text.split_once('(').unwrap_or((&text, ""));
        let length = if run.is_empty() { 0 } else { run.split(',').count() };
        let broken = graph.count_runs(&order, 1 << place)[0].broken;
        (format!("{} {kind}", INVARIANTS[place].id), length, broken)
    };
    Said { runs: graph.count_runs(&order, 0)[0].all, verdicts: (0..INVARIANTS.len()).map(verdict).collect() }
}

/// The numbers of states with and without merging.
fn compare(scenario: &Arc<Scenario>, mechanisms: Mechanisms, bounds: Bounds) -> (usize, usize) {
    let setup = || Setup { mechanisms, ..Setup::of(scenario) };
    let mut merged = Explorer::new(setup(), bounds).unwrap();
    let mut plain = Explorer::new(setup(), bounds).unwrap().without_merging();
    assert_eq!(said(&mut merged), said(&mut plain), "{}, {mechanisms:?}, {bounds:?}", scenario.id);
    assert_eq!(plain.ends() as u128, said(&mut plain).runs);
    (merged.progress().states, plain.progress().states)
}

fn bounds(crashes: u8, faults: u8) -> Bounds {
    Bounds { crashes, faults, ..Bounds::default() }
}

/// A search, a refund and an answer; with a voucher instead, a call that must not be repeated.
fn short(action: serde_json::Value) -> Arc<Scenario> {
    let tool = action["tool"].as_str().unwrap().to_string();
    let read = json!([{"tool": "get_invoice", "args": {"invoice_id": "INV-2026-004512"}}]);
    let turns = [first(read), after("get_invoice", "any", json!([action])), after(&tool, "any", json!([]))];
    scripted(&turns, |_| {})
}

#[test]
fn merging_says_what_plain_enumeration_says_with_any_mechanism_off() {
    let scenario = short(refund_of(288));
    let each = Mechanism::ALL.map(Mechanisms::without);
    for mechanisms in [Mechanisms::ALL_ON].into_iter().chain(each) {
        for bounds in [bounds(1, 0), bounds(0, 1)] {
            let (merged, plain) = compare(&scenario, mechanisms, bounds);
            println!("{mechanisms:?} {bounds:?}: {merged} states, {plain} without merging");
            assert!(merged < plain);
        }
    }
}

#[test]
fn merging_says_what_plain_enumeration_says_about_two_crashes_and_about_a_crash_with_a_fault() {
    for scenario in [short(refund_of(288)), short(voucher_of(20))] {
        for bounds in [bounds(2, 0), Bounds { decisions: 0, ..bounds(1, 1) }] {
            let (merged, plain) = compare(&scenario, Mechanisms::ALL_ON, bounds);
            println!("{bounds:?}: {merged} states, {plain} without merging");
        }
    }
}

#[test]
fn merging_says_what_plain_enumeration_says_about_a_shipped_scenario_with_one_crash() {
    let (merged, plain) = compare(&scenario("double-charge"), Mechanisms::ALL_ON, bounds(1, 0));
    println!("{merged} states, {plain} without merging");
    let tight = scripted(&[first(json!([search_for("duplicate")])), after("search_kb", "any", json!([]))], |document| {
        // The second call just fits; a call in doubt makes it too much.
        document["limits"] = json!({"budget_usd": 0.00056, "deadline_s": 5});
    });
    for bounds in [bounds(2, 0), bounds(1, 1), bounds(0, 2)] {
        let (merged, plain) = compare(&tight, Mechanisms::ALL_ON, bounds);
        println!("{bounds:?}: {merged} states, {plain} without merging");
    }
}

#[test]
fn merging_says_what_plain_enumeration_says_about_a_second_agent_and_about_a_herd() {
    let two_tabs = scripted(
        &[first(json!([search_for("duplicate"), refund_of(288)])), after("issue_refund", "any", json!([]))],
        |document| {
            document["rival"] = json!({"effect": "call_tool", "tool": "search_kb", "when": "after"});
        },
    );
    for mechanisms in [Mechanisms::ALL_ON, Mechanisms::without(Mechanism::SingleWriter)] {
        let (merged, plain) = compare(&two_tabs, mechanisms, bounds(1, 0));
        println!("two tabs, {mechanisms:?}: {merged} states, {plain} without merging");
    }
    for mechanisms in [Mechanisms::ALL_ON, Mechanisms::without(Mechanism::Jitter)] {
        let (merged, plain) = compare(&scenario("retry-storm"), mechanisms, bounds(1, 0));
        println!("retry storm, {mechanisms:?}: {merged} states, {plain} without merging");
    }
}

//! With all mechanisms on, nothing breaks within bounds in any shipped scenario. How many states there are is written down: whatever
//! changes what agent, world or search mean changes a number.

use std::fmt::Write;

use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::explore::{Explorer, SearchVerdict};
use crashlab::lab::invariants::{INVARIANTS, Kind};
use crashlab::lab::mechanisms::Mechanisms;
use crashlab::lab::session::Setup;
use crashlab::lab::shipped::SHIPPED;

use crate::support::{assert_golden, scenario};

/// Searches a scenario to its end: a line with its numbers. Fails if an invariant breaks.
fn count(id: &str, crashes: u8, faults: u8, decisions: u8) -> String {
    let scenario = scenario(id);
    let setup = Setup { mechanisms: Mechanisms::ALL_ON, ..Setup::of(&scenario) };
    let mut explorer = Explorer::new(setup, Bounds { crashes, faults, decisions, ..Bounds::default() }).unwrap();
    let progress = explorer.run();
    assert!(!progress.hit_limit, "{id}: {progress:?}");
    for (place, invariant) in INVARIANTS.iter().enumerate() {
        let verdict = explorer.verdict(place);
        if let SearchVerdict::Broken(choices) = &verdict {
            let story = explorer.tell(choices).unwrap();
            let why = story.clauses(place).pop().unwrap().text;
            let plain = |choice: &&crashlab::lab::explore::choice::Choice| format!("{choice:?}") != "GoOn";
            let steps: Vec<_> = choices.iter().enumerate().filter(|(_, choice)| plain(choice)).collect();
            let places: Vec<_> = steps
                .iter()
                .map(|(step, choice)| (crashlab::lab::explore::story::instant(&story.states[*step].session), choice))
                .collect();
            panic!("{id}: {}: {why}; {} choices: {places:?}", invariant.id, choices.len());
        }
        let happens = verdict == SearchVerdict::NeverHappens && invariant.kind == Kind::Sometimes;
        assert!(!happens || !expects_a_refund(&scenario), "{id}: {}", invariant.name);
    }
    let runs = explorer.runs().unwrap();
    let (states, choices, ends) = (progress.states, progress.choices, explorer.ends());
    format!(
        "{id}, {crashes} crashes, {faults} faults, {decisions} decisions: {states} states, {choices} choices, {ends} ends, {runs} runs\n"
    )
}

fn expects_a_refund(scenario: &crashlab::lab::scenario::Scenario) -> bool {
    scenario.expect.refunds.is_some_and(|refunds| refunds > 0)
}

const MANY_QUESTIONS: [&str; 2] = ["twelve-questions", "two-questions"];

#[test]
fn no_shipped_scenario_breaks_within_two_crashes_and_a_fault() {
    let mut numbers = String::new();
    for (id, _) in SHIPPED {
        // Where many questions are asked, the person decides as the scenario says.
        let decisions = u8::from(!MANY_QUESTIONS.contains(&id));
        write!(numbers, "{}", count(id, 2, 1, decisions)).unwrap();
    }
    let [some, others] = MANY_QUESTIONS;
    writeln!(numbers, "{some} and {others} ask much: with other decisions there are too many states for a test.").unwrap();
    assert_golden("states.txt", &numbers);
}

#[test]
fn the_double_charge_does_not_break_within_three_crashes_and_two_faults() {
    assert_golden("states-deep.txt", &count("double-charge", 3, 2, 1));
}

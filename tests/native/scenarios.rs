//! Scenarios: the shipped ones and those in `tests/scenarios/` are judged as they say, and broken ones are refused with a path.

use std::path::Path;
use std::sync::Arc;

use crashlab::lab::expect::unmet;
use crashlab::lab::scenario::Scenario;

use crate::support::{all_scenarios, ran};

/// What a run of the scenario, as it stands, does not show.
fn complaints(scenario: &Arc<Scenario>) -> Vec<String> {
    let (session, _) = ran(scenario);
    unmet(&session).into_iter().map(|complaint| format!("{}: {complaint}", scenario.id)).collect()
}

#[test]
fn each_shipped_scenario_shows_what_it_expects() {
    let scenarios = all_scenarios();
    for scenario in &scenarios {
        let expect = &scenario.expect;
        assert!(expect.status.is_some(), "{}", scenario.id);
        let counts = [expect.refunds, expect.questions, expect.notes, expect.model_calls];
        assert!(counts.iter().all(Option::is_some), "{} counts nothing", scenario.id);
        assert!(!scenario.watch.is_empty(), "{} says nothing about what is to be observed", scenario.id);
    }
    let complaints: Vec<String> = scenarios.iter().flat_map(complaints).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn shipped_scenarios_have_ids_and_titles_of_their_own() {
    let scenarios = all_scenarios();
    for (place, scenario) in scenarios.iter().enumerate() {
        for other in &scenarios[..place] {
            assert_ne!(scenario.id, other.id);
            assert_ne!(scenario.title, other.title);
            assert_ne!(scenario.summary, other.summary);
        }
        let file = format!("src/lab/scenarios/{}.json", scenario.id);
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).exists(), "{file}");
    }
}

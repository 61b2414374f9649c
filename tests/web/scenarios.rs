//! Scenarios in the browser: the shipped ones and those in `tests/scenarios/`, judged as they say.

use std::sync::Arc;

use crashlab::lab::expect::unmet;
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup};
use crashlab::lab::shipped::SHIPPED;
use crashlab::log::store::MemoryStore;
use wasm_bindgen_test::*;

const FOLDER: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// What a run of each of these scenarios does not show.
fn complaints(scenarios: &[(&str, &str)]) -> Vec<String> {
    let of_one = |(name, json): &(&str, &str)| {
        let complaints = judged(json).unwrap_or_else(|error| vec![error]);
        complaints.into_iter().map(|complaint| format!("{name}: {complaint}")).collect::<Vec<_>>()
    };
    scenarios.iter().flat_map(of_one).collect()
}

fn judged(json: &str) -> Result<Vec<String>, String> {
    let scenario = Scenario::from_json(json).map_err(|error| error.to_string())?;
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(&Arc::new(scenario)), &mut store).map_err(|error| error.to_string())?;
    session.run_to_end(&mut store).map_err(|error| error.to_string())?;
    Ok(unmet(&session))
}

#[wasm_bindgen_test]
fn each_shipped_scenario_shows_what_it_expects() {
    assert_eq!(complaints(&SHIPPED), [""; 0]);
}

#[wasm_bindgen_test]
fn each_scenario_of_the_folder_shows_what_it_expects() {
    assert!(!FOLDER.is_empty());
    assert_eq!(complaints(FOLDER), [""; 0]);
}

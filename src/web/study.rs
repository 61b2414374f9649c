//! What is computed on demand, beside the playground: a module of its own that a worker loads.

use wasm_bindgen::prelude::*;

use super::{lab_error, scenario_of};
use crate::lab::session::{Session, Setup};
use crate::log::store::MemoryStore;

/// Runs a scenario to its end with its own person, mechanisms and seed 1, and gives the log as JSON Lines.
#[wasm_bindgen]
pub fn run_to_end(scenario: &str) -> Result<String, JsValue> {
    let scenario = scenario_of(scenario)?;
    let mut store = MemoryStore::default();
    let failed = |error: &dyn std::fmt::Display| lab_error("refused", &error.to_string());
    let mut session = Session::start(Setup::of(&scenario), &mut store).map_err(|error| failed(&error))?;
    session.run_to_end(&mut store).map_err(|error| failed(&error))?;
    Ok(session.log().iter().map(|record| record.to_line() + "\n").collect())
}

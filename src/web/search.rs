//! The fault explorer, for JavaScript.

use std::sync::Arc;

use serde_json::Value;
use wasm_bindgen::prelude::*;

use super::{lab_error, scenario_of, to_js};
use crate::base::json::{parse, read};
use crate::lab::explore::choice::Bounds;
use crate::lab::explore::matrix;
use crate::lab::explore::replay::Replay;
use crate::lab::invariants::INVARIANTS;
use crate::lab::mechanisms::Mechanisms;
use crate::lab::session::Setup;
use crate::log::store::MemoryStore;
use crate::report::search;

/// A search through the runs of a scenario.
#[wasm_bindgen]
pub struct Explorer {
    inner: crate::lab::explore::Explorer<MemoryStore>,
    setup: Setup,
}

#[wasm_bindgen]
impl Explorer {
    /// A search that has not begun.
    #[wasm_bindgen(constructor)]
    pub fn new(#[wasm_bindgen(unchecked_param_type = "SearchOptions")] options: JsValue) -> Result<Explorer, JsValue> {
        let (setup, bounds) = read_options(&options)?;
        let inner = crate::lab::explore::Explorer::new(setup.clone(), bounds).map_err(|error| refused(&error))?;
        Ok(Explorer { inner, setup })
    }

    /// Continues up to this many states.
    #[wasm_bindgen(unchecked_return_type = "SearchProgress")]
    pub fn step(&mut self, states: usize) -> Result<JsValue, JsValue> {
        let progress = self.inner.step(states);
        to_js(&search::progress(progress, self.inner.restarted()))
    }

    /// What the search says so far.
    #[wasm_bindgen(unchecked_return_type = "SearchVerdict[]")]
    pub fn verdicts(&self) -> Result<JsValue, JsValue> {
        to_js(&search::verdicts(&self.inner))
    }

    /// How many runs were followed, a number that may not fit a JavaScript number; nothing while the search has not seen all of them.
    pub fn runs(&self) -> Option<String> {
        self.inner.runs().map(|runs| runs.to_string())
    }

    /// The best run that the search has for an invariant, with its twin: the least goes wrong in it, and then it is a shortest one.
    #[wasm_bindgen(unchecked_return_type = "SearchRun | null")]
    pub fn run(&self, invariant: &str) -> Result<JsValue, JsValue> {
        to_js(&search::run_of_invariant(&self.inner, &self.setup, place_of(invariant)?))
    }
}

/// Every crash point of a scenario, with all mechanisms and with each one taken away.
#[wasm_bindgen]
pub struct Matrix {
    inner: matrix::Matrix,
}

#[wasm_bindgen]
impl Matrix {
    /// A matrix that is empty. Unless the options say otherwise, nothing goes wrong but the one crash.
    #[wasm_bindgen(constructor)]
    pub fn new(#[wasm_bindgen(unchecked_param_type = "SearchOptions")] options: JsValue) -> Result<Matrix, JsValue> {
        let (setup, bounds) = read_options(&options)?;
        let given = plain_of(&options)?;
        let bounds = if given.get("faults").is_some() { bounds } else { Bounds { faults: 0, ..bounds } };
        Ok(Matrix { inner: matrix::Matrix::new(setup, bounds).map_err(|error| refused(&error))? })
    }

    /// Continues up to this many states.
    #[wasm_bindgen(unchecked_return_type = "MatrixProgress")]
    pub fn step(&mut self, states: usize) -> Result<JsValue, JsValue> {
        let progress = self.inner.step(states).map_err(|error| refused(&error))?;
        to_js(&search::matrix_progress(progress))
    }

    /// As far as it is filled.
    #[wasm_bindgen(unchecked_return_type = "MatrixView")]
    pub fn view(&self) -> Result<JsValue, JsValue> {
        to_js(&search::matrix(&self.inner))
    }

    /// One of its columns, the first of which is that with all mechanisms.
    #[wasm_bindgen(unchecked_return_type = "MatrixColumn | null")]
    pub fn column(&self, place: usize) -> Result<JsValue, JsValue> {
        to_js(&self.inner.columns.get(place).map_or(Value::Null, search::column))
    }

    /// The run of a cell with its twin. `invariant`: of several that break there, the one that has to, by id.
    #[wasm_bindgen(unchecked_return_type = "SearchRun | null")]
    pub fn run(&self, row: usize, column: usize, invariant: Option<String>) -> Result<JsValue, JsValue> {
        let place = invariant.map(|id| place_of(&id)).transpose()?;
        to_js(&search::run_of_cell(&self.inner, row, column, place))
    }
}

/// Runs a replay file again. `scenario`: the shipped scenario that it names, as JSON text; not needed where the file has its own. The
/// log is the recorded one, byte for byte, or the error says what differs.
#[wasm_bindgen(unchecked_return_type = "ReplayedRun")]
pub fn replay(file: &str, scenario: Option<String>) -> Result<JsValue, JsValue> {
    let misfit = |error| lab_error("bad_argument", &format!("{error}"));
    let replay = Replay::from_json(file).map_err(misfit)?;
    let setup = replay.setup(|_| scenario.clone()).map_err(misfit)?;
    to_js(&search::replayed(&replay, &setup).map_err(misfit)?)
}

/// The scenario that a replay file needs.
#[wasm_bindgen]
pub fn replay_scenario(file: &str) -> Result<String, JsValue> {
    Replay::from_json(file).map(|replay| replay.scenario).map_err(|error| lab_error("bad_argument", &error.to_string()))
}

fn place_of(invariant: &str) -> Result<usize, JsValue> {
    let place = INVARIANTS.iter().position(|known| known.id == invariant);
    place.ok_or_else(|| lab_error("not_found", &format!("there is no invariant `{invariant}`")))
}

fn refused(error: &dyn std::fmt::Display) -> JsValue {
    lab_error("refused", &error.to_string())
}

fn read_options(options: &JsValue) -> Result<(Setup, Bounds), JsValue> {
    let bad = |message: &dyn std::fmt::Display| lab_error("bad_argument", &message.to_string());
    let given = plain_of(options)?;
    let text = given.get("scenario").and_then(Value::as_str).ok_or_else(|| bad(&"`scenario` has to be JSON text"))?;
    let scenario: Arc<_> = scenario_of(text)?;
    let mechanisms = match given.get("mechanisms") {
        Some(mechanisms) => read(mechanisms, "mechanisms", Mechanisms::from_json).map_err(|error| bad(&error))?,
        None => scenario.mechanisms,
    };
    let seed = match given.get("seed").and_then(Value::as_str) {
        Some(text) => text.parse().map_err(|_| bad(&format!("a seed is a number from 0 to 2^64-1, not `{text}`")))?,
        None => 1,
    };
    Ok((Setup { scenario, mechanisms, seed, interactive: true, branch: 0 }, search::bounds(&given)))
}

/// A JavaScript object as plain data.
fn plain_of(value: &JsValue) -> Result<Value, JsValue> {
    let text = js_sys::JSON::stringify(value).map(String::from)?;
    parse(&text).map_err(|error| lab_error("bad_argument", &error.to_string()))
}

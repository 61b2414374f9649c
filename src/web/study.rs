//! What is computed on demand, beside the playground: a module of its own that a worker loads.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::{lab_error, scenario_of};
use crate::lab::fleet::Fleet;
use crate::lab::mechanisms::{Mechanism, Mechanisms};
use crate::lab::session::Setup;
use crate::report::fleet::herd_json;
use crate::report::imported::Trace;
use crate::report::{diagnose, evaluate};

/// What the herd of a scenario does, as the JSON text of a `HerdView`; nothing if it has none. `off`: the mechanisms that are off, by id;
/// `seed`: of the first agent; `span_ms`: how long a bucket of the plot is.
#[wasm_bindgen]
pub fn fleet(scenario: &str, off: Vec<String>, seed: &str, span_ms: u32) -> Result<Option<String>, JsValue> {
    let scenario = scenario_of(scenario)?;
    let seed = seed.parse().map_err(|_| lab_error("bad_argument", &format!("a seed is a number, not `{seed}`")))?;
    let mut mechanisms = Mechanisms::ALL_ON;
    for id in &off {
        let mechanism =
            Mechanism::of_id(id).ok_or_else(|| lab_error("bad_argument", &format!("there is no mechanism `{id}`")))?;
        mechanisms = mechanisms.with(mechanism, false);
    }
    let setup = Setup { mechanisms, seed, ..Setup::of(&scenario) };
    Ok(Fleet::of(&setup).map(|fleet| herd_json(&fleet, span_ms.into()).to_string()))
}

/// The runs of a trace judged by named checks.
#[wasm_bindgen(unchecked_return_type = "Evaluation[]")]
pub fn evaluate(trace: &str) -> Result<JsValue, JsValue> {
    plain(&evaluate::evaluate(&trace_of(trace)?))
}

/// Why the runs of a trace ended as they did, and what to change.
#[wasm_bindgen(unchecked_return_type = "Diagnosis[]")]
pub fn diagnose(trace: &str) -> Result<JsValue, JsValue> {
    plain(&diagnose::diagnose(&trace_of(trace)?))
}

fn trace_of(text: &str) -> Result<Trace, JsValue> {
    Trace::read(text.as_bytes()).map_err(|error| lab_error("damaged", &error.to_string()))
}

pub(super) fn json_text(value: &impl Serialize) -> Result<String, JsValue> {
    serde_json::to_string(value).map_err(|error| lab_error("refused", &error.to_string()))
}

/// As plain objects. What the playground shows at every frame crosses as JSON text, which costs it less code; this is the shorter way.
fn plain(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible();
    value.serialize(&serializer).map_err(|error| lab_error("refused", &error.to_string()))
}

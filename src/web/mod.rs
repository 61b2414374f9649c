//! The browser's side: the only place that names wasm_bindgen, js_sys, web_sys and getrandom.
//!
//! Bindings delegate. Values cross as plain objects whose types stand in `types.ts`; JSON that has to keep its numbers exact crosses
//! as text. JavaScript is never called while the lab is borrowed.

#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "study")]
mod files;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "lab")]
mod local_store;
#[cfg(feature = "engine")]
mod plain;
#[cfg(feature = "lab")]
mod runs;
#[cfg(feature = "study")]
mod search;
#[cfg(feature = "study")]
mod study;
#[cfg(feature = "study")]
mod traces;

#[cfg(feature = "engine")]
pub use engine::Agent;
#[cfg(feature = "lab")]
pub use lab::Lab;
#[cfg(feature = "lab")]
pub use local_store::LocalStore;
#[cfg(feature = "lab")]
pub use runs::{forget_run, mechanisms, read_scenario, saved_runs, storage_warning};

#[cfg(feature = "study")]
pub use search::{Explorer, Matrix, replay, replay_scenario};

#[cfg(any(feature = "lab", feature = "study"))]
use std::sync::Arc;

use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::base::json::compact;

#[cfg(any(feature = "lab", feature = "study"))]
use crate::lab::scenario::Scenario;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &'static str = include_str!("types.ts");

/// The version of the crate.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// 32 bits by lot: a seed that nobody gave, or a token that tells two writers apart. A run's course never depends on a token.
#[cfg(feature = "lab")]
#[expect(clippy::disallowed_methods, reason = "the one place where chance enters")]
pub(crate) fn draw() -> Result<u32, String> {
    getrandom::u32().map_err(|error| format!("no random number can be drawn: {error}"))
}

/// Plain data as a JavaScript value.
pub(crate) fn to_js(value: &Value) -> Result<JsValue, JsValue> {
    js_sys::JSON::parse(&compact(value))
}

/// An `Error` with a code, as `LabError` in `types.ts`.
pub(crate) fn lab_error(code: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(message);
    // Setting a property of a fresh object cannot fail.
    let _ = js_sys::Reflect::set(&error, &"code".into(), &code.into());
    error.into()
}

/// A scenario from its JSON text.
#[cfg(any(feature = "lab", feature = "study"))]
pub(crate) fn scenario_of(json: &str) -> Result<Arc<Scenario>, JsValue> {
    Scenario::from_json(json).map(Arc::new).map_err(|error| lab_error("bad_scenario", &error.to_string()))
}

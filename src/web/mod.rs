//! The browser's side: the only place that names wasm_bindgen, js_sys, web_sys and getrandom.
//!
//! Bindings delegate. Values cross as plain objects whose types stand in `types.ts`; JSON that has to keep its numbers exact crosses
//! as text. JavaScript is never called while the lab is borrowed.

mod lab;
mod local_store;
mod runs;

pub use lab::Lab;
pub use local_store::LocalStore;
pub use runs::{forget_run, mechanisms, saved_runs, scenarios, storage_warning};

use serde::Serialize;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &'static str = include_str!("types.ts");

/// The version of the crate.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// A value as plain JavaScript objects.
pub(crate) fn to_js(value: &impl Serialize) -> Result<JsValue, JsError> {
    value.serialize(&serde_wasm_bindgen::Serializer::json_compatible()).map_err(JsError::from)
}

/// An `Error` with a code, as `LabError` in `types.ts`.
pub(crate) fn lab_error(code: &str, message: &str) -> JsValue {
    let error = js_sys::Error::new(message);
    // Setting a property of a fresh object cannot fail.
    let _ = js_sys::Reflect::set(&error, &"code".into(), &code.into());
    error.into()
}

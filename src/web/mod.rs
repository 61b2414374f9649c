//! The only place that names the page's side.
use wasm_bindgen::prelude::*;

/// The version of the crate.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

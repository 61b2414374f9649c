//! Runs in a real browser: `wasm-pack test --headless --chrome`.
#![cfg(target_arch = "wasm32")]
use wasm_bindgen_test::*;

#[path = "web/scenarios.rs"]
mod scenarios;

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn the_version_crosses() {
    assert_eq!(crashlab::web::version(), "0.1.0");
}

//! Runs in a real browser, on the real localStorage: `wasm-pack test --headless --chrome`.
#![cfg(target_arch = "wasm32")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_browser);

#[path = "web/damage.rs"]
mod damage;
#[path = "web/engine.rs"]
mod engine;
#[path = "web/quota.rs"]
mod quota;
#[path = "web/reload.rs"]
mod reload;
#[path = "web/runs.rs"]
mod runs;
#[path = "web/scenarios.rs"]
mod scenarios;
#[path = "web/search.rs"]
mod search;
#[path = "web/support.rs"]
mod support;
#[path = "web/typescript.rs"]
mod typescript;
#[path = "web/variants.rs"]
mod variants;
#[path = "web/writers.rs"]
mod writers;

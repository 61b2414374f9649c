//! Crashlab: an agent loop that survives crashes, and a lab to crash it in.
pub mod agent;
pub mod json;
pub mod log;
#[cfg(target_arch = "wasm32")]
pub mod web;

//! Crashlab: an agent loop that survives crashes, and a lab to crash it in.

#[cfg(target_arch = "wasm32")]
pub mod web;

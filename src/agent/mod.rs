//! The core: a state machine that does no I/O.
//!
//! [`Agent::poll`] says what is to be done next, [`Agent::handle`] takes what came of it. **There is no clock, no randomness, no
//! storage and no network in this folder**: time comes with each event, lots are drawn from the seed, and everything else is an
//! effect that a driver carries out.

mod answers;
pub mod approval;
pub mod config;
pub mod fingerprint;
pub mod guards;
pub mod identity;
pub mod machine;
mod next;
pub mod protocol;
pub mod retry;
pub mod run;
pub mod state;
pub mod tools;

pub use machine::Agent;

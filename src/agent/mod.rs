//! The core: a state machine that does no I/O.
//!
//! [`Agent::poll`] says what is to be done next, [`Agent::handle`] takes what came of it. **There is no clock, no randomness, no
//! storage and no network in this folder**: time comes with each event, lots are drawn from the seed, and everything else is an
//! effect that a driver carries out.

mod answers;
pub mod approval;
pub mod canonical;
pub mod config;
pub mod decimal;
pub mod future;
pub mod guards;
pub mod identity;
pub mod machine;
pub mod money;
mod next;
pub mod protocol;
pub mod retry;
pub mod run;
pub mod state;
pub mod text;
pub mod tools;

pub use machine::Agent;

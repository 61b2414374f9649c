//! What is durable: the log, the checkpoint, and how an agent is rebuilt from them.
//!
//! One append-only log per run, JSON Lines. It is trace, journal and evidence at once: an intent record is durable before an outward
//! effect, and a result record is durable before anything is decided on it.

pub mod checkpoint;
pub mod recovery;
pub mod store;
pub mod trace;

//! Crashlab: an agent loop that survives crashes, and a lab to crash it in.
//!
//! # What is where
//!
//! | module | what it is |
//! |---|---|
//! | [`base`] | What knows nothing of agents: JSON with errors that name the path, exact numbers, money, text, hashes. |
//! | [`record`] | The records of the log, and the words that they and the agent share: calls, failures, statuses. |
//! | [`agent`] | The core: a state machine that says what it wants ([`agent::protocol::EffectKind`]) and is told what came of it ([`agent::protocol::Answer`]). |
//! | [`log`] | What is durable: checkpoints, stores, and [`log::recovery`], which makes an agent from them. |
//! | [`lab`] | Scenarios, the scripted model, the world with its own books, faults, mechanisms, invariants, and [`lab::session`], the driver. |
//! | [`report`] | What people read: a record in a line, a run in three panels. |
//! | [`embed`] | The core for drivers in another language: configuration, effects and answers as JSON. |
//! | `web` | The browser's side, in wasm32 builds only. |
//!
//! To read the core, begin with [`agent::run::Run::apply`] (what a record changes), then `agent/next.rs` (what is wanted next) and
//! `agent/answers.rs` (what an answer means).
//!
//! # The driver's contract
//!
//! 1. Call [`Agent::poll`](agent::Agent::poll). `Some(effect)`: carry it out. `None`: an answer is awaited, or the run is over.
//! 2. Carry out one effect at a time, and answer it with [`Agent::handle`](agent::Agent::handle) under its id. An answer of the
//!    wrong kind or to another effect is an [`EventError`](agent::protocol::EventError), and the agent is as it was.
//! 3. `Append` is answered with `Durable` only when the record survives a crash. The agent calls nothing outside before the intent
//!    is durable, and decides nothing before the result is.
//! 4. `Stop` has no answer; after it `poll` returns `None` for ever.
//! 5. After a crash, [`log::recovery::recover`] makes a new agent from what is in storage. Take the storage over first
//!    ([`log::store::Store::take_over`]): the old agent, if it still lives, is then refused.
//!
//! [`lab::session::Session`] is such a driver; the tests, the page and the search use it.
//!
//! # Invariants of the architecture
//!
//! - **No clock, no randomness, no I/O in `agent/`.** Time comes with each event, lots are drawn from the seed.
//! - **State changes only by applying a durable record**, live and in recovery by the same function. What has no record has to be
//!   found again after a crash from the intents alone.
//! - **Counting is crash-free.** A checkpoint's position counts settled records, so a run that crashed ends with the same
//!   checkpoint as one that did not.
//! - **Money and tool arguments never pass through a `f64`.** Views for people may.
//! - **The lab does not reach into the agent.** A mechanism that is off is data ([`agent::config::Policies`]) that the core takes.
//! - **Only `web/` names wasm_bindgen, js_sys, web_sys and getrandom.**

pub mod agent;
pub mod base;
pub mod embed;
pub mod lab;
pub mod log;
pub mod record;
pub mod report;
#[cfg(target_arch = "wasm32")]
pub mod web;

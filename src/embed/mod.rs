//! The core for drivers in another language: configuration, effects and answers as JSON.
//!
//! A driver hands over a configuration ([`read_config`]) and what it has stored ([`open`]), is told what is wanted ([`effect_json`]),
//! and says what came of it ([`read_event`]). The types stand in `src/web/types.ts`, as `AgentConfig`, `Stored`, `Effect` and
//! `AgentEvent`.

mod config;
mod effects;
mod stored;

pub use config::read_config;
pub use effects::{effect_json, read_event};
pub use stored::{OpenError, Opened, open};

//! An agent from what a driver has stored.

use std::fmt;
use std::sync::Arc;

use crate::agent::Agent;
use crate::agent::config::Config;
use crate::base::json::{Fields, ReadError, parse, read};
use crate::log::checkpoint::decode;
use crate::log::recovery::{RecoveryError, recover};
use crate::log::store::{Durable, FoundSnapshot, LogDamage, unseal};
use crate::record::read_log;

/// An agent, and what its driver has to know.
#[derive(Clone, Debug)]
pub struct Opened {
    /// At the start of the run, or where the log ends.
    pub agent: Agent,
    /// The number of the next snapshot.
    pub next_generation: u64,
    /// True: the last line of the log was cut in a write. It was never durable, and has to go before another is written behind it.
    pub is_torn: bool,
}

/// Why what is stored cannot be gone on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// It is not what a driver stores.
    Unreadable(ReadError),
    /// It is, and the run cannot be resumed from it.
    Recovery(RecoveryError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Unreadable(error) => error.fmt(f),
            OpenError::Recovery(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// An agent from `{log, checkpoints}`: the log as JSON Lines, and the texts of snapshots in any order. Where nothing is stored the
/// run begins. `now_ms`: milliseconds since 1970.
pub fn open(config: Arc<Config>, stored: &str, now_ms: u64) -> Result<Opened, OpenError> {
    let value = parse(stored).map_err(OpenError::Unreadable)?;
    let (log, checkpoints) = read(&value, "$", |from| {
        from.only(&["log", "checkpoints"]);
        let checkpoints = from.optional("checkpoints", Fields::strs).unwrap_or_default();
        let owned = checkpoints.into_iter().map(str::to_string).collect::<Vec<_>>();
        (from.optional("log", Fields::str).unwrap_or_default().to_string(), owned)
    })
    .map_err(OpenError::Unreadable)?;
    let (records, torn) = read_log(&log).map_err(|error| OpenError::Recovery(RecoveryError::Damaged(error.to_string())))?;
    let mut snapshots: Vec<FoundSnapshot> = checkpoints.iter().map(|text| snapshot(text)).collect();
    snapshots.sort_unstable_by_key(|found| std::cmp::Reverse(found.generation));
    let next_generation = snapshots.first().map_or(1, |newest| newest.generation.saturating_add(1));
    let is_torn = torn.is_some();
    let agent = if records.is_empty() && snapshots.is_empty() {
        Agent::start(config, now_ms)
    } else {
        let log_damage = torn.map(|message| LogDamage { message, is_torn_end: true });
        let durable = Durable { records: records.into_iter().map(Arc::new).collect(), snapshots, log_damage };
        recover(config, &durable, now_ms).map_err(OpenError::Recovery)?
    };
    Ok(Opened { agent, next_generation, is_torn })
}

/// A snapshot as it was handed out, with number and checksum, or a checkpoint of another program as plain JSON.
fn snapshot(text: &str) -> FoundSnapshot {
    if !text.trim_start().starts_with('{') {
        return unseal(text);
    }
    let state = decode(text).map(Arc::new).map_err(|error| error.to_string());
    FoundSnapshot { generation: 0, bytes: text.len() as u64, state }
}

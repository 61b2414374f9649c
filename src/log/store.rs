//! Where log and checkpoint are kept.

use std::fmt;
use std::sync::Arc;

use super::checkpoint;
use crate::agent::state::AgentState;
use crate::base::hash::hash64;
use crate::record::Record;

/// Who writes. The store refuses a writer whose epoch is not the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    /// 1 for the agent that started the run, one more with each resume.
    pub epoch: u32,
    /// False: the store does not check (the mechanism `single_writer` is off).
    pub fenced: bool,
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// It is full, or it cannot be reached.
    Failed(String),
    /// Another writer owns the run.
    Fenced {
        /// The owner's epoch.
        owner_epoch: u32,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Failed(message) => f.write_str(message),
            StoreError::Fenced { owner_epoch } => write!(f, "another agent (writer {owner_epoch}) has taken this run over"),
        }
    }
}

impl std::error::Error for StoreError {}

/// A snapshot that was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedSnapshot {
    /// Its size as JSON text.
    pub bytes: u64,
    /// Its number, from 1.
    pub generation: u64,
}

/// A snapshot as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSnapshot {
    /// Its number, from 1.
    pub generation: u64,
    /// Its size as JSON text.
    pub bytes: u64,
    /// What it holds, or why it cannot be used.
    pub state: Result<Arc<AgentState>, String>,
}

/// All that is durable of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// The log.
    pub records: Vec<Arc<Record>>,
    /// At most two snapshots, the newest first.
    pub snapshots: Vec<FoundSnapshot>,
    /// What is wrong with the log.
    pub log_damage: Option<LogDamage>,
}

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// A sentence.
    pub message: String,
    /// True: only the last record was cut, as a crash in the middle of a write leaves it. It was never durable, so nothing is lost.
    pub is_torn_end: bool,
}

/// Durable storage of one run.
pub trait Store {
    /// Writes one record behind the last. When it returns `Ok`, the record survives a crash.
    fn append(&mut self, writer: Writer, record: &Arc<Record>) -> Result<(), StoreError>;

    /// Saves a snapshot in place of the older of the two.
    fn save(&mut self, writer: Writer, state: &Arc<AgentState>) -> Result<SavedSnapshot, StoreError>;

    /// Makes the caller the owner; who wrote before may write nothing more.
    fn take_over(&mut self) -> Result<u32, StoreError>;

    /// The owner's epoch; 0 before the first writer.
    fn epoch(&self) -> u32;

    /// All that is there.
    fn read(&self) -> Durable;

    /// The snapshots alone, the newest first, for who does not need the log.
    fn snapshots(&self) -> Vec<FoundSnapshot> {
        self.read().snapshots
    }
}

/// Storage in memory, for tests and for the search. It survives the agent's crash, as the value is the driver's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryStore {
    /// Shared with the store's copies until one of them writes.
    records: Arc<Vec<Arc<Record>>>,
    snapshots: Vec<(u64, u64, Arc<AgentState>)>,
    epoch: u32,
}

impl MemoryStore {
    /// The log.
    pub fn records(&self) -> &[Arc<Record>] {
        &self.records
    }

    /// A copy of what another store holds, without the snapshots that cannot be used.
    pub fn copy_of(durable: &Durable, epoch: u32) -> MemoryStore {
        let usable = |found: &FoundSnapshot| Some((found.generation, found.bytes, found.state.as_ref().ok()?.clone()));
        MemoryStore {
            records: Arc::new(durable.records.clone()),
            snapshots: durable.snapshots.iter().filter_map(usable).collect(),
            epoch,
        }
    }

    fn check(&self, writer: Writer) -> Result<(), StoreError> {
        let refused = writer.fenced && writer.epoch != self.epoch;
        if refused { Err(StoreError::Fenced { owner_epoch: self.epoch }) } else { Ok(()) }
    }
}

impl Store for MemoryStore {
    fn append(&mut self, writer: Writer, record: &Arc<Record>) -> Result<(), StoreError> {
        self.check(writer)?;
        Arc::make_mut(&mut self.records).push(record.clone());
        Ok(())
    }

    fn save(&mut self, writer: Writer, state: &Arc<AgentState>) -> Result<SavedSnapshot, StoreError> {
        self.check(writer)?;
        let generation = self.snapshots.first().map_or(1, |(generation, _, _)| generation + 1);
        let bytes = checkpoint::encode(state).len() as u64;
        self.snapshots.insert(0, (generation, bytes, state.clone()));
        self.snapshots.truncate(2);
        Ok(SavedSnapshot { bytes, generation })
    }

    fn take_over(&mut self) -> Result<u32, StoreError> {
        self.epoch += 1;
        Ok(self.epoch)
    }

    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn read(&self) -> Durable {
        let found = |(generation, bytes, state): &(u64, u64, Arc<AgentState>)| FoundSnapshot {
            generation: *generation,
            bytes: *bytes,
            state: Ok(state.clone()),
        };
        Durable { records: self.records.to_vec(), snapshots: self.snapshots.iter().map(found).collect(), log_damage: None }
    }
}

/// A snapshot as text with its number and checksum: `generation checksum json`.
pub fn seal(generation: u64, json: &str) -> String {
    format!("{generation} {:016x} {json}", checksum(generation, json))
}

/// Of the generation as well: a changed one would let an older checkpoint pass for the newest.
fn checksum(generation: u64, json: &str) -> u64 {
    hash64(format!("{generation} {json}").as_bytes())
}

/// Opens what [`seal`] made. The error says what is wrong with it.
pub fn unseal(text: &str) -> FoundSnapshot {
    let mut parts = text.splitn(3, ' ');
    let generation = parts.next().and_then(|part| part.parse().ok());
    let found_sum = parts.next().and_then(|part| u64::from_str_radix(part, 16).ok());
    let json = parts.next().unwrap_or_default();
    let state = match (generation, found_sum) {
        (Some(generation), Some(sum)) if sum == checksum(generation, json) => {
            checkpoint::decode(json).map(Arc::new).map_err(|error| error.to_string())
        }
        (Some(_), Some(_)) => Err("the checksum does not fit: the checkpoint is torn or was changed".to_string()),
        _ => Err("this is not a checkpoint".to_string()),
    };
    FoundSnapshot { generation: generation.unwrap_or(0), bytes: json.len() as u64, state }
}

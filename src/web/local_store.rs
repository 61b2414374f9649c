//! Storage in localStorage: one key a record, two slots for snapshots.
//!
//! A record of its own key makes a write as long as the record, not as the log, and a torn write tears one record.
//!
//! Runs have names that their input decides, so the same run can be thrown away and started again while an agent of the first one
//! is alive in another tab. An epoch alone would let that agent in again; so the owner's entry also carries two tokens, one of the
//! writer and one of the run, that are drawn by lot and stand nowhere else.

use std::sync::Arc;

use wasm_bindgen::JsValue;
use web_sys::Storage;

use super::draw;
use crate::agent::state::AgentState;
use crate::base::json::parse;
use crate::log::checkpoint;
use crate::log::store::{Durable, FoundSnapshot, LogDamage, SavedSnapshot, Store, StoreError, Writer, seal, unseal};
use crate::record::Record;

/// What all keys of the lab begin with.
pub(crate) const PREFIX: &str = "crashlab/";

/// The key of the owner's entry: `epoch writer-token run-token`.
const OWNER: &str = "epoch";

const SLOTS: [&str; 2] = ["checkpoint/a", "checkpoint/b"];

/// The storage of one run.
#[derive(Clone, Debug)]
pub struct LocalStore {
    storage: Storage,
    run_id: String,
    records: usize,
    /// The owner's entry when this value was opened or took the run over.
    owner: String,
}

/// The page's localStorage, or a sentence that says why there is none.
pub(crate) fn local_storage() -> Result<Storage, String> {
    let absent = || "This browser keeps nothing for this page (localStorage is not available).".to_string();
    let window = web_sys::window().ok_or_else(absent)?;
    window.local_storage().ok().flatten().ok_or_else(absent)
}

impl LocalStore {
    /// The storage of a run, with what is there. To write records it has to be taken over.
    pub fn open(run_id: &str) -> Result<LocalStore, StoreError> {
        let storage = local_storage().map_err(StoreError::Failed)?;
        let mut store = LocalStore { storage, run_id: run_id.to_string(), records: 0, owner: String::new() };
        store.owner = store.owner_now();
        Ok(store)
    }

    /// The storage of a run, with whatever was there taken away.
    pub fn create(run_id: &str) -> Result<LocalStore, StoreError> {
        let mut store = LocalStore::open(run_id)?;
        store.clear()?;
        store.owner = String::new();
        Ok(store)
    }

    /// The full name of a key of this run.
    fn key(&self, rest: &str) -> String {
        format!("{PREFIX}{}/{rest}", self.run_id)
    }

    /// A value of this run.
    pub fn get(&self, rest: &str) -> Option<String> {
        self.storage.get_item(&self.key(rest)).ok().flatten()
    }

    /// Writes a value of this run.
    pub fn set(&self, rest: &str, value: &str) -> Result<(), StoreError> {
        self.storage.set_item(&self.key(rest), value).map_err(failed)
    }

    /// Values `rest/000000`, `rest/000001`, … from one on, as far as they go.
    pub fn series(&self, rest: &str, from: usize) -> Vec<String> {
        (from..).map_while(|index| self.get(&place(rest, index))).collect()
    }

    /// True if a series goes on to this place.
    pub fn has_in_series(&self, rest: &str, index: usize) -> bool {
        self.get(&place(rest, index)).is_some()
    }

    /// Writes one value of a series.
    pub fn set_in_series(&self, rest: &str, index: usize, value: &str) -> Result<(), StoreError> {
        self.set(&place(rest, index), value)
    }

    /// Records in the log, without reading what they say again.
    pub fn record_count(&self) -> usize {
        self.keys_under("log/").len()
    }

    /// Takes everything of this run away.
    pub fn clear(&self) -> Result<(), StoreError> {
        for key in self.keys_under("") {
            self.storage.remove_item(&key).map_err(failed)?;
        }
        Ok(())
    }

    /// True if this run still stands here: nobody has thrown it away, or started it again, since it was opened.
    pub fn is_same_run(&self) -> bool {
        run_token(&self.owner_now()) == run_token(&self.owner)
    }

    /// True if nobody else has taken the run over since it was opened or taken over by this value.
    pub fn is_owner(&self) -> bool {
        self.owner_now() == self.owner
    }

    fn owner_now(&self) -> String {
        self.get(OWNER).unwrap_or_default()
    }

    fn keys_under(&self, rest: &str) -> Vec<String> {
        let own = self.key(rest);
        keys(&self.storage).into_iter().filter(|key| key.starts_with(&own)).collect()
    }

    fn check(&self, writer: Writer) -> Result<(), StoreError> {
        let owner = self.owner_now();
        // Without `single_writer` anybody may write into the run, but not into another one under its name.
        let owner_epoch = epoch_of(&owner);
        // Two agents of one page share this value, and only the epoch tells them apart.
        let is_overtaken = owner != self.owner || writer.epoch != owner_epoch;
        let refused = run_token(&owner) != run_token(&self.owner) || (writer.fenced && is_overtaken);
        if refused { Err(StoreError::Fenced { owner_epoch }) } else { Ok(()) }
    }

    fn slots(&self) -> [Option<FoundSnapshot>; 2] {
        SLOTS.map(|slot| self.get(slot).map(|text| unseal(&text)))
    }
}

/// All keys of a storage.
pub(crate) fn keys(storage: &Storage) -> Vec<String> {
    let count = storage.length().unwrap_or(0);
    (0..count).filter_map(|index| storage.key(index).ok().flatten()).collect()
}

fn place(rest: &str, index: usize) -> String {
    format!("{rest}/{index:06}")
}

fn epoch_of(owner: &str) -> u32 {
    owner.split(' ').next().and_then(|epoch| epoch.parse().ok()).unwrap_or(0)
}

fn run_token(owner: &str) -> &str {
    owner.rsplit_once(' ').map_or("", |(_, run)| run)
}

fn failed(error: JsValue) -> StoreError {
    let name = js_sys::Reflect::get(&error, &"name".into()).ok().and_then(|name| name.as_string()).unwrap_or_default();
    StoreError::Failed(match name.as_str() {
        "QuotaExceededError" => "This page’s storage is full.".to_string(),
        other => format!("This page’s storage refused a write ({other})."),
    })
}

impl Store for LocalStore {
    fn append(&mut self, writer: Writer, record: &Arc<Record>) -> Result<(), StoreError> {
        self.check(writer)?;
        // Another writer may have gone on if nobody checks: behind the last record is behind all records.
        while !writer.fenced && self.get(&place("log", self.records)).is_some() {
            self.records += 1;
        }
        self.set_in_series("log", self.records, &record.to_line())?;
        self.records += 1;
        Ok(())
    }

    fn save(&mut self, writer: Writer, state: &Arc<AgentState>) -> Result<SavedSnapshot, StoreError> {
        self.check(writer)?;
        let json = checkpoint::encode(state);
        let found = self.slots();
        let newest = found.iter().flatten().map(|found| found.generation).max().unwrap_or(0);
        let generation = newest.saturating_add(1);
        // The newest snapshot that can be used stays, whatever is in the other slot.
        let usable =
            |slot: &Option<FoundSnapshot>| slot.as_ref().filter(|found| found.state.is_ok()).map(|found| found.generation);
        let slot = if usable(&found[0]) > usable(&found[1]) { SLOTS[1] } else { SLOTS[0] };
        self.set(slot, &seal(generation, &json))?;
        Ok(SavedSnapshot { bytes: json.len() as u64, generation })
    }

    fn take_over(&mut self) -> Result<u32, StoreError> {
        let before = self.owner_now();
        let epoch = epoch_of(&before).saturating_add(1);
        let writer = draw().map_err(StoreError::Failed)?;
        let run = match run_token(&before) {
            "" => format!("{:08x}", draw().map_err(StoreError::Failed)?),
            run => run.to_string(),
        };
        let owner = format!("{epoch} {writer:08x} {run}");
        self.set(OWNER, &owner)?;
        self.owner = owner;
        let durable = self.read();
        self.records = durable.records.len();
        // A record that was cut was never durable. It makes room, as whoever writes behind it would make it one in the middle.
        if durable.log_damage.is_some_and(|damage| damage.is_torn_end) {
            self.storage.remove_item(&self.key(&place("log", self.records))).map_err(failed)?;
        }
        Ok(epoch)
    }

    fn epoch(&self) -> u32 {
        epoch_of(&self.owner_now())
    }

    fn read(&self) -> Durable {
        let lines = self.series("log", 0);
        let mut durable = Durable { snapshots: self.snapshots(), ..Durable::default() };
        let is_whole = self.keys_under("log/").len() == lines.len();
        for (index, line) in lines.iter().enumerate() {
            match Record::from_line(line) {
                Ok(record) => durable.records.push(Arc::new(record)),
                Err(error) => {
                    // A cut leaves no JSON; what is JSON and no record was changed by somebody.
                    let is_torn_end = is_whole && index + 1 == lines.len() && parse(line).is_err();
                    durable.log_damage = Some(LogDamage { message: format!("record {index}: {error}"), is_torn_end });
                    return durable;
                }
            }
        }
        if !is_whole {
            let message = format!("record {} is missing, and others stand behind it", lines.len());
            durable.log_damage = Some(LogDamage { message, is_torn_end: false });
        }
        durable
    }

    /// What is in the two slots.
    fn snapshots(&self) -> Vec<FoundSnapshot> {
        let mut found: Vec<FoundSnapshot> = self.slots().into_iter().flatten().collect();
        if let [first, second] = found.as_mut_slice()
            && first.generation < second.generation
        {
            std::mem::swap(first, second);
        }
        found
    }
}

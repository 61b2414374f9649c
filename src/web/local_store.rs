//! Storage in localStorage: one key a record, two slots for snapshots.
//!
//! A record of its own key makes a write as long as the record, not as the log, and a torn write tears one record.

use std::sync::Arc;

use wasm_bindgen::JsValue;
use web_sys::Storage;

use crate::agent::state::AgentState;
use crate::log::checkpoint;
use crate::log::record::Record;
use crate::log::store::{Durable, FoundSnapshot, LogDamage, SavedSnapshot, Store, StoreError, Writer, seal, unseal};

/// What all keys of the lab begin with.
pub(crate) const PREFIX: &str = "crashlab/";

/// The storage of one run.
#[derive(Clone, Debug)]
pub struct LocalStore {
    storage: Storage,
    run_id: String,
    records: usize,
}

/// The page's localStorage, or a sentence that says why there is none.
pub(crate) fn local_storage() -> Result<Storage, String> {
    let absent = || "This browser keeps nothing for this page (localStorage is not available).".to_string();
    let window = web_sys::window().ok_or_else(absent)?;
    window.local_storage().ok().flatten().ok_or_else(absent)
}

impl LocalStore {
    /// The storage of a run, with what is there.
    pub fn open(run_id: &str) -> Result<LocalStore, StoreError> {
        let storage = local_storage().map_err(StoreError::Failed)?;
        let mut store = LocalStore { storage, run_id: run_id.to_string(), records: 0 };
        store.records = store.read().records.len();
        Ok(store)
    }

    /// The storage of a run, with whatever was there taken away.
    pub fn create(run_id: &str) -> Result<LocalStore, StoreError> {
        let storage = local_storage().map_err(StoreError::Failed)?;
        let store = LocalStore { storage, run_id: run_id.to_string(), records: 0 };
        store.clear()?;
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

    /// Values `rest/000000`, `rest/000001`, … as far as they go.
    pub fn series(&self, rest: &str) -> Vec<String> {
        (0..).map_while(|index| self.get(&place(rest, index))).collect()
    }

    /// Writes one value of a series.
    pub fn set_in_series(&self, rest: &str, index: usize, value: &str) -> Result<(), StoreError> {
        self.set(&place(rest, index), value)
    }

    /// Records in the log, without reading what they say again.
    pub fn record_count(&self) -> usize {
        self.records
    }

    /// Takes everything of this run away.
    pub fn clear(&self) -> Result<(), StoreError> {
        let own = self.key("");
        for key in keys(&self.storage) {
            if key.starts_with(&own) {
                self.storage.remove_item(&key).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn check(&self, writer: Writer) -> Result<(), StoreError> {
        let owner_epoch = self.epoch();
        let refused = writer.fenced && writer.epoch != owner_epoch;
        if refused { Err(StoreError::Fenced { owner_epoch }) } else { Ok(()) }
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

fn failed(error: JsValue) -> StoreError {
    let name = js_sys::Reflect::get(&error, &"name".into()).ok().and_then(|name| name.as_string()).unwrap_or_default();
    StoreError::Failed(match name.as_str() {
        "QuotaExceededError" => "This page's storage is full.".to_string(),
        other => format!("This page's storage refused a write ({other})."),
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
        let newest = self.snapshots().first().map_or(0, |found| found.generation);
        let generation = newest + 1;
        self.set(slot(generation), &seal(generation, &json))?;
        Ok(SavedSnapshot { bytes: json.len() as u64, generation })
    }

    fn take_over(&mut self) -> Result<u32, StoreError> {
        let epoch = self.epoch() + 1;
        self.set("epoch", &epoch.to_string())?;
        self.records = self.read().records.len();
        Ok(epoch)
    }

    fn epoch(&self) -> u32 {
        self.get("epoch").and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    fn read(&self) -> Durable {
        let lines = self.series("log");
        let mut durable = Durable { snapshots: self.snapshots(), ..Durable::default() };
        for (index, line) in lines.iter().enumerate() {
            match Record::from_line(line) {
                Ok(record) => durable.records.push(Arc::new(record)),
                Err(error) => {
                    let is_torn_end = index + 1 == lines.len();
                    durable.log_damage = Some(LogDamage { message: format!("record {index}: {error}"), is_torn_end });
                    break;
                }
            }
        }
        durable
    }

    /// What is in the two slots.
    fn snapshots(&self) -> Vec<FoundSnapshot> {
        let mut found: Vec<FoundSnapshot> =
            ["checkpoint/a", "checkpoint/b"].iter().filter_map(|slot| self.get(slot)).map(|text| unseal(&text)).collect();
        if let [first, second] = found.as_mut_slice()
            && first.generation < second.generation
        {
            std::mem::swap(first, second);
        }
        found
    }
}

fn slot(generation: u64) -> &'static str {
    if generation.is_multiple_of(2) { "checkpoint/a" } else { "checkpoint/b" }
}

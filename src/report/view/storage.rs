//! Storage: the log and the checkpoint.

use std::sync::Arc;

use serde_json::Value;

use super::HostFacts;
use crate::agent::state::AgentState;
use crate::base::json::pretty;
use crate::lab::session::Session;
use crate::log::checkpoint;
use crate::log::store::FoundSnapshot;
use crate::record::{Record, RecordBody, object};

/// The snapshots as they are shown. Made when they are saved or read, as it costs as much as the newest is long.
#[derive(Clone, Debug)]
pub struct Snapshots {
    generations: Value,
    summary: Value,
}

impl Default for Snapshots {
    fn default() -> Snapshots {
        snapshots_view(&[])
    }
}

/// The snapshots as they are shown.
pub fn snapshots_view(snapshots: &[FoundSnapshot]) -> Snapshots {
    let generation = |found: &FoundSnapshot| {
        object([
            ("generation", found.generation.into()),
            ("step", found.state.as_ref().map_or(0, |state| state.step).into()),
            ("bytes", found.bytes.into()),
            ("damage", found.state.as_ref().err().map(String::as_str).into()),
        ])
    };
    let entry = |(key, value): (String, String)| object([("key", key.into()), ("value", value.into())]);
    let summary = |state: &Arc<AgentState>| checkpoint::summary(state).into_iter().map(entry).collect::<Value>();
    Snapshots { generations: snapshots.iter().map(generation).collect(), summary: newest(snapshots).map(summary).into() }
}

fn newest(snapshots: &[FoundSnapshot]) -> Option<&Arc<AgentState>> {
    snapshots.iter().find_map(|found| found.state.as_ref().ok())
}

/// Storage as it is.
pub(super) fn storage_view(log: &[Arc<Record>], host: HostFacts) -> Value {
    storage_with(log, host, Value::Null)
}

fn storage_with(log: &[Arc<Record>], host: HostFacts, checkpoint_json: Value) -> Value {
    object([
        ("records", log.len().into()),
        ("log_bytes", host.log_bytes.into()),
        ("epoch", host.epoch.into()),
        ("generations", host.snapshots.generations),
        ("summary", host.snapshots.summary),
        ("checkpoint_json", checkpoint_json),
        ("warning", host.warning.into()),
    ])
}

/// Storage as the log tells of it.
pub(super) fn storage_as_of(session: &Session, log: &[Arc<Record>]) -> Value {
    let snapshots = snapshots_in(session, log);
    let host = HostFacts {
        warning: None,
        snapshots: snapshots_view(&snapshots),
        epoch: 1 + log.iter().filter(|record| matches!(record.body, RecordBody::Resume { .. })).count() as u32,
        log_bytes: log.iter().map(|record| record.to_line().len() + 1).sum(),
    };
    let checkpoint_json = newest(&snapshots).map(|state| pretty(&checkpoint::to_json(state)));
    storage_with(log, host, checkpoint_json.into())
}

/// The snapshots as the log tells of them.
fn snapshots_in(session: &Session, log: &[Arc<Record>]) -> Vec<FoundSnapshot> {
    let saved = log.iter().enumerate().rev().filter_map(|(index, record)| match &record.body {
        RecordBody::Checkpoint { bytes, generation } => Some((index, *bytes, *generation)),
        _ => None,
    });
    let found = |(index, bytes, generation): (usize, u64, u64)| {
        let state = session.run_at(index).map(|run| run.state).map_err(|error| error.to_string());
        FoundSnapshot { generation, bytes, state }
    };
    saved.take(2).map(found).collect()
}

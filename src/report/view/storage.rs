//! Storage: the log and the checkpoint.

use std::sync::Arc;

use serde::Serialize;

use super::{HostFacts, pretty};
use crate::agent::state::AgentState;
use crate::lab::session::Session;
use crate::log::checkpoint;
use crate::log::record::{Record, RecordBody};
use crate::log::store::FoundSnapshot;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct StorageView {
    records: usize,
    log_bytes: usize,
    epoch: u32,
    generations: Vec<GenerationView>,
    summary: Option<Vec<SummaryView>>,
    checkpoint_json: Option<String>,
    warning: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct GenerationView {
    generation: f64,
    step: u32,
    bytes: f64,
    damage: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct SummaryView {
    key: String,
    value: String,
}

/// The snapshots as they are shown. Made when they are saved or read, as it costs as much as the newest is long.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshots {
    generations: Vec<GenerationView>,
    summary: Option<Vec<SummaryView>>,
}

/// The snapshots as they are shown.
pub fn snapshots_view(snapshots: &[FoundSnapshot]) -> Snapshots {
    let generation = |found: &FoundSnapshot| GenerationView {
        generation: found.generation as f64,
        step: found.state.as_ref().map_or(0, |state| state.step),
        bytes: found.bytes as f64,
        damage: found.state.as_ref().err().cloned(),
    };
    let summary =
        |state: &Arc<AgentState>| checkpoint::summary(state).into_iter().map(|(key, value)| SummaryView { key, value }).collect();
    Snapshots { generations: snapshots.iter().map(generation).collect(), summary: newest(snapshots).map(summary) }
}

fn newest(snapshots: &[FoundSnapshot]) -> Option<&Arc<AgentState>> {
    snapshots.iter().find_map(|found| found.state.as_ref().ok())
}

/// Storage as it is.
pub(super) fn storage_view(log: &[Arc<Record>], host: HostFacts) -> StorageView {
    StorageView {
        records: log.len(),
        log_bytes: host.log_bytes,
        epoch: host.epoch,
        generations: host.snapshots.generations,
        summary: host.snapshots.summary,
        checkpoint_json: None,
        warning: host.warning,
    }
}

/// Storage as the log tells of it.
pub(super) fn storage_as_of(session: &Session, log: &[Arc<Record>]) -> StorageView {
    let snapshots = snapshots_in(session, log);
    let host = HostFacts {
        warning: None,
        snapshots: snapshots_view(&snapshots),
        epoch: 1 + log.iter().filter(|record| matches!(record.body, RecordBody::Resume { .. })).count() as u32,
        log_bytes: log.iter().map(|record| record.to_line().len() + 1).sum(),
    };
    let checkpoint_json = newest(&snapshots).map(|state| pretty(&checkpoint::to_json(state)));
    StorageView { checkpoint_json, ..storage_view(log, host) }
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

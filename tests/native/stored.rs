//! What an earlier version stored is gone on from: the traces in `tests/stored/`, cut behind each of their records.

use std::path::PathBuf;
use std::sync::Arc;

use crashlab::lab::crash_points::RunProgress;
use crashlab::lab::explore::replay::Replay;
use crashlab::lab::ledger::{Entry, Row};
use crashlab::lab::run_file::RunFile;
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup};
use crashlab::lab::world::World;
use crashlab::log::recovery::recover;
use crashlab::log::store::{Durable, MemoryStore};
use crashlab::record::{Record, RecordBody, Status, read_log};
use serde_json::Value;

use crate::support::{books, read};

/// A trace, the books that the world kept beside it, and the scenario as it was then.
struct Stored {
    scenario: Arc<Scenario>,
    log: Vec<Arc<Record>>,
    rows: Vec<Arc<Row>>,
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stored/v1").join(name)
}

fn file(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The files of a folder that end like this, without the ending.
fn names(folder: &str, ending: &str) -> Vec<String> {
    let files = std::fs::read_dir(path(folder)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter_map(|name| name.strip_suffix(ending).map(str::to_string)).collect();
    names.sort();
    names
}

fn all_stored() -> Vec<Stored> {
    names("logs", ".world.jsonl").iter().map(|id| stored(id)).collect()
}

fn stored(id: &str) -> Stored {
    let (records, torn) = read_log(&file(&format!("logs/{id}.jsonl"))).unwrap_or_else(|error| panic!("{id}: {error}"));
    assert_eq!(torn, None, "{id}");
    // A record of an unknown type is passed over, and with it what it did.
    for record in &records {
        assert!(!matches!(record.body, RecordBody::Unknown { .. }), "{id}: {}", record.to_line());
    }
    let rows = file(&format!("logs/{id}.world.jsonl"));
    let rows = rows.lines().map(|line| Arc::new(Row::from_line(line).unwrap_or_else(|error| panic!("{id}: {error}"))));
    Stored { scenario: scenario(id), log: records.into_iter().map(Arc::new).collect(), rows: rows.collect() }
}

/// The document that the page stored with the run, which may be another than what is shipped today.
fn scenario(id: &str) -> Arc<Scenario> {
    let page: Value = serde_json::from_str(&file(&format!("page/{id}.json"))).unwrap();
    let mut entries = page["entries"].as_array().unwrap().iter();
    let document = entries.find(|entry| entry[0].as_str().unwrap().ends_with("/scenario"));
    read(document.unwrap_or_else(|| panic!("{id} has no scenario"))[1].as_str().unwrap())
}

impl Stored {
    /// What is left if everything behind the first records is lost. `done`: whether what the last of them announces has happened.
    fn cut(&self, records: usize, done: bool) -> (Vec<Arc<Record>>, Vec<Arc<Row>>, RunProgress) {
        let log = self.log[..records].to_vec();
        let last = records as u64 - 1;
        let mut cause = 0;
        let happened = |row: &&Arc<Row>| match (row.record, &row.entry) {
            // The world went on while no agent was alive.
            (None, entry) if !matches!(entry, Entry::Decision { .. }) => {
                self.crashes().any(|(place, at_ms)| place <= last && at_ms <= row.at_ms)
            }
            // Who was asked answers.
            (record, _) => {
                cause = record.unwrap_or(cause);
                cause < last || (done && cause == last)
            }
        };
        let rows = self.rows.iter().take_while(happened).cloned().collect();
        let crashes = self.crashes().take_while(|(place, _)| *place <= last).count();
        let progress = RunProgress {
            crashes: crashes as u32,
            points_met: self.scenario.crashes.iter().take(crashes).map(|point| point.nth).collect(),
            ..RunProgress::default()
        };
        (log, rows, progress)
    }

    /// The places of the crashes in the log, and their times.
    fn crashes(&self) -> impl Iterator<Item = (u64, u64)> {
        let is_crash = |record: &Record| matches!(record.body, RecordBody::Crash { .. });
        (0..).zip(&self.log).filter(move |(_, record)| is_crash(record)).map(|(place, record)| (place, record.ts_ms))
    }

    fn setup(&self) -> Setup {
        Setup::of(&self.scenario)
    }

    fn world(&self, rows: &[Arc<Row>]) -> World {
        World::with_rows(self.scenario.clone(), true, rows.to_vec())
    }
}

#[test]
fn every_stored_log_is_recovered_from_behind_each_of_its_records() {
    let mut cuts = 0;
    for stored in all_stored() {
        let Setup { mechanisms, seed, .. } = stored.setup();
        let config = Arc::new(stored.scenario.config(mechanisms, seed, stored.log[0].run_id.clone()));
        for records in 1..=stored.log.len() {
            let log = stored.log[..records].to_vec();
            let now_ms = log[records - 1].ts_ms + 60_000;
            let durable = Durable { records: log, ..Durable::default() };
            if let Err(error) = recover(config.clone(), &durable, now_ms) {
                panic!("{} behind record {}: {error}", stored.scenario.id, records - 1);
            }
            cuts += 1;
        }
    }
    assert_eq!(cuts, 884);
}

#[test]
fn a_stored_run_that_is_resumed_behind_any_record_ends_as_it_did() {
    for stored in all_stored() {
        let end = stored.world(&stored.rows);
        for records in 1..=stored.log.len() {
            for done in [false, true] {
                let place = format!("{} behind record {}, done: {done}", stored.scenario.id, records - 1);
                let is_model_call_in_doubt = matches!(stored.log[records - 1].body, RecordBody::LlmRequest { .. });
                let (records, rows, progress) = stored.cut(records, done);
                let mut store = MemoryStore::copy_of(&Durable { records, ..Durable::default() }, 1);
                let mut session = Session::reopen(stored.setup(), rows, progress, &store);
                session.resume(&mut store).unwrap_or_else(|error| panic!("{place}: {error}"));
                let status = session.run_to_end(&mut store).unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(Some(status), end.closed_as(), "{place}");
                // A model call in doubt counts as if it had cost what it could, so the budget may be used up before the refund.
                if status != Status::BudgetUsd || !is_model_call_in_doubt {
                    assert_eq!(books(session.world()), books(&end), "{place}");
                }
            }
        }
    }
}

#[test]
fn run_files_and_replay_files_give_the_runs_that_they_gave() {
    let runs = names("files", ".run.json");
    assert_eq!(runs.len(), 6);
    for name in runs {
        let file = RunFile::from_json(&file(&format!("files/{name}.run.json"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (session, _) = file.run().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(session.world().closed_as().is_some(), "{name}");
        assert_eq!(session.breaches(), [], "{name}");
    }
    let replays = names("replays", ".json");
    assert_eq!(replays.len(), 4);
    for name in replays {
        let replay =
            Replay::from_json(&file(&format!("replays/{name}.json"))).unwrap_or_else(|misfit| panic!("{name}: {misfit}"));
        let setup = replay.setup(|id| Some(scenario(id).json.to_string())).unwrap_or_else(|misfit| panic!("{name}: {misfit}"));
        let (session, _) = replay.run(&setup).unwrap_or_else(|misfit| panic!("{name}: {misfit}"));
        assert!(!session.breaches().is_empty(), "{name}");
    }
}

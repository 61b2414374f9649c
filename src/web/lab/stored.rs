//! What of a run is stored beside log and checkpoint: the world's books, and the session.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Lab;
use crate::base::json::{Fields, ReadError, compact, count, parse, read};
use crate::lab::crash_points::RunProgress;
use crate::lab::ledger::Row;
use crate::lab::mechanisms::{Mechanism, Mechanisms};
use crate::lab::replay::{Command, CommandKind};
use crate::lab::session::Session;
use crate::log::store::{LogDamage, MemoryStore, Store};
use crate::record::Status;
use crate::report::view::snapshots_view;
use crate::web::local_store::LocalStore;
use crate::web::runs::{SESSION_VERSION, check_version};

/// Storage in memory or in localStorage.
pub(super) enum AnyStore {
    Memory(MemoryStore),
    Local(LocalStore),
}

impl AnyStore {
    pub(super) fn inner(&self) -> &dyn Store {
        match self {
            AnyStore::Memory(store) => store,
            AnyStore::Local(store) => store,
        }
    }

    pub(super) fn inner_mut(&mut self) -> &mut dyn Store {
        match self {
            AnyStore::Memory(store) => store,
            AnyStore::Local(store) => store,
        }
    }
}

impl Lab {
    /// Takes note of what is in storage, and of what is wrong with it.
    pub(super) fn read_storage(&mut self) {
        let durable = self.store.inner().read();
        self.shown.snapshots = snapshots_view(&durable.snapshots);
        self.log_damage = durable.log_damage.map(|LogDamage { message, is_torn_end }| match is_torn_end {
            true => format!(
                "The last record was cut in the middle of a write and is left out; nothing had been decided on it ({message})."
            ),
            false => format!("The log is damaged. It is shown up to there, and the run cannot go on from it ({message})."),
        });
    }

    /// Takes up what others have written: there is one world and one log, whoever drives an agent on them.
    pub(super) fn read_others(&mut self) {
        let AnyStore::Local(store) = &self.store else {
            return;
        };
        let (rows, log) = (self.session.world().rows(), self.session.log());
        let has_unsaved = rows.len() > self.saved_rows;
        let is_new = store.has_in_series("world", rows.len()) || store.has_in_series("log", log.len());
        if has_unsaved || !is_new || !store.is_same_run() {
            return;
        }
        // A row that cannot be read is named when the run is opened next.
        let new_rows = read_rows(store, rows.len()).unwrap_or_default();
        let rows: Vec<_> = rows.iter().cloned().chain(new_rows).collect();
        let stored = store.read().records;
        let log = if stored.len() > log.len() { stored } else { log.to_vec() };
        self.saved_rows = rows.len();
        self.session.take_up(rows, log);
        self.counted_records = 0;
        self.shown.log_bytes = 0;
        self.read_storage();
    }

    /// True if another agent has the run, and there may be one only.
    fn is_kept_out(&self, store: &LocalStore) -> bool {
        self.session.mechanisms().has(Mechanism::SingleWriter) && !store.is_owner()
    }

    /// Writes what has changed outside the agent. The world does not stop because this page cannot write it down.
    pub(super) fn save_session(&mut self) {
        let AnyStore::Local(store) = &self.store else {
            return;
        };
        if !store.is_same_run() {
            return;
        }
        let rows = self.session.world().rows();
        let save_rows = || {
            for (index, row) in rows.iter().enumerate().skip(self.saved_rows) {
                store.set_in_series("world", index, &row.to_line())?;
            }
            if self.is_kept_out(store) {
                Ok(())
            } else {
                store.set("session", &write_session(&self.session, self.branch, &self.commands))
            }
        };
        self.warning = match save_rows() {
            Ok(()) => {
                self.saved_rows = rows.len();
                None
            }
            Err(error) => Some(format!("{error} What happens now is gone with the page.")),
        };
    }
}

pub(super) fn read_rows(store: &LocalStore, from: usize) -> Result<Vec<Arc<Row>>, ReadError> {
    store.series("world", from).iter().map(|line| Row::from_line(line).map(Arc::new)).collect()
}

pub(super) fn write_session(session: &Session, branch: u32, commands: &[Command]) -> String {
    let progress = session.progress();
    let scenario = session.scenario();
    let question_open = session.world().inbox().iter().any(|question| question.decided.is_none());
    let step = session.log().last().map_or(0, |record| record.step);
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_string(), value);
    };
    put("version", SESSION_VERSION.into());
    put("task_id", Value::from(&*scenario.task_id));
    put("scenario_id", Value::from(scenario.id.as_str()));
    put("scenario_title", Value::from(scenario.title.as_str()));
    put("step", step.into());
    // Storage that took no more is the one status that is not final: with room again the run goes on.
    let status = session.status().filter(|status| *status != Status::StorageFailed);
    put("status", status.map_or(Value::Null, |status| status.as_str().into()));
    put("question_open", question_open.into());
    put("branch", branch.into());
    put("moment", session.half_step().into());
    put("rows", session.world().rows().len().into());
    put("alive", (session.agent().is_some() && session.status().is_none()).into());
    put("deeds", commands.iter().map(Command::to_json).collect());
    put("saved_at_ms", (now_ms() as u64).into());
    put("seed", session.config().seed.into());
    put("mechanisms", session.mechanisms().to_json());
    put("effects", progress.effects.into());
    put("crashes", progress.crashes.into());
    put("resumes", progress.resumes.into());
    put("spots_met", progress.points_met.iter().copied().map(Value::from).collect());
    compact(&Value::Object(fields))
}

/// The wall clock, for people who look for a run of last week. Nothing of a run depends on it.
fn now_ms() -> f64 {
    js_sys::Date::now()
}

/// What is stored of a run beside log, checkpoint and the world's books.
pub(super) struct Kept {
    pub(super) mechanisms: Mechanisms,
    pub(super) seed: u64,
    pub(super) progress: RunProgress,
    pub(super) branch: u32,
    pub(super) commands: Vec<Command>,
    /// Rows of the world's books. There may be more of them, as they are written first.
    pub(super) rows: u64,
}

pub(super) fn read_session(text: &str) -> Result<Kept, ReadError> {
    read(&parse(text)?, "$", |from| {
        check_version(from);
        let met = |value: &Value| count(value).and_then(|met| u32::try_from(met).ok()).unwrap_or(0);
        let progress = RunProgress {
            effects: from.u64("effects"),
            crashes: from.u32("crashes"),
            resumes: from.u32("resumes"),
            points_met: from.array("spots_met").iter().map(met).collect(),
        };
        let mut commands = from.optional("deeds", Command::read_list).unwrap_or_default();
        // Whose agent was alive when it was last heard of has lost it with its page.
        if from.optional("alive", Fields::bool).unwrap_or(false) {
            commands.push(Command { half_step: from.u64("moment"), kind: CommandKind::KillUnrecorded });
        }
        Kept {
            mechanisms: Mechanisms::from_json(&from.object("mechanisms")),
            seed: from.u64("seed"),
            progress,
            branch: from.optional("branch", Fields::u32).unwrap_or(0),
            commands,
            rows: from.optional("rows", Fields::u64).unwrap_or(0),
        }
    })
}

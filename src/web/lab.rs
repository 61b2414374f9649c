//! `Lab`: a session and its storage, for JavaScript.

mod options;
mod stored;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;

use super::local_store::LocalStore;
use super::runs::{scenario_info, unreadable};
use super::{lab_error, scenario_of, to_js};
use crate::agent::protocol::EffectKind;
use crate::base::json::{Fields, compact, parse, pretty, read};
use crate::lab::replay::{Command, CommandKind, Until, replay};
use crate::lab::scenario::When;
use crate::lab::session::{Session, SessionError, Setup, Tick};
use crate::log::checkpoint;
use crate::log::store::{MemoryStore, StoreError};
use crate::record::{Decision, object};
use crate::report::gaps::gaps_ahead;
use crate::report::view::{
    HostFacts, Known, LogRows, RecordView, effect_in_flight, record_detail, snapshots_view, view, view_at,
};
use options::{Options, origin_of, run_id_of};
use stored::{AnyStore, Kept, read_rows, read_session, write_session};

/// A run in the lab.
#[wasm_bindgen]
pub struct Lab {
    session: Session,
    store: AnyStore,
    /// Rows of the world's books that are in localStorage.
    saved_rows: usize,
    /// Why the last write beside log and checkpoint failed.
    warning: Option<String>,
    /// What was wrong with the log when it was last read: at the opening and at a resume, not at every frame.
    log_damage: Option<String>,
    /// What is shown of storage, kept so that a frame costs the same late in a run as early.
    shown: HostFacts,
    /// Records whose bytes are counted in `shown`.
    counted_records: usize,
    /// The log as the list shows it.
    rows: LogRows,
    branch: u32,
    /// The checkpoint of another run with which it began, as JSON text.
    origin: Option<String>,
    /// What was done to the run, so that it can be done again.
    commands: Vec<Command>,
}

#[wasm_bindgen]
impl Lab {
    /// Starts a run. Whatever localStorage holds of the same run is replaced.
    #[wasm_bindgen]
    pub fn start(#[wasm_bindgen(unchecked_param_type = "LabOptions")] options: JsValue) -> Result<Lab, JsValue> {
        let mut lab = Lab::set_up(&Options::of(&options)?)?;
        lab.save_session();
        Ok(lab)
    }

    /// Starts a run and does to it what was done to another: `deeds_json` is what `deeds_json()` gave, whole or with
    /// `records` instead of `moment`, which ends it when the log has so many records.
    #[wasm_bindgen]
    pub fn replay(
        #[wasm_bindgen(unchecked_param_type = "LabOptions")] options: JsValue,
        deeds_json: &str,
    ) -> Result<Lab, JsValue> {
        let misfit = |message: String| lab_error("misfit", &message);
        let told = parse(deeds_json).and_then(|value| {
            read(&value, "deeds", |from| {
                let until = match from.optional("records", Fields::u64) {
                    Some(records) => Until::Records(usize::try_from(records).unwrap_or(usize::MAX)),
                    None => Until::HalfStep(from.u64("moment")),
                };
                (Command::read_list(from, "deeds"), until)
            })
        });
        let (commands, until) = told.map_err(|error| misfit(error.to_string()))?;
        let mut lab = Lab::set_up(&Options::of(&options)?)?;
        match replay(&mut lab.session, lab.store.inner_mut(), &commands, until) {
            Ok(done) => lab.commands = done,
            Err(error) => {
                if let AnyStore::Local(store) = &lab.store {
                    // What cannot be told to its end is not kept; the reason goes to the caller.
                    let _ = store.clear();
                }
                return Err(misfit(error.to_string()));
            }
        }
        lab.read_storage();
        lab.save_session();
        Ok(lab)
    }

    /// The name that a run with these options has in storage.
    #[wasm_bindgen]
    pub fn run_id_of(#[wasm_bindgen(unchecked_param_type = "LabOptions")] options: JsValue) -> Result<String, JsValue> {
        let options = Options::of(&options)?;
        let (setup, origin) = (options.setup()?, origin_of(options.checkpoint.as_deref())?);
        Ok(run_id_of(&setup, origin.as_ref()).to_string())
    }

    /// Opens a run that is in localStorage. Its agent is gone: `resume` makes a new one.
    #[wasm_bindgen]
    pub fn open(run_id: &str) -> Result<Lab, JsValue> {
        let store = LocalStore::open(run_id).map_err(store_error)?;
        let missing = || lab_error("not_found", &format!("there is no run `{run_id}` in this browser"));
        let text = store.get("session").ok_or_else(missing)?;
        let damaged = |error: &dyn fmt::Display| lab_error("damaged", &unreadable(run_id, error));
        let json = store.get("scenario").ok_or_else(|| damaged(&"its scenario is missing"))?;
        let scenario = scenario_of(&json)?;
        let Kept { mechanisms, seed, progress, branch, commands, rows: kept_rows } =
            read_session(&text).map_err(|error| damaged(&error))?;
        let rows = read_rows(&store, 0).map_err(|error| damaged(&error))?;
        if (rows.len() as u64) < kept_rows {
            // Without them money would move a second time, and the books would not show it.
            return Err(damaged(&format!("row {} of the world’s books is missing", rows.len())));
        }
        let saved_rows = rows.len();
        let setup = Setup { scenario, mechanisms, seed, interactive: true, branch };
        let origin = store.get("origin");
        let session = match origin_of(origin.as_deref())? {
            Some(state) => Session::reopen_from(setup, &state, rows, progress, &store),
            None => Session::reopen(setup, rows, progress, &store),
        };
        let mut lab = Lab { saved_rows, branch, commands, origin, ..Lab::new(session, AnyStore::Local(store)) };
        lab.read_storage();
        Ok(lab)
    }

    /// Goes half an effect further.
    #[wasm_bindgen(unchecked_return_type = "Tick")]
    pub fn tick(&mut self) -> Result<JsValue, JsValue> {
        self.read_others();
        let saves =
            matches!(self.session.in_flight(), Some((effect, _)) if matches!(effect.kind, EffectKind::SaveCheckpoint { .. }));
        let armed = self.session.armed();
        let tick = self.session.tick(self.store.inner_mut());
        // A crash that the scenario has in it happens by itself; one that was armed is a deed.
        if let (Some((effect, when)), None) = (armed, self.session.armed()) {
            let half_step = 2 * (effect + 1) - u64::from(when == When::Before);
            self.commands.push(Command { half_step, kind: CommandKind::Crash });
        }
        if saves {
            self.shown.snapshots = snapshots_view(&self.store.inner().snapshots());
        }
        self.save_session();
        let effect = || ("effect", effect_in_flight(&self.session));
        to_js(&match tick {
            Tick::Happened { takes_ms } => object([("type", "happened".into()), effect(), ("takes_ms", takes_ms.into())]),
            Tick::Answered => object([("type", "answered".into()), effect()]),
            Tick::WaitingForPerson { approval_key } => {
                object([("type", "waiting_for_person".into()), ("approval_key", Value::from(&*approval_key))])
            }
            Tick::Crashed { armed } => object([("type", "crashed".into()), ("armed", armed.into())]),
            Tick::Stopped { status } => object([("type", "stopped".into()), ("status", status.as_str().into())]),
            Tick::Fenced => {
                let message = "Another agent has taken this run over; this one may write nothing more.";
                object([("type", "fenced".into()), ("message", message.into())])
            }
        })
    }

    /// A person decides. `decision`: `approved` or `denied`; `approver`: a name such as `maya`.
    #[wasm_bindgen]
    pub fn decide(&mut self, approval_key: &str, decision: &str, approver: &str, note: &str) -> Result<(), JsValue> {
        let approved = match decision {
            "approved" => true,
            "denied" => false,
            other => return Err(lab_error("bad_argument", &format!("a decision is `approved` or `denied`, not `{other}`"))),
        };
        let note = Some(note.trim()).filter(|note| !note.is_empty()).map(Arc::from);
        let name = Some(approver.trim()).filter(|name| !name.is_empty()).unwrap_or("somebody");
        let decision = Decision::new(approved, format!("human:{name}"), note.clone());
        self.read_others();
        let half_step = self.session.half_step();
        self.session.decide(approval_key, decision).map_err(session_error)?;
        self.commands.push(Command { half_step, kind: CommandKind::Decide { approved, approver: name.into(), note } });
        self.save_session();
        Ok(())
    }

    /// Kills the agent at once.
    #[wasm_bindgen]
    pub fn crash(&mut self) {
        self.read_others();
        let (half_step, crashes) = (self.session.half_step(), self.session.progress().crashes);
        self.session.crash(self.store.inner_mut());
        if self.session.progress().crashes > crashes {
            self.commands.push(Command { half_step, kind: CommandKind::Crash });
        }
        self.save_session();
    }

    /// A new agent takes the run over, from what is in storage.
    #[wasm_bindgen]
    pub fn resume(&mut self) -> Result<(), JsValue> {
        self.read_others();
        let (half_step, resumes) = (self.session.half_step(), self.session.progress().resumes);
        self.session.resume(self.store.inner_mut()).map_err(session_error)?;
        if self.session.progress().resumes > resumes {
            self.commands.push(Command { half_step, kind: CommandKind::Resume });
        }
        self.read_storage();
        self.save_session();
        Ok(())
    }

    /// A second tab resumes the run although its agent lives: this page then follows the new agent, and `view().rival` is the old one.
    #[wasm_bindgen]
    pub fn open_second_tab(&mut self) -> Result<(), JsValue> {
        let half_step = self.session.half_step();
        self.session.open_second_tab(self.store.inner_mut()).map_err(session_error)?;
        self.commands.push(Command { half_step, kind: CommandKind::SecondTab });
        self.read_storage();
        self.save_session();
        Ok(())
    }

    /// The agent will die at a gap: `index` and `when` (`before`, `after`) of one of `gaps()`.
    #[wasm_bindgen]
    pub fn arm(&mut self, index: u32, when: &str) -> Result<(), JsValue> {
        let when = When::from_name(when)
            .ok_or_else(|| lab_error("bad_argument", &format!("`when` is before or after, not `{when}`")))?;
        self.session.arm(index.into(), when);
        Ok(())
    }

    /// The agent will not die by itself after all.
    #[wasm_bindgen]
    pub fn disarm(&mut self) {
        self.session.disarm();
    }

    /// The gaps ahead at which a crash can be armed.
    #[wasm_bindgen(unchecked_return_type = "Gap[]")]
    pub fn gaps(&self) -> Result<JsValue, JsValue> {
        let copy = MemoryStore::copy_of(&self.store.inner().read(), self.store.inner().epoch());
        to_js(&gaps_ahead(&self.session, &copy))
    }

    /// The panels as they are now, without the messages and the rows of the world's books that the caller knows.
    #[wasm_bindgen(unchecked_return_type = "LabView")]
    pub fn view(&mut self, known_messages: usize, known_rows: usize) -> Result<JsValue, JsValue> {
        let log = self.session.log();
        // A resume can leave a torn record out: then everything is counted anew.
        if log.len() < self.counted_records {
            (self.counted_records, self.shown.log_bytes) = (0, 0);
        }
        self.shown.log_bytes += log.iter().skip(self.counted_records).map(|record| record.to_line().len() + 1).sum::<usize>();
        self.counted_records = log.len();
        let host = HostFacts {
            warning: self.warning.clone().or_else(|| self.log_damage.clone()),
            epoch: self.store.inner().epoch(),
            ..self.shown.clone()
        };
        to_js(&view(&self.session, host, Known { messages: known_messages, rows: known_rows }))
    }

    /// The panels as they were right after a record. Changes nothing.
    #[wasm_bindgen(unchecked_return_type = "LabView")]
    pub fn view_at(&self, record: usize) -> Result<JsValue, JsValue> {
        to_js(&view_at(&self.session, record))
    }

    /// The records from a place of the log on.
    #[wasm_bindgen(unchecked_return_type = "RecordView[]")]
    pub fn records(&mut self, from: usize) -> Result<JsValue, JsValue> {
        to_js(&self.rows.views(self.session.log(), from).iter().map(RecordView::to_json).collect())
    }

    /// A record with what it did.
    #[wasm_bindgen(unchecked_return_type = "RecordDetail")]
    pub fn record(&mut self, index: usize) -> Result<JsValue, JsValue> {
        let detail = record_detail(&self.session, &mut self.rows, index);
        to_js(&detail.ok_or_else(|| lab_error("not_found", &format!("there is no record {index}")))?)
    }

    /// What this run is about.
    #[wasm_bindgen(unchecked_return_type = "ScenarioInfo")]
    pub fn scenario(&self) -> Result<JsValue, JsValue> {
        scenario_info(self.session.scenario())
    }

    /// What was done to the run, and where it stands, as JSON text for `replay`.
    #[wasm_bindgen]
    pub fn deeds_json(&self) -> String {
        let mut fields = Map::new();
        fields.insert("deeds".to_string(), self.commands.iter().map(Command::to_json).collect());
        fields.insert("moment".to_string(), self.session.half_step().into());
        compact(&Value::Object(fields))
    }

    /// The checkpoint of another run with which this one began, as JSON text.
    #[wasm_bindgen]
    pub fn origin(&self) -> Option<String> {
        self.origin.clone()
    }

    /// The log as JSON Lines.
    #[wasm_bindgen]
    pub fn log_jsonl(&self) -> String {
        self.session.log().iter().map(|record| record.to_line() + "\n").collect()
    }

    /// The newest checkpoint as indented JSON text; empty before the first.
    #[wasm_bindgen]
    pub fn checkpoint_json(&self) -> String {
        let snapshots = self.store.inner().snapshots();
        let newest = snapshots.iter().find_map(|found| found.state.as_ref().ok());
        newest.map_or(String::new(), |state| pretty(&checkpoint::to_json(state)) + "\n")
    }
}

impl Lab {
    fn set_up(options: &Options) -> Result<Lab, JsValue> {
        let (setup, origin) = (options.setup()?, origin_of(options.checkpoint.as_deref())?);
        let mut store = match options.is_local {
            true => AnyStore::Local(LocalStore::create(&run_id_of(&setup, origin.as_ref())).map_err(store_error)?),
            false => AnyStore::Memory(MemoryStore::default()),
        };
        let session = match &origin {
            Some(state) => Session::start_from(setup, state, store.inner_mut()),
            None => Session::start(setup, store.inner_mut()),
        };
        let origin = options.checkpoint.clone();
        let mut lab = Lab { branch: options.branch, origin, ..Lab::new(session.map_err(session_error)?, store) };
        if let AnyStore::Local(store) = &lab.store {
            // A run that cannot be opened again is not begun.
            let saved = lab.origin.as_ref().map_or(Ok(()), |origin| store.set("origin", origin));
            let saved = saved.and_then(|()| store.set("scenario", &lab.session.scenario().json));
            if let Err(error) = saved.and_then(|()| store.set("session", &write_session(&lab.session, lab.branch, &lab.commands)))
            {
                let _ = store.clear();
                return Err(store_error(error));
            }
        }
        lab.read_storage();
        Ok(lab)
    }

    fn new(session: Session, store: AnyStore) -> Lab {
        Lab {
            session,
            store,
            saved_rows: 0,
            warning: None,
            log_damage: None,
            shown: HostFacts::default(),
            counted_records: 0,
            rows: LogRows::default(),
            branch: 0,
            origin: None,
            commands: Vec::new(),
        }
    }
}

fn store_error(error: StoreError) -> JsValue {
    lab_error("storage", &error.to_string())
}

fn session_error(error: SessionError) -> JsValue {
    let code = match &error {
        SessionError::Store(_) => "storage",
        SessionError::Recovery(_) => "damaged",
        SessionError::Decision(_) => "refused",
        SessionError::Endless(_) => "refused",
    };
    lab_error(code, &error.to_string())
}

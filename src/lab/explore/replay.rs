//! Replay files: a run of a search as a small JSON document that gives the same log again, byte for byte, here and in the page.
//!
//! ```json
//! {
//!   "format": "crashlab replay", "version": 1,
//!   "scenario": "double-charge", "scenario_digest": "1f0c22ab9d3e4c55", "document": null,
//!   "off": ["idempotency"], "seed": "1",
//!   "choices": [{"step": 117, "at": "call_tool issue_refund/after", "choose": "crash"}],
//!   "steps": 121, "records": 61, "log_digest": "0a1b2c3d4e5f6071"
//! }
//! ```
//!
//! `choices` has the steps at which something else was chosen than to go on or, with a dead agent, to resume; `at` says where the run
//! then stands, so that a file that no longer fits says where it parts. `document` holds the scenario where it is not a shipped one.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::choice::{Choice, choose};
use super::matrix::place_of;
use super::story::instant;
use crate::base::json::{Fields, ReadError, count, parse, read};
use crate::lab::mechanisms::{Mechanism, Mechanisms};
use crate::lab::scenario::Scenario;
use crate::lab::session::{Session, SessionError, Setup};
use crate::lab::shipped::{SHIPPED, shipped};
use crate::log::store::{MemoryStore, Store};
use crate::record::log_digest;

/// The version of the format.
pub const VERSION: u64 = 1;

/// What the field `format` says.
pub const FORMAT: &str = "crashlab replay";

/// A run that can be had again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The scenario's id.
    pub scenario: String,
    /// Its digest when the run was recorded.
    pub scenario_digest: u64,
    /// The scenario itself, where it is not a shipped one.
    pub document: Option<String>,
    /// The mechanisms that were on.
    pub mechanisms: Mechanisms,
    /// The seed.
    pub seed: u64,
    /// The choices that were not plain.
    pub choices: Vec<Turn>,
    /// All choices of the run.
    pub steps: usize,
    /// Records in the log at the end.
    pub records: usize,
    /// A digest of the log's text at the end.
    pub log_digest: u64,
}

/// A choice that was not plain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which of the run's choices, from 0.
    pub step: usize,
    /// Where the run stands there.
    pub at: String,
    /// What was chosen.
    pub choice: Choice,
}

/// Why a file does not replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is no replay file.
    Unreadable(ReadError),
    /// It is of a version that this program does not read.
    Version(u64),
    /// There is no such scenario, and the file does not bring it along.
    NoScenario(String),
    /// The scenario is another one than when the run was recorded.
    Scenario {
        /// Its id.
        id: String,
        /// Digest then.
        recorded: u64,
        /// Digest now.
        now: u64,
        /// The shipped scenario that has the recorded digest.
        is: Option<&'static str>,
    },
    /// The run stands elsewhere than it stood.
    Place {
        /// Which of the run's choices, from 0.
        step: usize,
        /// Where it stood.
        recorded: String,
        /// Where it stands.
        now: String,
    },
    /// The session refused a choice.
    Refused {
        /// Which of the run's choices, from 0.
        step: usize,
        /// What was chosen.
        choice: Choice,
        /// Why it cannot be.
        why: String,
    },
    /// The log has another length or another text than it had.
    Log {
        /// Records and digest then.
        recorded: (usize, u64),
        /// Records and digest now.
        now: (usize, u64),
    },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Unreadable(error) => write!(f, "this is not a replay file: {error}"),
            Misfit::Version(found) => write!(f, "this replay file is of version {found}; this program reads version {VERSION}"),
            Misfit::NoScenario(id) => write!(f, "there is no scenario `{id}`, and the file does not hold it"),
            Misfit::Scenario { id, is: Some(is), .. } => {
                write!(f, "the file names the scenario `{id}`, and the run was recorded in `{is}`")
            }
            Misfit::Scenario { id, recorded, now, is: None } => {
                write!(
                    f,
                    "the scenario `{id}` has changed since the run was recorded: its digest was {recorded:016x}, now it is {now:016x}"
                )
            }
            Misfit::Place { step, recorded, now } => {
                write!(f, "at step {step} the recorded run stood at `{recorded}`, and this one stands at `{now}`")
            }
            Misfit::Refused { step, choice, why } => write!(f, "at step {step} `{}` is not possible: {why}", choice.as_str()),
            Misfit::Log { recorded, now } if recorded.0 != now.0 => {
                write!(f, "the log had {} records and now has {}", recorded.0, now.0)
            }
            Misfit::Log { recorded, now } => {
                write!(
                    f,
                    "the log has as many records as it had ({}), but its text differs: digest {:016x}, now {:016x}",
                    now.0, recorded.1, now.1
                )
            }
        }
    }
}

impl std::error::Error for Misfit {}

impl Replay {
    /// Records a run by carrying out its choices.
    pub fn of(setup: &Setup, choices: &[Choice]) -> Result<Replay, Misfit> {
        let (mut session, mut store) = start(setup)?;
        let mut turns = Vec::new();
        for (step, &choice) in choices.iter().enumerate() {
            if choice != plain(&session) {
                turns.push(Turn { step, at: place(&session), choice });
            }
            follow(&mut session, &mut store, step, choice)?;
        }
        let (records, log_digest) = log_digest(&store.read().records);
        Ok(Replay {
            scenario: setup.scenario.id.clone(),
            scenario_digest: setup.scenario.digest,
            document: shipped(&setup.scenario.id)
                .and_then(|json| Scenario::from_json(json).ok())
                .is_none_or(|shipped| shipped.digest != setup.scenario.digest)
                .then(|| setup.scenario.json.to_string()),
            mechanisms: setup.mechanisms,
            seed: setup.seed,
            choices: turns,
            steps: choices.len(),
            records,
            log_digest,
        })
    }

    /// What the run is set up from. `shipped`: the document of a scenario that comes with the program, by id.
    pub fn setup(&self, shipped: impl Fn(&str) -> Option<String>) -> Result<Setup, Misfit> {
        let text = self.document.clone().or_else(|| shipped(&self.scenario)).ok_or(Misfit::NoScenario(self.scenario.clone()))?;
        let scenario = Scenario::from_json(&text).map_err(Misfit::Unreadable)?;
        if scenario.digest != self.scenario_digest {
            let recorded = self.scenario_digest;
            let has_it = |json: &str| Scenario::from_json(json).is_ok_and(|other| other.digest == recorded);
            let is = SHIPPED.iter().find(|(_, json)| has_it(json)).map(|(id, _)| *id);
            return Err(Misfit::Scenario { id: self.scenario.clone(), recorded, now: scenario.digest, is });
        }
        if scenario.id != self.scenario {
            let expected = format!("expected `{}`, the id in the document, and `{}` stands there", scenario.id, self.scenario);
            return Err(Misfit::Unreadable(ReadError::new("$.scenario", expected)));
        }
        Ok(Setup { scenario: Arc::new(scenario), mechanisms: self.mechanisms, seed: self.seed, interactive: true, branch: 0 })
    }

    /// Runs it again. The session stands where the recorded one stood, and its log is the same, byte for byte.
    pub fn run(&self, setup: &Setup) -> Result<(Session, MemoryStore), Misfit> {
        let (mut session, mut store) = start(setup)?;
        let mut turns = self.choices.iter().peekable();
        for step in 0..self.steps {
            let choice = match turns.next_if(|turn| turn.step == step) {
                Some(turn) => {
                    let now = place(&session);
                    if now != turn.at {
                        return Err(Misfit::Place { step, recorded: turn.at.clone(), now });
                    }
                    turn.choice
                }
                None => plain(&session),
            };
            follow(&mut session, &mut store, step, choice)?;
        }
        let now = log_digest(&store.read().records);
        let recorded = (self.records, self.log_digest);
        if now != recorded {
            return Err(Misfit::Log { recorded, now });
        }
        Ok((session, store))
    }

    /// All choices of the run, plain ones included.
    pub fn all_choices(&self, setup: &Setup) -> Result<Vec<Choice>, Misfit> {
        let (mut session, mut store) = start(setup)?;
        let mut all = Vec::new();
        let mut turns = self.choices.iter().peekable();
        for step in 0..self.steps {
            let choice = turns.next_if(|turn| turn.step == step).map_or_else(|| plain(&session), |turn| turn.choice);
            follow(&mut session, &mut store, step, choice)?;
            all.push(choice);
        }
        Ok(all)
    }

    /// The document.
    pub fn to_json(&self) -> Value {
        let turn = |turn: &Turn| json!({"step": turn.step, "at": turn.at, "choose": turn.choice.as_str()});
        let off: Vec<&str> = Mechanism::ALL.iter().filter(|one| !self.mechanisms.has(**one)).map(|one| one.text().id).collect();
        json!({
            "format": FORMAT,
            "version": VERSION,
            "scenario": self.scenario,
            "scenario_digest": format!("{:016x}", self.scenario_digest),
            "document": self.document,
            "off": off,
            "seed": self.seed.to_string(),
            "choices": self.choices.iter().map(turn).collect::<Vec<_>>(),
            "steps": self.steps,
            "records": self.records,
            "log_digest": format!("{:016x}", self.log_digest),
        })
    }

    /// Reads a document.
    pub fn from_json(text: &str) -> Result<Replay, Misfit> {
        let value = parse(text).map_err(Misfit::Unreadable)?;
        match value.get("version").and_then(count) {
            Some(VERSION) | None => read(&value, "$", Replay::read).map_err(Misfit::Unreadable),
            Some(version) => Err(Misfit::Version(version)),
        }
    }

    fn read(from: &Fields) -> Replay {
        from.only(&KEYS);
        from.u64("version");
        if from.str("format") != FORMAT {
            from.note_wrong("format", &format!("\"{FORMAT}\""));
        }
        let hex = |key: &str| {
            u64::from_str_radix(from.str(key), 16).unwrap_or_else(|_| {
                from.note_wrong(key, "16 hexadecimal digits");
                0
            })
        };
        let size = |from: &Fields, key: &str| {
            let count = usize::try_from(from.u64(key)).unwrap_or(usize::MAX);
            if count > MOST_STEPS {
                from.note_wrong(key, &format!("at most {MOST_STEPS}"));
            }
            count.min(MOST_STEPS)
        };
        let mut mechanisms = Mechanisms::ALL_ON;
        for id in from.strs("off") {
            match Mechanism::of_id(id) {
                Some(mechanism) if mechanisms.has(mechanism) => mechanisms = mechanisms.with(mechanism, false),
                Some(_) => from.note_wrong("off", "each mechanism at most once"),
                None => from.note_wrong("off", "ids of mechanisms"),
            }
        }
        let mut choices: Vec<Turn> = Vec::new();
        for turn in from.objects("choices") {
            turn.only(&["step", "at", "choose"]);
            let step = size(&turn, "step");
            if choices.last().is_some_and(|last| last.step >= step) {
                turn.note_wrong("step", "steps in rising order");
            }
            match Choice::from_name(turn.str("choose")) {
                Some(choice) => choices.push(Turn { step, at: turn.str("at").to_string(), choice }),
                None => turn.note_wrong("choose", "a choice"),
            }
        }
        let seed = from.str("seed").parse().unwrap_or_else(|_| {
            from.note_wrong("seed", "a number from 0 to 2^64-1 as text");
            0
        });
        Replay {
            scenario: from.str("scenario").to_string(),
            scenario_digest: hex("scenario_digest"),
            document: from.optional("document", Fields::str).map(str::to_string),
            mechanisms,
            seed,
            choices,
            steps: size(from, "steps"),
            records: size(from, "records"),
            log_digest: hex("log_digest"),
        }
    }
}

const KEYS: [&str; 11] =
    ["format", "version", "scenario", "scenario_digest", "document", "off", "seed", "choices", "steps", "records", "log_digest"];

/// A file that wants more steps than this is not one of a search.
const MOST_STEPS: usize = 200_000;

fn start(setup: &Setup) -> Result<(Session, MemoryStore), Misfit> {
    let mut store = MemoryStore::default();
    let refused = |error: SessionError| Misfit::Refused { step: 0, choice: Choice::GoOn, why: error.to_string() };
    let mut session = Session::start(Setup { interactive: true, branch: 0, ..setup.clone() }, &mut store).map_err(refused)?;
    let _ = session.tick(&mut store);
    Ok((session, store))
}

/// The choice that a file does not name.
fn plain(session: &Session) -> Choice {
    let is_dead = session.agent().is_none() && session.status().is_none();
    if is_dead { Choice::Resume } else { Choice::GoOn }
}

fn place(session: &Session) -> String {
    session.in_flight().map_or_else(|| instant(session), |(effect, when)| place_of(&effect.kind, when))
}

fn follow(session: &mut Session, store: &mut MemoryStore, step: usize, choice: Choice) -> Result<(), Misfit> {
    choose(session, store, choice).map_err(|error| Misfit::Refused { step, choice, why: error.to_string() })
}

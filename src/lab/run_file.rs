//! A run as one file: what it was set up from and what was done to it, so that it can be had again, byte for byte, in any browser.
//!
//! ```json
//! {
//!   "format": "crashlab run", "version": 1,
//!   "scenario": "double-charge", "off": ["journal"], "seed": "7", "branch": 0,
//!   "deeds": [[24, "crash"], [24, "resume"], [61, "approved", "maya", "as the policy says"]], "moment": 84,
//!   "records": 43, "log_digest": "0a1b2c3d4e5f6071",
//!   "document": "{…}", "checkpoint": null
//! }
//! ```
//!
//! `commands` and `half_step` are those of [`crate::lab::replay`]. `document` is the scenario as JSON text, shipped or not, so that the file
//! needs nothing beside it; `checkpoint` is the one of another run with which this one began. Numbers and digest of the log are there
//! so that a file that no longer gives the same run says so.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::mechanisms::{Mechanism, Mechanisms};
use super::replay::{Command, Misfit, Until, replay};
use super::scenario::Scenario;
use super::session::{Session, SessionError, Setup};
use crate::agent::state::AgentState;
use crate::base::json::{Fields, ReadError, count, parse, read};
use crate::log::checkpoint;
use crate::log::store::MemoryStore;
use crate::record::{Record, log_digest};

/// The version of the format.
pub const VERSION: u64 = 1;

/// What the field `format` says.
pub const FORMAT: &str = "crashlab run";

/// Why a file gives another log than it did.
const WHY_ANOTHER: &str = "the file has been edited, or the program has changed since";

/// Nobody does more than this to a run.
const MAX_HALF_STEPS: u64 = 2_000_000;

const KEYS: [&str; 12] = [
    "format",
    "version",
    "scenario",
    "off",
    "seed",
    "branch",
    "deeds",
    "moment",
    "records",
    "log_digest",
    "document",
    "checkpoint",
];

/// A run that can be had again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    /// The scenario as JSON text.
    pub document: String,
    /// The mechanisms that were on.
    pub mechanisms: Mechanisms,
    /// The seed.
    pub seed: u64,
    /// Which of the runs of the same input it is.
    pub branch: u32,
    /// The checkpoint that it began with, as JSON text; `None` if it began at the beginning.
    pub checkpoint: Option<String>,
    /// What was done to it.
    pub commands: Vec<Command>,
    /// Where it stood.
    pub half_step: u64,
    /// Records in the log there, and a digest of their text.
    pub log: (usize, u64),
}

/// Why a file gives no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFileError {
    /// It is no such file: the path and what is wrong.
    Unreadable(ReadError),
    /// The scenario in it cannot be read.
    Scenario(ReadError),
    /// The checkpoint in it cannot be read.
    Checkpoint(ReadError),
    /// The run cannot be begun.
    Session(SessionError),
    /// What was done cannot be done.
    Misfit(Misfit),
    /// The log is another one than it was.
    Log {
        /// Records and digest then.
        recorded: (usize, u64),
        /// Records and digest now.
        now: (usize, u64),
    },
}

impl fmt::Display for RunFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunFileError::Unreadable(error) => error.fmt(f),
            RunFileError::Scenario(error) => write!(f, "$.document: the scenario in this file cannot be read: {error}"),
            RunFileError::Checkpoint(error) => write!(f, "$.checkpoint: the checkpoint in this file cannot be read: {error}"),
            RunFileError::Session(error) => write!(f, "$.document: the run cannot be begun: {error}"),
            RunFileError::Misfit(Misfit::Command { index, message }) => {
                write!(f, "$.deeds[{index}]: this cannot be done to the run: {message}; {WHY_ANOTHER}")
            }
            RunFileError::Misfit(misfit) => write!(f, "$.moment: {misfit}; {WHY_ANOTHER}"),
            RunFileError::Log { recorded, now } if recorded.0 != now.0 => {
                write!(f, "$.records: the log had {} records, and now it has {}; {WHY_ANOTHER}", recorded.0, now.0)
            }
            RunFileError::Log { recorded, now } => write!(
                f,
                "$.log_digest: the log has as many records as it had ({}), but another text (digest {:016x}, now {:016x}); {WHY_ANOTHER}",
                now.0, recorded.1, now.1
            ),
        }
    }
}

impl std::error::Error for RunFileError {}

impl RunFile {
    /// A run as it stands. `checkpoint`: the one with which it began, as JSON text.
    pub fn of(setup: &Setup, checkpoint: Option<&str>, (commands, half_step): (&[Command], u64), log: &[Arc<Record>]) -> RunFile {
        RunFile {
            document: setup.scenario.json.to_string(),
            mechanisms: setup.mechanisms,
            seed: setup.seed,
            branch: setup.branch,
            checkpoint: checkpoint.map(str::to_string),
            commands: commands.to_vec(),
            half_step,
            log: log_digest(log),
        }
    }

    /// What the run is set up from, and the checkpoint with which it began.
    pub fn setup(&self) -> Result<(Setup, Option<AgentState>), RunFileError> {
        let scenario = Scenario::from_json(&self.document).map_err(RunFileError::Scenario)?;
        let checkpoint = self.checkpoint.as_deref().map(checkpoint::decode).transpose().map_err(RunFileError::Checkpoint)?;
        let RunFile { mechanisms, seed, branch, .. } = *self;
        Ok((Setup { scenario: Arc::new(scenario), mechanisms, seed, interactive: true, branch }, checkpoint))
    }

    /// Has the run again: it stands where it stood, and its log is the same, byte for byte.
    pub fn run(&self) -> Result<(Session, MemoryStore), RunFileError> {
        let (setup, checkpoint) = self.setup()?;
        let mut store = MemoryStore::default();
        let begun = match &checkpoint {
            Some(state) => Session::start_from(setup, state, &mut store),
            None => Session::start(setup, &mut store),
        };
        let mut session = begun.map_err(RunFileError::Session)?;
        replay(&mut session, &mut store, &self.commands, Until::HalfStep(self.half_step)).map_err(RunFileError::Misfit)?;
        let (recorded, now) = (self.log, log_digest(session.log()));
        if recorded == now { Ok((session, store)) } else { Err(RunFileError::Log { recorded, now }) }
    }

    /// The document.
    pub fn to_json(&self) -> Value {
        let off = Mechanism::ALL.iter().filter(|one| !self.mechanisms.has(**one)).map(|one| one.text().id).collect();
        let id = parse(&self.document).ok().and_then(|scenario| scenario.get("id").cloned()).unwrap_or_default();
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| {
            fields.insert(key.to_string(), value);
        };
        put("format", FORMAT.into());
        put("version", VERSION.into());
        put("scenario", id);
        put("off", off);
        put("seed", self.seed.to_string().into());
        put("branch", self.branch.into());
        put("deeds", self.commands.iter().map(Command::to_json).collect());
        put("moment", self.half_step.into());
        put("records", self.log.0.into());
        put("log_digest", format!("{:016x}", self.log.1).into());
        put("document", self.document.as_str().into());
        put("checkpoint", self.checkpoint.as_deref().map_or(Value::Null, Value::from));
        Value::Object(fields)
    }

    /// Reads a document.
    pub fn from_json(text: &str) -> Result<RunFile, RunFileError> {
        let value = parse(text).map_err(RunFileError::Unreadable)?;
        // A later version may have other fields, so its number is said before theirs.
        match value.get("version").and_then(count) {
            Some(VERSION) | None => read(&value, "$", RunFile::read).map_err(RunFileError::Unreadable),
            Some(version) => Err(RunFileError::Unreadable(ReadError::new(
                "$.version",
                format!("this is version {version}; this program reads version {VERSION}"),
            ))),
        }
    }

    fn read(from: &Fields) -> RunFile {
        if from.str("format") != FORMAT {
            from.note_wrong("format", &format!("\"{FORMAT}\""));
        }
        from.u64("version");
        from.only(&KEYS);
        let mut mechanisms = Mechanisms::ALL_ON;
        for id in from.strs("off") {
            match Mechanism::of_id(id) {
                Some(mechanism) => mechanisms = mechanisms.with(mechanism, false),
                None => from.note_wrong("off", "ids of mechanisms"),
            }
        }
        let seed = from.str("seed").parse().unwrap_or_else(|_| {
            from.note_wrong("seed", "the digits of a number from 0 to 18446744073709551615");
            0
        });
        let half_step = from.u64("moment");
        if half_step > MAX_HALF_STEPS {
            from.note_wrong("moment", &format!("at most {MAX_HALF_STEPS}"));
        }
        let commands = Command::read_list(from, "deeds");
        if let Some(index) = commands.iter().position(|command| command.half_step > half_step) {
            let message =
                format!("its moment {} is after the end of the run, which is moment {half_step}", commands[index].half_step);
            from.note(ReadError::new(&format!("{}[{index}]", from.path("deeds")), message));
        }
        let log_digest = u64::from_str_radix(from.str("log_digest"), 16).unwrap_or_else(|_| {
            from.note_wrong("log_digest", "16 hexadecimal digits");
            0
        });
        RunFile {
            document: from.str("document").to_string(),
            mechanisms,
            seed,
            branch: from.u32("branch"),
            checkpoint: from.optional("checkpoint", Fields::str).map(str::to_string),
            commands,
            half_step,
            log: (usize::try_from(from.u64("records")).unwrap_or(usize::MAX), log_digest),
        }
    }
}

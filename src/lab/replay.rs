//! A run told by what somebody did to it: a run is a function of its setup and of these commands, so a link can carry it, and a new
//! run can begin at any of its records.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::session::{Session, SessionError, Tick};
use crate::base::json::{Fields, wrong};
use crate::log::store::Store;
use crate::record::Decision;

/// What somebody can do to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// The agent is killed, and the lab marks it in the log.
    Crash,
    /// The agent is gone with its page, and nothing says so.
    KillUnrecorded,
    /// A new agent takes the run over.
    Resume,
    /// The run is opened in a second tab as well.
    SecondTab,
    /// A person decides about the question that is open.
    Decide {
        /// Yes or no.
        approved: bool,
        /// Who, without `human:`.
        approver: Arc<str>,
        /// What they wrote beside it.
        note: Option<Arc<str>>,
    },
}

/// A command and when it came: two half-steps an effect, see [`Session::half_step`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The half-step.
    pub half_step: u64,
    /// What was done.
    pub kind: CommandKind,
}

/// Where a replay ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At this half-step, after all commands.
    HalfStep(u64),
    /// As soon as the log has so many records; commands after that are left out.
    Records(usize),
}

/// Why a run does not fit what is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A command cannot be carried out when it is told.
    Command {
        /// Which, from 0.
        index: usize,
        /// A sentence.
        message: String,
    },
    /// The run ends or waits before it is where it should be.
    TooShort {
        /// What it is like there.
        found: &'static str,
    },
    /// The session said no.
    Session(SessionError),
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Command { index, message } => {
                write!(f, "what was done as number {} does not fit this run: {message}", index + 1)
            }
            Misfit::TooShort { found } => write!(f, "this run does not come to the place that is told of: {found}"),
            Misfit::Session(error) => error.fmt(f),
        }
    }
}

impl Command {
    /// `[half_step, "crash"]`, or `[half_step, "approved", "maya", "note"]`.
    pub fn to_json(&self) -> Value {
        let mut parts: Vec<Value> = vec![self.half_step.into(), self.kind.as_str().into()];
        if let CommandKind::Decide { approver, note, .. } = &self.kind {
            parts.push(Value::from(&**approver));
            parts.extend(note.as_ref().map(|note| Value::from(&**note)));
        }
        Value::Array(parts)
    }

    /// Reads a list of commands.
    pub fn read_list(from: &Fields, key: &str) -> Vec<Command> {
        let read = |(index, value): (usize, &Value)| {
            let command = Command::of(value);
            if command.is_none() {
                from.note(wrong(
                    &format!("{}[{index}]", from.path(key)),
                    "a moment, a word, and for a decision who took it",
                    value,
                ));
            }
            command
        };
        from.array(key).iter().enumerate().filter_map(read).collect()
    }

    fn of(value: &Value) -> Option<Command> {
        let parts = value.as_array()?;
        let text = |index: usize| parts.get(index).and_then(Value::as_str);
        let decide = |approved| Some(CommandKind::Decide { approved, approver: text(2)?.into(), note: text(3).map(Arc::from) });
        let kind = match text(1)? {
            "crash" => CommandKind::Crash,
            "vanish" => CommandKind::KillUnrecorded,
            "resume" => CommandKind::Resume,
            "tab" => CommandKind::SecondTab,
            "approved" => decide(true)?,
            "denied" => decide(false)?,
            _ => return None,
        };
        Some(Command { half_step: parts.first().and_then(Value::as_u64)?, kind })
    }
}

impl CommandKind {
    fn as_str(&self) -> &'static str {
        match self {
            CommandKind::Crash => "crash",
            CommandKind::KillUnrecorded => "vanish",
            CommandKind::Resume => "resume",
            CommandKind::SecondTab => "tab",
            CommandKind::Decide { approved: true, .. } => "approved",
            CommandKind::Decide { approved: false, .. } => "denied",
        }
    }
}

/// Does to a fresh session what was done to another, and gives the commands that had their turn.
pub fn replay(session: &mut Session, store: &mut dyn Store, commands: &[Command], until: Until) -> Result<Vec<Command>, Misfit> {
    for (index, command) in commands.iter().enumerate() {
        let misfit = |message: String| Misfit::Command { index, message };
        while session.half_step() < command.half_step {
            if is_there(session, until) {
                return Ok(commands[..index].to_vec());
            }
            advance(session, store).map_err(|found| misfit(found.to_string()))?;
        }
        // What is done at the last half-step belongs to it; what is done after the last record does not.
        if matches!(until, Until::Records(_)) && is_there(session, until) {
            return Ok(commands[..index].to_vec());
        }
        if session.half_step() > command.half_step {
            return Err(misfit(format!("its moment {} is over, this is moment {}", command.half_step, session.half_step())));
        }
        kind(session, store, &command.kind).map_err(misfit)?;
    }
    while !is_there(session, until) {
        advance(session, store).map_err(|found| Misfit::TooShort { found })?;
    }
    Ok(commands.to_vec())
}

fn is_there(session: &Session, until: Until) -> bool {
    match until {
        Until::HalfStep(half_step) => session.half_step() >= half_step,
        Until::Records(records) => session.log().len() >= records,
    }
}

/// Half an effect further, or why it cannot be.
fn advance(session: &mut Session, store: &mut dyn Store) -> Result<(), &'static str> {
    let before = session.half_step();
    let stands = match session.tick(store) {
        Tick::Happened { .. } | Tick::Answered | Tick::Crashed { armed: true } => return Ok(()),
        Tick::Crashed { armed: false } => "its agent is gone by then",
        Tick::WaitingForPerson { .. } => "it waits for a person by then",
        Tick::Stopped { .. } => "it is over by then",
        Tick::Fenced => "another agent has taken it over by then",
    };
    // To ask and to stop are steps too, the first time.
    if session.half_step() > before { Ok(()) } else { Err(stands) }
}

fn kind(session: &mut Session, store: &mut dyn Store, kind: &CommandKind) -> Result<(), String> {
    match kind {
        CommandKind::Crash | CommandKind::KillUnrecorded if session.agent().is_none() => {
            Err("there is no agent that could be killed".to_string())
        }
        CommandKind::Crash => {
            session.crash(store);
            Ok(())
        }
        CommandKind::KillUnrecorded => {
            session.kill_unrecorded();
            Ok(())
        }
        CommandKind::Resume if session.agent().is_some() => Err("its agent is alive and cannot be resumed".to_string()),
        CommandKind::Resume => session.resume(store).map_err(|error| error.to_string()),
        CommandKind::SecondTab => session.open_second_tab(store).map_err(|error| error.to_string()),
        CommandKind::Decide { approved, approver, note } => {
            let open = session.world().inbox().into_iter().find(|question| question.decided.is_none());
            let key = open.map(|question| question.key.clone()).ok_or("no question is open")?;
            let decision = Decision::new(*approved, format!("human:{approver}"), note.clone());
            session.decide(&key, decision).map_err(|error| error.to_string())
        }
    }
}

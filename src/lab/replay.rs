//! A run told by what somebody did to it: a run is a function of its setup and of these deeds, so a link can carry it, and a new
//! run can begin at any of its records.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::session::{Session, SessionError, Tick};
use crate::agent::protocol::Decision;
use crate::base::json::{Fields, wrong};
use crate::log::store::Store;

/// What somebody can do to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The agent is killed, and the lab marks it in the log.
    Crash,
    /// The agent is gone with its page, and nothing says so.
    Vanish,
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

/// An act and when: two moments an effect, see [`Session::moment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The moment.
    pub moment: u64,
    /// The act.
    pub act: Act,
}

/// Where a replay ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At this moment, behind all deeds.
    Moment(u64),
    /// As soon as the log has so many records; deeds after that are left out.
    Records(usize),
}

/// Why a run does not fit what is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// A deed cannot be done when it is told.
    Deed {
        /// Which, from 0.
        place: usize,
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
            Misfit::Deed { place, message } => {
                write!(f, "what was done as number {} does not fit this run: {message}", place + 1)
            }
            Misfit::TooShort { found } => write!(f, "this run does not come to the place that is told of: {found}"),
            Misfit::Session(error) => error.fmt(f),
        }
    }
}

impl Deed {
    /// `[moment, "crash"]`, or `[moment, "approved", "maya", "note"]`.
    pub fn to_json(&self) -> Value {
        let mut parts: Vec<Value> = vec![self.moment.into(), self.act.word().into()];
        if let Act::Decide { approver, note, .. } = &self.act {
            parts.push(Value::from(&**approver));
            parts.extend(note.as_ref().map(|note| Value::from(&**note)));
        }
        Value::Array(parts)
    }

    /// Reads a list of deeds.
    pub fn read_list(from: &Fields, key: &str) -> Vec<Deed> {
        let read = |(place, value): (usize, &Value)| {
            let deed = Deed::of(value);
            if deed.is_none() {
                from.note(wrong(
                    &format!("{}[{place}]", from.path(key)),
                    "a moment, a word, and for a decision who took it",
                    value,
                ));
            }
            deed
        };
        from.array(key).iter().enumerate().filter_map(read).collect()
    }

    fn of(value: &Value) -> Option<Deed> {
        let parts = value.as_array()?;
        let text = |place: usize| parts.get(place).and_then(Value::as_str);
        let decide = |approved| Some(Act::Decide { approved, approver: text(2)?.into(), note: text(3).map(Arc::from) });
        let act = match text(1)? {
            "crash" => Act::Crash,
            "vanish" => Act::Vanish,
            "resume" => Act::Resume,
            "tab" => Act::SecondTab,
            "approved" => decide(true)?,
            "denied" => decide(false)?,
            _ => return None,
        };
        Some(Deed { moment: parts.first().and_then(Value::as_u64)?, act })
    }
}

impl Act {
    fn word(&self) -> &'static str {
        match self {
            Act::Crash => "crash",
            Act::Vanish => "vanish",
            Act::Resume => "resume",
            Act::SecondTab => "tab",
            Act::Decide { approved: true, .. } => "approved",
            Act::Decide { approved: false, .. } => "denied",
        }
    }
}

/// Does to a fresh session what was done to another, and gives the deeds that had their turn.
pub fn replay(session: &mut Session, store: &mut dyn Store, deeds: &[Deed], until: Until) -> Result<Vec<Deed>, Misfit> {
    for (place, deed) in deeds.iter().enumerate() {
        let misfit = |message: String| Misfit::Deed { place, message };
        while session.moment() < deed.moment {
            if is_there(session, until) {
                return Ok(deeds[..place].to_vec());
            }
            advance(session, store).map_err(|found| misfit(found.to_string()))?;
        }
        // What is done at the last moment belongs to it; what is done behind the last record does not.
        if matches!(until, Until::Records(_)) && is_there(session, until) {
            return Ok(deeds[..place].to_vec());
        }
        if session.moment() > deed.moment {
            return Err(misfit(format!("its moment {} is over, this is moment {}", deed.moment, session.moment())));
        }
        act(session, store, &deed.act).map_err(misfit)?;
    }
    while !is_there(session, until) {
        advance(session, store).map_err(|found| Misfit::TooShort { found })?;
    }
    Ok(deeds.to_vec())
}

fn is_there(session: &Session, until: Until) -> bool {
    match until {
        Until::Moment(moment) => session.moment() >= moment,
        Until::Records(records) => session.log().len() >= records,
    }
}

/// Half an effect further, or why it cannot be.
fn advance(session: &mut Session, store: &mut dyn Store) -> Result<(), &'static str> {
    let before = session.moment();
    let stands = match session.tick(store) {
        Tick::Happened { .. } | Tick::Answered | Tick::Crashed { armed: true } => return Ok(()),
        Tick::Crashed { armed: false } => "its agent is gone by then",
        Tick::WaitingForPerson { .. } => "it waits for a person by then",
        Tick::Stopped { .. } => "it is over by then",
        Tick::Fenced => "another agent has taken it over by then",
    };
    // To ask and to stop are steps too, the first time.
    if session.moment() > before { Ok(()) } else { Err(stands) }
}

fn act(session: &mut Session, store: &mut dyn Store, act: &Act) -> Result<(), String> {
    match act {
        Act::Crash | Act::Vanish if session.agent().is_none() => Err("there is no agent that could be killed".to_string()),
        Act::Crash => {
            session.crash(store);
            Ok(())
        }
        Act::Vanish => {
            session.vanish();
            Ok(())
        }
        Act::Resume if session.agent().is_some() => Err("its agent is alive and cannot be resumed".to_string()),
        Act::Resume => session.resume(store).map_err(|error| error.to_string()),
        Act::SecondTab => session.open_second_tab(store).map_err(|error| error.to_string()),
        Act::Decide { approved, approver, note } => {
            let open = session.world().inbox().into_iter().find(|question| question.decided.is_none());
            let key = open.map(|question| question.key.clone()).ok_or("no question is open")?;
            let decision = Decision { approved: *approved, approver: format!("human:{approver}").into(), note: note.clone() };
            session.decide(&key, decision).map_err(|error| error.to_string())
        }
    }
}

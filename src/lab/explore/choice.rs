//! What the driver may choose at each instant of a run.

use crate::agent::protocol::EffectKind;
use crate::lab::faults::FaultKind;
use crate::lab::scenario::{Scenario, When};
use crate::lab::session::{Session, SessionError};
use crate::log::store::Store;
use crate::record::Decision;

/// One choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Choice {
    /// The effect happens, or its answer arrives.
    GoOn,
    /// A person says yes.
    Approve,
    /// A person says no.
    Deny,
    /// Nobody decides in time.
    Expire,
    /// The fault of this place in [`FAULTS`] hits the call, which then happens or not.
    Fault(u8),
    /// The agent dies here.
    Crash,
    /// A new agent takes the run over.
    Resume,
}

/// The ways in which a call can fail, as the search tries them.
pub const FAULTS: [&str; 9] =
    ["unavailable", "rate_limited", "refused", "timeout_before", "timeout_after", "reply_lost", "malformed", "rejected", "slow"];

/// The fault of a place in [`FAULTS`]. Somebody who changes the world meanwhile is no fault of a call: scenarios say when that happens.
pub fn fault(place: u8) -> Option<FaultKind> {
    Some(match *FAULTS.get(usize::from(place))? {
        "unavailable" => FaultKind::Unavailable,
        "rate_limited" => FaultKind::RateLimited { retry_after: Some("2".to_string()) },
        "refused" => FaultKind::Refused,
        "timeout_before" => FaultKind::TimeoutBefore,
        "timeout_after" => FaultKind::TimeoutAfter,
        "reply_lost" => FaultKind::ReplyLost,
        "malformed" => FaultKind::Malformed,
        "rejected" => FaultKind::Rejected { message: "422 it cannot be done".to_string() },
        _ => FaultKind::Slow { by_ms: 8_000 },
    })
}

impl Choice {
    /// The word in replay files.
    pub fn as_str(self) -> &'static str {
        match self {
            Choice::GoOn => "go_on",
            Choice::Approve => "approve",
            Choice::Deny => "deny",
            Choice::Expire => "expire",
            Choice::Fault(place) => FAULTS.get(usize::from(place)).copied().unwrap_or("unknown"),
            Choice::Crash => "crash",
            Choice::Resume => "resume",
        }
    }

    /// The choice of a word.
    pub fn from_name(word: &str) -> Option<Choice> {
        let plain = [Choice::GoOn, Choice::Approve, Choice::Deny, Choice::Expire, Choice::Crash, Choice::Resume];
        let fault = || FAULTS.iter().position(|name| *name == word).map(|place| Choice::Fault(place as u8));
        plain.into_iter().find(|choice| choice.as_str() == word).or_else(fault)
    }

    /// A number of its own.
    pub fn code(self) -> u8 {
        match self {
            Choice::GoOn => 0,
            Choice::Approve => 1,
            Choice::Deny => 2,
            Choice::Expire => 3,
            Choice::Crash => 4,
            Choice::Resume => 5,
            Choice::Fault(place) => 16 + place,
        }
    }

    /// The choice of a number that [`Choice::code`] gave.
    pub fn of_code(code: u8) -> Choice {
        match code {
            0 => Choice::GoOn,
            1 => Choice::Approve,
            2 => Choice::Deny,
            3 => Choice::Expire,
            4 => Choice::Crash,
            5 => Choice::Resume,
            fault => Choice::Fault(fault.saturating_sub(16)),
        }
    }
}

/// How much a search tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Crashes in one run, beside those of the scenario.
    pub crashes: u8,
    /// Faults in one run, beside those of the scenario.
    pub faults: u8,
    /// Decisions in one run that are not those of the scenario's person.
    pub decisions: u8,
    /// The search stops when it has seen this many states, and says so.
    pub states: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { crashes: 2, faults: 1, decisions: 1, states: 2_000_000 }
    }
}

/// What the driver may still do: the part of a state that is neither agent nor storage nor world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Left {
    /// Crashes.
    pub crashes: u8,
    /// Faults.
    pub faults: u8,
    /// Decisions that are not those of the scenario's person.
    pub decisions: u8,
}

impl Left {
    /// All of it.
    pub fn of(bounds: &Bounds) -> Left {
        Left { crashes: bounds.crashes, faults: bounds.faults, decisions: bounds.decisions }
    }

    /// How much more this is than what is left in a state: what went wrong before it.
    pub fn more_than(self, left: Left) -> u32 {
        let more = |all: u8, left: u8| u32::from(all.saturating_sub(left));
        more(self.crashes, left.crashes) + more(self.faults, left.faults) + more(self.decisions, left.decisions)
    }

    /// What is left when this has been chosen in this state.
    #[must_use]
    pub fn after(self, session: &Session, choice: Choice) -> Left {
        let less = |count: u8, by: bool| count.saturating_sub(u8::from(by));
        let is_decision = matches!(choice, Choice::Approve | Choice::Deny | Choice::Expire);
        Left {
            crashes: less(self.crashes, choice == Choice::Crash),
            faults: less(self.faults, matches!(choice, Choice::Fault(_))),
            decisions: less(self.decisions, is_decision && choice != scripted(session)),
        }
    }
}

/// What the scenario's person decides about the newest question.
pub fn scripted(session: &Session) -> Choice {
    let number = session.world().questions().len().saturating_sub(1);
    match session.scenario().person.as_ref().map(|person| person.answer(number)) {
        Some(Some(answer)) if !answer.approved => Choice::Deny,
        Some(None) => Choice::Expire,
        Some(Some(_)) | None => Choice::Approve,
    }
}

/// The choices at this instant, the plainest first; none where the run is over.
pub fn choices(session: &Session, left: Left) -> Vec<Choice> {
    let mut choices = Vec::with_capacity(12);
    if session.status().is_some() || session.is_fenced() {
        return choices;
    }
    let decide = |choices: &mut Vec<Choice>| {
        let scripted = scripted(session);
        choices.push(scripted);
        if left.decisions > 0 {
            choices.extend([Choice::Approve, Choice::Deny, Choice::Expire].into_iter().filter(|other| *other != scripted));
        }
    };
    let Some((effect, when)) = session.in_flight() else {
        choices.push(Choice::Resume);
        // A decision that comes while the agent is dead is not lost.
        if open_question(session).is_some() {
            decide(&mut choices);
        }
        return choices;
    };
    if session.is_waiting_for_person() {
        decide(&mut choices);
    } else {
        choices.push(Choice::GoOn);
        let is_call = matches!(effect.kind, EffectKind::CallModel { .. } | EffectKind::CallTool { .. });
        if is_call && when == When::Before && left.faults > 0 {
            choices.extend((0..FAULTS.len() as u8).map(Choice::Fault));
        }
    }
    if left.crashes > 0 {
        choices.push(Choice::Crash);
    }
    choices
}

/// The key of the question that the person has on the desk.
fn open_question(session: &Session) -> Option<std::sync::Arc<str>> {
    if let Some((effect, _)) = session.in_flight() {
        return match &effect.kind {
            EffectKind::AskApproval { approval_key, .. } => Some(approval_key.clone()),
            _ => None,
        };
    }
    session.world().inbox().iter().find(|question| question.decided.is_none()).map(|question| question.key.clone())
}

/// Does what was chosen.
pub fn choose(session: &mut Session, store: &mut dyn Store, choice: Choice) -> Result<(), SessionError> {
    match choice {
        Choice::GoOn => {
            let _ = session.tick(store);
        }
        Choice::Fault(place) => {
            if let Some(kind) = fault(place) {
                session.inject(kind);
            }
            let _ = session.tick(store);
        }
        Choice::Crash => session.crash(store),
        Choice::Resume => {
            session.resume(store)?;
            // The new agent says at once what it wants.
            let _ = session.tick(store);
        }
        Choice::Approve | Choice::Deny | Choice::Expire => {
            let Some(key) = open_question(session) else {
                return Ok(());
            };
            if choice == Choice::Expire {
                session.expire(&key)?;
            } else {
                session.decide(&key, decision(session.scenario(), choice == Choice::Approve))?;
            }
            // The answer is under way; while the agent is dead it waits in the inbox.
            if session.agent().is_some() {
                let _ = session.tick(store);
            }
        }
    }
    Ok(())
}

/// What the scenario's person says, with the note that the scenario has for this answer.
pub fn decision(scenario: &Scenario, approved: bool) -> Decision {
    let person = scenario.person.as_ref();
    let id = person.map_or("somebody", |person| person.id.as_str());
    let same = person.and_then(|person| person.answers.iter().find(|answer| answer.approved == approved));
    Decision::new(approved, format!("human:{id}"), same.and_then(|answer| answer.note.clone()))
}

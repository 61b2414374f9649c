//! How much makes two states different, and what of a state each invariant reads.

use crate::lab::faults::FaultKind;
use crate::lab::invariants::INVARIANTS;
use crate::lab::mechanisms::Mechanism;
use crate::lab::session::Session;

/// What the prints of one search hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Tokens, money recorded and money billed.
    pub money: bool,
    /// The active time.
    pub time: bool,
    /// The absolute time, as a fault of the scenario names a date or other agents keep their own time.
    pub clock: bool,
    /// Snapshot and log, always.
    pub log: bool,
    /// All rows and records, as an invariant is not known to make do with less.
    pub everything: bool,
}

impl Scope {
    /// The smallest scope that may do. `is_plain`: neither store nor agent is tampered with.
    pub fn smallest(session: &Session, is_plain: bool) -> Scope {
        let mechanisms = session.mechanisms();
        let has = |all: &[Mechanism]| all.iter().all(|mechanism| mechanisms.has(*mechanism));
        let scenario = session.scenario();
        // Without one writer a second agent writes to the log what the first one does not know.
        let is_plain = is_plain && (scenario.second_writer.is_none() || mechanisms.has(Mechanism::SingleWriter));
        let keeps_counters = has(&[Mechanism::Journal, Mechanism::Checkpoints, Mechanism::SavedGuards]) && is_plain;
        Scope {
            money: !keeps_counters,
            time: !is_plain,
            clock: scenario.fleet.is_some() || scenario.faults.iter().any(|fault| names_a_date(&fault.kind)),
            log: !(keeps_counters && mechanisms.has(Mechanism::DurableApprovals)),
            everything: !INVARIANTS.iter().all(|invariant| reads_of(invariant.id).is_some()),
        }
    }
}

fn names_a_date(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::RateLimited { retry_after: Some(text) } if text.contains(' '))
}

/// What grows along a run and is only ever compared with a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// The active time that the log tells, in milliseconds.
    pub active_ms: u64,
    /// The cost that the log tells as the invariant about it counts, calls in doubt with their projection; in 10⁻¹² USD.
    pub cost: u64,
    /// The tokens that the log tells, likewise.
    pub tokens: u64,
    /// What the provider has billed, in 10⁻¹² USD.
    pub billed: u64,
}

/// Which parts of a state an invariant is judged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// The books: judged when there is a new row.
    Rows,
    /// What the log says about money and what was billed: judged when there is a new row or a record about that.
    Spending,
    /// The model's answers and the tools' results in the log.
    Answers,
    /// The log's time.
    Log,
}

/// `None`: an invariant that this search does not know, so nothing is left out and it is judged after every choice. For those that it
/// knows, [`Memo`] keeps what their later verdicts can depend on.
pub(super) fn reads_of(id: &str) -> Option<Reads> {
    match id {
        "refunded_once" | "refund_within_charge" | "effect_at_most_once" | "approved_exactly" => Some(Reads::Rows),
        "asked_once" | "told_the_truth" | "within_budget" | "blips_hidden" | "traced" | "ends" | "refund_happens" => {
            Some(Reads::Rows)
        }
        "spend_recorded" => Some(Reads::Spending),
        "step_paid_once" | "no_circles" => Some(Reads::Answers),
        "no_lockstep" => Some(Reads::Log),
        _ => None,
    }
}

/// See [`Node::margin`](super::Node::margin).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// What the next model call can cost, in 10⁻¹² USD.
    pub next_cost: u64,
    /// The tokens that it can use.
    pub next_tokens: u64,
    /// What calls that are out can have cost, in 10⁻¹² USD.
    pub open: u64,
}

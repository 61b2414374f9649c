//! Invariants: what must be true whatever crashes, judged from the world's own books.
//!
//! The same functions serve the tests, the page and the search.

use std::sync::Arc;

use super::ledger::Entry;
use super::scenario::Scenario;
use super::world::World;
use crate::agent::canonical::canonical;
use crate::agent::config::Config;
use crate::agent::money::cents_text;
use crate::agent::run::{ModelStage, Run, Turn};
use crate::agent::state::ApprovalStatus;
use crate::json::decimal;
use crate::log::record::{Record, RecordBody};

/// All that an invariant is judged from.
pub struct Evidence<'a> {
    /// What is run.
    pub scenario: &'a Scenario,
    /// What the agent was given.
    pub config: &'a Config,
    /// The world and its books.
    pub world: &'a World,
    /// The log.
    pub log: &'a [Arc<Record>],
    /// What the living agent has recorded.
    pub run: Option<&'a Run>,
}

/// When an invariant has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// After every effect.
    Always,
    /// At the end of every run.
    Eventually,
    /// In at least one run.
    Sometimes,
}

impl Kind {
    /// The word in views.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Always => "always",
            Kind::Eventually => "eventually",
            Kind::Sometimes => "sometimes",
        }
    }
}

/// An invariant with its name and its judge.
pub struct Invariant {
    /// Its id in scenarios and verdicts.
    pub id: &'static str,
    /// Its name, a whole sentence.
    pub name: &'static str,
    /// When it has to hold.
    pub kind: Kind,
    /// `Err`: it does not hold, and why. `Always` has to hold at any time; the others are asked at the end.
    pub judge: fn(&Evidence) -> Result<String, String>,
}

/// An invariant that broke.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Breach {
    /// Which.
    pub id: &'static str,
    /// With the figures.
    pub explanation: String,
    /// The record of the log at which it was seen.
    pub record: Option<usize>,
}

/// All invariants.
pub const INVARIANTS: [Invariant; 10] = [
    Invariant { id: "refunded_once", name: "A charge is refunded at most once", kind: Kind::Always, judge: refunded_once },
    Invariant {
        id: "refund_within_charge",
        name: "A refund is never above its charge",
        kind: Kind::Always,
        judge: refund_within_charge,
    },
    Invariant {
        id: "approved_exactly",
        name: "Nothing irreversible happens without a person’s approval of exactly these arguments",
        kind: Kind::Always,
        judge: approved_exactly,
    },
    Invariant { id: "asked_once", name: "Nobody is asked twice about one action", kind: Kind::Always, judge: asked_once },
    Invariant {
        id: "spend_recorded",
        name: "Recorded spend is never below the provider’s meter",
        kind: Kind::Always,
        judge: spend_recorded,
    },
    Invariant {
        id: "within_budget",
        name: "The provider’s meter never exceeds the budget",
        kind: Kind::Always,
        judge: within_budget,
    },
    Invariant {
        id: "told_the_truth",
        name: "The customer is told of a refund exactly when there is one",
        kind: Kind::Always,
        judge: told_the_truth,
    },
    Invariant { id: "traced", name: "No effect is missing from the trace", kind: Kind::Always, judge: traced },
    Invariant { id: "ends", name: "Whatever crashes, the run ends: done or handed over", kind: Kind::Eventually, judge: ends },
    Invariant { id: "refund_happens", name: "A refund does happen", kind: Kind::Sometimes, judge: refund_happens },
];

/// The `Always` invariants that do not hold now.
pub fn breaches(evidence: &Evidence) -> Vec<Breach> {
    let always = INVARIANTS.iter().filter(|invariant| invariant.kind == Kind::Always);
    let broken = |invariant: &Invariant| {
        let explanation = (invariant.judge)(evidence).err()?;
        Some(Breach { id: invariant.id, explanation, record: None })
    };
    always.filter_map(broken).collect()
}

fn refunds<'a>(evidence: &'a Evidence) -> impl Iterator<Item = (&'a Arc<str>, u64, &'a Arc<str>)> {
    evidence.world.rows().iter().filter_map(|row| match &row.entry {
        Entry::Refund { charge_id, cents, by, .. } => Some((charge_id, *cents, by)),
        _ => None,
    })
}

fn refunded_once(evidence: &Evidence) -> Result<String, String> {
    let charges: Vec<&Arc<str>> = refunds(evidence).map(|(charge_id, _, _)| charge_id).collect();
    for charge_id in &charges {
        let count = charges.iter().filter(|other| *other == charge_id).count();
        if count > 1 {
            return Err(format!("{charge_id} was refunded {count} times"));
        }
    }
    Ok(format!("{} refunded", plural(charges.len(), "charge")))
}

fn refund_within_charge(evidence: &Evidence) -> Result<String, String> {
    for (charge_id, cents, _) in refunds(evidence) {
        let charged = evidence
            .world
            .charge(charge_id)
            .and_then(|(_, charge)| decimal(&charge["amount"]))
            .and_then(|amount| amount.scaled(2));
        let charged = charged.unwrap_or(0);
        if cents > charged {
            return Err(format!("{} was refunded for {charge_id}, a charge of {}", cents_text(cents), cents_text(charged)));
        }
    }
    Ok("no refund is larger than its charge".to_string())
}

/// Each execution of an irreversible tool uses up one approval by a person of exactly its arguments.
fn approved_exactly(evidence: &Evidence) -> Result<String, String> {
    let mut unused: Vec<(&str, String)> = Vec::new();
    let mut questions: Vec<(&Arc<str>, &str, String)> = Vec::new();
    let mut actions: Vec<&Arc<str>> = Vec::new();
    for row in evidence.world.rows() {
        match &row.entry {
            Entry::Question { key, tool, args } => {
                questions.push((key, tool, canonical(args)));
            }
            Entry::Decision { key, status: ApprovalStatus::Approved, approver, .. } if approver.starts_with("human:") => {
                if let Some((_, tool, args)) = questions.iter().rev().find(|(asked, _, _)| *asked == key) {
                    unused.push((tool, args.clone()));
                }
            }
            // The same key again is the same action: whether it happened twice is judged by the refunds.
            Entry::Request { tool, args, key, result: Some(_), .. }
                if is_irreversible(evidence.config, tool) && !actions.contains(&key) =>
            {
                actions.push(key);
                match unused.iter().position(|(approved, with)| **approved == **tool && **with == **args) {
                    Some(place) => {
                        unused.swap_remove(place);
                    }
                    None => return Err(format!("{tool} ran with {args}, and no person had approved that")),
                }
            }
            _ => {}
        }
    }
    Ok(format!("{} approved by a person", plural(actions.len(), "irreversible call")))
}

fn is_irreversible(config: &Config, tool: &str) -> bool {
    config.tool(tool).is_some_and(|spec| spec.irreversible)
}

fn asked_once(evidence: &Evidence) -> Result<String, String> {
    let questions = evidence.world.questions();
    for (index, question) in questions.iter().enumerate() {
        if questions[..index].iter().any(|earlier| earlier.key == question.key) {
            return Err(format!("the same question about {} was asked again: {}", question.tool, canonical(question.args)));
        }
    }
    Ok(plural(questions.len(), "question"))
}

/// What the agent has recorded covers what the provider has billed. A call that is out counts with its projection, as a resumed
/// agent would count it.
fn spend_recorded(evidence: &Evidence) -> Result<String, String> {
    let (_, _, _, billed) = evidence.world.meter();
    let Some(run) = evidence.run else {
        return Ok("the agent is gone; the next one will be judged".to_string());
    };
    let is_out = matches!(&run.turn, Turn::Model(turn) if turn.stage == ModelStage::InFlight);
    let open = if is_out { run.projection(evidence.config).cost } else { Default::default() };
    let recorded = run.state.cost.plus(open);
    let figures = format!("recorded {} USD, billed {} USD", recorded.usd(), billed.usd());
    if recorded >= billed { Ok(figures) } else { Err(figures) }
}

fn within_budget(evidence: &Evidence) -> Result<String, String> {
    let (_, _, _, billed) = evidence.world.meter();
    let limit = evidence.config.limits.budget;
    let figures = format!("billed {} of {} USD", billed.usd(), limit.usd());
    if billed <= limit { Ok(figures) } else { Err(figures) }
}

/// A refund is told by its number. A charge that was refunded twice is told by one of them: the second refund is another invariant's
/// matter. A run that was handed over has told nothing yet; the person who took it over will.
fn told_the_truth(evidence: &Evidence) -> Result<String, String> {
    let mail = evidence.world.rows().iter().find_map(|row| match &row.entry {
        Entry::Mail { text, .. } => Some(text),
        _ => None,
    });
    let Some(text) = mail else {
        return Ok("nothing was told yet".to_string());
    };
    let mut refunds = 0;
    for row in evidence.world.rows() {
        if let Entry::Refund { refund_id, charge_id, .. } = &row.entry {
            refunds += 1;
            if !evidence.world.refund_ids_of(charge_id).any(|id| text.contains(&**id)) {
                return Err(format!("there is a refund {refund_id}, and the answer does not tell of it"));
            }
        }
    }
    if refunds == 0 && text.contains("RF-") {
        return Err("the answer tells of a refund, and there is none".to_string());
    }
    Ok(format!("the answer tells of {}", plural(refunds, "refund")))
}

/// Every row that an agent caused stands behind an intent in the log: a request behind a `tool_call` with its key, a billed call
/// behind an `llm_request`, a question behind an `approval_request`.
fn traced(evidence: &Evidence) -> Result<String, String> {
    let intent_of = |record: Option<u64>| {
        let place = usize::try_from(record?).ok()?;
        evidence.log.get(place).map(|record| &record.body)
    };
    for row in evidence.world.rows() {
        let missing = match &row.entry {
            Entry::ModelCall { .. } if !matches!(intent_of(row.record), Some(RecordBody::LlmRequest { .. })) => {
                Some("a model call".to_string())
            }
            Entry::Request { tool, key, .. } => match intent_of(row.record) {
                Some(RecordBody::ToolCall { tool: named, idempotency_key, .. }) if named == tool && idempotency_key == key => {
                    None
                }
                _ => Some(format!("a request to {tool}")),
            },
            _ => None,
        };
        if let Some(missing) = missing {
            return Err(format!("{missing} has no intent in the log"));
        }
    }
    Ok(format!("{} in the books, each with its intent", plural(evidence.world.rows().len(), "row")))
}

fn ends(evidence: &Evidence) -> Result<String, String> {
    if evidence.world.is_closed() { Ok("the run has ended".to_string()) } else { Err("the run has not ended".to_string()) }
}

fn refund_happens(evidence: &Evidence) -> Result<String, String> {
    let count = evidence.world.refund_count();
    if count > 0 { Ok(plural(count, "refund")) } else { Err("no refund so far".to_string()) }
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

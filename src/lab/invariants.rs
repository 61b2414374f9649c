//! Invariants: what must be true whatever crashes, judged from the world's own books.
//!
//! The same functions serve the tests, the page and the search.

use std::sync::Arc;

use super::ledger::{Entry, Row};
use super::scenario::Scenario;
use super::tool_definition::effects_of;
use super::world::World;
use crate::agent::config::Config;
use crate::base::canonical::canonical;
use crate::base::json::decimal;
use crate::base::money::{PicoUsd, cents_text};
use crate::base::text::plural;
use crate::lab::answer_check::untruth;
use crate::record::{ApprovalStatus, InDoubt, Record, RecordBody, StopCause};

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
    pub fn as_str(self) -> &'static str {
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
    pub judge: Judge,
    /// False: the scenario has nothing that it could be judged by, so it is not shown.
    pub concerns: fn(&Scenario) -> bool,
}

/// `Ok`: it holds, with the figures.
type Judge = fn(&Evidence) -> Result<String, String>;

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

impl Invariant {
    const fn always(id: &'static str, name: &'static str, judge: Judge) -> Invariant {
        Invariant { id, name, kind: Kind::Always, judge, concerns: |_| true }
    }

    const fn of_kind(self, kind: Kind) -> Invariant {
        Invariant { kind, ..self }
    }

    const fn only_for(self, concerns: fn(&Scenario) -> bool) -> Invariant {
        Invariant { concerns, ..self }
    }
}

/// All invariants.
pub const INVARIANTS: [Invariant; 15] = [
    Invariant::always("refunded_once", "A charge is refunded at most once", refunded_once),
    Invariant::always("refund_within_charge", "A refund is never above its charge", refund_within_charge),
    Invariant::always(
        "approved_exactly",
        "Nothing irreversible happens without a person’s approval of exactly these arguments",
        approved_exactly,
    ),
    Invariant::always("asked_once", "Nobody is asked twice about one action", asked_once),
    Invariant::always("spend_recorded", "Recorded spend is never below the provider’s meter", spend_recorded),
    Invariant::always("within_budget", "The provider’s meter never exceeds the budget", within_budget),
    Invariant::always("told_the_truth", "The customer is told of a refund exactly when there is one", answer_is_true),
    Invariant::always("step_paid_once", "A step whose answer is in the log is not paid for again", step_paid_once),
    Invariant::always("blips_hidden", "The model is not paid to hear of a blip that a retry would have absorbed", blips_hidden),
    Invariant::always("no_circles", "The agent does not go in circles", no_circles),
    Invariant::always("no_lockstep", "A herd of agents does not come back all at once", no_lockstep),
    Invariant::always("traced", "No effect is missing from the trace", traced),
    Invariant::always("ends", "Whatever crashes, the run ends: done or handed over", ends).of_kind(Kind::Eventually),
    Invariant::always("refund_happens", "A refund does happen", refund_happens).of_kind(Kind::Sometimes),
    Invariant::always("effect_at_most_once", "What may happen once happens at most once", effect_at_most_once)
        .only_for(|scenario| effects_of(&scenario.tools).any(|effect| effect.business_key.is_some())),
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

/// Two effects of one name and one business key are one too many, whichever tool had them.
fn effect_at_most_once(evidence: &Evidence) -> Result<String, String> {
    let mut happened: Vec<(&str, &str)> = Vec::new();
    for row in evidence.world.rows() {
        if let Entry::Effect { name, business_key: Some(key), .. } = &row.entry {
            if happened.contains(&(name, key)) {
                return Err(format!("there is a second {name} for {key}"));
            }
            happened.push((name, key));
        }
    }
    Ok(format!("{}, none of them twice for the same", plural(happened.len(), "effect")))
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
                    Some(index) => {
                        unused.swap_remove(index);
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

/// What the log says was spent covers what the provider has billed. A call whose answer is not in the log counts with its projection
/// while it is out, and for good if the log says that it is in doubt.
fn spend_recorded(evidence: &Evidence) -> Result<String, String> {
    let (_, _, _, billed) = evidence.world.meter();
    let mut recorded = PicoUsd(0);
    let mut open: Vec<PicoUsd> = Vec::new();
    for record in evidence.log {
        match &record.body {
            RecordBody::LlmRequest { projected, .. } => open.push(projected.plus(ROUNDED_OFF)),
            RecordBody::LlmCall(call) => {
                recorded = recorded.plus(evidence.config.prices.cost(call.input_tokens, call.output_tokens));
                open.pop();
            }
            RecordBody::LlmRetry(retry) => {
                let projected = open.pop().filter(|_| retry.failure.may_have_run());
                recorded = recorded.plus(projected.unwrap_or_default());
            }
            // A last attempt that certainly was not executed cost nothing.
            RecordBody::Stop { cause: cause @ StopCause::ModelFailed { .. }, .. } if !cause.model_may_have_run() => open.clear(),
            // What the log does not call in doubt here is forgotten by the agent that continues.
            RecordBody::Resume { in_doubt, .. } => {
                open.clear();
                if let Some(InDoubt::Model { projected, .. }) = in_doubt {
                    recorded = recorded.plus(projected.plus(ROUNDED_OFF));
                }
            }
            _ => {}
        }
    }
    let recorded = open.into_iter().fold(recorded, PicoUsd::plus);
    let figures = format!("recorded {} USD, billed {} USD", recorded.usd(), billed.usd());
    if recorded >= billed { Ok(figures) } else { Err(figures) }
}

/// A projection in the log is rounded to 7 decimals.
const ROUNDED_OFF: PicoUsd = PicoUsd(50_000);

fn within_budget(evidence: &Evidence) -> Result<String, String> {
    let (_, _, _, billed) = evidence.world.meter();
    let limit = evidence.config.limits.budget;
    let figures = format!("billed {} of {} USD", billed.usd(), limit.usd());
    if billed <= limit { Ok(figures) } else { Err(figures) }
}

/// See [`untruth`].
fn answer_is_true(evidence: &Evidence) -> Result<String, String> {
    let rows = evidence.world.rows();
    let mail = rows.iter().find_map(|row| match &row.entry {
        Entry::Mail { text, .. } => Some(text),
        _ => None,
    });
    let Some(text) = mail else {
        return Ok("nothing was told yet".to_string());
    };
    let mut refunds: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if let Entry::Refund { refund_id, charge_id, .. } = &row.entry {
            refunds.push((charge_id, refund_id));
        }
    }
    let handed_over = evidence.world.effects("escalation").next().is_some();
    match untruth(text, &refunds, handed_over) {
        Some(why) => Err(why),
        None if handed_over && !refunds.iter().any(|(_, number)| text.contains(number)) => {
            Ok("a person takes over, who looks at the books and tells".to_string())
        }
        None => Ok(format!("the answer is true of {}", plural(refunds.len(), "refund"))),
    }
}

/// A step has one answer. A call whose answer never reached the log may be made again: nobody has what it said.
fn step_paid_once(evidence: &Evidence) -> Result<String, String> {
    let mut paid: Vec<u32> = Vec::new();
    for record in evidence.log.iter().filter(|record| matches!(record.body, RecordBody::LlmCall(_))) {
        if paid.contains(&record.step) {
            return Err(format!("step {} was paid for again", record.step));
        }
        paid.push(record.step);
    }
    Ok(format!("{} paid for once", plural(paid.len(), "step")))
}

/// A service that says 503 or does not accept the connection has done nothing, and works a moment later. Only when as many attempts as
/// the scenario allows have failed is that the model's business. A 429 may ask for more patience than there is.
fn blips_hidden(evidence: &Evidence) -> Result<String, String> {
    let attempts = evidence.scenario.retry.max_attempts as usize;
    let rows = evidence.world.rows();
    let mut blips = 0;
    for (index, row) in rows.iter().enumerate() {
        let Entry::Request { tool, key, outcome, .. } = &row.entry else { continue };
        let is_repeatable = evidence.config.tool(tool).is_some_and(|spec| spec.idempotent || spec.read_only);
        if !is_repeatable || !matches!(&**outcome, "unavailable" | "refused") {
            continue;
        }
        blips += 1;
        let step = step_of(evidence, row);
        let hears =
            |row: &Arc<Row>| matches!(row.entry, Entry::ModelCall { input_tokens: 1.., .. }) && step_of(evidence, row) > step;
        let is_of_call = |row: &&Arc<Row>| match &row.entry {
            Entry::Request { tool: of, key: with, .. } => of == tool && with == key && step_of(evidence, row) == step,
            _ => false,
        };
        let rest = &rows[index + 1..];
        if let Some(heard) = rest.iter().position(hears)
            && !rest[..heard].iter().any(|row| is_of_call(&row))
        {
            let failures = rows[..=index].iter().filter(is_of_call).count();
            if failures < attempts {
                return Err(format!("{tool} failed {failures} of {attempts} times, and the model was paid to hear of it"));
            }
        }
    }
    Ok(format!("{} so far, none of them the model’s business", plural(blips, "blip")))
}

/// The step in which a row was caused.
pub(super) fn step_of(evidence: &Evidence, row: &Row) -> u32 {
    intent_of(evidence, row).map_or(0, |record| record.step)
}

/// The record that stood last when a row was caused.
fn intent_of<'a>(evidence: &'a Evidence, row: &Row) -> Option<&'a Record> {
    let index = usize::try_from(row.record?).ok()?;
    evidence.log.get(index).map(Arc::as_ref)
}

/// The newest steps in a row that told the model only what it had been told in earlier steps are not more than is allowed.
fn no_circles(evidence: &Evidence) -> Result<String, String> {
    let limit = evidence.config.limits.max_stale_steps;
    let told = |record: &'_ Arc<Record>| match &record.body {
        RecordBody::ToolResult { tool, outcome, result, .. } => Some((tool.clone(), *outcome, result.clone())),
        _ => None,
    };
    let (mut stale, mut step) = (0, u32::MAX);
    for (index, record) in evidence.log.iter().enumerate().rev() {
        let Some(result) = told(record) else { continue };
        let is_same = |earlier: &Arc<Record>| earlier.step < record.step && told(earlier).as_ref() == Some(&result);
        if !evidence.log[..index].iter().any(is_same) {
            // What came later in the same step does not make it stale.
            stale -= usize::from(record.step == step);
            break;
        }
        stale += usize::from(record.step != step);
        step = record.step;
    }
    let figures = format!("{} told nothing new, the limit is {limit}", plural(stale, "step"));
    if stale <= limit as usize { Ok(figures) } else { Err(figures) }
}

/// Of a fleet not more than half try again in the same millisecond.
fn no_lockstep(evidence: &Evidence) -> Result<String, String> {
    let Some(fleet) = evidence.world.fleet() else {
        return Ok("this agent works alone".to_string());
    };
    let now_ms = evidence.log.last().map_or(0, |record| record.ts_ms);
    let (most, agents) = (fleet.most_at_once(now_ms), fleet.spec().agents);
    let figures = format!("at most {most} of {agents} agents tried again in the same millisecond");
    if most * 2 <= agents { Ok(figures) } else { Err(figures) }
}

/// Every row that an agent caused has an intent in the log: a request has a `tool_call` with its key, a billed call an
/// `llm_request`, a question an `approval_request`. An irreversible request comes after its approval too, and each
/// attempt at changing something has a number of its own.
fn traced(evidence: &Evidence) -> Result<String, String> {
    for row in evidence.world.rows() {
        let body = intent_of(evidence, row).map(|record| &record.body);
        match &row.entry {
            Entry::ModelCall { .. } if !matches!(body, Some(RecordBody::LlmRequest { .. })) => {
                return Err("a model call has no intent in the log".to_string());
            }
            Entry::Request { tool, key, args, .. } => match body {
                Some(RecordBody::ToolCall { tool: named, idempotency_key, .. }) if named == tool && idempotency_key == key => {
                    let index = row.record.and_then(|index| usize::try_from(index).ok()).unwrap_or(0);
                    comes_after_its_records(evidence, index, tool, args)?;
                }
                _ => return Err(format!("a request to {tool} has no intent in the log")),
            },
            _ => {}
        }
    }
    Ok(format!("{} in the books, each with its intent", plural(evidence.world.rows().len(), "row")))
}

/// Is the approval of the request that this `tool_call` announces in the log before it, and is the attempt no earlier one's?
fn comes_after_its_records(evidence: &Evidence, index: usize, tool: &Arc<str>, args: &Arc<str>) -> Result<(), String> {
    let RecordBody::ToolCall { call_id, attempt, .. } = &evidence.log[index].body else {
        return Ok(());
    };
    let is_approval = |record: &Arc<Record>| match &record.body {
        RecordBody::Approval { tool: of, args: with, decision, .. } => {
            decision.status == ApprovalStatus::Approved && of == tool && canonical(with) == **args
        }
        _ => false,
    };
    let is_gated = evidence.config.policies.approval_gate && is_irreversible(evidence.config, tool);
    if is_gated && !evidence.log[..index].iter().any(is_approval) {
        return Err(format!("{tool} ran, and its approval was not in the log"));
    }
    // Two agents at once number their attempts each for itself.
    let is_numbered = evidence.scenario.second_writer.is_none() && evidence.config.tool(tool).is_some_and(|spec| !spec.read_only);
    let earlier = evidence.log[..index].iter().rev().filter(|_| is_numbered);
    let of_this_answer = earlier.take_while(|record| !matches!(record.body, RecordBody::LlmCall(_)));
    let is_same = |record: &&Arc<Record>| match &record.body {
        RecordBody::ToolCall { tool: of, call_id: named, attempt: number, .. } => {
            of == tool && named == call_id && number == attempt
        }
        _ => false,
    };
    match of_this_answer.into_iter().find(is_same) {
        Some(_) => Err(format!("two requests to {tool} are both attempt {attempt} of {call_id}")),
        None => Ok(()),
    }
}

fn ends(evidence: &Evidence) -> Result<String, String> {
    if evidence.world.is_closed() { Ok("the run has ended".to_string()) } else { Err("the run has not ended".to_string()) }
}

fn refund_happens(evidence: &Evidence) -> Result<String, String> {
    let count = evidence.world.refund_count();
    if count > 0 { Ok(plural(count, "refund")) } else { Err("no refund so far".to_string()) }
}

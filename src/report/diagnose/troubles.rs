//! What went wrong in a run, however it ended, and what to change: failed checks, and what was paid or asked twice.

use super::super::evaluate::{Verdict, evaluate_run};
use super::super::facts::RunFacts;
use crate::base::text::plural;
use crate::lab::mechanisms::Mechanism;

/// Something that went wrong.
pub(super) struct Trouble {
    /// A sentence with the figures.
    pub(super) what: String,
    /// What to change.
    pub(super) change: Advice,
    /// The records that prove it.
    pub(super) records: Vec<usize>,
}

/// What to change, in a sentence.
pub(super) struct Advice {
    /// The mechanism that it names.
    pub(super) mechanism: Option<Mechanism>,
    /// The sentence.
    pub(super) text: String,
}

/// All of it, in the order of the checks.
pub(super) fn troubles(facts: &RunFacts) -> Vec<Trouble> {
    let failed = evaluate_run(facts).checks.into_iter().filter(|check| check.verdict == Verdict::Fail && check.id != "finished");
    let mut troubles: Vec<Trouble> = failed
        .map(|check| Trouble { change: change_for(check.id, facts), what: check.sentence, records: check.records })
        .collect();
    troubles.extend(paid_again(facts));
    troubles.extend(asked_again(facts));
    troubles
}

/// The first of these mechanisms that was off, as an advice; else the rule itself.
fn advice(facts: &RunFacts, mechanisms: &[Mechanism], rule: &str) -> Advice {
    let is_off = |mechanism: &&Mechanism| !facts.has_mechanism(mechanism.text().id);
    let mechanism = mechanisms.iter().find(is_off).copied();
    let text = match mechanism {
        Some(mechanism) => format!("{rule}; “{}” does that, and it was off.", mechanism.text().name),
        None => format!("{rule}."),
    };
    Advice { mechanism, text }
}

fn change_for(check: &str, facts: &RunFacts) -> Advice {
    use Mechanism::{
        ApprovalGate, BudgetGuard, Checkpoints, DefaultDeny, ExactArguments, Idempotency, IntentKeys, Journal, SavedGuards,
        SingleWriter,
    };
    let (mechanisms, rule): (&[Mechanism], &str) = match check {
        "refunded_once" if facts.has_mechanism("idempotency") => (
            &[IntentKeys, SingleWriter],
            "Send the refund under one key, made from the charge, so that a repetition is recognised",
        ),
        "refunded_once" | "no_blind_retry" if !facts.has_mechanism("idempotency") => {
            (&[Idempotency], "Let billing remember the key of each refund, so that a repetition is recognised")
        }
        "no_blind_retry" => (
            &[],
            "Ask the service whether the first attempt was executed before the call is sent again, or make the call idempotent",
        ),
        "approved_by_person" if !facts.has_mechanism("default_deny") => {
            (&[DefaultDeny], "Where nobody is set up to decide, let the answer be no")
        }
        "approved_by_person" | "approved_before" if !facts.has_mechanism("approval_gate") => {
            (&[ApprovalGate], "Stop in code before each irreversible call, whatever the model means to do")
        }
        "approved_by_person" => (&[], "Let a person decide about each irreversible call"),
        "approved_before" => {
            (&[ExactArguments], "Let a decision cover the arguments that were shown and nothing else, and serve one execution")
        }
        "within_budget" => (
            &[BudgetGuard, SavedGuards, Journal, Checkpoints],
            "Before each call, compare what was spent and what the call can cost at most with the budget",
        ),
        "told_the_truth" => (&[], "Let the answer quote the number from the refund’s own result"),
        _ => (&[SingleWriter], "Write each record before its effect, and let one agent at a time write the log"),
    };
    advice(facts, mechanisms, rule)
}

/// Steps whose answer was in the log and that the model was asked about again.
fn paid_again(facts: &RunFacts) -> Option<Trouble> {
    let records = facts.answered_again();
    (!records.is_empty()).then(|| Trouble {
        what: format!("{} whose answer was in the log already.", plural_paid(records.len())),
        change: advice(
            facts,
            &[Mechanism::Checkpoints, Mechanism::Journal, Mechanism::SingleWriter],
            "Go on from what the log and the checkpoint hold",
        ),
        records,
    })
}

fn plural_paid(calls: usize) -> String {
    format!("{} {} made and paid for", plural(calls, "model call"), if calls == 1 { "was" } else { "were" })
}

/// Questions that were put again because the inbox had forgotten them. With an inbox that keeps them a second record of the same
/// question finds its decision.
fn asked_again(facts: &RunFacts) -> Option<Trouble> {
    if facts.has_mechanism(Mechanism::DurableApprovals.text().id) {
        return None;
    }
    let is_again = |place: usize| {
        let (_, key) = &facts.questions[place];
        !key.is_empty() && facts.questions[..place].iter().any(|(_, earlier)| earlier == key)
    };
    let records: Vec<usize> =
        (0..facts.questions.len()).filter(|&place| is_again(place)).map(|place| facts.questions[place].0).collect();
    (!records.is_empty()).then(|| Trouble {
        what: format!("A person was asked the same question again, {}.", plural(records.len(), "time")),
        change: advice(facts, &[Mechanism::DurableApprovals], "Keep question and decision outside the agent"),
        records,
    })
}

//! A run that ended with an answer: was it handed over, what did not work, and what the retries hid.

use super::super::facts::{Call, CallResult, Did, RunFacts};
use super::{Finding, flaky_of};
use crate::base::text::{plural, preview};
use crate::lab::mechanisms::Mechanism;
use crate::log::trace::RecordedError;
use crate::record::FailureKind;

/// Why it ended, and what to change if nothing is wrong with how it did.
pub(super) fn done(facts: &RunFacts, index: usize) -> Finding {
    let with_result = |fits: fn(&CallResult) -> bool| -> Vec<&Call> {
        facts.calls.iter().filter(|call| call.result.as_ref().is_some_and(fits)).collect()
    };
    let refused = with_result(|result| result.refused);
    let failed = with_result(|result| result.ok == Some(false) && !result.refused);
    let handed_over = facts.calls.iter().find(|call| call.is_hand_over());
    let mut records: Vec<usize> = vec![index];
    let cause = match (refused.first(), failed.last()) {
        (Some(call), _) => {
            let decision =
                facts.decisions.iter().rev().find(|decision| decision.tool == call.tool && decision.decision != "approved");
            records.extend(call.records());
            let by = decision.and_then(|decision| decision.approver.as_deref()).unwrap_or("nobody named");
            match decision.map(|decision| decision.decision.as_str()) {
                Some("expired") => Some(format!("nobody decided about {} in time", call.tool)),
                _ => Some(format!("{} was denied by {by}", call.tool)),
            }
        }
        (None, Some(call)) if handed_over.is_some() => {
            records.extend(call.records());
            Some(format!("{} did not work ({})", call.tool, preview(error_of(call), 120)))
        }
        _ => None,
    };
    records.extend(handed_over.map(Call::records).into_iter().flatten());
    let (spent, _) = facts.spent();
    let cost = format!("{} for {} USD", plural(facts.model_calls.len(), "model call"), spent.usd());
    let (why, change) = match (handed_over, cause) {
        (Some(_), Some(cause)) => (
            format!("The run ended with an answer and was handed over to a person, because {cause}; {cost}."),
            change_after(&refused, &failed, facts),
        ),
        (Some(_), None) => (
            format!("The run ended with an answer and was handed over to a person; {cost}."),
            "If it should not have been, see what the model was told before it did that.".to_string(),
        ),
        (None, Some(cause)) => {
            (format!("The run ended with an answer, although {cause}; {cost}."), change_after(&refused, &failed, facts))
        }
        (None, None) if !failed.is_empty() => {
            records.extend(failed.iter().filter_map(|call| call.result.as_ref()).map(|result| result.index));
            let calls = plural(failed.len(), "call");
            let why =
                format!("The run ended with an answer, after {calls} of which the model had to hear that it failed; {cost}.");
            (why, changes_after_failures(&failed, facts))
        }
        (None, None) => (format!("The run ended with an answer; {cost}."), nothing(facts)),
    };
    // Failures that a later attempt of the same call made good never reached the model.
    let hidden: Vec<String> = flaky_of(facts, Call::happened).into_iter().map(|tool| tool.sentence).collect();
    if hidden.is_empty() || handed_over.is_some() || !refused.is_empty() {
        return (why, change, records);
    }
    (why, format!("{change} The retries hid this from the model: {}", hidden.join(" ")), records)
}

/// A run that shows nothing to change. What a mechanism prevents need not be seen in the trace of a run without it.
fn nothing(facts: &RunFacts) -> String {
    let is_off = |mechanism: &Mechanism| !facts.has_mechanism(mechanism.text().id);
    let off: Vec<String> =
        Mechanism::ALL.into_iter().filter(is_off).map(|mechanism| format!("“{}”", mechanism.text().name)).collect();
    match off.len() {
        0 => "Nothing has to change.".to_string(),
        1 => format!("The trace shows nothing that has to change, but {} was off.", off[0]),
        _ => format!("The trace shows nothing that has to change, but {} were off.", off.join(", ")),
    }
}

fn recorded_error(call: &Call) -> Option<&RecordedError> {
    call.result.as_ref()?.error.as_ref()
}

fn error_of(call: &Call) -> &str {
    recorded_error(call).map_or("it failed", |error| &error.text)
}

/// Calls that failed for the same reason, and what helps.
fn changes_after_failures(failed: &[&Call], facts: &RunFacts) -> String {
    let was_sent = |call: &Call| call.events.iter().any(|event| matches!(event.what, Did::Sent { .. } | Did::Failed { .. }));
    // Without recorded intents it is not known which calls were sent.
    let is_misfit = |call: &&&Call| facts.has.intents && !was_sent(call) && call.fits != Some(true);
    let (misfits, others): (Vec<&Call>, Vec<&Call>) = failed.iter().copied().partition(|call| is_misfit(&call));
    let is_refusal = |call: &&Call| recorded_error(call).is_some_and(|error| error.kind() == FailureKind::Rejected);
    let (rejected, exhausted): (Vec<&Call>, Vec<&Call>) = others.into_iter().partition(is_refusal);
    let mut changes = Vec::new();
    if let Some(call) = misfits.last() {
        changes.push(format!(
            "Describe the tools more strictly: {} named no tool or did not fit it, and the model was paid to hear of that ({}).",
            plural(misfits.len(), "call"),
            preview(error_of(call), 120)
        ));
    }
    if let Some(call) = rejected.last() {
        let error = error_of(call);
        changes.push(if recorded_error(call).is_some_and(RecordedError::is_stale_read) {
            format!("The service noticed that the world had changed, and {} did nothing: nothing has to change there.", call.tool)
        } else {
            format!("Mend what {} was asked: the service refused it ({}).", call.tool, preview(error, 120))
        });
    }
    if let Some(call) = exhausted.last() {
        let what = format!("{} did not work ({})", call.tool, preview(error_of(call), 120));
        changes.push(if facts.has_mechanism(Mechanism::Retries.text().id) {
            format!("Mend the service, or allow more or longer waits: {what}, and the model had to plan again.")
        } else {
            format!(
                "Send a call that certainly was not executed again before the model hears of it: {what}; “{}” does that, and it was off.",
                Mechanism::Retries.text().name
            )
        });
    }
    changes.join(" ")
}

fn change_after(refused: &[&Call], failed: &[&Call], facts: &RunFacts) -> String {
    let is_policy = facts
        .decisions
        .iter()
        .any(|decision| decision.approver.as_deref().is_some_and(|approver| approver.starts_with("policy:deny")));
    let expired = facts.decisions.iter().any(|decision| decision.decision == "expired");
    if is_policy {
        "Set up a person who can approve: with nobody there, everything irreversible is denied.".to_string()
    } else if expired {
        "Give the person more time, or put the question where somebody sees it.".to_string()
    } else if !refused.is_empty() {
        "A person’s no is an answer, not a fault: change what is proposed, not how often.".to_string()
    } else {
        changes_after_failures(failed, facts)
    }
}

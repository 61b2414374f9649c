//! A run without an end: where it died, and what is in doubt.

use super::super::facts::{Call, Did, Event, RunFacts};
use super::{Finding, flaky};
use crate::base::text::plural;
use crate::lab::mechanisms::Mechanism;
use crate::log::trace::CrashPoint;

/// A finding's `why` after the place, and its `change`.
type Reported = (String, String);

pub(super) fn unfinished(facts: &RunFacts) -> Finding {
    let last = facts.records.last().copied().unwrap_or(0);
    let kind = facts.kinds.last().map_or("", String::as_str);
    let mut records = vec![last];
    let crash = facts.crashes.last().filter(|(index, _)| facts.resumes.last().is_none_or(|(resume, _)| resume < index));
    let point = crash.map(|(_, at)| CrashPoint::from_label(at));
    let place = match (crash, &point) {
        (Some((index, _)), Some(point)) => {
            records.push(*index);
            format!("The agent died {}", point.told)
        }
        _ => {
            let step = facts.last_step.map_or_else(String::new, |step| format!(", in step {step}"));
            format!("The trace ends with record {last} ({kind}){step}")
        }
    };
    let nothing_happened = point.is_some_and(|point| point.is_before_effect);
    let open = facts.calls.iter().rev().find(|call| call.result.is_none() && !call.events.is_empty());
    let (what, change) = if let Some((index, tool)) = &facts.open_question {
        records.push(*index);
        question(facts, tool, nothing_happened)
    } else if let Some(call) = open.filter(|call| call.is_in_doubt()) {
        records.extend(call.records());
        call_in_doubt(facts, call, nothing_happened)
    } else if let Some(open) = &facts.open_request {
        records.push(open.index);
        let cost = open.projected.map_or_else(|| "its cost".to_string(), |projected| format!("up to {} USD", projected.usd()));
        let what = if nothing_happened {
            format!(
                "; only the intent to call the model is written down, so a new agent takes the call to be in doubt, with {cost}."
            )
        } else {
            format!("; a model call was under way, so it is in doubt and {cost} may have been billed.")
        };
        (what, "Resume it: what the call can have cost counts as spent, and the model is asked again.".to_string())
    } else if let Some(call) = open {
        records.extend(call.records());
        between_attempts(facts, call)
    } else {
        (
            ", and no `stop` follows.".to_string(),
            "Nothing is in doubt, so it can be resumed from its log and checkpoint.".to_string(),
        )
    };
    (format!("{place}{what}"), two_writers(facts).unwrap_or(change), records)
}

fn question(facts: &RunFacts, tool: &str, nothing_happened: bool) -> Reported {
    let what = if nothing_happened {
        format!("; the question about {tool} had not reached a person.")
    } else {
        format!(", while a person had the question about {tool}.")
    };
    let change = if nothing_happened {
        "Resume it: the question is put then."
    } else if facts.has_mechanism(Mechanism::DurableApprovals.text().id) {
        "Answer it. Resume it if the agent is gone: question and answer are kept outside the agent, and nobody is asked twice."
    } else {
        "Answer it. If the agent is gone, the person is asked the same again: “Durable approvals”, which keeps question and answer outside the agent, was off."
    };
    (what, change.to_string())
}

fn call_in_doubt(facts: &RunFacts, call: &Call, nothing_happened: bool) -> Reported {
    let attempt = call.sent().len().max(1);
    let what = if nothing_happened {
        format!(
            "; only the intent to call {} (attempt {attempt}) is written down, so a new agent takes the call to be in doubt.",
            call.tool
        )
    } else {
        format!("; {} (attempt {attempt}) was sent and its outcome is not known, so it is in doubt.", call.tool)
    };
    let change = match facts.flags(&call.tool) {
        Some(flags) if flags.read_only => "Resume it: the call is sent again; it only reads.",
        Some(flags) if flags.repeatable => "Resume it: the call is sent again under the same key, which does nothing twice.",
        Some(flags) if flags.resent => {
            "A resume sends it again, and billing does not recognise it: look up whether it was executed first; “Idempotent billing” was off."
        }
        Some(_) => "Resume it, and look up whether it was executed before anybody sends it again: it must not happen twice.",
        None => {
            "Look up whether it was executed before anybody sends it again; the trace does not say whether it may be repeated."
        }
    };
    (what, change.to_string())
}

/// A call about which nothing is in doubt: it waits for its first attempt, or for its next one.
fn between_attempts(facts: &RunFacts, call: &Call) -> Reported {
    let decision = call.events.iter().rev().find_map(|event| match event.what {
        Did::Decided(place) => facts.decisions.get(place),
        _ => None,
    });
    let failures = call.events.iter().filter(|event| matches!(event.what, Did::Failed { .. })).count();
    let flaky: Vec<String> = flaky(facts).into_iter().map(|tool| tool.sentence).collect();
    let nothing = format!("Nothing is in doubt, so it can be resumed. {}", flaky.join(" ")).trim_end().to_string();
    let what = match (call.events.last(), decision.map(|decision| decision.decision.as_str())) {
        (Some(Event { what: Did::Failed { .. }, .. }), _) => {
            format!("; {} had failed {} and was waiting for the next attempt.", call.tool, times(failures))
        }
        (_, Some("approved")) => format!("; {} was approved and had not been sent.", call.tool),
        (_, Some("denied")) => format!("; {} was denied, and the model had not heard of it.", call.tool),
        (_, Some("expired")) => format!("; nobody had decided about {} in time, and the model had not heard of it.", call.tool),
        _ => format!("; {} had not been sent.", call.tool),
    };
    (what, nothing)
}

fn times(number: usize) -> String {
    if number == 1 { "once".to_string() } else { plural(number, "time") }
}

/// Where two agents have written one log, nobody can go on from it.
fn two_writers(facts: &RunFacts) -> Option<String> {
    let text = Mechanism::SingleWriter.text();
    let is_torn = !facts.gaps.is_empty() || !facts.answered_again().is_empty();
    (is_torn && !facts.has_mechanism(text.id)).then(|| {
        format!("It cannot simply be resumed: two agents wrote this log, and its records do not follow from one another; “{}” was off.", text.name)
    })
}

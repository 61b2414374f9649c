//! Why a run stopped, and what to change: read from the end of its trace, in two sentences.
//!
//! Read the trace before you touch the prompt: most runs do not stop because of what the model was told.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::describe::duration;
use super::imported::Trace;
use super::story::{Call, Did, Story, stories, usd};
use crate::agent::money::PicoUsd;
use crate::agent::text::{plural, preview};
use crate::json::count;

/// A run's end, explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The run; empty if its records do not name it.
    pub run_id: String,
    /// The final status, or `unfinished`.
    pub status: String,
    /// Why it stopped, with the figures.
    pub why: String,
    /// What to change.
    pub change: String,
    /// The records that this speaks of, by place from 0.
    pub records: Vec<usize>,
    /// Tools whose calls had to be repeated, the worst first.
    pub flaky: Vec<Flaky>,
}

/// How often a tool failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flaky {
    /// The tool.
    pub tool: String,
    /// Attempts that were made.
    pub attempts: usize,
    /// How many of them failed.
    pub failures: usize,
    /// The records of the failures.
    pub records: Vec<usize>,
    /// With the figures.
    pub sentence: String,
}

/// Explains the end of every run of a trace.
pub fn diagnose(trace: &Trace) -> Vec<Diagnosis> {
    stories(trace).iter().map(diagnose_run).collect()
}

/// Why, what to change, and the records.
type Finding = (String, String, Vec<usize>);

fn diagnose_run(story: &Story) -> Diagnosis {
    let (status, (why, change, records)) = match story.stop() {
        None => ("unfinished".to_string(), unfinished(story)),
        Some((index, stop, status)) => {
            let finding = match status {
                "done" => done(story, index),
                "budget_usd" => budget_usd(story, index, stop),
                "budget_tokens" => budget_tokens(story, index, stop),
                "repeated_call" => repeated_call(story, index),
                "model_failed" => model_failed(story, index, stop),
                "storage_failed" => storage_failed(index),
                other => by_guard(story, index, other),
            };
            (status.to_string(), finding)
        }
    };
    let mut records = records;
    records.sort_unstable();
    records.dedup();
    Diagnosis { run_id: story.run_id.clone(), status, why, change, records, flaky: flaky(story) }
}

fn flaky(story: &Story) -> Vec<Flaky> {
    let mut tools: BTreeMap<&str, (usize, usize, Vec<usize>)> = BTreeMap::new();
    for call in &story.calls {
        let failed: Vec<usize> =
            call.events.iter().filter(|event| matches!(event.what, Did::Failed { .. })).map(|event| event.index).collect();
        let gave_up = call.result.as_ref().filter(|result| result.ok == Some(false) && !result.refused && !failed.is_empty());
        let sent = call.sent().len();
        // Without recorded intents, an attempt is a failure or a result.
        let attempts = if sent > 0 { sent } else { failed.len() + usize::from(call.result.is_some()) };
        let entry = tools.entry(&call.tool).or_default();
        entry.0 += attempts;
        entry.1 += failed.len() + usize::from(gave_up.is_some());
        entry.2.extend(failed);
        entry.2.extend(gave_up.map(|result| result.index));
    }
    let mut flaky: Vec<Flaky> = tools
        .into_iter()
        .filter(|(_, (_, failures, _))| *failures > 0)
        .map(|(tool, (attempts, failures, records))| {
            let share = (failures * 100 + attempts / 2) / attempts.max(1);
            let sentence = format!("{tool}: {failures} of {} failed ({share} %).", plural(attempts, "attempt"));
            Flaky { tool: tool.to_string(), attempts, failures, records, sentence }
        })
        .collect();
    flaky.sort_by_key(|tool| std::cmp::Reverse(tool.failures));
    flaky
}

fn share(part: PicoUsd, whole: PicoUsd) -> u128 {
    (u128::from(part.0) * 100 + u128::from(whole.0) / 2) / u128::from(whole.0.max(1))
}

fn budget_usd(story: &Story, index: usize, stop: &Value) -> Finding {
    let (used, next, limit) = (usd(stop.get("used")), usd(stop.get("next_call")), usd(stop.get("limit")));
    let (Some(used), Some(next), Some(limit)) = (used, next, limit.or(usd(story.limit("budget_usd")))) else {
        let why = "The budget stopped the run, and the record lacks used, next_call or limit.".to_string();
        return (why, "Record the three figures, so that the stop explains itself.".to_string(), vec![index]);
    };
    let sum = used.plus(next);
    let why = format!(
        "The next call could have cost {} USD; with the {} USD spent that is {} of the {} USD allowed.",
        next.usd(),
        used.usd(),
        sum.usd(),
        limit.usd()
    );
    let reserve = story.limit("output_reserve").and_then(count).zip(story.prices());
    let left = PicoUsd(limit.0.saturating_sub(used.0));
    let change = match reserve {
        Some((tokens, prices)) => {
            let reserve = prices.cost(0, tokens);
            let input = PicoUsd(next.0.saturating_sub(reserve.0));
            let fits = left.0.saturating_sub(input.0) / prices.output.0.max(1);
            let longest = story.model_calls.iter().filter_map(|call| call.output_tokens).max().unwrap_or(0);
            let advice = if fits > longest {
                format!("a reserve of at most {fits} would have fitted, and the longest answer took {longest}")
            } else {
                format!(
                    "raise the budget by at least {} USD, or send less: the longest answer took {longest} tokens",
                    PicoUsd(sum.0.saturating_sub(limit.0)).usd()
                )
            };
            format!(
                "{} USD of it ({} %) is the output reserve of {tokens} tokens: {advice}.",
                reserve.usd(),
                share(reserve, next)
            )
        }
        None => format!(
            "Raise the budget by at least {} USD, or make the request or the output reserve smaller; the trace does not say how large the reserve was.",
            PicoUsd(sum.0.saturating_sub(limit.0)).usd()
        ),
    };
    let calls = story.model_calls.iter().map(|call| call.index);
    (why, change, calls.chain([index]).collect())
}

fn budget_tokens(story: &Story, index: usize, stop: &Value) -> Finding {
    let figure = |key: &str| stop.get(key).and_then(count);
    let (Some(used), Some(next), Some(limit)) = (figure("used"), figure("next_call"), figure("limit")) else {
        let why = "The token budget stopped the run, and the record lacks used, next_call or limit.".to_string();
        return (why, "Record the three figures, so that the stop explains itself.".to_string(), vec![index]);
    };
    let sum = used.saturating_add(next);
    let why =
        format!("The next call could have taken {next} tokens; with the {used} taken that is {sum} of the {limit} allowed.");
    let change = match story.limit("output_reserve").and_then(count) {
        Some(reserve) => {
            let input = next.saturating_sub(reserve);
            format!(
                "{reserve} of them are the output reserve and {input} the conversation, which every call sends again: shorten results that stay in it, or allow at least {sum}."
            )
        }
        None => {
            format!("Every call sends the whole conversation again: shorten results that stay in it, or allow at least {sum}.")
        }
    };
    (why, change, story.model_calls.iter().map(|call| call.index).chain([index]).collect())
}

/// The calls that have a result, by tool and arguments.
fn rounds(story: &Story) -> Vec<(String, usize)> {
    let has_result = story.calls.iter().filter(|call| call.result.is_some());
    has_result
        .map(|call| {
            let identity = format!("{} {}", call.tool, call.args.as_deref().unwrap_or("?"));
            (identity, call.first_record().unwrap_or(0))
        })
        .collect()
}

fn repeated_call(story: &Story, index: usize) -> Finding {
    let rounds = rounds(story);
    let Some((newest, _)) = rounds.last() else {
        return by_guard(story, index, "repeated_call");
    };
    let guards: Vec<usize> = story.guards.iter().map(|(record, ..)| *record).collect();
    let same: Vec<usize> = rounds.iter().filter(|(identity, _)| identity == newest).map(|(_, record)| *record).collect();
    let pair = match rounds.as_slice() {
        [.., (a, first), (b, second), (c, third), (d, fourth)] if a == c && b == d && a != b => {
            Some((a, b, vec![*first, *second, *third, *fourth]))
        }
        _ => None,
    };
    let limit = story.limit("max_repeats").and_then(count);
    let is_repeated = limit.is_none_or(|limit| same.len() as u64 >= limit);
    let (why, records) = match pair.filter(|_| !is_repeated || same.len() < 3) {
        Some((a, b, records)) => {
            (format!("The model went in a circle: {} and {} in turn, each twice.", preview(a, 120), preview(b, 120)), records)
        }
        None => {
            let allowed = limit.map_or_else(String::new, |limit| format!("; {limit} are allowed"));
            (format!("The model made the same call {} times{allowed}: {}.", same.len(), preview(newest, 160)), same)
        }
    };
    let change = "Look at what that call gave back before you touch the prompt: the result did not tell the model what it needs, so make it say what is wrong and what to do instead.";
    (why, change.to_string(), [records, guards, vec![index]].concat())
}

fn model_failed(story: &Story, index: usize, stop: &Value) -> Finding {
    let error = stop.get("error").and_then(Value::as_str).unwrap_or("no error is recorded");
    let retries: Vec<usize> = story.model_retries.iter().map(|(record, _)| *record).collect();
    let why =
        format!("The model could not be had: {}; {} before it.", preview(error, 160), plural(retries.len(), "repeated attempt"));
    let change =
        "Nothing in the prompt changes that: check the provider's state and your limits there, and allow more or longer waits.";
    (why, change.to_string(), [retries, vec![index]].concat())
}

fn storage_failed(index: usize) -> Finding {
    let why = "Storage took no more records, so the run stopped before an effect that it could not have recorded.".to_string();
    (why, "Make room or mend the storage, then resume: everything up to the last record is safe.".to_string(), vec![index])
}

/// The guards that say what they observed and what is allowed.
fn by_guard(story: &Story, index: usize, status: &str) -> Finding {
    let guard = story.guards.iter().rev().find(|(_, name, _, _)| name == status);
    let figures = guard.map(|(_, _, observed, limit)| (plain(observed), plain(limit)));
    let (observed, limit) = figures.clone().unwrap_or_else(|| ("an unknown number".to_string(), "an unknown number".to_string()));
    let mut records: Vec<usize> = guard.iter().map(|(record, ..)| *record).chain([index]).collect();
    let (why, change) = match status {
        "max_steps" => {
            let busiest = busiest_tool(story);
            let most = busiest.map_or_else(String::new, |(tool, calls)| format!("; {calls} of its calls were to {tool}"));
            (
                format!("The run took {} of {limit} without an answer{most}.", counted(&observed, "step")),
                "Find the step at which it stopped getting nearer; raise the limit only if each step brought something new."
                    .to_string(),
            )
        }
        "deadline" => {
            let waited = waited_ms(story);
            (
                format!("The run was active for {observed} s of {limit} s, {} of it in waits between attempts.", duration(waited)),
                "If the waits are most of it, the services are the cause, not the model; else make steps faster or allow more time.".to_string(),
            )
        }
        "stale" => {
            let last = newest_results(story, 3);
            records.extend(last.iter().map(|(_, record)| *record));
            let names: Vec<String> = last.into_iter().map(|(tool, _)| tool).collect();
            (
                format!("{} in a row taught nothing new (allowed: {limit}): {}.", counted(&observed, "step"), names.join(", ")),
                "The model asks what it has been told; make the results say more, or give it a tool that can answer.".to_string(),
            )
        }
        "max_replans" => {
            let mut failing: BTreeMap<&str, usize> = BTreeMap::new();
            for call in story
                .calls
                .iter()
                .filter(|call| call.result.as_ref().is_some_and(|result| result.ok == Some(false) && !result.refused))
            {
                *failing.entry(&call.tool).or_default() += 1;
            }
            records.extend(&story.replans);
            let named: Vec<String> = failing.into_iter().map(|(tool, times)| format!("{tool} {times} ×")).collect();
            (
                format!(
                    "Failures made the model plan again {}; allowed: {limit} ({}).",
                    counted(&observed, "time"),
                    named.join(", ")
                ),
                "Mend what fails, or give the model another way than the one that fails.".to_string(),
            )
        }
        "max_resumes" => {
            let places: Vec<usize> =
                story.resumes.iter().map(|(record, _)| *record).chain(story.crashes.iter().map(|(record, _)| *record)).collect();
            let at = story.crashes.last().map_or_else(String::new, |(_, at)| format!("; the last time {at}"));
            records.extend(places);
            (
                format!("The run was resumed {} of {limit} and died again each time{at}.", counted(&observed, "time")),
                "Something at that place kills the agent: look there, not at the prompt.".to_string(),
            )
        }
        other if figures.is_some() => (
            format!("The guard {other} stopped the run: {observed}, allowed {limit}."),
            "See what led there in the steps before it.".to_string(),
        ),
        other => (
            format!("The run stopped with the status {other:?}, which this program does not know."),
            "See what its own program means by it; the records before it say what happened.".to_string(),
        ),
    };
    (why, change, records)
}

/// A recorded figure with its unit: `1 step`, `2 steps`, `an unknown number of steps`.
fn counted(figure: &str, what: &str) -> String {
    match figure.parse() {
        Ok(count) => plural(count, what),
        Err(_) => format!("{figure} of {what}s"),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn busiest_tool(story: &Story) -> Option<(&str, usize)> {
    let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &story.calls {
        *tools.entry(&call.tool).or_default() += 1;
    }
    tools.into_iter().max_by_key(|(_, calls)| *calls)
}

fn newest_results(story: &Story, number: usize) -> Vec<(String, usize)> {
    let results: Vec<(String, usize)> =
        story.calls.iter().filter_map(|call| Some((call.tool.clone(), call.result.as_ref()?.index))).collect();
    results[results.len().saturating_sub(number)..].to_vec()
}

fn waited_ms(story: &Story) -> u64 {
    story.backoffs_ms.iter().sum()
}

fn done(story: &Story, index: usize) -> Finding {
    let refused: Vec<&Call> =
        story.calls.iter().filter(|call| call.result.as_ref().is_some_and(|result| result.refused)).collect();
    let handed_over = story.calls.iter().find(|call| call.tool.contains("escalate") && call.happened());
    let failed: Vec<&Call> = story
        .calls
        .iter()
        .filter(|call| call.result.as_ref().is_some_and(|result| result.ok == Some(false) && !result.refused))
        .collect();
    let mut records: Vec<usize> = vec![index];
    let cause = match (refused.first(), failed.last()) {
        (Some(call), _) => {
            let decision =
                story.decisions.iter().rev().find(|decision| decision.tool == call.tool && decision.decision != "approved");
            records.extend(call.records());
            let by = decision.and_then(|decision| decision.approver.as_deref()).unwrap_or("nobody named");
            match decision.map(|decision| decision.decision.as_str()) {
                Some("expired") => Some(format!("nobody decided about {} in time", call.tool)),
                _ => Some(format!("{} was denied by {by}", call.tool)),
            }
        }
        (None, Some(call)) if handed_over.is_some() => {
            records.extend(call.records());
            let error = call.result.as_ref().and_then(|result| result.error.as_deref()).unwrap_or("it failed");
            Some(format!("{} did not work ({})", call.tool, preview(error, 120)))
        }
        _ => None,
    };
    records.extend(handed_over.map(Call::records).into_iter().flatten());
    let (spent, _) = story.spent();
    let cost = format!("{} for {} USD", plural(story.model_calls.len(), "model call"), spent.usd());
    match (handed_over, cause) {
        (Some(_), Some(cause)) => (
            format!("The run ended with an answer and was handed over to a person, because {cause}; {cost}."),
            change_after(&refused, story),
            records,
        ),
        (Some(_), None) => (
            format!("The run ended with an answer and was handed over to a person; {cost}."),
            "If it should not have been, see what the model was told before it did that.".to_string(),
            records,
        ),
        (None, Some(cause)) => {
            (format!("The run ended with an answer, although {cause}; {cost}."), change_after(&refused, story), records)
        }
        (None, None) => {
            let flaky: Vec<String> = flaky(story).into_iter().map(|tool| tool.sentence).collect();
            let change = if flaky.is_empty() {
                "Nothing has to change.".to_string()
            } else {
                format!("Nothing has to change; the retries hid this from the model: {}", flaky.join(" "))
            };
            (format!("The run ended with an answer; {cost}."), change, records)
        }
    }
}

fn change_after(refused: &[&Call], story: &Story) -> String {
    let is_policy = story
        .decisions
        .iter()
        .any(|decision| decision.approver.as_deref().is_some_and(|approver| approver.starts_with("policy:deny")));
    let expired = story.decisions.iter().any(|decision| decision.decision == "expired");
    if is_policy {
        "Set up a person who can approve: with nobody there, everything irreversible is denied.".to_string()
    } else if expired {
        "Give the person more time, or put the question where somebody sees it.".to_string()
    } else if !refused.is_empty() {
        "A person's no is an answer, not a fault: change what is proposed, not how often.".to_string()
    } else {
        "Mend the service, or give the model another way than the one that fails.".to_string()
    }
}

/// Where the run died, and what is in doubt.
fn unfinished(story: &Story) -> Finding {
    let last = story.records.last().copied().unwrap_or(0);
    let kind = story.kinds.last().map_or("", String::as_str);
    let mut records = vec![last];
    let place = match story.crashes.last().filter(|(index, _)| story.resumes.last().is_none_or(|(resume, _)| resume < index)) {
        Some((index, at)) => {
            records.push(*index);
            format!("The agent died {at}")
        }
        None => {
            let step = story.last_step.map_or_else(String::new, |step| format!(", in step {step}"));
            format!("The trace ends with record {last} ({kind}){step}")
        }
    };
    let open = story.calls.iter().rev().find(|call| call.result.is_none() && !call.events.is_empty());
    let doubtful = open.filter(|call| call.is_in_doubt());
    if let Some((index, tool)) = &story.open_question {
        records.push(*index);
        return (
            format!("{place}, while a person had the question about {tool}."),
            "Resume it: the question and its answer are kept outside the agent, and nobody is asked twice.".to_string(),
            records,
        );
    }
    if let Some(call) = doubtful {
        records.extend(call.records());
        let attempt = call.sent().len().max(1);
        let how = match story.flags(&call.tool) {
            Some(flags) if flags.repeatable => "Resume it: the call is sent again under the same key, which does nothing twice.",
            Some(_) => "Resume it, and look up whether it was executed before anybody sends it again: it must not happen twice.",
            None => {
                "Look up whether it was executed before anybody sends it again; the trace does not say whether it may be repeated."
            }
        };
        return (
            format!("{place}; {} (attempt {attempt}) was sent and its outcome is not known, so it is in doubt.", call.tool),
            how.to_string(),
            records,
        );
    }
    if let Some(open) = &story.open_request {
        records.push(open.index);
        let cost = open.projected.map_or_else(|| "its cost".to_string(), |projected| format!("up to {} USD", projected.usd()));
        return (
            format!("{place}; a model call was under way, so it is in doubt and {cost} may have been billed."),
            "Resume it: what the call can have cost counts as spent, and the model is asked again.".to_string(),
            records,
        );
    }
    if let Some(call) = open {
        records.extend(call.records());
        let failures = call.events.iter().filter(|event| matches!(event.what, Did::Failed { .. })).count();
        let flaky: Vec<String> = flaky(story).into_iter().map(|tool| tool.sentence).collect();
        return (
            format!("{place}; {} had failed {} and was waiting for the next attempt.", call.tool, plural_times(failures)),
            format!("Nothing is in doubt, so it can be resumed. {}", flaky.join(" ")).trim_end().to_string(),
            records,
        );
    }
    (
        format!("{place}, and no `stop` follows."),
        "Nothing is in doubt, so it can be resumed from its log and checkpoint.".to_string(),
        records,
    )
}

fn plural_times(number: usize) -> String {
    if number == 1 { "once".to_string() } else { format!("{number} times") }
}

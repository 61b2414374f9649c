//! Why a run stopped, and what to change: read from the end of its trace, in two sentences.
//!
//! Read the trace before you touch the prompt: most runs do not stop because of what the model was told.

mod done;
mod troubles;
mod unfinished;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::describe::duration;
use super::facts::{Call, Did, RunFacts, facts_of_runs, usd};
use super::imported::Trace;
use crate::base::json::{count, decimal};
use crate::base::money::PicoUsd;
use crate::base::text::{plural, preview};
use crate::lab::mechanisms::Mechanism;
use crate::log::trace::{CrashPoint, ModelFailure, RecordedError};
use done::done;
use troubles::{Advice, troubles};
use unfinished::unfinished;

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
    facts_of_runs(trace).iter().map(diagnose_run).collect()
}

/// Why, what to change, and the records.
type Finding = (String, String, Vec<usize>);

fn diagnose_run(facts: &RunFacts) -> Diagnosis {
    let (status, (why, change, records)) = match facts.stop() {
        None => ("unfinished".to_string(), unfinished(facts)),
        Some((index, stop, status)) => {
            let finding = match status {
                "done" => done(facts, index),
                "budget_usd" => budget_usd(facts, index, stop),
                "budget_tokens" => budget_tokens(facts, index, stop),
                "repeated_call" => repeated_call(facts, index),
                "model_failed" => model_failed(facts, index, stop),
                "storage_failed" => storage_failed(index),
                other => by_guard(facts, index, other),
            };
            (status.to_string(), finding)
        }
    };
    let (mut why, mut change, mut records) = (why, change, records);
    if facts.stop().is_some() {
        let troubles = troubles(facts);
        if status == "done" && !troubles.is_empty() {
            change.clear();
        }
        let mut given: Vec<(Option<Mechanism>, String)> = Vec::new();
        for trouble in troubles {
            why = format!("{why} {}", trouble.what);
            // Advice is given once, and so is the name of a mechanism.
            let Advice { mechanism, text } = trouble.change;
            let is_given = given.iter().any(|(named, said)| (mechanism.is_some() && *named == mechanism) || *said == text);
            if !is_given {
                change = format!("{change} {text}").trim_start().to_string();
                given.push((mechanism, text));
            }
            records.extend(trouble.records);
        }
    }
    records.sort_unstable();
    records.dedup();
    Diagnosis { run_id: facts.run_id.clone(), status, why, change, records, flaky: flaky(facts) }
}

fn flaky(facts: &RunFacts) -> Vec<Flaky> {
    flaky_of(facts, |_| true)
}

/// How often each tool failed, in those of its calls that count.
fn flaky_of(facts: &RunFacts, counts: fn(&Call) -> bool) -> Vec<Flaky> {
    let mut tools: BTreeMap<&str, (usize, usize, Vec<usize>)> = BTreeMap::new();
    for call in facts.calls.iter().filter(|call| counts(call)) {
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

fn budget_usd(facts: &RunFacts, index: usize, stop: &Value) -> Finding {
    let (used, next, limit) = (usd(stop.get("used")), usd(stop.get("next_call")), usd(stop.get("limit")));
    let (Some(used), Some(next), Some(limit)) = (used, next, limit.or(usd(facts.limit("budget_usd")))) else {
        return without_figures("The budget stopped the run", stop, index);
    };
    let sum = used.plus(next);
    let why = format!(
        "The next call could have cost {} USD; with the {} USD spent that is {} of the {} USD allowed.",
        next.usd(),
        used.usd(),
        sum.usd(),
        limit.usd()
    );
    let reserve = facts.limit("output_reserve").and_then(count).zip(facts.prices());
    let left = PicoUsd(limit.0.saturating_sub(used.0));
    let change = match reserve {
        Some((tokens, prices)) => {
            let reserve = prices.cost(0, tokens);
            let input = PicoUsd(next.0.saturating_sub(reserve.0));
            let fits = left.0.saturating_sub(input.0) / prices.output.0.max(1);
            let longest = facts.model_calls.iter().filter_map(|call| call.output_tokens).max().unwrap_or(0);
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
    let calls = facts.model_calls.iter().map(|call| call.index);
    (why, change, calls.chain([index]).collect())
}

/// A budget's stop that lacks a figure, or has one that is none.
fn without_figures(what: &str, stop: &Value, index: usize) -> Finding {
    let figures = ["used", "next_call", "limit"];
    let missing: Vec<&str> = figures.into_iter().filter(|key| stop.get(key).is_none()).collect();
    if !missing.is_empty() {
        let why = format!("{what}, and the record does not say {}.", missing.join(" and "));
        return (why, "Record the three figures, so that the stop explains itself.".to_string(), vec![index]);
    }
    let shown: Vec<String> = figures.iter().map(|key| format!("{key} {}", preview(&plain(&stop[*key]), 40))).collect();
    let why = format!("{what}, and not all of its figures can be counted with: {}.", shown.join(", "));
    (why, "Look at the prices and limits of the run: an amount is at most 18 million USD.".to_string(), vec![index])
}

fn budget_tokens(facts: &RunFacts, index: usize, stop: &Value) -> Finding {
    let figure = |key: &str| stop.get(key).and_then(count);
    let (Some(used), Some(next), Some(limit)) = (figure("used"), figure("next_call"), figure("limit")) else {
        return without_figures("The token budget stopped the run", stop, index);
    };
    let sum = used.saturating_add(next);
    let why =
        format!("The next call could have taken {next} tokens; with the {used} taken that is {sum} of the {limit} allowed.");
    let change = match facts.limit("output_reserve").and_then(count) {
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
    (why, change, facts.model_calls.iter().map(|call| call.index).chain([index]).collect())
}

/// The calls that have a result, by tool and arguments.
fn rounds(facts: &RunFacts) -> Vec<(String, usize)> {
    let has_result = facts.calls.iter().filter(|call| call.result.is_some());
    has_result
        .map(|call| {
            let identity = format!("{} {}", call.tool, call.args.as_deref().unwrap_or("?"));
            (identity, call.first_record().unwrap_or(0))
        })
        .collect()
}

fn repeated_call(facts: &RunFacts, index: usize) -> Finding {
    let rounds = rounds(facts);
    let Some((newest, _)) = rounds.last() else {
        return by_guard(facts, index, "repeated_call");
    };
    let guards: Vec<usize> = facts.guards.iter().map(|(record, ..)| *record).collect();
    let same: Vec<usize> = rounds.iter().filter(|(identity, _)| identity == newest).map(|(_, record)| *record).collect();
    let pair = match rounds.as_slice() {
        [.., (a, first), (b, second), (c, third), (d, fourth)] if a == c && b == d && a != b => {
            Some((a, b, vec![*first, *second, *third, *fourth]))
        }
        _ => None,
    };
    let limit = facts.limit("max_repeats").and_then(count);
    let is_repeated = limit.is_none_or(|limit| same.len() as u64 >= limit);
    let (why, which, records) = match pair.filter(|_| !is_repeated || same.len() < 3) {
        Some((a, b, records)) => (
            format!("The model went in a circle: {} and {} in turn, each twice.", preview(a, 120), preview(b, 120)),
            "those calls",
            records,
        ),
        None => {
            let allowed = limit.map_or_else(String::new, |limit| format!("; {}", stops_at(&limit.to_string())));
            let times = plural(same.len(), "time");
            (format!("The model made the same call {times}{allowed}: {}.", preview(newest, 160)), "that call", same)
        }
    };
    let change = format!(
        "Look at what {which} gave back before you touch the prompt: the result did not tell the model what it needs, so make it say what is wrong and what to do instead."
    );
    (why, change, [records, guards, vec![index]].concat())
}

fn model_failed(facts: &RunFacts, index: usize, stop: &Value) -> Finding {
    let error = RecordedError::from_text(stop.get("error").and_then(Value::as_str).unwrap_or("no error is recorded"));
    let retries = facts.model_retries.clone();
    let why = format!(
        "The model could not be had: {}; {} before it.",
        preview(&error.text, 160),
        plural(retries.len(), "repeated attempt")
    );
    let change = match ModelFailure::from_error(&error) {
        ModelFailure::NoTurn => "The model is a script here: give the scenario a turn that fits what is said there.",
        ModelFailure::Rejected => {
            "The provider refused the request itself, so trying again does not help: mend what the error names."
        }
        ModelFailure::NoAnswer => {
            "Nothing in the prompt changes that: check the provider’s state and your limits there, and allow more or longer waits."
        }
    };
    (why, change.to_string(), [retries, vec![index]].concat())
}

fn storage_failed(index: usize) -> Finding {
    let why = "Storage took no more records, so the run stopped before an effect that it could not have recorded.".to_string();
    (why, "Make room or mend the storage, then resume: everything up to the last record is safe.".to_string(), vec![index])
}

/// The guards that say what they observed and what is allowed.
fn by_guard(facts: &RunFacts, index: usize, status: &str) -> Finding {
    let guard = facts.guards.iter().rev().find(|(_, name, _, _)| name == status);
    let figures = guard.map(|(_, _, observed, limit)| (plain(observed), plain(limit)));
    let (observed, limit) = figures.clone().unwrap_or_else(|| ("an unknown number".to_string(), "an unknown number".to_string()));
    let mut records: Vec<usize> = guard.iter().map(|(record, ..)| *record).chain([index]).collect();
    let (why, change) = match status {
        "max_steps" => {
            let busiest = busiest_tool(facts);
            let most = busiest.map_or_else(String::new, |(tool, calls)| format!("; {calls} of its calls were to {tool}"));
            (
                format!("The run took {} of {limit} without an answer{most}.", counted(&observed, "step")),
                "Find the step at which it stopped getting nearer; raise the limit only if each step brought something new."
                    .to_string(),
            )
        }
        "deadline" => {
            let waited = facts.backoffs_ms.iter().sum();
            let active = decimal(guard.map_or(&Value::Null, |(_, _, observed, _)| observed)).and_then(|active| active.scaled(3));
            let change = match active {
                _ if waited == 0 => {
                    "No wait was part of it, so the model and the tools took the time: make steps faster, or allow more time."
                }
                Some(active) if waited * 2 >= active => {
                    "Most of it was waiting, so the services are the cause, not the model: mend them, or allow more time."
                }
                _ => "Most of it was work, not waiting: make steps faster, or allow more time.",
            };
            let waits = if waited == 0 { "none".to_string() } else { duration(waited) };
            (
                format!("The run was active for {observed} s of {limit} s, {waits} of it in waits between attempts."),
                change.to_string(),
            )
        }
        "stale" if limit == "0" => (
            "The run was stopped before its first step: of steps that teach nothing new, 0 stop it.".to_string(),
            "Allow at least 1 (`max_stale_steps`).".to_string(),
        ),
        "stale" => {
            let last = newest_results(facts, observed.parse().unwrap_or(3));
            records.extend(last.iter().map(|(_, record)| *record));
            let tools: Vec<String> = last.into_iter().map(|(tool, _)| tool).collect();
            let named = if tools.is_empty() { String::new() } else { format!(" ({})", times_each(&tools)) };
            (
                format!("{} in a row taught nothing new{named}; {}.", counted(&observed, "step"), stops_at(&limit)),
                "The model asks what it has been told; make the results say more, or give it a tool that can answer.".to_string(),
            )
        }
        "max_replans" => {
            let is_failure =
                |call: &&Call| call.result.as_ref().is_some_and(|result| result.ok == Some(false) && !result.refused);
            let failing: Vec<String> = facts.calls.iter().filter(is_failure).map(|call| call.tool.clone()).collect();
            records.extend(&facts.replans);
            (
                format!(
                    "Failures made the model plan again {}; allowed: {limit} ({}).",
                    counted(&observed, "time"),
                    times_each(&failing)
                ),
                "Mend what fails, or give the model another way than the one that fails.".to_string(),
            )
        }
        "max_resumes" => {
            let places: Vec<usize> =
                facts.resumes.iter().map(|(record, _)| *record).chain(facts.crashes.iter().map(|(record, _)| *record)).collect();
            let at = facts.crashes.last().map(|(_, at)| CrashPoint::from_label(at).told);
            records.extend(places);
            let why = if observed == "0" {
                let at = at.map_or_else(String::new, |at| format!(" {at}"));
                format!("The run died{at}, and may be resumed {} times.", limit)
            } else {
                let at = at.map_or_else(String::new, |at| format!("; the last time {at}"));
                format!("The run was resumed {} of {limit} and died again each time{at}.", counted(&observed, "time"))
            };
            (why, "Something at that place kills the agent: look there, not at the prompt.".to_string())
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

fn busiest_tool(facts: &RunFacts) -> Option<(&str, usize)> {
    let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
    for call in &facts.calls {
        *tools.entry(&call.tool).or_default() += 1;
    }
    tools.into_iter().max_by_key(|(_, calls)| *calls)
}

fn newest_results(facts: &RunFacts, number: usize) -> Vec<(String, usize)> {
    let results: Vec<(String, usize)> =
        facts.calls.iter().filter_map(|call| Some((call.tool.clone(), call.result.as_ref()?.index))).collect();
    results[results.len().saturating_sub(number)..].to_vec()
}

/// The rule of a guard that counts up to its limit.
fn stops_at(limit: &str) -> String {
    format!("the guard stops a run at {limit}")
}

/// `search_kb 3 ×, get_invoice 1 ×`, in the order in which they come first.
fn times_each(tools: &[String]) -> String {
    let first = |place: &usize| !tools[..*place].contains(&tools[*place]);
    let count = |tool: &String| tools.iter().filter(|other| *other == tool).count();
    let named: Vec<String> =
        (0..tools.len()).filter(first).map(|place| format!("{} {} ×", tools[place], count(&tools[place]))).collect();
    named.join(", ")
}

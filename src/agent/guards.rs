//! Guards: checked before any money is spent. Each stops the run under its own name and says its figures.

use std::sync::Arc;

use serde_json::Value;

use super::config::Config;
use super::run::Run;
use crate::base::text::grouped;
use crate::record::{RecordBody, Status, StopCause, seconds};

/// Why a run may not make its next model call.
#[derive(Clone, Debug, PartialEq)]
pub struct Trip {
    /// The guard.
    pub status: Status,
    /// What was observed.
    pub observed: Value,
    /// What is allowed.
    pub limit: Value,
    /// For a budget: what the next call can cost.
    pub next_call: Option<Value>,
}

/// The first guard that stops the run, if any. `first_attempt`: the step has not begun, so the guards about the run's course are
/// checked too; before a repeated attempt only budgets and deadline are.
pub fn check(run: &Run, config: &Config, first_attempt: bool) -> Option<Trip> {
    let course = if first_attempt { check_course(run, config) } else { None };
    course.or_else(|| check_deadline(run, config)).or_else(|| check_budgets(run, config))
}

fn trip(status: Status, observed: impl Into<Value>, limit: impl Into<Value>) -> Option<Trip> {
    Some(Trip { status, observed: observed.into(), limit: limit.into(), next_call: None })
}

// ANCHOR: course-guards
fn check_course(run: &Run, config: &Config) -> Option<Trip> {
    let (state, limits) = (&run.state, &config.limits);
    if state.step >= limits.max_steps {
        return trip(Status::MaxSteps, state.step, limits.max_steps);
    }
    if state.replans > limits.max_replans {
        return trip(Status::MaxReplans, state.replans, limits.max_replans);
    }
    if !config.policies.loop_guard {
        return None;
    }
    if let Some((identity, count)) = repeated(run, limits.max_repeats) {
        return trip(Status::RepeatedCall, format!("{count} × {identity}"), limits.max_repeats);
    }
    if let Some(pair) = alternating(run) {
        return trip(Status::RepeatedCall, pair, "no call pair twice in turn");
    }
    if state.stale_steps >= limits.max_stale_steps {
        return trip(Status::Stale, state.stale_steps, limits.max_stale_steps);
    }
    None
}
// ANCHOR_END: course-guards

/// The newest call, if it was made as often as is allowed.
fn repeated(run: &Run, max_repeats: u32) -> Option<(Arc<str>, u32)> {
    let newest = run.state.seen_calls.last()?;
    let count = run.state.call_count(newest);
    (count >= max_repeats).then(|| (newest.clone(), count))
}

/// A, B, A, B at the end of the calls.
fn alternating(run: &Run) -> Option<String> {
    let calls = &run.state.seen_calls;
    match calls.get(calls.len().checked_sub(4)?..)? {
        [a, b, c, d] if a == c && b == d && a != b => Some(format!("{a}, {b}, twice in turn")),
        _ => None,
    }
}

fn check_deadline(run: &Run, config: &Config) -> Option<Trip> {
    let (active, limit) = (run.history.active_ms, config.limits.deadline_ms);
    if active > limit { trip(Status::Deadline, seconds(active), seconds(limit)) } else { None }
}

fn check_budgets(run: &Run, config: &Config) -> Option<Trip> {
    if !config.policies.budget_guard {
        return None;
    }
    let (state, limits, next) = (&run.state, &config.limits, run.projection(config));
    let used_tokens = state.input_tokens.saturating_add(state.output_tokens);
    let next_tokens = next.input_tokens.saturating_add(next.output_tokens);
    if used_tokens.saturating_add(next_tokens) > limits.budget_tokens {
        return Some(Trip {
            status: Status::BudgetTokens,
            observed: used_tokens.into(),
            limit: limits.budget_tokens.into(),
            next_call: Some(next_tokens.into()),
        });
    }
    if state.cost.plus(next.cost) > limits.budget {
        return Some(Trip {
            status: Status::BudgetUsd,
            observed: state.cost.usd_number(),
            limit: limits.budget.usd_number(),
            next_call: Some(next.cost.usd_number()),
        });
    }
    None
}

/// A guard with its figures, whether it trips or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The guard.
    pub guard: Status,
    /// Without its unit, which the limit has.
    pub observed: String,
    /// With its unit.
    pub limit: String,
    /// How much of the limit is used up, in thousandths.
    pub share: u64,
}

/// The figures of all guards as they stand.
pub fn guard_figures(run: &Run, config: &Config) -> Vec<Figures> {
    let (state, limits) = (&run.state, &config.limits);
    let share = |observed: u64, limit: u64| observed.min(limit).saturating_mul(1_000).checked_div(limit).unwrap_or(1_000);
    let counted = |guard, observed: u64, limit: u64, unit: &str| Figures {
        guard,
        observed: grouped(observed),
        limit: format!("{} {unit}{}", grouped(limit), if limit == 1 || unit == "s" { "" } else { "s" }),
        share: share(observed, limit),
    };
    let tokens = state.input_tokens.saturating_add(state.output_tokens);
    let repeats = state.call_counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    vec![
        Figures {
            guard: Status::BudgetUsd,
            observed: state.cost.usd(),
            limit: format!("{} USD", limits.budget.usd()),
            // In millionths of a USD, so that no budget is too large for it.
            share: share(state.cost.0 / 1_000_000, limits.budget.0 / 1_000_000),
        },
        counted(Status::BudgetTokens, tokens, limits.budget_tokens, "token"),
        counted(Status::MaxSteps, state.step.into(), limits.max_steps.into(), "step"),
        counted(Status::Deadline, run.history.active_ms / 1_000, limits.deadline_ms / 1_000, "s"),
        counted(Status::RepeatedCall, repeats.into(), limits.max_repeats.into(), "time"),
        counted(Status::Stale, state.stale_steps.into(), limits.max_stale_steps.into(), "step"),
        counted(Status::MaxReplans, state.replans.into(), limits.max_replans.into(), "new plan"),
    ]
}

impl Trip {
    /// The record that says the figures. A budget says them in `stop` itself, as `used`, `next_call` and `limit`; the other guards
    /// write a `guard` record first.
    pub fn record(self) -> RecordBody {
        match self.next_call {
            Some(next_call) => {
                let cause = StopCause::Budget { next_call, limit: self.limit };
                RecordBody::Stop { status: self.status, used: Arc::new(self.observed), cause }
            }
            None => RecordBody::Guard { guard: self.status, observed: Arc::new(self.observed), limit: Arc::new(self.limit) },
        }
    }
}

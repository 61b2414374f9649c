//! What an agent is given: task, limits, tools, and which of its mechanisms are on.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::retry::RetryPolicy;
use super::tools::ToolSpec;
use crate::base::money::{PicoUsd, Prices};
use crate::base::trace_context::{is_traceparent, is_tracestate};
use crate::record::seconds;

/// Everything about a run that does not change while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Names the run in its records and keys.
    pub run_id: Arc<str>,
    /// The ticket.
    pub task_id: Arc<str>,
    /// Name and digest of the scenario, compared on resume.
    pub scenario: Arc<str>,
    /// What jitter is drawn from.
    pub seed: u64,
    /// The first message.
    pub system: Arc<str>,
    /// The second message: the task.
    pub task: Arc<str>,
    /// What the guards compare with.
    pub limits: Limits,
    /// What tokens cost.
    pub prices: Prices,
    /// How failures are repeated.
    pub retry: RetryPolicy,
    /// The tools.
    pub tools: Arc<[ToolSpec]>,
    /// True: a person can be asked. False: nobody is set up, and a policy decides.
    pub has_approver: bool,
    /// Which mechanisms are on.
    pub policies: Policies,
    /// Mechanism to on or off, as recorded in `run_start`.
    pub mechanisms: Arc<Value>,
    /// The caller's W3C `traceparent`; ignored if it is invalid.
    pub traceparent: Option<Arc<str>>,
    /// The caller's W3C `tracestate`; ignored if it or the `traceparent` is invalid.
    pub tracestate: Option<Arc<str>>,
}

/// Limits of a run. Each is checked by a guard before money is spent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Steps of the whole run, over all resumes.
    pub max_steps: u32,
    /// What model calls may cost together.
    pub budget: PicoUsd,
    /// Tokens of all model calls together.
    pub budget_tokens: u64,
    /// Active time of the whole run; waiting for a person and being dead do not count. Milliseconds.
    pub deadline_ms: u64,
    /// How often the same call may be made.
    pub max_repeats: u32,
    /// How many steps in a row may teach nothing new.
    pub max_stale_steps: u32,
    /// How often failures may force a new plan.
    pub max_replans: u32,
    /// How often the run may be resumed.
    pub max_resumes: u32,
    /// The output limit of a model call, in tokens; what is reserved for an answer before it is paid for.
    pub output_reserve: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_steps: 20,
            budget: PicoUsd(50_000_000_000),
            budget_tokens: 200_000,
            deadline_ms: 600_000,
            max_repeats: 3,
            max_stale_steps: 3,
            max_replans: 5,
            max_resumes: 25,
            output_reserve: 300,
        }
    }
}

impl Config {
    /// Limits, prices and the tools' flags as recorded in `run_start`: all that is needed to bill and judge a trace without the
    /// scenario.
    pub fn limits_json(&self) -> Value {
        let limits = &self.limits;
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| {
            fields.insert(key.to_string(), value);
        };
        put("max_steps", limits.max_steps.into());
        put("budget_usd", limits.budget.usd_number());
        put("budget_tokens", limits.budget_tokens.into());
        put("deadline_s", seconds(limits.deadline_ms));
        put("max_repeats", limits.max_repeats.into());
        put("max_stale_steps", limits.max_stale_steps.into());
        put("max_replans", limits.max_replans.into());
        put("max_resumes", limits.max_resumes.into());
        put("output_reserve", limits.output_reserve.into());
        // A price per token in 10⁻¹² USD is the price per million tokens in 10⁻⁶ USD.
        put("input_usd_per_million", PicoUsd(self.prices.input.0.saturating_mul(1_000_000)).usd_number());
        put("output_usd_per_million", PicoUsd(self.prices.output.0.saturating_mul(1_000_000)).usd_number());
        put("max_attempts", self.retry.max_attempts.into());
        put("irreversible", self.tools_that(|tool| tool.irreversible));
        put("not_idempotent", self.tools_that(|tool| !tool.idempotent));
        put("read_only", self.tools_that(|tool| tool.read_only));
        Value::Object(fields)
    }

    /// What [`Config::limits_json`] would say of a configuration that gives none of its keys.
    pub fn default_limits_json(&self) -> Value {
        let config =
            Config { limits: Limits::default(), retry: RetryPolicy::default(), tools: Vec::new().into(), ..self.clone() };
        config.limits_json()
    }

    fn tools_that(&self, has_flag: fn(&ToolSpec) -> bool) -> Value {
        self.tools.iter().filter(|tool| has_flag(tool)).map(|tool| Value::from(tool.name.as_str())).collect()
    }

    /// The caller's `traceparent`, if it is valid.
    pub fn caller(&self) -> Option<&Arc<str>> {
        self.traceparent.as_ref().filter(|text| is_traceparent(text))
    }

    /// The caller's `tracestate`, if it goes with a valid `traceparent` and is valid itself.
    pub fn caller_state(&self) -> Option<&Arc<str>> {
        self.caller()?;
        self.tracestate.as_ref().filter(|text| is_tracestate(text))
    }

    /// The spec of a tool.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The mechanisms that live in the core, each of which can be taken away. All on is the agent as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policies {
    /// Off: keyed by call id, not by the business intent.
    pub intent_keys: bool,
    /// Off: nothing is saved, and nothing that was saved is used.
    pub checkpoints: bool,
    /// Off: counters are left out of the checkpoint.
    pub saved_guards: bool,
    /// Off: recovery uses the checkpoint alone.
    pub journal: bool,
    /// Off: approvals live in memory only.
    pub durable_approvals: bool,
    /// Off: irreversible tools run without a question.
    pub approval_gate: bool,
    /// Off: an approval covers every call of the tool.
    pub exact_arguments: bool,
    /// Off: nobody there means yes.
    pub default_deny: bool,
    /// Off: what was read once is trusted.
    pub reread_world: bool,
    /// Off: budgets are not checked.
    pub budget_guard: bool,
    /// Off: loops are not noticed.
    pub loop_guard: bool,
}

impl Default for Policies {
    fn default() -> Self {
        Policies {
            intent_keys: true,
            checkpoints: true,
            saved_guards: true,
            journal: true,
            durable_approvals: true,
            approval_gate: true,
            exact_arguments: true,
            default_deny: true,
            reread_world: true,
            budget_guard: true,
            loop_guard: true,
        }
    }
}

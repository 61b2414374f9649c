//! The approval gate: in code, default deny, on exact arguments, recorded before the tool runs.

use std::sync::Arc;

use super::config::Config;
use super::identity::{approval_key, idempotency_key};
use super::state::{AgentState, Approval};
use crate::record::{ApprovalStatus, ToolCall};

/// The action that a call of this step is an attempt at: its idempotency key.
pub fn idempotency_key_of(config: &Config, step: u32, call: &ToolCall) -> Arc<str> {
    // Call ids may repeat from step to step; the step tells them apart.
    let position = format!("{step}/{}", call.id);
    match config.tool(&call.name) {
        Some(spec) => idempotency_key(spec, &call.args, &config.run_id, &position, config.policies.intent_keys),
        None => format!("{}:{position}", config.run_id).into(),
    }
}

// ANCHOR: standing-approval
/// The decision that already covers a call, if there is one.
///
/// A denial and an expiry stand for these arguments, whoever proposes them again. An approval serves one action: the same action
/// under another call id finds it, another action asks again.
pub fn standing<'a>(state: &'a AgentState, config: &Config, call: &ToolCall) -> Option<&'a Approval> {
    let idempotency_key = idempotency_key_of(config, state.step, call);
    let covers = |approval: &&Arc<Approval>| {
        if !config.policies.exact_arguments {
            return approval.tool == call.name;
        }
        approval.identity == call.identity
            && (approval.status != ApprovalStatus::Approved || approval.idempotency_key == idempotency_key)
    };
    state.approvals.iter().rev().find(covers).map(Arc::as_ref)
}
// ANCHOR_END: standing-approval

/// The key of the question about a call: run, tool, canonical arguments, and the approvals of them that other actions used up.
pub fn question_key(state: &AgentState, config: &Config, call: &ToolCall) -> Arc<str> {
    let used = state.approvals.iter().filter(|approval| approval.identity == call.identity).count();
    approval_key(&config.run_id, &call.name, &call.args, used)
}

/// The key of the question whether to send a call again that may have been executed.
pub fn doubt_key(state: &AgentState, config: &Config, call: &ToolCall, attempt: u32) -> Arc<str> {
    format!("{}:in-doubt:{attempt}", question_key(state, config, call)).into()
}

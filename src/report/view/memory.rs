//! Memory: the agent itself.

use std::sync::Arc;

use serde::Serialize;

use crate::agent::guards::guard_figures;
use crate::agent::run::Run;
use crate::agent::state::Message;
use crate::lab::session::Session;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct MemoryView {
    step: u32,
    status: &'static str,
    plan: PlanView,
    /// Those that the reader does not know.
    messages: Vec<MessageView>,
    guards: Vec<GuardView>,
    llm_calls: u32,
    input_tokens: f64,
    output_tokens: f64,
    cost_usd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PlanView {
    steps: Vec<String>,
    version: u32,
    needs_replan: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MessageView {
    role: &'static str,
    text: String,
    tool: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct GuardView {
    name: &'static str,
    observed: String,
    limit: String,
    share: f64,
}

/// The agent as it is. `known_messages`: how many messages are left out at the start.
pub(super) fn memory_view(session: &Session, run: &Run, known_messages: usize) -> MemoryView {
    let state = &run.state;
    let message = |message: &Arc<Message>| MessageView {
        role: message.role(),
        text: message.content().to_string(),
        tool: match message.as_ref() {
            Message::Tool { name, .. } => Some(name.to_string()),
            Message::Assistant { tool_calls, .. } => tool_calls.first().map(|call| call.name.to_string()),
            Message::System { .. } | Message::User { .. } => None,
        },
    };
    let guards = guard_figures(run, session.config());
    MemoryView {
        step: state.step,
        status: state.status.word(),
        plan: PlanView {
            steps: state.plan.steps.iter().map(|step| step.to_string()).collect(),
            version: state.plan.version,
            needs_replan: state.plan.needs_replan,
        },
        messages: state.messages.iter().skip(known_messages).map(message).collect(),
        guards: guards
            .into_iter()
            .map(|figures| GuardView {
                name: figures.guard.word(),
                observed: figures.observed,
                limit: figures.limit,
                share: figures.share,
            })
            .collect(),
        llm_calls: state.llm_calls,
        input_tokens: state.input_tokens as f64,
        output_tokens: state.output_tokens as f64,
        cost_usd: state.cost.usd(),
    }
}

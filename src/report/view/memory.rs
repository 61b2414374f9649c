//! Memory: the agent itself.

use std::sync::Arc;

use serde_json::Value;

use crate::agent::guards::{Figures, guard_figures};
use crate::agent::run::Run;
use crate::agent::state::Message;
use crate::base::money::number;
use crate::lab::session::Session;
use crate::record::object;

/// The agent as it is. `known_messages`: how many messages are left out at the start.
pub(super) fn memory_view(session: &Session, run: &Run, known_messages: usize) -> Value {
    let state = &run.state;
    let plan = object([
        ("steps", state.plan.steps.iter().map(|step| &**step).collect()),
        ("version", state.plan.version.into()),
        ("needs_replan", state.plan.needs_replan.into()),
    ]);
    object([
        ("step", state.step.into()),
        ("status", state.status.as_str().into()),
        ("plan", plan),
        ("messages", state.messages.iter().skip(known_messages).map(message_view).collect()),
        ("guards", guard_figures(run, session.config()).into_iter().map(guard_view).collect()),
        ("llm_calls", state.llm_calls.into()),
        ("input_tokens", state.input_tokens.into()),
        ("output_tokens", state.output_tokens.into()),
        ("cost_usd", state.cost.usd().into()),
    ])
}

fn message_view(message: &Arc<Message>) -> Value {
    let tool = match message.as_ref() {
        Message::Tool { name, .. } => Some(&**name),
        Message::Assistant { tool_calls, .. } => tool_calls.first().map(|call| &*call.name),
        Message::System { .. } | Message::User { .. } => None,
    };
    object([("role", message.role().into()), ("text", Value::from(&**message.content())), ("tool", tool.into())])
}

fn guard_view(figures: Figures) -> Value {
    let Figures { guard, observed, limit, share } = figures;
    let share = number(&format!("{}.{:03}", share / 1_000, share % 1_000));
    object([("name", guard.as_str().into()), ("observed", observed.into()), ("limit", limit.into()), ("share", share)])
}

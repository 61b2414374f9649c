//! The checkpoint: an agent's state as plain JSON.
//!
//! Thirteen keys first, in a fixed order, so that a one-liner in any language reads them; then what recovery needs. Everything that
//! a guard or a budget counts is in it: leave a counter out, and a resumed run overspends quietly.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::agent::state::{AgentState, Approval, Message, Plan};
use crate::base::hash::hash64;
use crate::base::json::{Fields, ReadError, compact, parse, read};
use crate::base::money::PicoUsd;
use crate::record::{ApprovalStatus, Status, ToolCall, object};

/// The format's version. A checkpoint of a later one is refused.
pub const VERSION: u64 = 1;

/// The keys that come first, in this order.
pub const COURSE_KEYS: [&str; 13] = [
    "task_id",
    "messages",
    "step",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "llm_calls",
    "plan",
    "seen_calls",
    "fingerprints",
    "stale_steps",
    "status",
    "final",
];

/// The state as a JSON object.
pub fn to_json(state: &AgentState) -> Value {
    let text = |text: &Arc<str>| Value::from(&**text);
    let plan = object([
        ("steps", state.plan.steps.iter().map(text).collect()),
        ("version", state.plan.version.into()),
        ("needs_replan", state.plan.needs_replan.into()),
    ]);
    let fingerprints = state.fingerprints.iter().map(|hash| Value::from(format!("{hash:016x}"))).collect();
    object([
        ("task_id", text(&state.task_id)),
        ("messages", state.messages.iter().map(|message| message_json(message)).collect()),
        ("step", state.step.into()),
        ("input_tokens", state.input_tokens.into()),
        ("output_tokens", state.output_tokens.into()),
        ("cost_usd", state.cost.usd_number()),
        ("llm_calls", state.llm_calls.into()),
        ("plan", plan),
        ("seen_calls", state.seen_calls.iter().map(text).collect()),
        ("fingerprints", fingerprints),
        ("stale_steps", state.stale_steps.into()),
        ("status", state.status.as_str().into()),
        ("final", state.final_text.as_ref().map_or(Value::Null, text)),
        ("version", VERSION.into()),
        ("log_position", state.log_position.into()),
        // `cost_usd` is rounded for people; the budget goes on with this.
        ("cost_pico_usd", state.cost.0.into()),
        ("replans", state.replans.into()),
        ("approvals", state.approvals.iter().map(|approval| approval_json(approval)).collect()),
    ])
}

/// The state as JSON text.
pub fn encode(state: &AgentState) -> String {
    compact(&to_json(state))
}

/// Reads a checkpoint. One written by another program may lack what stands behind the thirteen keys; the exact cost then is
/// `cost_usd`.
pub fn decode(text: &str) -> Result<AgentState, ReadError> {
    decode_json(&parse(text)?)
}

/// Reads a checkpoint that has been parsed.
pub fn decode_json(value: &Value) -> Result<AgentState, ReadError> {
    read(value, "$", |from| {
        let version = from.optional("version", Fields::u64).unwrap_or(VERSION);
        if version != VERSION {
            from.note(ReadError::new("$.version", format!("this is version {version}; this program reads version {VERSION}")));
        }
        read_state(from)
    })
}

fn read_state(from: &Fields) -> AgentState {
    let mut state = AgentState::new(from.arc_str("task_id"), "".into(), "".into());
    state.messages = Arc::default();
    state.context_tokens = 0;
    for message in from.objects("messages") {
        state.push_message(read_message(&message));
    }
    state.step = from.u32("step");
    state.input_tokens = from.u64("input_tokens");
    state.output_tokens = from.u64("output_tokens");
    let cost = from.scaled("cost_usd", 12);
    state.cost = PicoUsd(from.optional("cost_pico_usd", Fields::u64).unwrap_or(cost));
    state.llm_calls = from.u32("llm_calls");
    state.plan = read_plan(&from.object("plan"));
    for identity in from.strs("seen_calls") {
        state.push_seen_call(identity.into());
    }
    for fingerprint in from.strs("fingerprints") {
        state.add_fingerprint(read_fingerprint(fingerprint));
    }
    state.stale_steps = from.u32("stale_steps");
    state.status = Status::read(from, "status");
    state.final_text = from.optional("final", Fields::arc_str);
    state.log_position = from.optional("log_position", Fields::u64).unwrap_or(0);
    state.replans = from.optional("replans", Fields::u32).unwrap_or(0);
    state.approvals = from.optional_objects("approvals").iter().map(|approval| Arc::new(read_approval(approval))).collect();
    state
}

/// A fingerprint of this program is 16 hexadecimal digits; one of another program is hashed, which keeps it apart from all others.
fn read_fingerprint(text: &str) -> u64 {
    let ours = if text.len() == 16 { u64::from_str_radix(text, 16).ok() } else { None };
    ours.unwrap_or_else(|| hash64(text.as_bytes()))
}

fn read_plan(from: &Fields) -> Plan {
    Plan {
        steps: from.strs("steps").into_iter().map(Arc::from).collect(),
        version: from.u32("version"),
        needs_replan: from.bool("needs_replan"),
    }
}

/// A message as a checkpoint has it.
pub(crate) fn message_json(message: &Message) -> Value {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_string(), value);
    };
    put("role", message.role().into());
    match message {
        Message::System { content } | Message::User { content } => put("content", Value::from(&**content)),
        Message::Assistant { content, tool_calls } => {
            put("content", Value::from(&**content));
            if !tool_calls.is_empty() {
                put("tool_calls", tool_calls.iter().map(ToolCall::to_json).collect());
            }
        }
        Message::Tool { call_id, name, content, result: _ } => {
            put("tool_call_id", Value::from(&**call_id));
            put("name", Value::from(&**name));
            put("content", Value::from(&**content));
        }
    }
    Value::Object(fields)
}

fn read_message(from: &Fields) -> Message {
    let content = from.optional("content", Fields::arc_str).unwrap_or_default();
    match from.str("role") {
        "system" => Message::System { content },
        "user" => Message::User { content },
        "assistant" => {
            let tool_calls = from.optional_objects("tool_calls").iter().map(ToolCall::from_json).collect();
            Message::Assistant { content, tool_calls }
        }
        "tool" => Message::Tool {
            call_id: from.arc_str("tool_call_id"),
            name: from.optional("name", Fields::arc_str).unwrap_or_default(),
            result: parse(&content).ok().map(Arc::new),
            content,
        },
        _ => {
            from.note_wrong("role", "system, user, assistant or tool");
            Message::User { content }
        }
    }
}

fn approval_json(approval: &Approval) -> Value {
    object([
        ("tool", Value::from(&*approval.tool)),
        ("identity", Value::from(&*approval.identity)),
        ("action", Value::from(&*approval.idempotency_key)),
        ("approval_key", Value::from(&*approval.approval_key)),
        ("decision", approval.status.as_str().into()),
        ("approver", Value::from(&*approval.approver)),
    ])
}

fn read_approval(from: &Fields) -> Approval {
    Approval {
        tool: from.arc_str("tool"),
        identity: from.arc_str("identity"),
        idempotency_key: from.arc_str("action"),
        approval_key: from.arc_str("approval_key"),
        status: ApprovalStatus::read(from, "decision"),
        approver: from.arc_str("approver"),
    }
}

/// One line a key, as the course prints it: short values as they are, lists as `<17 items>`, objects as `<3 keys>`.
pub fn summary(state: &AgentState) -> Vec<(String, String)> {
    let Value::Object(fields) = to_json(state) else {
        return Vec::new();
    };
    let shown = |value: &Value| match value {
        Value::Array(items) if items.len() == 1 => "<1 item>".to_string(),
        Value::Array(items) => format!("<{} items>", items.len()),
        other => compact(other),
    };
    fields.iter().map(|(key, value)| (key.clone(), shown(value))).collect()
}

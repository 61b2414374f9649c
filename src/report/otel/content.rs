//! The conversation as the conventions write messages, for exports that include content.

use std::sync::Arc;

use serde_json::Value;

use crate::record::{LlmCall, object};

/// The most that one span's input may hold. A long conversation grows with its square if each call repeats all of it.
const INPUT_BYTES: usize = 64 * 1024;

/// The messages so far.
pub struct Conversation {
    prompt: Vec<String>,
    /// Each with the step that it belongs to.
    learnt: Vec<(u32, String)>,
}

impl Conversation {
    /// Who the agent is, and the task.
    pub fn of(prompt: Option<(&str, &str)>) -> Conversation {
        let messages = prompt.into_iter().flat_map(|(system, task)| [("system", system), ("user", task)]);
        let prompt = messages.map(|(role, content)| message(role, vec![text_part(content)], None)).collect();
        Conversation { prompt, learnt: Vec::new() }
    }

    /// What the agent was given, as a JSON list; nothing if it is not known.
    pub fn prompt(&self) -> Option<String> {
        (!self.prompt.is_empty()).then(|| format!("[{}]", self.prompt.join(",")))
    }

    /// An agent that forgot a step begins it again: what it had learnt in it is no part of what it sends.
    pub fn begin_step(&mut self, step: u32) {
        self.learnt.retain(|(of, _)| *of < step);
    }

    /// What the model said, which is returned as the output of its call.
    pub fn assistant(&mut self, step: u32, call: &LlmCall) -> String {
        let mut parts = vec![text_part(&call.thought)];
        parts.extend(call.tool_calls.iter().map(|call| {
            object([
                ("type", "tool_call".into()),
                ("id", call.id.as_ref().into()),
                ("name", call.name.as_ref().into()),
                ("arguments", (*call.args).clone()),
            ])
        }));
        let reason = finish_reason(call);
        self.learnt.push((step, message("assistant", parts.clone(), None)));
        format!("[{}]", message("assistant", parts, Some(reason)))
    }

    /// What a tool said.
    pub fn tool(&mut self, step: u32, call_id: &Arc<str>, result: &Value) {
        let response =
            object([("type", "tool_call_response".into()), ("id", call_id.as_ref().into()), ("response", result.clone())]);
        self.learnt.push((step, message("tool", vec![response], None)));
    }

    /// All messages as a JSON list, and how many of the oldest were left out of it because they did not fit.
    pub fn input(&self) -> (String, usize) {
        let messages: Vec<&str> =
            self.prompt.iter().chain(self.learnt.iter().map(|(_, message)| message)).map(String::as_str).collect();
        let mut bytes = 0;
        let fits = |message: &&&str| {
            bytes += message.len();
            bytes <= INPUT_BYTES
        };
        let left_out = messages.len() - messages.iter().rev().take_while(fits).count();
        (format!("[{}]", messages[left_out..].join(",")), left_out)
    }
}

/// Why the model stopped, in the words of the conventions.
pub fn finish_reason(call: &LlmCall) -> &'static str {
    if call.tool_calls.is_empty() { "stop" } else { "tool_call" }
}

fn text_part(content: &str) -> Value {
    object([("type", "text".into()), ("content", content.into())])
}

fn message(role: &str, parts: Vec<Value>, finish_reason: Option<&str>) -> String {
    match finish_reason {
        Some(reason) => object([("role", role.into()), ("parts", parts.into()), ("finish_reason", reason.into())]).to_string(),
        None => object([("role", role.into()), ("parts", parts.into())]).to_string(),
    }
}

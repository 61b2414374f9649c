//! The scripted LLM: a pure function of the conversation, so it says the same after a resume.
//!
//! A script is a list of turns. The first turn whose condition fits the conversation is said.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::template::{Source, fill, fill_text};
use crate::agent::protocol::{Completion, ModelRequest};
use crate::agent::state::{Message, text_tokens};
use crate::agent::tools::{ToolSpec, one_of};
use crate::base::json::{Fields, ReadError, parse};
use crate::base::text::list;
use crate::record::{Failure, FailureCode, ToolCall};

/// One thing the model may say, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    when: Condition,
    say: Arc<str>,
    plan: Option<Vec<Arc<str>>>,
    calls: Vec<ScriptedCall>,
    usage: Option<Value>,
    latency_ms: Option<u64>,
}

/// When a turn is said.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// Nothing has been said yet.
    Start,
    /// The newest observation is of this kind.
    After {
        /// Only of this tool.
        tool: Option<String>,
        outcome: ObservedOutcome,
        /// Only the n-th of this kind.
        nth: Option<u32>,
        /// Only if a `REPLAN:` line stands in it, or none does.
        replan: Option<bool>,
        /// Only if this text stands in it.
        contains: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObservedOutcome {
    Ok,
    Error,
    Denied,
    Expired,
    Any,
}

#[derive(Clone, Debug, PartialEq)]
struct ScriptedCall {
    id: Option<String>,
    tool: String,
    /// With `{{tool.path}}` in its strings. A text that is no JSON is sent as it is.
    args: Value,
}

/// Reads the script. A call may name any tool, as models do; a condition may wait for the lab's tools and for those.
pub fn read_script(from: &Fields, tools: &[ToolSpec]) -> Vec<Turn> {
    let given = from.objects("script");
    let turns: Vec<Turn> = given.iter().map(|turn| read_turn(turn, tools)).collect();
    if turns.is_empty() {
        from.note_wrong("script", "at least one turn");
    }
    let is_called = |name: &str| {
        tools.iter().any(|tool| tool.name == name) || turns.iter().flat_map(|turn| &turn.calls).any(|call| call.tool == name)
    };
    for (turn, from) in turns.iter().zip(&given) {
        if let Condition::After { tool: Some(tool), .. } = &turn.when
            && !is_called(tool)
        {
            from.object("when").note_wrong("after", &format!("{}, or one that the script calls", one_of(tools)));
        }
    }
    turns
}

fn read_turn(from: &Fields, tools: &[ToolSpec]) -> Turn {
    from.only(&["when", "say", "plan", "calls", "usage", "latency_s"]);
    Turn {
        when: read_condition(&from.object("when"), tools),
        say: from.arc_str("say"),
        plan: from.optional("plan", Fields::strs).map(|steps| steps.into_iter().map(Arc::from).collect()),
        calls: from.optional_objects("calls").iter().map(read_call).collect(),
        // `null` is a usage too, one that says nothing.
        usage: from.keys().any(|key| key == "usage").then(|| from.value("usage").clone()),
        latency_ms: from.optional("latency_s", Fields::duration_ms),
    }
}

fn read_call(from: &Fields) -> ScriptedCall {
    from.only(&["id", "tool", "args", "raw"]);
    if from.maybe("raw").is_none() && from.keys().all(|key| key != "args") {
        from.note(ReadError::new(&from.path("args"), "missing, expected `args`, or `raw` instead"));
    }
    ScriptedCall {
        id: from.optional("id", Fields::str).map(str::to_string),
        tool: from.non_empty_str("tool").to_string(),
        args: from.optional("raw", Fields::str).map_or_else(|| from.value("args").clone(), Value::from),
    }
}

fn read_condition(from: &Fields, tools: &[ToolSpec]) -> Condition {
    from.only(&["start", "after", "outcome", "nth", "replan", "contains"]);
    if from.optional("start", Fields::bool).unwrap_or(false) {
        return Condition::Start;
    }
    let tool = from.optional("after", Fields::str);
    let outcome = from.optional("outcome", Fields::str);
    if tool.is_none() && outcome.is_none() {
        from.note(ReadError::new(&from.path("after"), "missing, expected `start`: true, `after`: a tool, or an `outcome`"));
    }
    let outcome = match outcome.unwrap_or("any") {
        "ok" => ObservedOutcome::Ok,
        "error" => ObservedOutcome::Error,
        "denied" => ObservedOutcome::Denied,
        "expired" => ObservedOutcome::Expired,
        "any" => ObservedOutcome::Any,
        _ => {
            from.note_wrong("outcome", "ok, error, denied, expired or any");
            ObservedOutcome::Any
        }
    };
    // An unknown tool's failure can be waited for; its success cannot.
    let is_known = tool.is_none_or(|tool| tools.iter().any(|known| known.name == tool));
    if outcome == ObservedOutcome::Ok && !is_known {
        let names: Vec<&str> = tools.iter().map(|known| known.name.as_str()).collect();
        from.note_wrong("after", &format!("a tool ({})", list(&names)));
    }
    Condition::After {
        tool: tool.map(str::to_string),
        outcome,
        nth: from.optional("nth", Fields::ordinal),
        replan: from.optional("replan", Fields::bool),
        contains: from.optional("contains", Fields::str).map(str::to_string),
    }
}

/// What a tool message shows.
struct Observation<'a> {
    tool: &'a str,
    text: &'a str,
    value: Value,
    outcome: ObservedOutcome,
}

/// What stands between the result of a tool and the call to plan anew.
const REPLAN: &str = "\nREPLAN: ";

fn observe(message: &Message) -> Option<Observation<'_>> {
    let Message::Tool { name, content, .. } = message else {
        return None;
    };
    let json = content.split_once(REPLAN).map_or(&**content, |(json, _)| json);
    let value = parse(json).unwrap_or(Value::Null);
    let outcome = match &value {
        Value::Object(fields) if fields.get("denied") == Some(&Value::Bool(true)) => ObservedOutcome::Denied,
        Value::Object(fields) if fields.get("expired") == Some(&Value::Bool(true)) => ObservedOutcome::Expired,
        Value::Object(fields) if fields.get("ok") == Some(&Value::Bool(false)) => ObservedOutcome::Error,
        _ => ObservedOutcome::Ok,
    };
    Some(Observation { tool: name, text: content, value, outcome })
}

impl Condition {
    fn fits(&self, observations: &[Observation]) -> bool {
        let (tool, outcome, nth, replan, part) = match self {
            Condition::Start => return observations.is_empty(),
            Condition::After { tool, outcome, nth, replan, contains } => (tool, *outcome, nth, replan, contains),
        };
        let is_of_kind = |observation: &&Observation| {
            tool.as_ref().is_none_or(|tool| observation.tool == tool)
                && (outcome == ObservedOutcome::Any || observation.outcome == outcome)
        };
        let Some(newest) = observations.last().filter(is_of_kind) else {
            return false;
        };
        let count = observations.iter().filter(is_of_kind).count() as u32;
        nth.is_none_or(|nth| nth == count)
            && replan.is_none_or(|wanted| newest.text.contains(REPLAN) == wanted)
            && part.as_ref().is_none_or(|part| newest.text.contains(part.as_str()))
    }
}

/// What the model says to a request.
pub fn complete(script: &[Turn], request: &ModelRequest) -> Result<Completion, Failure> {
    let observations: Vec<Observation> = request.messages.iter().filter_map(|message| observe(message)).collect();
    let Some(turn) = script.iter().find(|turn| turn.when.fits(&observations)) else {
        let place = match observations.last() {
            Some(newest) => format!("after {}: {}", newest.tool, newest.text),
            None => "at the start".to_string(),
        };
        return Err(Failure::new(FailureCode::Unscripted, format!("the script has no turn {place}")));
    };
    let calls_before: usize = request
        .messages
        .iter()
        .map(|message| match message.as_ref() {
            Message::Assistant { tool_calls, .. } => tool_calls.len(),
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => 0,
        })
        .sum();
    let source: Source = &|tool| newest_result(tool, &observations);
    let call = |(index, call): (usize, &ScriptedCall)| {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{}", calls_before + index + 1));
        ToolCall::new(id, call.tool.as_str(), fill(&call.args, source))
    };
    let tool_calls: Vec<ToolCall> = turn.calls.iter().enumerate().map(call).collect();
    let thought: Arc<str> = fill_text(&turn.say, source).into();
    let counted_input: u64 = request.messages.iter().map(|message| message.tokens()).sum();
    let calls_tokens: u64 = tool_calls.iter().map(|call| text_tokens(&call.identity)).sum();
    // The output limit of the request binds the provider.
    let counted_output = (4 + text_tokens(&thought) + calls_tokens).min(request.max_output_tokens);
    let counted = || {
        let fields = [("input_tokens", counted_input), ("output_tokens", counted_output)];
        Value::Object(fields.into_iter().map(|(key, tokens)| (key.to_string(), tokens.into())).collect::<Map<_, _>>())
    };
    Ok(Completion {
        thought,
        plan: turn.plan.clone(),
        tool_calls,
        usage: turn.usage.clone().unwrap_or_else(counted),
        latency_ms: turn.latency_ms.unwrap_or(350 + 9 * counted_output),
    })
}

/// `{{tool.path}}` quotes the newest successful result of the tool.
fn newest_result<'a>(tool: &str, observations: &'a [Observation]) -> Option<Cow<'a, Value>> {
    let is_result = |observation: &&Observation| observation.tool == tool && observation.outcome == ObservedOutcome::Ok;
    observations.iter().rev().find(is_result).map(|observation| Cow::Borrowed(&observation.value))
}

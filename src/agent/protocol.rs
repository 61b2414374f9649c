//! The words between the agent and whoever drives it: effects out, events in.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::run::Divergence;
use super::state::{AgentState, Message};
use super::tools::ToolSpec;
use crate::record::{Decision, Failure, QuestionKind, Record, Status, ToolCall};

/// Numbers the effects of one agent value, from 1. An event names the effect that it answers.
pub type EffectId = u64;

/// Something the agent wants done. The driver does it and answers with an [`Event`] of the same id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Effect {
    /// What the answer has to name.
    pub id: EffectId,
    /// What is to be done.
    pub kind: EffectKind,
}

/// The seven things an agent can want.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EffectKind {
    /// Write one record to the log. Answered by [`Answer::Durable`], [`Answer::StorageFailed`] or [`Answer::Fenced`].
    Append(Arc<Record>),
    /// Call the model. Answered by [`Answer::Completion`] or [`Answer::Failed`].
    CallModel {
        /// What is sent.
        request: ModelRequest,
        /// From 1; a model call that was in doubt counts on.
        attempt: u32,
    },
    /// Call a tool. Answered by [`Answer::Result`] or [`Answer::Failed`].
    CallTool {
        /// Which tool with which arguments.
        call: ToolCall,
        /// From 1; counts on over crashes.
        attempt: u32,
        /// The same for every attempt of one action.
        idempotency_key: Arc<str>,
        /// A W3C `traceparent`; every attempt has its own span.
        traceparent: Arc<str>,
        /// The caller's `tracestate`, which goes with it.
        tracestate: Option<Arc<str>>,
        /// What the agent has read of the thing it is about to change: the service refuses if it has changed since.
        expected_version: Option<Arc<str>>,
    },
    /// Put a question to a person. Answered by [`Answer::Decided`]. Asking again under the same key is the same question.
    AskApproval {
        /// What is asked.
        kind: QuestionKind,
        /// The call that it is about.
        call_id: Arc<str>,
        /// The tool that wants to run.
        tool: Arc<str>,
        /// Its exact arguments.
        args: Arc<Value>,
        /// Under which the inbox keeps question and decision.
        approval_key: Arc<str>,
    },
    /// Wait. Answered by [`Answer::TimeHasCome`].
    Wait {
        /// Milliseconds since 1970.
        until_ms: u64,
    },
    /// Save a snapshot. Answered by [`Answer::Saved`], [`Answer::StorageFailed`] or [`Answer::Fenced`].
    SaveCheckpoint {
        /// What is saved.
        state: Arc<AgentState>,
    },
    /// The run is over. There is no answer; after it `poll` returns `None` for ever.
    Stop {
        /// Why.
        status: Status,
        /// The answer to the customer, if the run is done.
        final_text: Option<Arc<str>>,
    },
}

/// What is sent to the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelRequest {
    /// The conversation so far.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The tools it may call.
    pub tools: Arc<[ToolSpec]>,
    /// The output reserve: the answer may not be longer, so the call cannot cost more than its projection.
    pub max_output_tokens: u64,
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The effect that it answers.
    pub effect: EffectId,
    /// The driver's clock when the answer arrived, in milliseconds since 1970.
    pub at_ms: u64,
    /// The answer.
    pub answer: Answer,
}

/// The possible answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The record is durable.
    Durable,
    /// The snapshot is durable.
    Saved {
        /// Its size as JSON text.
        bytes: u64,
        /// Its number, from 1.
        generation: u64,
    },
    /// Nothing was written.
    StorageFailed {
        /// Why, as a sentence.
        message: String,
    },
    /// Nothing was written: another writer owns the run.
    Fenced {
        /// The owner's epoch.
        owner_epoch: u32,
    },
    /// The model answered.
    Completion(Completion),
    /// The tool answered.
    Result(Value),
    /// Model or tool failed.
    Failed(Failure),
    /// A person has decided, or nobody did in time.
    Decided(Decision),
    /// The time has come.
    TimeHasCome,
}

/// What a model said.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// Its text. Without tool calls it is the final answer.
    pub thought: Arc<str>,
    /// A new plan, if it made one.
    pub plan: Option<Vec<Arc<str>>>,
    /// What it wants to call.
    pub tool_calls: Vec<ToolCall>,
    /// `{"input_tokens": …, "output_tokens": …}` as the provider sent it; what cannot be read is counted as projected.
    pub usage: Value,
    /// How long it took, in milliseconds.
    pub latency_ms: u64,
}

/// A mistake of the driver. The agent's state is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventError {
    /// No effect is out; `poll` first.
    NothingAwaited,
    /// The event names another effect than the one that is out.
    WrongEffect {
        /// The effect that is out.
        awaited: EffectId,
        /// The one that the event names.
        named: EffectId,
    },
    /// The agent has failed, see [`AgentFailure`]; it fails the same way whatever comes.
    Failed(AgentFailure),
    /// This kind of answer does not belong to this kind of effect.
    WrongAnswer {
        /// The kind of effect that is out.
        effect: &'static str,
        /// The kind of answer that came.
        answer: &'static str,
    },
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventError::Failed(failure) => failure.fmt(f),
            EventError::NothingAwaited => write!(f, "no effect is awaiting an answer: poll first"),
            EventError::WrongEffect { awaited, named } => {
                write!(f, "the event answers effect {named}, but effect {awaited} is the one that is out")
            }
            EventError::WrongAnswer { effect, answer } => write!(f, "`{answer}` is no answer to `{effect}`"),
        }
    }
}

impl std::error::Error for EventError {}

/// Why an agent cannot continue: its run and what it was told do not fit together. It is a mistake of the program or damage in memory,
/// never an answer of the remote side. The log is as it was, so a new agent can be recovered from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AgentFailure {
    /// A record that is durable does not follow from the run.
    Diverged(Divergence),
    /// An answer met no call that it could be the answer to.
    NoSuchCall {
        /// The kind of answer.
        answer: &'static str,
    },
}

impl fmt::Display for AgentFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentFailure::Diverged(divergence) => divergence.fmt(f),
            AgentFailure::NoSuchCall { answer } => write!(f, "the answer `{answer}` meets no call that is under way"),
        }
    }
}

impl std::error::Error for AgentFailure {}

impl EffectKind {
    /// The name used in views and messages.
    pub fn as_str(&self) -> &'static str {
        match self {
            EffectKind::Append(_) => "append",
            EffectKind::CallModel { .. } => "call_model",
            EffectKind::CallTool { .. } => "call_tool",
            EffectKind::AskApproval { .. } => "ask_approval",
            EffectKind::Wait { .. } => "wait",
            EffectKind::SaveCheckpoint { .. } => "save_checkpoint",
            EffectKind::Stop { .. } => "stop",
        }
    }
}

impl Answer {
    /// The name used in messages.
    pub fn as_str(&self) -> &'static str {
        match self {
            Answer::Durable => "durable",
            Answer::Saved { .. } => "saved",
            Answer::StorageFailed { .. } => "storage_failed",
            Answer::Fenced { .. } => "fenced",
            Answer::Completion(_) => "completion",
            Answer::Result(_) => "result",
            Answer::Failed(_) => "failed",
            Answer::Decided(_) => "decided",
            Answer::TimeHasCome => "time_has_come",
        }
    }
}

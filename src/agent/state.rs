//! What an agent knows: exactly this is in a checkpoint, and a crash takes the rest.

use std::sync::Arc;

use serde_json::Value;

use crate::base::money::PicoUsd;
use crate::record::{ApprovalStatus, Status, ToolCall};

/// The checkpointed part of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentState {
    /// The ticket.
    pub task_id: Arc<str>,
    /// The conversation.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The step that comes next or is under way, from 0.
    pub step: u32,
    /// Tokens sent, with the projection of calls in doubt.
    pub input_tokens: u64,
    /// Tokens received, with the reserve of calls in doubt.
    pub output_tokens: u64,
    /// Money spent, with the projection of calls in doubt.
    pub cost: PicoUsd,
    /// Model calls made, with those in doubt.
    pub llm_calls: u32,
    /// The plan.
    pub plan: Plan,
    /// The identity of every call that has its result, in order.
    pub seen_calls: Vec<Arc<str>>,
    /// Hashes of all observations, sorted.
    pub fingerprints: Vec<u64>,
    /// Steps in a row that taught nothing new.
    pub stale_steps: u32,
    /// Running, or why it is not.
    pub status: Status,
    /// The answer to the customer.
    pub final_text: Option<Arc<str>>,
    /// How many settled records of the log are in this state.
    pub log_position: u64,
    /// How often a failure forced a new plan.
    pub replans: u32,
    /// What was decided about irreversible calls.
    pub approvals: Vec<Arc<Approval>>,
    /// Tokens of the conversation as the next request will send it. Derived from `messages`.
    pub context_tokens: u64,
    /// How often each call was made, sorted by call. Derived from `seen_calls`.
    pub call_counts: Vec<(Arc<str>, u32)>,
}

impl AgentState {
    /// The state before the first step.
    pub fn new(task_id: Arc<str>, system: Arc<str>, task: Arc<str>) -> AgentState {
        let mut state = AgentState {
            task_id,
            messages: Arc::new(Vec::new()),
            step: 0,
            input_tokens: 0,
            output_tokens: 0,
            cost: PicoUsd(0),
            llm_calls: 0,
            plan: Plan { steps: Vec::new(), version: 0, needs_replan: false },
            seen_calls: Vec::new(),
            fingerprints: Vec::new(),
            stale_steps: 0,
            status: Status::Running,
            final_text: None,
            log_position: 0,
            replans: 0,
            approvals: Vec::new(),
            context_tokens: 0,
            call_counts: Vec::new(),
        };
        state.push_message(Message::System { content: system });
        state.push_message(Message::User { content: task });
        state
    }

    /// Adds a message and its tokens.
    pub fn push_message(&mut self, message: Message) {
        self.context_tokens = self.context_tokens.saturating_add(message.tokens());
        Arc::make_mut(&mut self.messages).push(Arc::new(message));
    }

    /// Adds a call that has its result.
    pub fn push_seen_call(&mut self, identity: Arc<str>) {
        match self.index_of_call(&identity) {
            Ok(place) => self.call_counts[place].1 += 1,
            Err(place) => self.call_counts.insert(place, (identity.clone(), 1)),
        }
        self.seen_calls.push(identity);
    }

    /// How often a call was made.
    pub fn call_count(&self, identity: &str) -> u32 {
        self.index_of_call(identity).map_or(0, |place| self.call_counts[place].1)
    }

    fn index_of_call(&self, identity: &str) -> Result<usize, usize> {
        self.call_counts.binary_search_by(|(known, _)| (**known).cmp(identity))
    }

    /// Adds the hash of an observation. True if it is new.
    pub fn add_fingerprint(&mut self, fingerprint: u64) -> bool {
        let place = self.fingerprints.binary_search(&fingerprint);
        if let Err(place) = place {
            self.fingerprints.insert(place, fingerprint);
        }
        place.is_err()
    }

    // ANCHOR: saved-state
    /// What a checkpoint of this state holds: all of it, or with `saved_guards` off everything but the counters.
    #[must_use]
    pub fn as_saved(self: &Arc<AgentState>, saved_guards: bool) -> Arc<AgentState> {
        if saved_guards {
            return self.clone();
        }
        Arc::new(AgentState {
            input_tokens: 0,
            output_tokens: 0,
            cost: PicoUsd(0),
            llm_calls: 0,
            seen_calls: Vec::new(),
            call_counts: Vec::new(),
            fingerprints: Vec::new(),
            stale_steps: 0,
            replans: 0,
            ..(**self).clone()
        })
    }
    // ANCHOR_END: saved-state
}

/// The plan as the model last stated it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// What it means to do, in its own words.
    pub steps: Vec<Arc<str>>,
    /// Counts the plans, from 1; 0 before the first.
    pub version: u32,
    /// True after a failure, until a new plan arrives.
    pub needs_replan: bool,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Who the agent is.
    System {
        /// The text.
        content: Arc<str>,
    },
    /// The task.
    User {
        /// The text.
        content: Arc<str>,
    },
    /// What the model said.
    Assistant {
        /// Its text.
        content: Arc<str>,
        /// What it wanted to call.
        tool_calls: Arc<[ToolCall]>,
    },
    /// What a tool gave.
    Tool {
        /// The call that it answers.
        call_id: Arc<str>,
        /// The tool.
        name: Arc<str>,
        /// The observation.
        content: Arc<str>,
        /// The result in it, for code that needs one of its fields; `None` if the text holds no JSON. Derived from `content`.
        result: Option<Arc<Value>>,
    },
}

impl Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub fn role(&self) -> &'static str {
        match self {
            Message::System { .. } => "system",
            Message::User { .. } => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool { .. } => "tool",
        }
    }

    /// The text.
    pub fn content(&self) -> &Arc<str> {
        match self {
            Message::System { content }
            | Message::User { content }
            | Message::Assistant { content, .. }
            | Message::Tool { content, .. } => content,
        }
    }

    /// Tokens by the lab's rule: 4 for the message, and one for every 4 characters begun of its text and of each call.
    pub fn tokens(&self) -> u64 {
        let calls = match self {
            Message::Assistant { tool_calls, .. } => tool_calls.iter().map(|call| text_tokens(&call.identity)).sum(),
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => 0,
        };
        4 + text_tokens(self.content()) + calls
    }
}

/// One token for every 4 characters begun: the lab's tokenizer, a rule of thumb for English text.
pub fn text_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// A decision that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Approval {
    /// The tool.
    pub tool: Arc<str>,
    /// Tool and canonical arguments that were decided about.
    pub identity: Arc<str>,
    /// The action (its idempotency key) that it was decided for: an approval serves one action.
    pub idempotency_key: Arc<str>,
    /// The key of question and decision.
    pub approval_key: Arc<str>,
    /// How it was decided.
    pub status: ApprovalStatus,
    /// Who decided.
    pub approver: Arc<str>,
}

//! A run as its log tells it: the state, and where in a step it stands.
//!
//! [`Run::apply`] is the only code that goes on in a log. The living agent applies a record once it is durable; recovery applies the
//! records after the checkpoint. So a resumed agent cannot differ from one that never died. Beside it, an answer that is not durable
//! yet may say how far its own call is, and recovery may take approvals away that a switched-off mechanism kept in memory alone.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::config::Config;
use super::state::{AgentState, Approval, Message};
use crate::base::hash::hash64;
use crate::base::json::compact;
use crate::base::money::PicoUsd;
use crate::record::{ApprovalStatus, Decision, LlmCall, QuestionKind, Record, RecordBody, Retry, Status, ToolCall, ToolOutcome};

/// State, place in the step, and what only the whole log knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// What a checkpoint holds.
    pub state: Arc<AgentState>,
    /// Where in the step the run stands. Between steps, when checkpoints are taken, it is [`Turn::Ready`].
    pub turn: Turn,
    /// Facts that no checkpoint needs to hold, as the log has them.
    pub history: History,
    /// True once `run_start` is durable.
    pub started: bool,
    /// A guard that has recorded its figures and is about to stop the run.
    pub tripped: Option<Status>,
    /// True once `stop` is durable: nothing changes any more.
    pub stopped: bool,
}

/// Where in a step a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Between steps: the guards are next.
    Ready,
    /// The model is being called.
    Model(ModelTurn),
    /// The calls that it planned are being made, one after the other.
    Tools(ToolsTurn),
}

/// A model call under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelTurn {
    /// Attempts whose intent is recorded.
    pub attempt: u32,
    /// Attempts that failed.
    pub failures: u32,
    /// Where it stands.
    pub stage: ModelStage,
}

/// Where a model call stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ModelStage {
    /// Its intent is recorded, its result is not.
    InFlight,
    /// It failed and is due again later.
    Backoff(Backoff),
    /// An agent died over it. Its projection has been counted as spent.
    InDoubt,
}

/// A wait that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backoff {
    /// Milliseconds since 1970.
    pub until_ms: u64,
    /// The whole wait: no clock that was set back makes it longer.
    pub backoff_ms: u64,
}

/// The tool calls of one model answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolsTurn {
    /// All of them.
    pub calls: Arc<[ToolCall]>,
    /// The one under way.
    pub index: usize,
    /// Its attempts whose intent is recorded.
    pub attempt: u32,
    /// Its attempts that failed.
    pub failures: u32,
    /// True once one of its attempts may have been executed: whatever comes of a later one, the call is in doubt.
    pub may_have_run: bool,
    /// Where it stands.
    pub stage: ToolStage,
    /// True once an observation of this step was new.
    pub news: bool,
}

/// Where a tool call stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToolStage {
    /// Nothing has happened yet: checks and the gate are next.
    Due,
    /// A person is being asked.
    Asking {
        /// The question's key.
        approval_key: Arc<str>,
    },
    /// The gate has its answer.
    Decided(Decision),
    /// Its intent is recorded, its result is not.
    InFlight,
    /// It failed and is due again later.
    Backoff(Backoff),
    /// It may have been executed.
    InDoubt,
    /// The service is being asked whether it was executed.
    LookingUp,
    /// The service could not be asked, and will be asked again later.
    LookUpBackoff(Backoff),
    /// It may have been executed and cannot be looked up.
    Unresolved,
    /// A person is being asked whether to send it again.
    AskingInDoubt {
        /// The question's key.
        approval_key: Arc<str>,
    },
    /// It was not executed, or a person wants it sent again.
    SendAgain,
    /// It stays in doubt.
    LeftInDoubt,
    /// It failed for good, and the record that makes the model plan again is due.
    ReplanDue {
        /// What it will say.
        reason: Arc<str>,
    },
}

/// What is read from the whole log rather than from a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// Resumes so far. The first writer has epoch 1, and each resume adds one.
    pub resumes: u32,
    /// Time in which the agent was alive and not waiting for a person, in milliseconds.
    pub active_ms: u64,
    /// The time of the newest record.
    pub last_ts_ms: u64,
    /// While a wait is under way: the most that a gap between two records may count. 0 while a person has a question.
    pub(super) planned_wait_ms: Option<u64>,
    /// True behind the lab's mark of a crash: the gap behind it is downtime.
    pub(super) is_dead: bool,
    /// Bytes of the newest snapshot.
    pub snapshot_bytes: u64,
    /// The step that the newest snapshot stands at.
    pub snapshot_step: u32,
    /// Bytes of text that the run has learnt since the newest snapshot.
    pub bytes_since_snapshot: u64,
}

impl History {
    /// Takes note of one record of the log, of any kind.
    pub fn observe(&mut self, record: &Record) {
        // Before its first record a run has no time: with a crash in front of `run_start`, that is the crash's.
        let gap = if self.last_ts_ms == 0 { 0 } else { record.ts_ms.saturating_sub(self.last_ts_ms) };
        let counted = match &record.body {
            RecordBody::RunStart { .. } | RecordBody::Approval { reused: false, .. } | RecordBody::Resume { .. } => 0,
            _ if self.is_dead => 0,
            _ => gap.min(self.planned_wait_ms.unwrap_or(u64::MAX)),
        };
        self.active_ms = self.active_ms.saturating_add(counted);
        self.last_ts_ms = self.last_ts_ms.max(record.ts_ms);
        self.planned_wait_ms = match &record.body {
            RecordBody::LlmRetry(retry) | RecordBody::ToolRetry { retry, .. } => Some(retry.backoff_ms),
            RecordBody::ApprovalRequest { .. } => Some(0),
            // A wait that a crash interrupts goes on after the resume.
            RecordBody::Crash { .. } | RecordBody::Resume { .. } => self.planned_wait_ms,
            _ => None,
        };
        self.is_dead = matches!(record.body, RecordBody::Crash { .. });
        match &record.body {
            RecordBody::Resume { .. } => self.resumes += 1,
            RecordBody::Checkpoint { bytes, .. } => {
                self.snapshot_bytes = *bytes;
                self.snapshot_step = record.step;
                self.bytes_since_snapshot = 0;
            }
            RecordBody::LlmCall(call) => self.bytes_since_snapshot += call.thought.len() as u64 + 200,
            RecordBody::ToolResult { result, .. } => self.bytes_since_snapshot += text_bytes(result) + 200,
            _ => {}
        }
    }
}

/// Bytes of the texts in a value: what makes a result large. Cheaper than writing it out.
fn text_bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.iter().map(|(key, field)| key.len() as u64 + text_bytes(field)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// A record does not fit the run that it is applied to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Divergence {
    /// Where the run stood.
    pub expected: String,
    /// What the record is.
    pub found: String,
}

impl Divergence {
    /// The mismatch of a record with the place in the step at which a run stands.
    fn of(turn: &Turn, step: u32, record: &Record) -> Divergence {
        let place = match turn {
            Turn::Ready => "between two steps".to_string(),
            Turn::Model(turn) => format!("in attempt {} of its model call", turn.attempt),
            Turn::Tools(turn) => match turn.calls.get(turn.index) {
                Some(call) => format!("at call {} ({})", call.id, call.name),
                None => "behind its last call".to_string(),
            },
        };
        let found = match &record.body {
            RecordBody::ToolResult { tool, call_id, .. } => format!("a tool_result of {tool} for call {call_id}"),
            RecordBody::ToolCall { tool, call_id, .. } => format!("a tool_call of {tool} for call {call_id}"),
            body => format!("a record of type {}", body.kind()),
        };
        Divergence { expected: format!("in step {step} {place}"), found }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log holds {}, but the run stood {}", self.found, self.expected)
    }
}

impl Run {
    /// A run that has not started.
    pub fn new(config: &Config) -> Run {
        Run::from_state(AgentState::new(config.task_id.clone(), config.system.clone(), config.task.clone()))
    }

    /// A run that stands between two steps.
    pub fn from_state(state: AgentState) -> Run {
        Run {
            state: Arc::new(state),
            turn: Turn::Ready,
            history: History::default(),
            started: false,
            tripped: None,
            stopped: false,
        }
    }

    /// What the next model call can cost at most: the conversation's tokens, and the output reserve.
    pub fn projection(&self, config: &Config) -> Projection {
        let input_tokens = self.state.context_tokens;
        let output_tokens = config.limits.output_reserve;
        Projection { input_tokens, output_tokens, cost: config.prices.cost(input_tokens, output_tokens) }
    }

    /// Takes in one durable record. One that does not follow from what came before is an error, and the run is as it was.
    pub fn apply(&mut self, record: &Record, config: &Config) -> Result<(), Divergence> {
        if !self.is_continued_by(&record.body) {
            return Err(self.divergence(record));
        }
        if record.body.is_settled() {
            self.state_mut().log_position += 1;
        }
        self.history.observe(record);
        match &record.body {
            RecordBody::RunStart { .. } => self.started = true,
            RecordBody::LlmRequest { attempt, .. } => self.apply_request(*attempt),
            RecordBody::LlmRetry(retry) => self.apply_model_retry(retry, config),
            RecordBody::LlmCall(call) => self.apply_llm_call(call, config),
            RecordBody::ApprovalRequest { kind, approval_key, .. } => {
                let turn = self.tools_turn(record)?;
                turn.stage = match kind {
                    QuestionKind::SendAgain => ToolStage::AskingInDoubt { approval_key: approval_key.clone() },
                    QuestionKind::MayRun => ToolStage::Asking { approval_key: approval_key.clone() },
                };
            }
            RecordBody::Approval { .. } => self.apply_approval(record, config)?,
            RecordBody::ToolCall { tool, attempt, .. } => {
                let turn = self.tools_turn(record)?;
                turn.attempt = *attempt;
                turn.stage = if *tool == turn.calls[turn.index].name { ToolStage::InFlight } else { ToolStage::LookingUp };
            }
            RecordBody::ToolRetry { retry, .. } => {
                let turn = self.tools_turn(record)?;
                turn.failures += 1;
                turn.may_have_run |= retry.failure.may_have_run();
                let backoff = Backoff { until_ms: retry.until_ms, backoff_ms: retry.backoff_ms };
                let looks_up = turn.stage == ToolStage::LookingUp;
                turn.stage = if looks_up { ToolStage::LookUpBackoff(backoff) } else { ToolStage::Backoff(backoff) };
            }
            RecordBody::ToolResult { tool, call_id, outcome, result, .. } => {
                self.apply_tool_result(tool, call_id, *outcome, result, record)?;
            }
            RecordBody::Replan { .. } => {
                self.state_mut().replans += 1;
                self.next_call();
            }
            RecordBody::Guard { guard, .. } => {
                self.tripped = Some(*guard);
                // Instead of a resume: what is in doubt is counted all the same.
                if *guard == Status::MaxResumes {
                    self.apply_resume(config);
                }
            }
            RecordBody::Resume { .. } => self.apply_resume(config),
            RecordBody::Stop { status, cause, .. } => {
                if cause.model_may_have_run() {
                    self.count_projection(config);
                }
                self.state_mut().status = *status;
                self.stopped = true;
            }
            RecordBody::Checkpoint { .. } | RecordBody::Crash { .. } | RecordBody::Unknown { .. } => {}
        }
        Ok(())
    }

    /// True if a record follows from where the run stands. It is asked before anything is changed.
    fn is_continued_by(&self, body: &RecordBody) -> bool {
        match body {
            RecordBody::RunStart { .. } => !self.started,
            RecordBody::LlmRequest { .. } => match &self.turn {
                Turn::Ready => true,
                Turn::Model(turn) => turn.stage != ModelStage::InFlight,
                Turn::Tools(_) => false,
            },
            RecordBody::LlmRetry(_) => matches!(self.turn, Turn::Model(_)),
            RecordBody::LlmCall(_) => matches!(self.turn, Turn::Model(ModelTurn { stage: ModelStage::InFlight, .. })),
            RecordBody::ApprovalRequest { .. }
            | RecordBody::Approval { .. }
            | RecordBody::ToolCall { .. }
            | RecordBody::ToolRetry { .. }
            | RecordBody::ToolResult { .. }
            | RecordBody::Replan { .. } => match &self.turn {
                Turn::Tools(turn) => turn.calls.get(turn.index).is_some_and(|call| is_about(body, call)),
                Turn::Ready | Turn::Model(_) => false,
            },
            RecordBody::Guard { .. }
            | RecordBody::Resume { .. }
            | RecordBody::Stop { .. }
            | RecordBody::Checkpoint { .. }
            | RecordBody::Crash { .. }
            | RecordBody::Unknown { .. } => true,
        }
    }

    fn state_mut(&mut self) -> &mut AgentState {
        Arc::make_mut(&mut self.state)
    }

    fn divergence(&self, record: &Record) -> Divergence {
        Divergence::of(&self.turn, self.state.step, record)
    }

    /// The calls under way, for a record that [`Run::is_continued_by`] has found to be about one of them.
    fn tools_turn(&mut self, record: &Record) -> Result<&mut ToolsTurn, Divergence> {
        match &mut self.turn {
            Turn::Tools(turn) => Ok(turn),
            other @ (Turn::Ready | Turn::Model(_)) => Err(Divergence::of(other, self.state.step, record)),
        }
    }

    fn apply_request(&mut self, attempt: u32) {
        let failures = match &self.turn {
            Turn::Model(turn) => turn.failures,
            Turn::Ready | Turn::Tools(_) => 0,
        };
        self.turn = Turn::Model(ModelTurn { attempt, failures, stage: ModelStage::InFlight });
    }

    fn apply_model_retry(&mut self, retry: &Retry, config: &Config) {
        if let Turn::Model(turn) = &mut self.turn {
            turn.failures += 1;
            turn.stage = ModelStage::Backoff(Backoff { until_ms: retry.until_ms, backoff_ms: retry.backoff_ms });
        }
        if retry.failure.may_have_run() {
            self.count_projection(config);
        }
    }

    /// A model call of unknown outcome may have been billed: what it can have cost counts as spent.
    fn count_projection(&mut self, config: &Config) {
        let projection = self.projection(config);
        let state = self.state_mut();
        state.llm_calls += 1;
        state.input_tokens = state.input_tokens.saturating_add(projection.input_tokens);
        state.output_tokens = state.output_tokens.saturating_add(projection.output_tokens);
        state.cost = state.cost.plus(projection.cost);
    }

    fn apply_llm_call(&mut self, call: &LlmCall, config: &Config) {
        let state = self.state_mut();
        state.llm_calls += 1;
        state.input_tokens = state.input_tokens.saturating_add(call.input_tokens);
        state.output_tokens = state.output_tokens.saturating_add(call.output_tokens);
        // Not the record's `cost_usd`: in the log it is rounded for people, and a replay would add up the roundings.
        state.cost = state.cost.plus(config.prices.cost(call.input_tokens, call.output_tokens));
        if let Some(steps) = &call.plan {
            state.plan.steps = steps.clone();
            state.plan.version = call.plan_version;
            state.plan.needs_replan = false;
        }
        state.push_message(Message::Assistant { content: call.thought.clone(), tool_calls: call.tool_calls.clone() });
        if call.tool_calls.is_empty() {
            state.final_text = Some(call.thought.clone());
            state.status = Status::Done;
            state.step += 1;
            self.turn = Turn::Ready;
        } else {
            let calls = call.tool_calls.clone();
            self.turn = Turn::Tools(ToolsTurn {
                calls,
                index: 0,
                attempt: 0,
                failures: 0,
                may_have_run: false,
                stage: ToolStage::Due,
                news: false,
            });
        }
    }

    fn apply_approval(&mut self, record: &Record, config: &Config) -> Result<(), Divergence> {
        let RecordBody::Approval { kind, tool, approval_key, decision, reused, .. } = &record.body else {
            return Err(self.divergence(record));
        };
        let turn = self.tools_turn(record)?;
        if *kind == QuestionKind::SendAgain {
            turn.stage = match decision.status {
                ApprovalStatus::Approved => ToolStage::SendAgain,
                ApprovalStatus::Denied | ApprovalStatus::Expired => ToolStage::LeftInDoubt,
            };
            return Ok(());
        }
        turn.stage = ToolStage::Decided(decision.clone());
        if !reused {
            let call = turn.calls[turn.index].clone();
            let step = self.state.step;
            let approval = Approval {
                tool: tool.clone(),
                identity: call.identity.clone(),
                idempotency_key: super::approval::idempotency_key_of(config, step, &call),
                approval_key: approval_key.clone(),
                status: decision.status,
                approver: decision.approver.clone(),
            };
            self.state_mut().approvals.push(Arc::new(approval));
        }
        Ok(())
    }

    fn apply_tool_result(
        &mut self,
        tool: &Arc<str>,
        call_id: &Arc<str>,
        outcome: ToolOutcome,
        result: &Arc<Value>,
        record: &Record,
    ) -> Result<(), Divergence> {
        let call = {
            let turn = self.tools_turn(record)?;
            turn.calls[turn.index].clone()
        };
        let reason = replan_reason(tool, outcome, result);
        let mut content = compact(result);
        if let Some(reason) = &reason {
            content += &format!("\nREPLAN: {reason}");
        }
        let content: Arc<str> = content.into();
        let fingerprint = hash64(format!("{tool}\n{content}").as_bytes());
        let state = self.state_mut();
        let is_new = state.add_fingerprint(fingerprint);
        state.push_seen_call(call.identity);
        let result = Some(result.clone());
        state.push_message(Message::Tool { call_id: call_id.clone(), name: tool.clone(), content, result });
        state.plan.needs_replan |= reason.is_some();
        let turn = self.tools_turn(record)?;
        turn.news |= is_new;
        match reason {
            Some(reason) => turn.stage = ToolStage::ReplanDue { reason },
            None => self.next_call(),
        }
        Ok(())
    }

    /// Goes to the next call of the answer, or completes the step behind the last one.
    fn next_call(&mut self) {
        let Turn::Tools(turn) = &mut self.turn else {
            return;
        };
        turn.index += 1;
        turn.attempt = 0;
        turn.failures = 0;
        turn.may_have_run = false;
        turn.stage = ToolStage::Due;
        if turn.index < turn.calls.len() {
            return;
        }
        let news = turn.news;
        self.turn = Turn::Ready;
        let state = self.state_mut();
        state.stale_steps = if news { 0 } else { state.stale_steps + 1 };
        state.step += 1;
    }

    // ANCHOR: resume
    fn apply_resume(&mut self, config: &Config) {
        match &mut self.turn {
            Turn::Ready => {}
            Turn::Model(turn) => {
                if turn.stage == ModelStage::InFlight {
                    turn.stage = ModelStage::InDoubt;
                    self.count_projection(config);
                }
            }
            Turn::Tools(turn) => {
                if matches!(turn.stage, ToolStage::InFlight | ToolStage::LookingUp) {
                    turn.may_have_run = true;
                    turn.stage = ToolStage::InDoubt;
                }
            }
        }
    }
    // ANCHOR_END: resume
}

/// The most that a model call can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// The output reserve.
    pub output_tokens: u64,
    /// What both cost.
    pub cost: PicoUsd,
}

/// What was asked, decided and sent is exactly what the model planned; a record that says otherwise is no continuation of it. A look-up
/// is a call of another tool.
fn is_about(body: &RecordBody, call: &ToolCall) -> bool {
    let is_same = |args: &Arc<Value>| Arc::ptr_eq(args, &call.args) || compact(args) == compact(&call.args);
    let is_its_id = |call_id: &Option<Arc<str>>| call_id.as_ref().is_none_or(|call_id| *call_id == call.id);
    match body {
        RecordBody::ApprovalRequest { call_id, tool, args, .. } | RecordBody::Approval { call_id, tool, args, .. } => {
            *tool == call.name && is_same(args) && is_its_id(call_id)
        }
        RecordBody::ToolRetry { call_id, .. } | RecordBody::Replan { call_id, .. } => is_its_id(call_id),
        RecordBody::ToolCall { tool, args, call_id, .. } => *call_id == call.id && (*tool != call.name || is_same(args)),
        RecordBody::ToolResult { call_id, .. } => *call_id == call.id,
        _ => true,
    }
}

/// Why the model has to choose another path after this result; `None` after a success. A denial is a person's answer, not a failure.
fn replan_reason(tool: &str, outcome: ToolOutcome, result: &Value) -> Option<Arc<str>> {
    match outcome {
        ToolOutcome::Ok | ToolOutcome::Denied | ToolOutcome::Expired => return None,
        ToolOutcome::Failed { .. } | ToolOutcome::InDoubt { .. } => {}
    }
    let error = result["error"].as_str().unwrap_or("it failed");
    Some(format!("{tool} did not work ({error}). Choose another way; do not make the same call again.").into())
}

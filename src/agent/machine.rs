//! The agent: `poll` and `handle` over a [`Run`].

use std::sync::Arc;

use super::config::Config;
use super::protocol::{AgentFailure, Answer, Effect, EffectId, EffectKind, Event, EventError};
use super::run::Run;
use crate::record::{QuestionKind, Record, RecordedFailure};

/// An agent at work on one run.
///
/// One effect is out at a time. The driver's contract stands in the crate's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    pub(super) config: Arc<Config>,
    pub(super) run: Run,
    pub(super) phase: Phase,
    pub(super) next_id: EffectId,
    pub(super) now_ms: u64,
    /// A recovered agent first says so in the log.
    pub(super) resume: Option<ResumeNote>,
    /// A saved snapshot whose record is due.
    pub(super) saved: Option<(u64, u64)>,
    /// The step at which a snapshot was last tried, so that a failing storage is not asked again in the same step.
    pub(super) snapshot_tried_at: Option<u32>,
    /// Why the model could not be had, and in which attempt.
    pub(super) model_failure: Option<(RecordedFailure, u32)>,
    /// How often the write that is due has failed.
    pub(super) failed_writes: u32,
}

/// What a recovered agent will write first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ResumeNote {
    /// The `resume` record.
    Resumes { checkpoint_generation: Option<u64>, records_replayed: u64 },
    /// The guard's record: the run was resumed as often as it may be.
    GivesUp,
}

/// What the agent is waiting for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// For `poll`: this is what it will hand out.
    Ready(EffectKind),
    /// For a record to be durable.
    Writing { id: EffectId, record: Arc<Record> },
    /// For a snapshot to be durable.
    Saving { id: EffectId },
    /// For the model.
    CallingModel { id: EffectId, attempt: u32 },
    /// For a tool.
    CallingTool { id: EffectId, attempt: u32 },
    /// For a person.
    Asking { id: EffectId, kind: QuestionKind, approval_key: Arc<str> },
    /// For a time.
    Waiting { id: EffectId },
    /// For nothing: the run is over, or another writer owns it.
    Over { fenced: bool },
    /// For nothing: run and answer did not fit together. Every later event gets the same error.
    Failed(AgentFailure),
}

impl Agent {
    /// An agent for a run that has not started. `now_ms`: milliseconds since 1970.
    pub fn start(config: Arc<Config>, now_ms: u64) -> Agent {
        let run = Run::new(&config);
        Agent::at(config, run, now_ms, None)
    }

    /// An agent that goes on where a log ends.
    pub(crate) fn at(config: Arc<Config>, run: Run, now_ms: u64, resume: Option<ResumeNote>) -> Agent {
        let mut agent = Agent {
            config,
            now_ms: now_ms.max(run.history.last_ts_ms),
            run,
            phase: Phase::Over { fenced: false },
            next_id: 1,
            resume,
            saved: None,
            snapshot_tried_at: None,
            model_failure: None,
            failed_writes: 0,
        };
        agent.advance();
        agent
    }

    /// The next thing to do; `None` while an answer is awaited, and for ever once the run is over.
    #[must_use]
    pub fn poll(&mut self) -> Option<Effect> {
        let id = self.next_id;
        let kind = match std::mem::replace(&mut self.phase, Phase::Over { fenced: false }) {
            Phase::Ready(kind) => kind,
            awaiting @ (Phase::Writing { .. }
            | Phase::Saving { .. }
            | Phase::CallingModel { .. }
            | Phase::CallingTool { .. }
            | Phase::Asking { .. }
            | Phase::Waiting { .. }
            | Phase::Over { .. }
            | Phase::Failed(_)) => {
                self.phase = awaiting;
                return None;
            }
        };
        self.next_id += 1;
        self.phase = match &kind {
            EffectKind::Append(record) => Phase::Writing { id, record: record.clone() },
            EffectKind::CallModel { attempt, .. } => Phase::CallingModel { id, attempt: *attempt },
            EffectKind::CallTool { attempt, .. } => Phase::CallingTool { id, attempt: *attempt },
            EffectKind::AskApproval { kind, approval_key, .. } => {
                Phase::Asking { id, kind: *kind, approval_key: approval_key.clone() }
            }
            EffectKind::Wait { .. } => Phase::Waiting { id },
            EffectKind::SaveCheckpoint { .. } => Phase::Saving { id },
            EffectKind::Stop { .. } => Phase::Over { fenced: false },
        };
        Some(Effect { id, kind })
    }

    /// Takes the answer to the effect that is out. An answer that does not fit is an error and changes nothing. An agent that has
    /// failed ([`EventError::Failed`]) gives the same error for ever, and wants nothing more.
    pub fn handle(&mut self, event: Event) -> Result<(), EventError> {
        let awaited = match &self.phase {
            Phase::Failed(failure) => return Err(EventError::Failed(failure.clone())),
            Phase::Ready(_) | Phase::Over { .. } => return Err(EventError::NothingAwaited),
            Phase::Writing { id, .. }
            | Phase::Saving { id }
            | Phase::CallingModel { id, .. }
            | Phase::CallingTool { id, .. }
            | Phase::Asking { id, .. }
            | Phase::Waiting { id } => *id,
        };
        if event.effect != awaited {
            return Err(EventError::WrongEffect { awaited, named: event.effect });
        }
        let wrong = EventError::WrongAnswer { effect: self.phase.as_str(), answer: event.answer.as_str() };
        // Time never runs backwards in a log, whatever the driver's clock does.
        let now_ms = self.now_ms.max(event.at_ms);
        match (self.phase.clone(), event.answer) {
            (Phase::Writing { record, .. }, Answer::Durable) => {
                self.now_ms = now_ms;
                self.written(&record);
            }
            (Phase::Writing { record, .. }, Answer::StorageFailed { .. }) => {
                self.now_ms = now_ms;
                self.write_failed(record);
            }
            (Phase::Writing { .. } | Phase::Saving { .. }, Answer::Fenced { .. }) => self.phase = Phase::Over { fenced: true },
            (Phase::Saving { .. }, Answer::Saved { bytes, generation }) => {
                self.now_ms = now_ms;
                self.saved = Some((bytes, generation));
                self.advance();
            }
            // The log holds everything that the snapshot would have held.
            (Phase::Saving { .. }, Answer::StorageFailed { .. }) => {
                self.now_ms = now_ms;
                self.advance();
            }
            (Phase::CallingModel { .. }, Answer::Completion(completion)) => {
                self.now_ms = now_ms;
                self.completed(completion);
            }
            (Phase::CallingModel { attempt, .. }, Answer::Failed(failure)) => {
                self.now_ms = now_ms;
                self.model_failed(attempt, &failure);
            }
            (Phase::CallingTool { .. }, Answer::Result(result)) => {
                self.now_ms = now_ms;
                self.tool_answered(result);
            }
            (Phase::CallingTool { attempt, .. }, Answer::Failed(failure)) => {
                self.now_ms = now_ms;
                self.tool_failed(attempt, &failure);
            }
            (Phase::Asking { kind, approval_key, .. }, Answer::Decided(decision)) => {
                self.now_ms = now_ms;
                self.decided(kind, approval_key, decision);
            }
            (Phase::Waiting { .. }, Answer::TimeHasCome) => {
                self.now_ms = now_ms;
                self.time_has_come();
            }
            (
                Phase::Ready(_)
                | Phase::Writing { .. }
                | Phase::Saving { .. }
                | Phase::CallingModel { .. }
                | Phase::CallingTool { .. }
                | Phase::Asking { .. }
                | Phase::Waiting { .. }
                | Phase::Over { .. }
                | Phase::Failed(_),
                _,
            ) => return Err(wrong),
        }
        match &self.phase {
            Phase::Failed(failure) => Err(EventError::Failed(failure.clone())),
            _ => Ok(()),
        }
    }

    /// What the agent knows.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// What it was given.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// True once another writer owns the run.
    pub fn is_fenced(&self) -> bool {
        self.phase == Phase::Over { fenced: true }
    }

    /// Why the agent cannot continue, if it has failed.
    pub fn failure(&self) -> Option<&AgentFailure> {
        match &self.phase {
            Phase::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// True once there is nothing more to do.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. } | Phase::Failed(_))
    }
}

impl Phase {
    /// The effect that is out, for messages.
    fn as_str(&self) -> &'static str {
        match self {
            Phase::Ready(kind) => kind.as_str(),
            Phase::Writing { .. } => "append",
            Phase::Saving { .. } => "save_checkpoint",
            Phase::CallingModel { .. } => "call_model",
            Phase::CallingTool { .. } => "call_tool",
            Phase::Asking { .. } => "ask_approval",
            Phase::Waiting { .. } => "wait",
            Phase::Over { .. } | Phase::Failed(_) => "stop",
        }
    }
}

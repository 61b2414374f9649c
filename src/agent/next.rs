//! What the agent wants next: a function of its run.

use std::sync::Arc;

use serde_json::Value;

use super::machine::{Agent, Phase, ResumeNote};
use super::protocol::{EffectKind, ModelRequest};
use super::run::{Backoff, ModelStage, ToolStage, ToolsTurn, Turn};
use super::state::Message;
use super::tools::{Reliance, ToolSpec};
use super::{approval, guards};
use crate::base::text::list;
use crate::base::trace_context::traceparent;
use crate::record::{
    ApprovalStatus, Decision, FORMAT, FailureCode, InDoubt, QuestionKind, Record, RecordBody, Status, StopCause, ToolCall,
    ToolOutcome, object,
};

/// A checkpoint up to this size is written after every step. A larger one waits until the log has outgrown it.
pub(super) const SMALL_CHECKPOINT_BYTES: u64 = 64 * 1024;

impl Agent {
    pub(super) fn advance(&mut self) {
        self.phase = Phase::Ready(self.next());
    }

    // ANCHOR: next-effect
    /// The next effect, from the run alone.
    fn next(&mut self) -> EffectKind {
        if self.run.stopped {
            return self.stop(self.run.state.status);
        }
        if !self.run.started {
            return self.append(self.run_start());
        }
        if let Some(note) = &self.resume {
            let body = self.resume_record(note);
            return self.append(body);
        }
        if let Some((bytes, generation)) = self.saved {
            return self.append(RecordBody::Checkpoint { bytes, generation });
        }
        if self.checkpoint_is_due() {
            self.snapshot_tried_at = Some(self.run.state.step);
            return EffectKind::SaveCheckpoint { state: self.run.state.as_saved(self.config.policies.saved_guards) };
        }
        if let Some((failure, attempt)) = self.model_failure.clone() {
            return self.append_stop(Status::ModelFailed, StopCause::ModelFailed { failure, attempt: Some(attempt) });
        }
        if let Some(status) = self.run.tripped {
            return self.append_stop(status, StopCause::Plain);
        }
        match &self.run.turn {
            Turn::Ready if self.run.state.status == Status::Done => self.append_stop(Status::Done, StopCause::Plain),
            Turn::Ready => self.request_model(1, true),
            Turn::Model(turn) => match &turn.stage {
                ModelStage::InFlight => self.call_model(turn.attempt),
                ModelStage::Backoff(backoff) => self.wait(backoff),
                ModelStage::InDoubt => self.request_model(turn.attempt + 1, false),
            },
            Turn::Tools(turn) => self.next_of_call(turn),
        }
    }
    // ANCHOR_END: next-effect

    /// The next effect for the tool call that is under way.
    fn next_of_call(&self, turn: &ToolsTurn) -> EffectKind {
        let call = &turn.calls[turn.index];
        let Some(spec) = self.config.tool(&call.name) else {
            // The model is told once.
            if let ToolStage::ReplanDue { reason } = &turn.stage {
                return self.append(RecordBody::Replan { call_id: Some(call.id.clone()), reason: reason.clone() });
            }
            let names: Vec<&str> = self.config.tools.iter().map(|tool| tool.name.as_str()).collect();
            return self.append_failure(
                call,
                false,
                None,
                format!("there is no tool `{}`; there are {}", call.name, list(&names)),
            );
        };
        match &turn.stage {
            ToolStage::Due => self.check_and_gate(spec, turn),
            ToolStage::Asking { approval_key } => self.ask(QuestionKind::MayRun, call, approval_key),
            ToolStage::AskingInDoubt { approval_key } => self.ask(QuestionKind::SendAgain, call, approval_key),
            ToolStage::SendAgain => self.send(spec, turn),
            ToolStage::Decided(Decision { status, approver, .. }) => match status {
                ApprovalStatus::Approved => self.send(spec, turn),
                ApprovalStatus::Denied => {
                    let error = format!("denied by {approver}; the decision stands");
                    self.append_outcome(call, ToolOutcome::Denied, None, error)
                }
                ApprovalStatus::Expired => self.append_outcome(
                    call,
                    ToolOutcome::Expired,
                    None,
                    "nobody decided in time; it was not executed".to_string(),
                ),
            },
            ToolStage::InFlight => self.call_tool(spec, turn),
            ToolStage::LookingUp => match &spec.lookup {
                Some(lookup) => self.call_lookup(lookup, turn),
                None => self.ask_in_doubt(turn),
            },
            ToolStage::Backoff(backoff) | ToolStage::LookUpBackoff(backoff) => self.wait(backoff),
            ToolStage::InDoubt if spec.idempotent || spec.read_only => self.send(spec, turn),
            ToolStage::InDoubt => self.look_up(spec, turn),
            ToolStage::Unresolved => self.ask_in_doubt(turn),
            ToolStage::LeftInDoubt => {
                let error = format!("it is not known whether {} was executed, and it is not sent again", call.name);
                self.append_outcome(call, ToolOutcome::InDoubt { retryable: false }, None, error)
            }
            ToolStage::ReplanDue { reason } => {
                self.append(RecordBody::Replan { call_id: Some(call.id.clone()), reason: reason.clone() })
            }
        }
    }

    // ANCHOR: gate
    /// Before a call is sent for the first time: are its arguments right, and may it run?
    fn check_and_gate(&self, spec: &ToolSpec, turn: &ToolsTurn) -> EffectKind {
        let call = &turn.calls[turn.index];
        if let Err(error) = spec.check(&call.args) {
            return self.append_failure(call, false, None, error);
        }
        if !spec.irreversible || !self.config.policies.approval_gate {
            return self.send(spec, turn);
        }
        if let Some(standing) = approval::standing(&self.run.state, &self.config, call) {
            let decision = Decision { status: standing.status, approver: standing.approver.clone(), note: None };
            let key = standing.approval_key.clone();
            return self.append(self.approval_record(QuestionKind::MayRun, call, key, decision, true));
        }
        let approval_key = approval::question_key(&self.run.state, &self.config, call);
        self.append_question(QuestionKind::MayRun, call, approval_key)
    }
    // ANCHOR_END: gate

    fn append_question(&self, kind: QuestionKind, call: &ToolCall, approval_key: Arc<str>) -> EffectKind {
        let (call_id, tool, args) = (Some(call.id.clone()), call.name.clone(), call.args.clone());
        self.append(RecordBody::ApprovalRequest { kind, call_id, tool, args, approval_key })
    }

    fn ask(&self, kind: QuestionKind, call: &ToolCall, approval_key: &Arc<str>) -> EffectKind {
        if self.config.has_approver {
            let (call_id, tool, args) = (call.id.clone(), call.name.clone(), call.args.clone());
            return EffectKind::AskApproval { kind, call_id, tool, args, approval_key: approval_key.clone() };
        }
        let decision = match self.config.policies.default_deny {
            true => Decision::new(false, "policy:deny_all", None),
            false => Decision::new(true, "policy:allow_all", None),
        };
        self.append(self.approval_record(kind, call, approval_key.clone(), decision, false))
    }

    /// Asks the service whether the call in doubt was executed; a person, if there is no way to ask the service.
    pub(super) fn look_up(&self, spec: &ToolSpec, turn: &ToolsTurn) -> EffectKind {
        let Some(lookup) = &spec.lookup else {
            return self.ask_in_doubt(turn);
        };
        let args = lookup_args(&self.idempotency_key(&turn.calls[turn.index]));
        self.append(self.tool_call_record(lookup, args, turn, turn.attempt))
    }

    fn ask_in_doubt(&self, turn: &ToolsTurn) -> EffectKind {
        let call = &turn.calls[turn.index];
        let approval_key = approval::doubt_key(&self.run.state, &self.config, call, turn.attempt);
        self.append_question(QuestionKind::SendAgain, call, approval_key)
    }

    pub(super) fn send(&self, spec: &ToolSpec, turn: &ToolsTurn) -> EffectKind {
        let args = turn.calls[turn.index].args.clone();
        self.append(self.tool_call_record(&spec.name, args, turn, turn.attempt + 1))
    }

    pub(super) fn request_model(&self, attempt: u32, first: bool) -> EffectKind {
        match guards::check(&self.run, &self.config, first) {
            Some(trip) => self.append(trip.record()),
            None => self.append(RecordBody::LlmRequest { attempt, projected: self.run.projection(&self.config).cost }),
        }
    }

    fn wait(&self, backoff: &Backoff) -> EffectKind {
        EffectKind::Wait { until_ms: backoff.until_ms.min(self.now_ms.saturating_add(backoff.backoff_ms)) }
    }

    fn call_model(&self, attempt: u32) -> EffectKind {
        let request = ModelRequest {
            messages: self.run.state.messages.clone(),
            tools: self.config.tools.clone(),
            max_output_tokens: self.config.limits.output_reserve,
        };
        EffectKind::CallModel { request, attempt }
    }

    fn call_tool(&self, spec: &ToolSpec, turn: &ToolsTurn) -> EffectKind {
        let call = turn.calls[turn.index].clone();
        let reliance = spec.relies_on.as_ref().filter(|_| self.config.policies.reread_world);
        EffectKind::CallTool {
            attempt: turn.attempt,
            idempotency_key: self.idempotency_key(&call),
            traceparent: self.traceparent(&call.name, &call, turn.attempt),
            tracestate: self.config.caller_state().cloned(),
            expected_version: reliance.and_then(|reliance| self.version_read(reliance, &call)),
            call,
        }
    }

    fn call_lookup(&self, lookup: &str, turn: &ToolsTurn) -> EffectKind {
        let call = &turn.calls[turn.index];
        let key = self.idempotency_key(call);
        EffectKind::CallTool {
            call: ToolCall::new(call.id.clone(), lookup, (*lookup_args(&key)).clone()),
            attempt: turn.attempt,
            idempotency_key: key,
            traceparent: self.traceparent(lookup, call, turn.attempt),
            tracestate: self.config.caller_state().cloned(),
            expected_version: None,
        }
    }

    fn checkpoint_is_due(&self) -> bool {
        let (state, history) = (&self.run.state, &self.run.history);
        let outgrown = history.snapshot_bytes <= SMALL_CHECKPOINT_BYTES || history.bytes_since_snapshot >= history.snapshot_bytes;
        self.config.policies.checkpoints
            && self.run.turn == Turn::Ready
            && self.run.tripped.is_none()
            && state.step > history.snapshot_step
            && self.snapshot_tried_at != Some(state.step)
            && outgrown
    }

    // --- Records and effects, put together -----------------------------------------------------------------------------------

    /// The effect of writing a record of the present step.
    pub(super) fn append(&self, body: RecordBody) -> EffectKind {
        let run_id = self.config.run_id.clone();
        EffectKind::Append(Arc::new(Record { ts_ms: self.now_ms, run_id, step: self.run.state.step, body }))
    }

    /// The effect of writing what the model will see of a call.
    pub(super) fn append_result(&self, call: &ToolCall, result: Value) -> EffectKind {
        self.append(RecordBody::ToolResult {
            tool: call.name.clone(),
            call_id: call.id.clone(),
            outcome: ToolOutcome::Ok,
            code: None,
            result: Arc::new(result),
        })
    }

    /// The effect of writing that a call did not succeed, and what the model will see of it. `code`: how its last attempt failed.
    pub(super) fn append_outcome(
        &self,
        call: &ToolCall,
        outcome: ToolOutcome,
        code: Option<FailureCode>,
        error: String,
    ) -> EffectKind {
        let result = Arc::new(outcome.result(error));
        self.append(RecordBody::ToolResult { tool: call.name.clone(), call_id: call.id.clone(), outcome, code, result })
    }

    /// The effect of writing an error that the model will see.
    fn append_failure(&self, call: &ToolCall, retryable: bool, code: Option<FailureCode>, error: String) -> EffectKind {
        self.append_outcome(call, ToolOutcome::Failed { retryable }, code, error)
    }

    fn append_stop(&self, status: Status, cause: StopCause) -> EffectKind {
        let in_doubt = cause.model_may_have_run().then(|| self.run.projection(&self.config).cost);
        let used = self.run.state.cost.plus(in_doubt.unwrap_or_default()).usd_number();
        self.append(RecordBody::Stop { status, used: Arc::new(used), cause })
    }

    pub(super) fn stop(&self, status: Status) -> EffectKind {
        let final_text = self.run.state.final_text.clone().filter(|_| status == Status::Done);
        EffectKind::Stop { status, final_text }
    }

    fn run_start(&self) -> RecordBody {
        let config = &self.config;
        RecordBody::RunStart {
            format: FORMAT,
            scenario: config.scenario.clone(),
            seed: config.seed,
            mechanisms: config.mechanisms.clone(),
            limits: Arc::new(config.limits_json()),
            traceparent: config.caller().cloned(),
            tracestate: config.caller_state().cloned(),
        }
    }

    fn resume_record(&self, note: &ResumeNote) -> RecordBody {
        match note {
            ResumeNote::Resumes { checkpoint_generation, records_replayed } => RecordBody::Resume {
                from_step: self.run.state.step,
                checkpoint_generation: *checkpoint_generation,
                records_replayed: *records_replayed,
                in_doubt: self.in_doubt(),
            },
            ResumeNote::GivesUp => RecordBody::Guard {
                guard: Status::MaxResumes,
                observed: Arc::new(self.run.history.resumes.into()),
                limit: Arc::new(self.config.limits.max_resumes.into()),
            },
        }
    }

    /// The intent that has no result.
    fn in_doubt(&self) -> Option<InDoubt> {
        match &self.run.turn {
            Turn::Model(turn) if turn.stage == ModelStage::InFlight => {
                Some(InDoubt::Model { attempt: turn.attempt, projected: self.run.projection(&self.config).cost })
            }
            Turn::Tools(turn) if matches!(turn.stage, ToolStage::InFlight | ToolStage::LookingUp) => {
                let call = &turn.calls[turn.index];
                Some(InDoubt::Tool {
                    tool: call.name.clone(),
                    call_id: call.id.clone(),
                    attempt: turn.attempt,
                    idempotency_key: self.idempotency_key(call),
                })
            }
            Turn::Ready | Turn::Model(_) | Turn::Tools(_) => None,
        }
    }

    /// `reused`: an earlier decision covers this call, and nobody was asked.
    pub(super) fn approval_record(
        &self,
        kind: QuestionKind,
        call: &ToolCall,
        approval_key: Arc<str>,
        decision: Decision,
        reused: bool,
    ) -> RecordBody {
        let (call_id, tool, args) = (Some(call.id.clone()), call.name.clone(), call.args.clone());
        RecordBody::Approval { kind, call_id, tool, args, approval_key, decision, reused }
    }

    fn tool_call_record(&self, tool: &str, args: Arc<Value>, turn: &ToolsTurn, attempt: u32) -> RecordBody {
        let call = &turn.calls[turn.index];
        RecordBody::ToolCall {
            tool: tool.into(),
            args,
            call_id: call.id.clone(),
            attempt,
            idempotency_key: self.idempotency_key(call),
            traceparent: self.traceparent(tool, call, attempt),
        }
    }

    fn idempotency_key(&self, call: &ToolCall) -> Arc<str> {
        approval::idempotency_key_of(&self.config, self.run.state.step, call)
    }

    /// Every request has a span of its own. Call ids may repeat from step to step, a look-up shares call and attempt with what it
    /// looks up, and an agent that forgot a step does it again after a resume.
    fn traceparent(&self, tool: &str, call: &ToolCall, attempt: u32) -> Arc<str> {
        let (config, step, resumes) = (&self.config, self.run.state.step, self.run.history.resumes);
        let position = format!("{step}/{}#{attempt} {tool} {resumes}", call.id);
        traceparent(config.traceparent.as_deref(), &config.run_id, &position)
    }

    /// The version that the newest successful read of the same thing has shown.
    fn version_read(&self, reliance: &Reliance, call: &ToolCall) -> Option<Arc<str>> {
        let wanted = call.args.get(&reliance.argument)?;
        let messages = &self.run.state.messages;
        let is_the_read = |read: &&ToolCall| *read.name == *reliance.tool && read.args.get(&reliance.argument) == Some(wanted);
        messages.iter().enumerate().rev().find_map(|(index, message)| {
            let Message::Assistant { tool_calls, .. } = message.as_ref() else {
                return None;
            };
            let read = tool_calls.iter().find(is_the_read)?;
            let result = messages[index..].iter().find_map(|message| match message.as_ref() {
                Message::Tool { call_id, result, .. } if *call_id == read.id => Some(result.as_ref()),
                _ => None,
            })??;
            result.get(&reliance.version_field)?.as_str().map(Arc::from)
        })
    }
}

fn lookup_args(idempotency_key: &Arc<str>) -> Arc<Value> {
    Arc::new(object([("idempotency_key", Value::from(&**idempotency_key))]))
}

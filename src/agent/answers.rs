//! What came of an effect, and what the agent makes of it.

use std::sync::Arc;

use serde_json::Value;

use super::machine::{Agent, Phase};
use super::protocol::{AgentFailure, Completion, EffectKind};
use super::retry::parse_retry_after;
use super::run::{ModelTurn, ToolStage, ToolsTurn, Turn};
use super::tools::ToolSpec;
use crate::base::json::count;
use crate::record::{
    Decision, Failure, FailureKind, LlmCall, QuestionKind, Record, RecordBody, Retry, Status, ToolCall, ToolOutcome,
};

/// How often a write is tried before the agent gives up on its storage.
const WRITE_TRIES: u32 = 3;

impl Agent {
    pub(super) fn written(&mut self, record: &Record) {
        self.failed_writes = 0;
        match &record.body {
            RecordBody::Resume { .. } | RecordBody::Guard { .. } => self.resume = None,
            RecordBody::Checkpoint { .. } => self.saved = None,
            _ => {}
        }
        match self.run.apply(record, &self.config) {
            Ok(()) => self.advance(),
            Err(divergence) => self.phase = Phase::Failed(AgentFailure::Diverged(divergence)),
        }
    }

    /// The write is tried again; what led to it is not.
    pub(super) fn write_failed(&mut self, record: Arc<Record>) {
        self.failed_writes += 1;
        let gives_up = self.failed_writes >= WRITE_TRIES;
        self.phase = Phase::Ready(if gives_up { self.stop(Status::StorageFailed) } else { EffectKind::Append(record) });
    }

    pub(super) fn completed(&mut self, completion: Completion) {
        let projection = self.run.projection(&self.config);
        let usage = |field: &str| completion.usage.get(field).and_then(count);
        let (input, output) = (usage("input_tokens"), usage("output_tokens"));
        let input_tokens = input.unwrap_or(projection.input_tokens);
        let output_tokens = output.unwrap_or(projection.output_tokens);
        let plan_version = self.run.state.plan.version + u32::from(completion.plan.is_some());
        let body = RecordBody::LlmCall(LlmCall {
            thought: completion.thought,
            plan: completion.plan,
            plan_version,
            tool_calls: with_own_ids(completion.tool_calls).into(),
            input_tokens,
            output_tokens,
            cost: self.config.prices.cost(input_tokens, output_tokens),
            latency_ms: completion.latency_ms,
            usage_partial: input.is_none() || output.is_none(),
        });
        self.phase = Phase::Ready(self.append(body));
    }

    pub(super) fn model_failed(&mut self, attempt: u32, failure: &Failure) {
        let failures = match &self.run.turn {
            Turn::Model(ModelTurn { failures, .. }) => failures + 1,
            Turn::Ready | Turn::Tools(_) => 1,
        };
        let retryable = failure.code.kind() != FailureKind::Rejected;
        let backoff_ms = self.backoff_ms(failures, failure, "model").filter(|_| retryable);
        match backoff_ms {
            Some(backoff_ms) => {
                let retry = self.retry(attempt, failure, backoff_ms);
                self.phase = Phase::Ready(self.append(RecordBody::LlmRetry(retry)));
            }
            None => {
                self.model_failure = Some((failure.into(), attempt));
                self.advance();
            }
        }
    }

    pub(super) fn tool_answered(&mut self, result: Value) {
        let Some((turn, _)) = self.call_under_way() else {
            return self.no_such_call("result");
        };
        let call = turn.calls[turn.index].clone();
        if turn.stage != ToolStage::LookingUp {
            self.phase = Phase::Ready(self.append_result(&call, result));
            return;
        }
        match (result.get("found").and_then(Value::as_bool), result.get("result")) {
            (Some(true), Some(found)) => self.phase = Phase::Ready(self.append_result(&call, found.clone())),
            (Some(false), _) => self.set_stage(ToolStage::SendAgain),
            _ => self.set_stage(ToolStage::Unresolved),
        }
    }

    // ANCHOR: failed-call
    pub(super) fn tool_failed(&mut self, attempt: u32, failure: &Failure) {
        let Some((turn, spec)) = self.call_under_way() else {
            return self.no_such_call("failed");
        };
        if turn.stage == ToolStage::LookingUp {
            self.look_up_failed(attempt, failure);
            return;
        }
        let outcome = failure.code.kind();
        let repeatable = match outcome {
            FailureKind::NotExecuted => true,
            FailureKind::OutcomeUnknown => spec.idempotent || spec.read_only,
            FailureKind::Rejected => false,
        };
        if outcome == FailureKind::OutcomeUnknown && !repeatable {
            self.set_stage(ToolStage::InDoubt);
            return;
        }
        let call = turn.calls[turn.index].clone();
        let failures = turn.failures + 1;
        // A refusal now says nothing about an attempt before.
        let may_have_run = (turn.may_have_run || outcome == FailureKind::OutcomeUnknown) && !spec.read_only;
        let backoff_ms = self.backoff_ms(failures, failure, &call.id).filter(|_| repeatable);
        let effect = match backoff_ms {
            Some(backoff_ms) => {
                let retry = self.retry(attempt, failure, backoff_ms);
                self.append(RecordBody::ToolRetry { tool: call.name.clone(), call_id: Some(call.id.clone()), retry })
            }
            None => {
                let attempts = if failures == 1 { "1 attempt".to_string() } else { format!("{failures} attempts") };
                let is_final = outcome == FailureKind::Rejected;
                let error = if is_final { failure.message.clone() } else { format!("{failure}, after {attempts}") };
                let (retryable, code) = (!is_final, Some(failure.code));
                if may_have_run {
                    let error = format!("{error}; it is not known whether it was executed");
                    self.append_outcome(&call, ToolOutcome::InDoubt { retryable }, code, error)
                } else {
                    self.append_outcome(&call, ToolOutcome::Failed { retryable }, code, error)
                }
            }
        };
        self.phase = Phase::Ready(effect);
    }
    // ANCHOR_END: failed-call

    /// A look-up only reads, so it is tried again whatever came of it. When it cannot be had, a person is asked.
    fn look_up_failed(&mut self, attempt: u32, failure: &Failure) {
        let Some((turn, spec)) = self.call_under_way() else {
            return self.no_such_call("failed");
        };
        let call_id = &turn.calls[turn.index].id;
        let retryable = failure.code.kind() != FailureKind::Rejected;
        let backoff_ms = self.backoff_ms(turn.failures + 1, failure, call_id).filter(|_| retryable);
        match (backoff_ms, &spec.lookup) {
            (Some(backoff_ms), Some(lookup)) => {
                let retry = self.retry(attempt, failure, backoff_ms);
                self.phase = Phase::Ready(self.append(RecordBody::ToolRetry {
                    tool: lookup.as_str().into(),
                    call_id: Some(call_id.clone()),
                    retry,
                }));
            }
            _ => self.set_stage(ToolStage::Unresolved),
        }
    }

    pub(super) fn decided(&mut self, kind: QuestionKind, approval_key: Arc<str>, decision: Decision) {
        let Some((turn, _)) = self.call_under_way() else {
            return self.no_such_call("decided");
        };
        let call = turn.calls[turn.index].clone();
        self.phase = Phase::Ready(self.append(self.approval_record(kind, &call, approval_key, decision, false)));
    }

    pub(super) fn time_has_come(&mut self) {
        let effect = match &self.run.turn {
            Turn::Ready => None,
            Turn::Model(turn) => Some(self.request_model(turn.attempt + 1, false)),
            Turn::Tools(turn) => self.config.tool(&turn.calls[turn.index].name).map(|spec| match turn.stage {
                ToolStage::LookUpBackoff(_) => self.look_up(spec, turn),
                _ => self.send(spec, turn),
            }),
        };
        match effect {
            Some(effect) => self.phase = Phase::Ready(effect),
            None => self.advance(),
        }
    }

    fn no_such_call(&mut self, answer: &'static str) {
        self.phase = Phase::Failed(AgentFailure::NoSuchCall { answer });
    }

    /// The turn and the tool of the call that is under way.
    fn call_under_way(&self) -> Option<(&ToolsTurn, &ToolSpec)> {
        match &self.run.turn {
            Turn::Tools(turn) => Some((turn, self.config.tool(&turn.calls[turn.index].name)?)),
            Turn::Ready | Turn::Model(_) => None,
        }
    }

    /// Moves the call on without a record: after a crash the intent alone leads to the same place.
    fn set_stage(&mut self, stage: ToolStage) {
        if let Turn::Tools(turn) = &mut self.run.turn {
            // It is sent again because the service was asked, and has not executed it.
            turn.may_have_run = (turn.may_have_run || stage == ToolStage::InDoubt) && stage != ToolStage::SendAgain;
            turn.stage = stage;
        }
        self.advance();
    }

    fn backoff_ms(&self, failures: u32, failure: &Failure, call: &str) -> Option<u64> {
        let retry_after = failure.retry_after.as_deref().map(|text| parse_retry_after(text, self.now_ms));
        // Another step is another lot, also under the same call id.
        let lot = format!("{}/{call}", self.run.state.step);
        self.config.retry.backoff_ms(failures, retry_after, self.config.seed, &lot)
    }

    fn retry(&self, attempt: u32, failure: &Failure, backoff_ms: u64) -> Retry {
        let until_ms = self.now_ms.saturating_add(backoff_ms);
        Retry { attempt, failure: failure.into(), backoff_ms, until_ms }
    }
}

/// Calls of one answer under ids of their own: results and keys are told apart by them, and a model may use one twice.
fn with_own_ids(mut calls: Vec<ToolCall>) -> Vec<ToolCall> {
    for index in 1..calls.len() {
        let (earlier, rest) = calls.split_at_mut(index);
        let given = rest[0].id.clone();
        let mut number = 2;
        while earlier.iter().any(|call| call.id == rest[0].id) {
            rest[0].id = format!("{given}#{number}").into();
            number += 1;
        }
    }
    calls
}

//! What of an agent can still matter: hashes for who looks for agents that will behave alike.
//!
//! Two agents with equal hashes want the same from here on, in the same order, whatever happens to both. So what only a reader of the
//! log sees is left out (attempts' spans, sizes of checkpoints, the clock's absolute time), and times are distances from now: the core
//! only ever compares times with each other.

use std::hash::{Hash, Hasher};

use serde_json::Value;

use crate::agent::machine::{Agent, Phase, ResumeNote};
use crate::agent::next::SMALL_CHECKPOINT_BYTES;
use crate::agent::protocol::EffectKind;
use crate::agent::run::{Backoff, History, ModelStage, Run, ToolStage, Turn};
use crate::agent::state::{AgentState, Message};
use crate::record::{Record, RecordBody, Retry, ToolCall};

impl Agent {
    /// Hashes what the agent knows besides its state, which the caller hashes when it changes.
    pub fn hash_future<H: Hasher>(&self, now_ms: u64, out: &mut H) {
        self.run.hash_place(now_ms, out);
        match &self.resume {
            None => 0,
            Some(ResumeNote::Resumes { .. }) => 1,
            Some(ResumeNote::GivesUp) => 2,
        }
        .hash(out);
        let tried_now = self.snapshot_tried_at == Some(self.run.state.step);
        (self.saved.is_some(), tried_now, &self.model_failure, self.failed_writes).hash(out);
        match &self.phase {
            Phase::Ready(kind) => {
                true.hash(out);
                hash_effect(kind, now_ms, out);
            }
            // What it waits for is the effect that its driver has in hand.
            awaiting => (false, matches!(awaiting, Phase::Over { .. })).hash(out),
        }
    }
}

impl Run {
    /// Hashes where the run stands, without its state and its history.
    pub fn hash_place<H: Hasher>(&self, now_ms: u64, out: &mut H) {
        (self.started, self.tripped, self.stopped).hash(out);
        match &self.turn {
            Turn::Ready => 0.hash(out),
            Turn::Model(turn) => {
                (1, turn.attempt, turn.failures).hash(out);
                match &turn.stage {
                    ModelStage::InFlight => 0.hash(out),
                    ModelStage::Backoff(backoff) => hash_backoff(backoff, now_ms, out),
                    ModelStage::InDoubt => 2.hash(out),
                }
            }
            Turn::Tools(turn) => {
                // The calls are in the conversation.
                (2, turn.index, turn.attempt, turn.failures, turn.may_have_run, turn.news).hash(out);
                match &turn.stage {
                    ToolStage::Backoff(backoff) => hash_backoff(backoff, now_ms, out),
                    ToolStage::LookUpBackoff(backoff) => {
                        78.hash(out);
                        hash_backoff(backoff, now_ms, out);
                    }
                    other => other.hash(out),
                }
            }
        }
    }
}

fn hash_backoff<H: Hasher>(backoff: &Backoff, now_ms: u64, out: &mut H) {
    (77, backoff.until_ms.saturating_sub(now_ms), backoff.backoff_ms).hash(out);
}

impl History {
    /// Hashes what a later record or resume can depend on. The active time, which only the deadline reads, is the caller's.
    pub fn hash_future<H: Hasher>(&self, now_ms: u64, out: &mut H) {
        (self.resumes, self.planned_wait_ms, self.is_dead, self.snapshot_step).hash(out);
        let gap = if self.last_ts_ms == 0 { u64::MAX } else { now_ms.saturating_sub(self.last_ts_ms) };
        gap.hash(out);
        // Below this size a snapshot is due after every step, whatever its size.
        if self.snapshot_bytes > SMALL_CHECKPOINT_BYTES {
            (self.snapshot_bytes, self.bytes_since_snapshot).hash(out);
        }
    }
}

impl AgentState {
    /// Hashes everything but the messages, what is derived from others, and the counters of money and tokens, which are the caller's.
    pub fn hash_future<H: Hasher>(&self, out: &mut H) {
        (self.step, &self.plan, &self.seen_calls, &self.fingerprints, self.stale_steps, self.status).hash(out);
        (&self.final_text, self.replans, &self.approvals).hash(out);
    }
}

impl Message {
    /// Hashes what the model is shown.
    pub fn hash_future<H: Hasher>(&self, out: &mut H) {
        self.content().hash(out);
        match self {
            Message::System { .. } => 0.hash(out),
            Message::User { .. } => 1.hash(out),
            Message::Assistant { tool_calls, .. } => {
                (2, tool_calls.len()).hash(out);
                tool_calls.iter().for_each(|call| hash_call(call, out));
            }
            Message::Tool { call_id, name, .. } => (3, call_id, name).hash(out),
        }
    }
}

fn hash_call<H: Hasher>(call: &ToolCall, out: &mut H) {
    // Another order of the same arguments is another text for the model.
    (&call.id, &call.name, &call.identity).hash(out);
    hash_value(&call.args, out);
}

/// Hashes an effect. What follows from the agent's state is left out.
pub fn hash_effect<H: Hasher>(effect: &EffectKind, now_ms: u64, out: &mut H) {
    match effect {
        EffectKind::Append(record) => {
            (0, now_ms.saturating_sub(record.ts_ms)).hash(out);
            hash_record(record, Some(now_ms), out);
        }
        EffectKind::CallModel { request, attempt } => (1, request.messages.len(), attempt).hash(out),
        EffectKind::CallTool { call, attempt, idempotency_key, expected_version, .. } => {
            (2, attempt, idempotency_key, expected_version).hash(out);
            hash_call(call, out);
        }
        EffectKind::AskApproval { kind: _, call_id: _, tool, args, approval_key } => {
            (3, tool, approval_key).hash(out);
            hash_value(args, out);
        }
        EffectKind::Wait { until_ms } => (4, until_ms.saturating_sub(now_ms)).hash(out),
        EffectKind::SaveCheckpoint { .. } => 5.hash(out),
        EffectKind::Stop { status, final_text } => (6, status, final_text).hash(out),
    }
}

/// Hashes what a record does to a run. `now_ms`: with the waits that it orders, as distances from now.
pub fn hash_record<H: Hasher>(record: &Record, now_ms: Option<u64>, out: &mut H) {
    record.step.hash(out);
    let mut retry = |tag: u8, retry: &Retry| {
        let wait = now_ms.map(|now_ms| (retry.until_ms.saturating_sub(now_ms), retry.backoff_ms));
        (tag, retry.failure.may_have_run(), wait).hash(out);
    };
    match &record.body {
        RecordBody::RunStart { .. } => 0u8.hash(out),
        RecordBody::LlmRequest { attempt, .. } => (1u8, attempt).hash(out),
        RecordBody::LlmCall(call) => {
            (2u8, &call.thought, &call.plan, call.plan_version, call.input_tokens, call.output_tokens).hash(out);
            call.tool_calls.iter().for_each(|call| hash_call(call, out));
        }
        RecordBody::LlmRetry(failed) => retry(3, failed),
        RecordBody::ToolRetry { tool: _, call_id: _, retry: failed } => retry(4, failed),
        RecordBody::ApprovalRequest { tool, approval_key, .. } => (5u8, tool, approval_key).hash(out),
        RecordBody::Approval { kind: _, call_id: _, tool, args, approval_key, decision, reused } => {
            (6u8, tool, approval_key, decision.status, &decision.approver, reused).hash(out);
            hash_value(args, out);
        }
        RecordBody::ToolCall { tool, args, call_id, attempt, idempotency_key, traceparent: _ } => {
            (7u8, tool, call_id, attempt, idempotency_key).hash(out);
            hash_value(args, out);
        }
        RecordBody::ToolResult { tool, call_id, outcome, code: _, result } => {
            (8u8, tool, call_id, outcome).hash(out);
            hash_value(result, out);
        }
        RecordBody::Replan { call_id: _, reason } => (9u8, reason).hash(out),
        RecordBody::Guard { guard, .. } => (10u8, guard).hash(out),
        RecordBody::Checkpoint { bytes, .. } => (11u8, Some(*bytes).filter(|bytes| *bytes > SMALL_CHECKPOINT_BYTES)).hash(out),
        RecordBody::Resume { .. } => 12u8.hash(out),
        RecordBody::Stop { status, .. } => (13u8, status).hash(out),
        RecordBody::Crash { .. } => 14u8.hash(out),
        RecordBody::Unknown { kind, .. } => (15u8, kind).hash(out),
    }
}

/// Hashes a JSON value in the order of its fields, which is the order in which it is written.
pub fn hash_value<H: Hasher>(value: &Value, out: &mut H) {
    match value {
        Value::Null => 0u8.hash(out),
        Value::Bool(flag) => (1u8, flag).hash(out),
        Value::Number(number) => (2u8, number).hash(out),
        Value::String(text) => (3u8, text).hash(out),
        Value::Array(items) => {
            (4u8, items.len()).hash(out);
            items.iter().for_each(|item| hash_value(item, out));
        }
        Value::Object(fields) => {
            (5u8, fields.len()).hash(out);
            for (key, field) in fields {
                key.hash(out);
                hash_value(field, out);
            }
        }
    }
}

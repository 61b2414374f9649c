//! From records to spans.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::content::{Conversation, finish_reason};
use super::write::{CLIENT, INTERNAL, Span, attribute, boolean, decimal, event, integer, one_text, text};
use super::{Options, PROVIDER};
use crate::base::money::PicoUsd;
use crate::base::trace_context::{is_traceparent, span_id};
use crate::log::trace::{AttemptState, Outcome, Purpose, RecordedError, Role, Subject, Trace};
use crate::record::{Decision, FailureCode, InDoubt, LlmCall, Record, RecordBody, Retry, Status, StopCause};
use crate::report::mcp;

/// The spans of a run, the root first, then in the order in which they began.
pub fn spans_of(records: &[&Record], run_id: &str, options: &Options) -> Vec<Span> {
    let trace = Trace::of(records.iter().copied());
    let mut builder = Builder::new(records, &trace, run_id, options);
    for (record, role) in records.iter().zip(trace.roles()) {
        builder.take(record, role);
    }
    builder.finish()
}

/// A call of the conversation that has begun and has no result.
struct OpenCall {
    span: usize,
    /// Its place in the trace.
    call: usize,
    /// When its agent died, if no other has continued it.
    interrupted_ms: Option<u64>,
}

/// A request that is out.
struct OpenAttempt {
    span: usize,
    /// Its place in the trace.
    attempt: usize,
}

struct Builder<'a> {
    trace: &'a Trace,
    run_id: &'a str,
    options: &'a Options<'a>,
    spans: Vec<Span>,
    ids: BTreeSet<String>,
    now_ms: u64,
    chat: Option<usize>,
    call: Option<OpenCall>,
    attempt: Option<OpenAttempt>,
    conversation: Conversation,
    output_reserve: Option<Value>,
    /// The last thing the model said that called for nothing more.
    answer: Option<String>,
    totals: Totals,
    stopped: Option<Status>,
}

/// What is counted over the run.
#[derive(Default)]
struct Totals {
    chats: u64,
    calls: u64,
    attempts: u64,
    input_tokens: u128,
    output_tokens: u128,
    cost: PicoUsd,
    resumes: u64,
}

impl<'a> Builder<'a> {
    fn new(records: &[&Record], trace: &'a Trace, run_id: &'a str, options: &'a Options<'a>) -> Builder<'a> {
        let start_ms = records.first().map_or(0, |record| record.ts_ms);
        let mut builder = Builder {
            trace,
            run_id,
            options,
            spans: Vec::new(),
            ids: BTreeSet::new(),
            now_ms: start_ms,
            chat: None,
            call: None,
            attempt: None,
            conversation: Conversation::of(options.prompt),
            output_reserve: None,
            answer: None,
            totals: Totals::default(),
            stopped: None,
        };
        let root = builder.open(format!("invoke_agent {}", options.agent), INTERNAL, "invoke_agent", None, None);
        let root = &mut builder.spans[root];
        root.set("gen_ai.operation.name", text("invoke_agent"));
        root.set("gen_ai.provider.name", text(PROVIDER));
        root.set("gen_ai.agent.name", text(options.agent));
        root.set("gen_ai.conversation.id", text(run_id));
        root.set("gen_ai.request.model", text(options.model));
        if let Some(scenario) = records.iter().find_map(|record| match &record.body {
            RecordBody::RunStart { scenario, .. } => Some(scenario),
            _ => None,
        }) {
            root.set("crashlab.scenario", text(scenario));
        }
        builder
    }

    fn take(&mut self, record: &Record, role: &Role) {
        // Whatever a clock did, no span ends before it begins.
        let before_ms = self.now_ms;
        self.now_ms = self.now_ms.max(record.ts_ms);
        match &record.body {
            RecordBody::RunStart { limits, .. } => self.output_reserve = limits.get("output_reserve").cloned(),
            RecordBody::LlmRequest { attempt, projected } => {
                self.leave_call();
                let chat = self.open_chat(record.step);
                self.spans[chat].set("crashlab.llm.attempt", integer(*attempt));
                self.spans[chat].set("crashlab.projected_cost_usd", decimal(projected.usd_number()));
            }
            RecordBody::LlmCall(call) => self.take_llm_call(record.step, call),
            RecordBody::LlmRetry(retry) => {
                if let Some(chat) = self.chat.take() {
                    self.retried(chat, retry);
                }
            }
            RecordBody::ToolRetry { retry, .. } => {
                if let Some(attempt) = self.attempt.take() {
                    self.retried(attempt.span, retry);
                }
            }
            RecordBody::ApprovalRequest { approval_key, .. } => {
                let call = self.call(record.step, role);
                self.end_attempt_by_what_follows();
                let fields = vec![attribute("crashlab.approval.key", text(approval_key))];
                self.note(call, "crashlab.approval_request", fields);
            }
            RecordBody::Approval { approval_key, decision: Decision { status, approver, note }, reused, .. } => {
                let call = self.call(record.step, role);
                let mut fields = vec![
                    attribute("crashlab.approval.key", text(approval_key)),
                    attribute("crashlab.approval.decision", text(status.as_str())),
                    attribute("crashlab.approval.approver", text(approver)),
                    attribute("crashlab.approval.reused", boolean(*reused)),
                ];
                if let Some(note) = note.as_ref().filter(|_| self.options.includes_content) {
                    fields.push(attribute("crashlab.approval.note", text(note)));
                }
                self.note(call, "crashlab.approval", fields);
            }
            RecordBody::ToolCall { .. } => self.take_tool_call(record, role),
            RecordBody::ToolResult { call_id, result, .. } => self.take_tool_result(record.step, role, call_id, result),
            RecordBody::Replan { reason, .. } => {
                let content = self.options.includes_content;
                let fields = content.then(|| attribute("crashlab.replan.reason", text(reason))).into_iter().collect();
                self.note(0, "crashlab.replan", fields);
            }
            RecordBody::Guard { guard, observed, limit } => {
                if *guard == Status::MaxResumes {
                    self.die(before_ms);
                }
                let fields = vec![
                    attribute("crashlab.guard", text(guard.as_str())),
                    attribute("crashlab.guard.observed", text(&observed.to_string())),
                    attribute("crashlab.guard.limit", text(&limit.to_string())),
                ];
                self.note(0, "crashlab.guard", fields);
            }
            RecordBody::Checkpoint { bytes, generation } => {
                let size = attribute("crashlab.checkpoint.bytes", integer(*bytes));
                let number = attribute("crashlab.checkpoint.generation", integer(*generation));
                self.note(0, "crashlab.checkpoint", vec![number, size]);
            }
            RecordBody::Resume { from_step, records_replayed, in_doubt, .. } => {
                self.die(before_ms);
                self.totals.resumes += 1;
                let mut fields = vec![
                    attribute("crashlab.resume.from_step", integer(*from_step)),
                    attribute("crashlab.resume.records_replayed", integer(*records_replayed)),
                ];
                if let Some(in_doubt) = in_doubt {
                    let what = match in_doubt {
                        InDoubt::Model { .. } => "chat",
                        InDoubt::Tool { tool, .. } => tool,
                    };
                    fields.push(attribute("crashlab.resume.in_doubt", text(what)));
                }
                self.note(0, "crashlab.resume", fields);
            }
            RecordBody::Stop { status, cause, .. } => {
                self.stopped = Some(*status);
                if let Some(chat) = self.chat.take() {
                    let code = match cause {
                        StopCause::ModelFailed { failure, .. } => failure.code,
                        StopCause::Plain | StopCause::Budget { .. } | StopCause::Other(_) => None,
                    };
                    let error = cause.error().unwrap_or_default();
                    self.end_failed(chat, code.map_or("_OTHER", FailureCode::as_str), &error);
                }
            }
            RecordBody::Crash { at, .. } => {
                self.die(self.now_ms);
                self.note(0, "crashlab.crash", vec![attribute("crashlab.crash.at", text(at))]);
            }
            RecordBody::Unknown { .. } => {}
        }
    }

    fn finish(mut self) -> Vec<Span> {
        if self.stopped.is_none() && !self.options.is_running {
            self.die(self.now_ms);
        }
        let goes_on = self.stopped.is_none() && self.options.is_running;
        if goes_on {
            let out = [self.attempt.take().map(|attempt| attempt.span), self.chat.take(), self.call.take().map(|call| call.span)];
            for span in out.into_iter().flatten() {
                self.spans[span].end_ms = self.now_ms;
                self.spans[span].set("crashlab.unfinished", boolean(true));
            }
        }
        if let Some(chat) = self.chat.take() {
            self.end_failed(chat, "_OTHER", "");
        }
        self.leave_call();
        let totals = &self.totals;
        let root = &mut self.spans[0];
        root.end_ms = self.now_ms;
        root.set("gen_ai.usage.input_tokens", integer(totals.input_tokens));
        root.set("gen_ai.usage.output_tokens", integer(totals.output_tokens));
        root.set("crashlab.cost_usd", decimal(totals.cost.usd_number()));
        root.set("crashlab.resumes", integer(totals.resumes));
        if self.options.includes_content {
            let messages =
                [("gen_ai.input.messages", self.conversation.prompt()), ("gen_ai.output.messages", self.answer.take())];
            for (key, messages) in messages.into_iter().filter_map(|(key, messages)| Some((key, messages?))) {
                root.set(key, text(&messages));
            }
        }
        match self.stopped {
            Some(status) => {
                root.set("crashlab.status", text(status.as_str()));
                if status != Status::Done {
                    root.fail(status.as_str());
                }
            }
            None if goes_on => root.set("crashlab.unfinished", boolean(true)),
            None => root.fail("crashed"),
        }
        self.spans
    }

    // --- The model --------------------------------------------------------------------------------------------------------------

    fn open_chat(&mut self, step: u32) -> usize {
        if let Some(chat) = self.chat.take() {
            self.end_failed(chat, "_OTHER", "");
        }
        self.conversation.begin_step(step);
        self.totals.chats += 1;
        let position = format!("chat {}", self.totals.chats);
        let chat = self.open(format!("chat {}", self.options.model), CLIENT, &position, Some(0), None);
        let (input, left_out) = self.conversation.input();
        let span = &mut self.spans[chat];
        span.set("gen_ai.operation.name", text("chat"));
        span.set("gen_ai.provider.name", text(PROVIDER));
        span.set("gen_ai.conversation.id", text(self.run_id));
        span.set("gen_ai.request.model", text(self.options.model));
        if let Some(limit) = self.output_reserve.as_ref().and_then(Value::as_u64) {
            span.set("gen_ai.request.max_tokens", integer(limit));
        }
        span.set("crashlab.step", integer(step));
        if self.options.includes_content {
            span.set("gen_ai.input.messages", text(&input));
            if left_out > 0 {
                span.set("crashlab.input.messages_left_out", integer(left_out as u64));
            }
        }
        self.chat = Some(chat);
        chat
    }

    fn take_llm_call(&mut self, step: u32, call: &LlmCall) {
        let chat = match self.chat.take() {
            Some(chat) => chat,
            // A log of other software may have results alone.
            None => {
                self.leave_call();
                self.open_chat(step)
            }
        };
        self.chat = None;
        let output = self.conversation.assistant(step, call);
        let totals = &mut self.totals;
        totals.input_tokens += u128::from(call.input_tokens);
        totals.output_tokens += u128::from(call.output_tokens);
        totals.cost = totals.cost.plus(call.cost);
        let span = &mut self.spans[chat];
        span.end_ms = self.now_ms;
        span.set("gen_ai.response.model", text(self.options.model));
        span.set("gen_ai.response.finish_reasons", one_text(finish_reason(call)));
        span.set("gen_ai.usage.input_tokens", integer(call.input_tokens));
        span.set("gen_ai.usage.output_tokens", integer(call.output_tokens));
        span.set("crashlab.cost_usd", decimal(call.cost.usd_number()));
        span.set("crashlab.plan_version", integer(call.plan_version));
        if call.usage_partial {
            span.set("crashlab.usage_partial", boolean(true));
        }
        if self.options.includes_content {
            span.set("gen_ai.output.messages", text(&output));
            self.answer = call.tool_calls.is_empty().then_some(output);
        }
    }

    // --- The tools --------------------------------------------------------------------------------------------------------------

    /// The span of the call that a record is about: the one under way, or a new one.
    fn call(&mut self, step: u32, role: &Role) -> usize {
        let Subject::Call(number) = role.subject else {
            return 0;
        };
        if let Some(open) = self.call.as_mut().filter(|open| open.call == number) {
            open.interrupted_ms = None;
            return open.span;
        }
        self.leave_call();
        let call = &self.trace.calls[number];
        self.totals.calls += 1;
        let position = format!("execute_tool {}", self.totals.calls);
        let index = self.open(format!("execute_tool {}", call.tool), INTERNAL, &position, Some(0), None);
        let span = &mut self.spans[index];
        span.set("gen_ai.operation.name", text("execute_tool"));
        span.set("gen_ai.tool.name", text(&call.tool));
        span.set("gen_ai.tool.type", text("function"));
        if let Some(id) = &call.call_id {
            span.set("gen_ai.tool.call.id", text(id));
        }
        span.set("crashlab.step", integer(step));
        if let Some(args) = call.planned_args.as_ref().filter(|_| self.options.includes_content) {
            span.set("gen_ai.tool.call.arguments", text(&args.to_string()));
        }
        self.call = Some(OpenCall { span: index, call: number, interrupted_ms: None });
        index
    }

    /// How often a call has been sent by now.
    fn times_sent(&self, call: usize) -> usize {
        let attempts = self.trace.calls[call].attempts.iter().filter_map(|place| self.trace.attempts.get(*place));
        attempts.filter(|attempt| attempt.purpose == Purpose::Tool).count()
    }

    fn take_tool_call(&mut self, record: &Record, role: &Role) {
        let (RecordBody::ToolCall { tool, args, attempt, idempotency_key, traceparent, .. }, Some(number)) =
            (&record.body, role.attempt)
        else {
            return;
        };
        let call = self.call(record.step, role);
        self.end_attempt_by_what_follows();
        self.totals.attempts += 1;
        let position = format!("tools/call {}", self.totals.attempts);
        let sent_as = is_traceparent(traceparent).then(|| traceparent[36..52].to_string());
        let index = self.open(format!("tools/call {tool}"), CLIENT, &position, Some(call), sent_as);
        let span = &mut self.spans[index];
        span.set("mcp.method.name", text(mcp::CALL_METHOD));
        span.set("mcp.protocol.version", text(mcp::PROTOCOL_VERSION));
        span.set("jsonrpc.request.id", text(&mcp::request_id(record)));
        span.set("gen_ai.tool.name", text(tool));
        span.set("crashlab.tool.attempt", integer(*attempt));
        if self.options.includes_content {
            span.set("gen_ai.tool.call.arguments", text(&args.to_string()));
            span.set("crashlab.tool.idempotency_key", text(idempotency_key));
        }
        self.attempt = Some(OpenAttempt { span: index, attempt: number });
    }

    /// Some outcomes have no record: what comes next tells them.
    fn end_attempt_by_what_follows(&mut self) {
        let Some(OpenAttempt { span, attempt }) = self.attempt.take() else {
            return;
        };
        let attempt = &self.trace.attempts[attempt];
        match (attempt.purpose, attempt.state()) {
            (Purpose::LookUp, AttemptState::Closed) => self.spans[span].end_ms = self.now_ms,
            (Purpose::LookUp, _) => self.end_failed(span, "unresolved", ""),
            _ => self.end_failed(span, "unknown_outcome", ""),
        }
    }

    fn take_tool_result(&mut self, step: u32, role: &Role, call_id: &Arc<str>, result: &Value) {
        let span = self.call(step, role);
        let Some(OpenCall { call, .. }) = self.call.take() else {
            return;
        };
        let attempt = self.attempt.take();
        self.conversation.tool(step, call_id, result);
        let attempts = self.times_sent(call);
        let outcome = self.trace.calls[call].outcome().unwrap_or(Outcome::Unstated);
        let error = result.get("error").and_then(Value::as_str).unwrap_or_default();
        let error_type = match outcome {
            Outcome::Succeeded | Outcome::Denied | Outcome::Expired => None,
            _ if code_of(error).is_some() => code_of(error),
            Outcome::InDoubt => Some("in_doubt"),
            // It was refused before it was sent.
            _ if attempts == 0 => Some("invalid_call"),
            // The conventions' word for a tool that answers with an error.
            _ => Some("tool_error"),
        };
        self.spans[span].set("crashlab.tool.attempts", integer(attempts as u64));
        self.spans[span].set("crashlab.tool.outcome", text(outcome.as_str()));
        for index in attempt.map(|attempt| attempt.span).into_iter().chain([span]) {
            match error_type {
                Some(error_type) => self.end_failed(index, error_type, error),
                None => self.spans[index].end_ms = self.now_ms,
            }
            if outcome == Outcome::Succeeded && self.options.includes_content {
                self.spans[index].set("gen_ai.tool.call.result", text(&result.to_string()));
            }
        }
    }

    // --- Beginnings and ends ----------------------------------------------------------------------------------------------------

    /// Opens a span below another one. Its id is the one that it was sent under, or is derived from its position in the run.
    fn open(&mut self, name: String, kind: u8, position: &str, parent: Option<usize>, sent_as: Option<String>) -> usize {
        let sent_as = sent_as.filter(|id| !self.ids.contains(id));
        let mut id = sent_as.unwrap_or_else(|| span_id(self.run_id, position));
        while !self.ids.insert(id.clone()) {
            id = span_id(self.run_id, &id);
        }
        self.spans.push(Span {
            name,
            kind,
            id,
            parent: parent.map(|parent| self.spans[parent].id.clone()),
            start_ms: self.now_ms,
            end_ms: self.now_ms,
            attributes: Vec::new(),
            events: Vec::new(),
            failed: false,
            message: None,
        });
        self.spans.len() - 1
    }

    fn note(&mut self, span: usize, name: &str, attributes: Vec<Value>) {
        self.spans[span].events.push(event(name, self.now_ms, attributes));
    }

    fn end_failed(&mut self, span: usize, error_type: &str, message: &str) {
        let includes_content = self.options.includes_content;
        let span = &mut self.spans[span];
        span.end_ms = self.now_ms;
        span.fail(error_type);
        // An error's text may quote arguments.
        span.message = includes_content.then(|| message.to_string());
    }

    fn retried(&mut self, span: usize, retry: &Retry) {
        self.end_failed(span, retry.failure.code.map_or("_OTHER", FailureCode::as_str), &retry.failure.to_text());
        self.spans[span].set("crashlab.retry.backoff_ms", integer(retry.backoff_ms));
    }

    /// The agent died: what it had out ends there. A call of the conversation may be continued.
    fn die(&mut self, at_ms: u64) {
        let out = [self.attempt.take().map(|attempt| attempt.span), self.chat.take()];
        for span in out.into_iter().flatten() {
            self.spans[span].end_ms = at_ms.max(self.spans[span].start_ms);
            self.spans[span].fail("crashed");
        }
        if let Some(call) = &mut self.call {
            call.interrupted_ms.get_or_insert(at_ms);
        }
    }

    /// Ends the call under way, if there is one: no agent continues it.
    fn leave_call(&mut self) {
        let Some(call) = self.call.take() else {
            return;
        };
        let end_ms = call.interrupted_ms.unwrap_or(self.now_ms);
        let request = self.attempt.take().map(|attempt| attempt.span);
        for span in request.into_iter().chain([call.span]) {
            let span = &mut self.spans[span];
            span.end_ms = end_ms.max(span.start_ms);
            span.fail("crashed");
        }
        let attempts = self.times_sent(call.call);
        let span = &mut self.spans[call.span];
        span.set("crashlab.tool.attempts", integer(attempts as u64));
        span.set("crashlab.tool.outcome", text("crashed"));
    }
}

/// The code at the front of an error's text.
fn code_of(error: &str) -> Option<&'static str> {
    RecordedError::from_text(error).code.map(FailureCode::as_str)
}

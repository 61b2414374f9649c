//! Reads the records of a trace one by one, and tells what is missing between them. Which call a record is about says the log's
//! reader, [`crate::log::trace`].

use serde_json::Value;

use super::super::imported::{Form, Trace};
use super::{Call, CallResult, Decision, Did, Event, ModelCall, Request, RunFacts, is_refund, text, tool_of, usd};
use crate::agent::tools::ToolSpec;
use crate::base::canonical::canonical;
use crate::base::json::{count, decimal};
use crate::lab::shipped_tools::shipped_tools;
use crate::log::trace::{
    Approval, Attempt, End, Ending, Purpose, RecordedError, Role, Subject, Trace as Run, read_result, tells_of_a_refund,
};
use crate::record::{FailureKind, QuestionKind};

/// The runs of a trace, in the order in which they begin.
pub fn facts_of_runs(trace: &Trace) -> Vec<RunFacts> {
    let tools: Vec<ToolSpec> = shipped_tools().into_iter().map(|tool| tool.spec).collect();
    let runs = trace.traces().runs();
    let mut readers: Vec<Reader> = runs.iter().map(|(run_id, run)| Reader::new(run_id, run, &tools)).collect();
    for (index, line) in trace.lines().iter().enumerate() {
        let reader = trace.traces().run_of(index).and_then(|run| readers.get_mut(run));
        let (Some(reader), Some((role, _))) = (reader, trace.traces().find(index)) else {
            continue;
        };
        match (trace.value(index), &line.form) {
            (Some(value), _) => reader.take(role, &value),
            (None, Form::Broken(error)) => {
                reader.facts.records.push(index);
                reader.facts.kinds.push("broken".to_string());
                reader.facts.gaps.push((index, format!("line {} cannot be read ({error})", line.number)));
            }
            (None, _) => {}
        }
    }
    readers.into_iter().map(Reader::finish).collect()
}

/// Reads one run, record by record.
struct Reader<'a> {
    facts: RunFacts,
    /// How the records belong together.
    run: &'a Run,
    tools: &'a [ToolSpec],
    /// The calls of the newest model call.
    turn: Vec<usize>,
    resumed_since_turn: bool,
    resumed_since_checkpoint: bool,
    /// A failed result that makes the model plan again.
    replan_due: Option<usize>,
    /// The newest crash, until somebody takes over.
    dead: Option<usize>,
    generation: Option<u64>,
    /// What is a gap only if the trace has records of a type.
    without_request: Vec<usize>,
    without_intent: Vec<(usize, String)>,
    without_question: Vec<usize>,
    retries_without_request: Vec<usize>,
}

fn whole(value: &Value, key: &str) -> Option<u64> {
    count(value.get(key)?)
}

fn small(value: &Value, key: &str) -> Option<u32> {
    whole(value, key)?.try_into().ok()
}

/// The argument of a refund that says what is refunded.
fn charge_of(tool: &str, args: &Value) -> Option<String> {
    let fields = ["charge_id", "charge", "payment_id", "transaction_id", "invoice_id", "order_id"];
    let named = fields.iter().find_map(|field| args.get(*field)).filter(|_| is_refund(tool))?;
    Some(named.as_str().map_or_else(|| canonical(named), str::to_string))
}

impl<'a> Reader<'a> {
    fn new(run_id: &str, run: &'a Run, tools: &'a [ToolSpec]) -> Reader<'a> {
        Reader {
            facts: RunFacts { run_id: run_id.to_string(), ..RunFacts::default() },
            run,
            tools,
            turn: Vec::new(),
            resumed_since_turn: false,
            resumed_since_checkpoint: false,
            replan_due: None,
            dead: None,
            generation: None,
            without_request: Vec::new(),
            without_intent: Vec::new(),
            without_question: Vec::new(),
            retries_without_request: Vec::new(),
        }
    }

    fn gap(&mut self, index: usize, what: impl Into<String>) {
        self.facts.gaps.push((index, what.into()));
    }

    fn take(&mut self, role: &Role, value: &Value) {
        let index = role.record;
        let kind = text(value, "type").unwrap_or_default();
        self.facts.records.push(index);
        self.facts.kinds.push(kind.to_string());
        let step = small(value, "step");
        let is_work = matches!(
            kind,
            "llm_request"
                | "llm_call"
                | "llm_retry"
                | "tool_call"
                | "tool_retry"
                | "tool_result"
                | "approval"
                | "approval_request"
        );
        if is_work || kind == "replan" {
            if let Some(crash) = self.dead.take() {
                self.gap(index, format!("after the crash in record {crash} nobody resumed the run, and it goes on"));
            }
            self.facts.last_step = self.facts.last_step.max(step);
        }
        // Out of storage, or out of resumes, a run ends wherever it is.
        let ends_anywhere = ["max_resumes", "storage_failed"];
        if kind == "stop" && text(value, "status").is_some_and(|status| ends_anywhere.contains(&status)) {
            self.replan_due = None;
        }
        if let Some(result) = self.replan_due.filter(|_| is_work || kind == "checkpoint" || kind == "stop") {
            self.replan_due = None;
            self.gap(index, format!("no `replan` follows the failure in record {result}"));
        }
        if kind == "llm_retry" || kind == "tool_retry" {
            let wait = value.get("backoff_s").and_then(decimal).and_then(|wait| wait.scaled(3));
            self.facts.backoffs_ms.push(wait.unwrap_or(0));
        }
        match kind {
            "run_start" => self.facts.start = self.facts.start.take().or(Some((index, value.clone()))),
            "llm_request" => self.take_request(index),
            "llm_call" => self.take_model_call(role, step, value),
            "llm_retry" => self.take_model_retry(role, value),
            "approval_request" => self.take_question(role, step, value),
            "approval" => self.take_decision(role, step, value),
            "tool_call" => self.take_intent(role, step, value),
            "tool_retry" => self.take_retry(role, step, value),
            "tool_result" => self.take_result(role, step, value),
            "replan" => {
                self.replan_due = None;
                self.facts.replans.push(index);
            }
            "guard" => {
                self.dead = None;
                let (observed, limit) = (value.get("observed").cloned(), value.get("limit").cloned());
                let name = text(value, "guard").unwrap_or_default().to_string();
                self.facts.guards.push((index, name, observed.unwrap_or_default(), limit.unwrap_or_default()));
            }
            "checkpoint" => self.take_checkpoint(index, value),
            "resume" => {
                self.dead = None;
                self.resumed_since_turn = true;
                self.resumed_since_checkpoint = true;
                self.facts.resumes.push((index, value.clone()));
            }
            "stop" => {
                self.dead = None;
                self.take_stop(index, value);
            }
            "crash" => {
                self.dead = Some(index);
                // The snapshot may have been saved, and its record lost. A last agent that only ends the run writes no `resume`.
                self.resumed_since_checkpoint = true;
                self.facts.crashes.push((index, text(value, "at").unwrap_or_default().to_string()));
            }
            _ => {}
        }
    }

    fn take_request(&mut self, index: usize) {
        self.facts.has.requests = true;
        self.close_turn(index);
        let is_before = |attempt: &&Attempt| attempt.end == Some(End { record: index, by: Ending::SentAgain });
        if let Some(before) = self.run.attempts.iter().find(|attempt| attempt.purpose == Purpose::Model && is_before(attempt)) {
            self.gap(index, format!("the outcome of the model request in record {} is missing", before.intent));
        }
    }

    /// Before the model is called again, every call that it wanted has its result.
    fn close_turn(&mut self, index: usize) {
        // Without its journal a resumed agent begins the step anew.
        let begins_anew = self.resumed_since_turn && !self.replays();
        let turn = std::mem::take(&mut self.turn);
        for place in turn {
            let call = &self.facts.calls[place];
            if call.result.is_none() && !begins_anew && (call.proposed.is_some() || call.started().is_some()) {
                let what = format!("the result of {}{} is missing", call.tool, id_text(call.call_id.as_deref()));
                self.gap(index, what);
            }
        }
    }

    /// True if a resumed agent continues in the middle of a step.
    fn replays(&self) -> bool {
        let start = self.facts.start.as_ref().map(|(_, start)| &start["mechanisms"]);
        let is_on = |name: &str| start.is_some_and(|mechanisms| mechanisms.get(name) == Some(&Value::Bool(true)));
        is_on("journal") && is_on("checkpoints")
    }

    fn take_model_call(&mut self, role: &Role, step: Option<u32>, value: &Value) {
        let index = role.record;
        self.close_turn(index);
        if role.attempt.is_none() {
            self.without_request.push(index);
        }
        self.facts.steps.extend(step);
        self.resumed_since_turn = false;
        let calls = value.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let tool = tool_of(call);
            let args = call.get("args").or(call.get("arguments"));
            self.new_call(&tool, args, text(call, "id"), step).proposed = Some(index);
            self.turn.push(self.facts.calls.len() - 1);
        }
        let said = ["thought", "content", "text", "final"].into_iter().find_map(|key| text(value, key));
        self.facts.model_calls.push(ModelCall {
            index,
            step,
            input_tokens: whole(value, "input_tokens"),
            output_tokens: whole(value, "output_tokens"),
            cost: usd(value.get("cost_usd")),
            wants: calls.map(Vec::len),
            text: said.map(str::to_string),
        });
    }

    fn take_model_retry(&mut self, role: &Role, value: &Value) {
        let error = RecordedError::from_text(text(value, "error").unwrap_or_default());
        let attempt = role.attempt.and_then(|place| self.run.attempts.get(place));
        if attempt.is_none() {
            self.retries_without_request.push(role.record);
        }
        if error.kind() == FailureKind::OutcomeUnknown {
            let sent = attempt.map_or(role.record, |attempt| attempt.intent);
            self.facts.in_doubt.push((sent, attempt.and_then(|attempt| attempt.projected)));
        }
        self.facts.model_retries.push(role.record);
    }

    fn take_question(&mut self, role: &Role, step: Option<u32>, value: &Value) {
        let index = role.record;
        self.facts.has.questions = true;
        let tool = tool_of(value);
        let key = text(value, "approval_key").unwrap_or_default();
        self.facts.questions.push((index, key.to_string()));
        let again = self.asks_again(role);
        self.call_of(role, &tool, value, step).events.push(Event { index, what: Did::Asked { again } });
        self.facts.open_question = Some((index, tool));
    }

    fn take_decision(&mut self, role: &Role, step: Option<u32>, value: &Value) {
        let index = role.record;
        let tool = tool_of(value);
        let named = tool.clone();
        let reused = value.get("reused") == Some(&Value::Bool(true));
        self.facts.open_question = None;
        let was_asked = self.approval(role).is_some_and(|approval| !approval.asked.is_empty());
        if !was_asked && !reused {
            self.without_question.push(index);
        }
        let decision = match (text(value, "decision").or(text(value, "status")), value.get("approved")) {
            (Some(word), _) => word.to_string(),
            (None, Some(Value::Bool(true))) => "approved".to_string(),
            (None, Some(Value::Bool(false))) => "denied".to_string(),
            (None, _) => String::new(),
        };
        self.facts.decisions.push(Decision {
            index,
            tool,
            args: value.get("args").map(canonical),
            decision,
            approver: text(value, "approver").or(text(value, "approved_by")).map(str::to_string),
            reused,
            again: self.asks_again(role),
        });
        let decided = Did::Decided(self.facts.decisions.len() - 1);
        self.call_of(role, &named, value, step).events.push(Event { index, what: decided });
    }

    fn take_intent(&mut self, role: &Role, step: Option<u32>, value: &Value) {
        let index = role.record;
        self.facts.has.intents = true;
        if let Some((question, tool)) = self.facts.open_question.take() {
            self.gap(index, format!("the decision about {tool}, asked in record {question}, is missing"));
        }
        let tool = tool_of(value);
        let (number, key) = (small(value, "attempt"), text(value, "idempotency_key").map(str::to_string));
        let run = self.run;
        let is_look_up = role.attempt.is_some_and(|place| run.attempts[place].purpose == Purpose::LookUp);
        let call = self.call_of(role, &tool, value, step);
        if is_look_up {
            call.events.push(Event { index, what: Did::LookedUp });
            return;
        }
        let before = call.events.iter().rev().find_map(|event| match &event.what {
            Did::Sent { attempt, .. } => Some((event.index, *attempt)),
            _ => None,
        });
        if let Some(args) = value.get("args") {
            // What was sent counts, not what was proposed.
            call.args = Some(canonical(args));
            call.charge = charge_of(&tool, args);
        }
        call.events.push(Event { index, what: Did::Sent { attempt: number, key } });
        let is_unanswered = |sent: usize| {
            let end = Some(End { record: index, by: Ending::SentAgain });
            run.attempts.iter().any(|attempt| attempt.intent == sent && attempt.end == end)
        };
        match before {
            Some((sent, _)) if is_unanswered(sent) => {
                self.gap(index, format!("what came of {tool} in record {sent} is missing"));
            }
            Some((_, Some(earlier))) if number.is_some_and(|now| now > earlier + 1) => {
                self.gap(index, format!("attempt {} of {tool} is missing", earlier + 1));
            }
            Some(_) => {}
            None if number.is_some_and(|number| number > 1) => self.gap(index, format!("attempt 1 of {tool} is missing")),
            None => {}
        }
    }

    fn resumed_between(&self, since: usize) -> bool {
        self.facts.resumes.last().is_some_and(|(index, _)| *index > since)
    }

    fn take_retry(&mut self, role: &Role, step: Option<u32>, value: &Value) {
        let index = role.record;
        let tool = tool_of(value);
        let error = RecordedError::from_text(text(value, "error").unwrap_or_default());
        let run = self.run;
        let failed = role.attempt.and_then(|place| run.attempts.get(place));
        if failed.is_none() {
            self.without_intent.push((index, format!("the call of {tool} that failed in record {index} is missing")));
        }
        let attempt = small(value, "attempt");
        let what = match failed.map(|attempt| attempt.purpose) {
            Some(Purpose::LookUp) => Did::LookedUp,
            _ => Did::Failed { attempt, error },
        };
        self.call_of(role, &tool, value, step).events.push(Event { index, what });
    }

    fn take_result(&mut self, role: &Role, step: Option<u32>, value: &Value) {
        let index = role.record;
        let tool = tool_of(value);
        let (result, ok) = read_result(value);
        let is_true = |key: &str| result.get(key) == Some(&Value::Bool(true));
        let found = CallResult {
            index,
            ok,
            in_doubt: is_true("in_doubt"),
            refused: is_true("denied") || is_true("expired"),
            error: text(&result, "error").or(text(value, "error")).map(RecordedError::from_text),
            refund_id: text(&result, "refund_id").map(str::to_string),
        };
        for number in refund_ids(&result) {
            self.facts.refunds_seen.entry(number.to_string()).or_insert(index);
        }
        self.facts.others_refunded |= shows_a_refund(&result);
        let call = self.call_of(role, &tool, value, step).clone();
        let sent = call.events.iter().any(|event| matches!(event.what, Did::Sent { .. } | Did::LookedUp));
        // A call that the tool would not take, or that was refused, is never sent.
        let had_to_be_sent = match ok {
            Some(true) => true,
            Some(false) => !found.refused && call.fits == Some(true),
            None => false,
        };
        let newest = call.events.iter().rev().find(|event| !matches!(event.what, Did::Asked { .. } | Did::Decided(_)));
        // A call that was out when an agent died is sent again, or the service is asked about it.
        let is_stale = |index: usize| ok == Some(true) && self.resumed_between(index);
        let sent = sent && !newest.is_some_and(|event| matches!(event.what, Did::Failed { .. }) || is_stale(event.index));
        if had_to_be_sent && !sent {
            self.without_intent.push((index, format!("the call of {tool} that gave the result in record {index} is missing")));
        }
        if found.refused && !call.events.iter().any(|event| matches!(event.what, Did::Decided(_))) && self.facts.has.questions {
            self.gap(index, format!("the decision against {tool} is missing"));
        }
        let is_ours = self.facts.start.is_some() && self.facts.has.requests;
        self.replan_due = (ok == Some(false) && !found.refused && is_ours).then_some(index);
        self.call_of(role, &tool, value, step).result = Some(found);
    }

    fn take_checkpoint(&mut self, index: usize, value: &Value) {
        let generation = whole(value, "generation");
        if let (Some(before), Some(now)) = (self.generation, generation)
            && now > before + 1
            && !self.resumed_since_checkpoint
        {
            self.gap(index, format!("the record of checkpoint {} is missing", before + 1));
        }
        self.generation = generation;
        self.resumed_since_checkpoint = false;
    }

    fn take_stop(&mut self, index: usize, value: &Value) {
        let status = text(value, "status").unwrap_or_default();
        let explained = self.facts.guards.iter().any(|(_, name, _, _)| name == status);
        let by_guard = ["max_steps", "deadline", "repeated_call", "stale", "max_replans", "max_resumes"].contains(&status);
        if by_guard && !explained && self.facts.has.requests {
            self.gap(index, format!("the figures of the guard {status} are missing"));
        }
        if status == "done" && self.facts.has.requests {
            let answered = self.facts.model_calls.last().is_some_and(|call| call.wants == Some(0));
            let resumed_done = self.facts.model_calls.is_empty() && !self.facts.resumes.is_empty();
            if !answered && !resumed_done {
                self.gap(index, "the model call with the answer is missing");
            }
        }
        if status == "done" {
            self.close_turn(index);
        }
        self.facts.stops.push((index, value.clone()));
    }

    // --- Which call a record is about ----------------------------------------------------------------------------------------

    fn new_call(&mut self, tool: &str, args: Option<&Value>, call_id: Option<&str>, step: Option<u32>) -> &mut Call {
        let fits = self.tools.iter().find(|spec| spec.name == tool).zip(args).map(|(spec, args)| spec.check(args).is_ok());
        self.facts.calls.push(Call {
            tool: tool.to_string(),
            args: args.map(canonical),
            charge: args.and_then(|args| charge_of(tool, args)),
            call_id: call_id.map(str::to_string),
            step,
            fits,
            ..Call::default()
        });
        let newest = self.facts.calls.len() - 1;
        &mut self.facts.calls[newest]
    }

    /// The call that a record is about. Calls stand at the same places here as in the run.
    fn call_of(&mut self, role: &Role, tool: &str, value: &Value, step: Option<u32>) -> &mut Call {
        let args = value.get("args");
        let place = match role.subject {
            Subject::Call(place) if place < self.facts.calls.len() => place,
            Subject::Call(_) | Subject::Run | Subject::Model => {
                self.new_call(tool, args, text(value, "call_id"), step);
                self.turn.push(self.facts.calls.len() - 1);
                self.facts.calls.len() - 1
            }
        };
        let call = &mut self.facts.calls[place];
        if let (Some(args), None) = (args, &call.args) {
            call.args = Some(canonical(args));
            call.charge = charge_of(tool, args);
        }
        call
    }

    fn approval(&self, role: &Role) -> Option<&'a Approval> {
        self.run.approvals.get(role.approval?)
    }

    fn asks_again(&self, role: &Role) -> bool {
        self.approval(role).is_some_and(|approval| approval.kind == QuestionKind::SendAgain)
    }

    /// Model calls of which nobody learnt the outcome. The newest is open: whether it came to something is still to be seen.
    fn take_model_doubts(&mut self) {
        let mut requests = self.run.attempts.iter().filter(|attempt| attempt.purpose == Purpose::Model).peekable();
        while let Some(attempt) = requests.next() {
            match (attempt.end.map(|end| end.by), requests.peek()) {
                (Some(Ending::Result | Ending::Retry), _) => {}
                (_, Some(_)) => self.facts.in_doubt.push((attempt.intent, attempt.projected)),
                (_, None) => self.facts.open_request = Some(Request { index: attempt.intent, projected: attempt.projected }),
            }
        }
    }

    fn finish(mut self) -> RunFacts {
        self.take_model_doubts();
        let last = self.facts.records.last().copied().unwrap_or(0);
        let has = self.facts.has;
        if has.requests {
            for index in std::mem::take(&mut self.without_request) {
                self.gap(index, "the request of this model call is missing");
            }
            for index in std::mem::take(&mut self.retries_without_request) {
                self.gap(index, "the request of this failed model call is missing");
            }
        }
        if has.intents {
            self.facts.gaps.append(&mut self.without_intent);
        }
        if has.questions || has.requests {
            for index in std::mem::take(&mut self.without_question) {
                self.gap(index, "the question that was decided here is missing");
            }
        }
        if has.requests && self.facts.start.is_none() {
            self.gap(self.facts.records.first().copied().unwrap_or(0), "`run_start` is missing");
        }
        let proposes = self.facts.model_calls.iter().any(|call| call.wants.is_some());
        let unproposed: Vec<(usize, String)> = self
            .facts
            .calls
            .iter()
            .filter(|call| proposes && call.proposed.is_none() && call.started().is_some())
            .map(|call| {
                (
                    call.first_record().unwrap_or(last),
                    format!("no model call wanted {}{}", call.tool, id_text(call.call_id.as_deref())),
                )
            })
            .collect();
        self.facts.gaps.extend(unproposed);
        self.missing_steps();
        self.facts.gaps.sort();
        self.facts
    }

    fn missing_steps(&mut self) {
        let Some(first) = self.facts.steps.first().copied() else {
            return;
        };
        let resumed_at = self.facts.resumes.first().and_then(|(index, resume)| {
            let is_before = self.facts.model_calls.first().is_none_or(|call| call.index > *index);
            small(resume, "from_step").filter(|_| is_before)
        });
        let begin = if Some(first) == resumed_at { first } else { first.min(1) };
        let newest = self.facts.steps.last().copied().unwrap_or(first);
        // Ranges of steps, so that a far number costs nothing.
        let mut expected = begin;
        let mut gaps = Vec::new();
        for &step in &self.facts.steps {
            if step > expected {
                gaps.push((expected, step - 1));
            }
            expected = step.saturating_add(1);
        }
        if let Some(last) = self.facts.last_step.filter(|last| *last > newest) {
            let is_open = self.facts.open_request.is_some() || self.facts.kinds.last().is_some_and(|kind| kind != "stop");
            if last > expected || !is_open {
                let ends_with_failure = !self.facts.model_retries.is_empty() || self.facts.open_request.is_some();
                if !ends_with_failure {
                    gaps.push((expected, last));
                }
            }
        }
        let at = |step: u32| self.facts.model_calls.iter().find(|call| call.step.is_some_and(|found| found > step));
        for (from, to) in gaps {
            let index = at(to).map_or_else(|| self.facts.records.last().copied().unwrap_or(0), |call| call.index);
            let what = if from == to {
                format!("step {from} has no model call")
            } else {
                format!("steps {from} to {to} have no model call")
            };
            self.facts.gaps.push((index, what));
        }
    }
}

/// The numbers of refunds that a tool's answer has in a field of its own: `refund_id`, or a list `refunds`.
fn refund_ids(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) => fields.iter().flat_map(|(key, field)| refund_ids_of(key, field)).collect(),
        Value::Array(items) => items.iter().flat_map(refund_ids).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn refund_ids_of<'v>(key: &str, field: &'v Value) -> Vec<&'v str> {
    match (key, field) {
        ("refund_id", Value::String(id)) => vec![id],
        ("refunds", Value::Array(items)) => items.iter().filter_map(Value::as_str).chain(refund_ids(field)).collect(),
        _ => refund_ids(field),
    }
}

/// True if a tool's answer shows an earlier refund: an amount above zero, or a refund's number.
fn shows_a_refund(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, field)| {
            let amount = if key.contains("refunded") { decimal(field).and_then(|amount| amount.scaled(2)) } else { None };
            amount.is_some_and(|cents| cents > 0) || shows_a_refund(field)
        }),
        Value::Array(items) => items.iter().any(shows_a_refund),
        Value::String(text) => tells_of_a_refund(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn id_text(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| format!(" ({id})"))
}

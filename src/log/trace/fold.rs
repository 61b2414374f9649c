//! One record after the other.

use super::entry::{Entry, Named, What};
use super::{
    Approval, Attempt, Call, CallResult, Closed, End, Ending, Lane, Outcome, Purpose, QuestionKind, RecordedError, Role, Span,
    Step, Subject, Trace,
};
use crate::record::Record;

/// A log without model calls and results may have calls without end. Of more than these the oldest are given up, so that no record
/// costs more than another.
const OPEN_CALLS: usize = 500;

/// What is under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Now {
    /// The calls without a result that the newest answer of the model wants, or that were met since: places in [`Trace::calls`].
    turn: Vec<usize>,
    /// Attempts whose outcome may still come: places in [`Trace::attempts`].
    open: Vec<usize>,
    /// The request with which the model call under way began.
    model_call: Option<usize>,
    /// The newest question without a decision: a place in [`Trace::approvals`].
    question: Option<usize>,
    /// The newest record was an answer of the model.
    was_answer: bool,
    /// The call that the newest record gave a result of.
    had_result: Option<usize>,
}

impl Trace {
    /// The trace of a log.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Trace {
        let mut trace = Trace::default();
        for (index, record) in records.into_iter().enumerate() {
            trace.push(index, &Entry::of(record));
        }
        trace
    }

    /// Takes the next record in, and gives its part in the run.
    pub fn push(&mut self, record: usize, entry: &Entry) -> &Role {
        let begins_step = match self.steps.last() {
            Some(step) => entry.step.is_some() && entry.step != step.number,
            None => true,
        };
        if begins_step {
            self.steps.push(Step { number: entry.step, record, model: Vec::new(), calls: Vec::new() });
        }
        let mut role = Role {
            record,
            lane: Lane::Storage,
            step: self.steps.len().saturating_sub(1),
            subject: Subject::Run,
            attempt: None,
            approval: None,
            group: record,
            opens: None,
            closes: Vec::new(),
        };
        let had_result = self.now.had_result.take();
        match &entry.what {
            What::ModelRequest { number, projected } => {
                self.begin_turn(record, Vec::new());
                self.end_where(record, Ending::SentAgain, |attempt| attempt.purpose == Purpose::Model);
                let attempt = Attempt { number: *number, projected: *projected, ..attempt(record, Purpose::Model) };
                role.attempt = Some(self.open_attempt(attempt));
                self.steps[role.step].model.extend(role.attempt);
                role.opens = Some(if self.now.model_call.is_some() { Span::Attempt } else { Span::Call });
                self.now.model_call.get_or_insert(record);
                (role.lane, role.subject) = (Lane::Model, Subject::Model);
            }
            What::ModelAnswer(planned) => {
                let calls = planned.iter().map(|named| self.new_call(named, Some(record))).collect();
                self.begin_turn(record, calls);
                let first = self.now.model_call.take();
                self.close(&mut role, |attempt| attempt.purpose == Purpose::Model, Ending::Result, None, first);
                (role.lane, role.subject) = (Lane::Model, Subject::Model);
            }
            What::ModelRetry(error) => {
                self.close(&mut role, |attempt| attempt.purpose == Purpose::Model, Ending::Retry, Some(error), None);
                (role.lane, role.subject) = (Lane::Model, Subject::Model);
            }
            What::Question(named, kind) => self.take_question(&mut role, named, *kind),
            What::Decision(named, kind) => self.take_decision(&mut role, named, *kind),
            What::ToolIntent { call, number, idempotency_key } => {
                let attempt = Attempt {
                    number: *number,
                    idempotency_key: idempotency_key.clone(),
                    tool: Some(call.tool.clone()),
                    ..attempt(record, Purpose::Tool)
                };
                self.take_intent(&mut role, call, attempt);
            }
            What::ToolRetry(named, error) => {
                let is_meant = |attempt: &Attempt| attempt.tool.as_ref() == Some(&named.tool);
                let open = self.now.open.iter().rev().find(|place| is_meant(&self.attempts[**place])).copied();
                let by_attempt = named.call_id.is_none().then_some(open).flatten().and_then(|open| self.call_of(open));
                let call = by_attempt.unwrap_or_else(|| self.call_for(role.record, named));
                self.about(&mut role, call, Lane::Tools);
                self.close_of_call(&mut role, call, Ending::Retry, Some(error), None);
            }
            What::ToolResult(named, outcome, error) => self.take_result(&mut role, named, *outcome, error.as_ref()),
            What::Replan => {
                if let Some(call) = had_result {
                    role.subject = Subject::Call(call);
                    self.calls[call].records.push(record);
                }
            }
            What::Guard => self.guards.push(record),
            What::Checkpoint => self.checkpoints.push(record),
            What::Resume => {
                self.resume(record);
                self.resumes.push(record);
            }
            What::Crash => {
                self.crash(&mut role);
                self.crashes.push(record);
            }
            What::Stop(error) => {
                if let Some(error) = error {
                    let is_model = |attempt: &Attempt| attempt.purpose == Purpose::Model;
                    for place in self.end_where(record, Ending::Stop, is_model) {
                        self.attempts[place].error = Some(error.clone());
                    }
                }
                self.stops.push(record);
            }
            What::Unknown(lane) => {
                role.lane = *lane;
                if *lane == Lane::Model {
                    role.subject = Subject::Model;
                }
            }
            What::Start => {}
        }
        self.group(&mut role, entry, begins_step);
        self.now.was_answer = matches!(entry.what, What::ModelAnswer(_));
        self.roles.push(role);
        &self.roles[self.roles.len() - 1]
    }

    /// Neighbours about the same call stand together. A second model call of a step is another one.
    fn group(&self, role: &mut Role, entry: &Entry, begins_step: bool) {
        let Some(before) = self.roles.last() else {
            return;
        };
        let is_next_call = self.now.was_answer && matches!(entry.what, What::ModelRequest { .. });
        let is_neighbour = before.record + 1 == role.record && !begins_step && !is_next_call;
        if is_neighbour && role.subject != Subject::Run && before.subject == role.subject {
            role.group = before.group;
        }
    }

    // --- Attempts ---------------------------------------------------------------------------------------------------------------

    fn open_attempt(&mut self, attempt: Attempt) -> usize {
        let place = self.attempts.len();
        self.attempts.push(attempt);
        self.now.open.push(place);
        place
    }

    /// Ends open attempts without a word of their outcome, and gives their places.
    fn end_where(&mut self, record: usize, by: Ending, is_meant: impl Fn(&Attempt) -> bool) -> Vec<usize> {
        let attempts = &self.attempts;
        let (ended, open): (Vec<usize>, Vec<usize>) =
            self.now.open.iter().copied().partition(|place| is_meant(&attempts[*place]));
        self.now.open = open;
        for place in &ended {
            self.attempts[*place].end.get_or_insert(End { record, by });
        }
        ended
    }

    /// Ends the newest attempt that is meant, and with it the call that began with `first`, if it ends too.
    fn close(
        &mut self,
        role: &mut Role,
        is_meant: impl Fn(&Attempt) -> bool,
        by: Ending,
        error: Option<&RecordedError>,
        first: Option<usize>,
    ) {
        let attempts = &self.attempts;
        let newest = self.now.open.iter().rposition(|place| is_meant(&attempts[*place]));
        if let Some(place) = newest.map(|newest| self.now.open.remove(newest)) {
            let attempt = &mut self.attempts[place];
            attempt.end = Some(End { record: role.record, by });
            attempt.error = error.cloned();
            role.attempt = Some(place);
            // A call of one attempt is one span.
            if by == Ending::Retry || first != Some(attempt.intent) {
                role.closes.push(Closed { from: attempt.intent, span: Span::Attempt });
            }
        }
        role.closes.extend(first.map(|from| Closed { from, span: Span::Call }));
    }

    fn close_of_call(&mut self, role: &mut Role, call: usize, by: Ending, error: Option<&RecordedError>, first: Option<usize>) {
        let newest = self.calls[call].attempts.last().map(|place| self.attempts[*place].intent);
        self.close(role, |attempt| Some(attempt.intent) == newest, by, error, first);
    }

    /// The agent is gone: what it had under way is in doubt.
    fn crash(&mut self, role: &mut Role) {
        for place in self.end_where(role.record, Ending::Crash, |_| true) {
            role.closes.push(Closed { from: self.attempts[place].intent, span: Span::Attempt });
        }
        let question = self.now.question.and_then(|place| self.approvals.get_mut(place)).filter(|one| !one.is_interrupted);
        if let Some(question) = question {
            question.is_interrupted = true;
            role.closes.extend(question.asked.last().map(|from| Closed { from: *from, span: Span::Attempt }));
        }
    }

    /// Another agent takes over. The one before may be alive all the same, and then its outcomes can still come.
    fn resume(&mut self, record: usize) {
        for place in &self.now.open {
            self.attempts[*place].end.get_or_insert(End { record, by: Ending::Resume });
        }
    }

    // --- Calls ------------------------------------------------------------------------------------------------------------------

    /// The model is called, or has answered: the calls that it wanted before are over.
    fn begin_turn(&mut self, record: usize, calls: Vec<usize>) {
        self.end_where(record, Ending::Abandoned, |attempt| attempt.purpose != Purpose::Model);
        self.now.turn = calls;
    }

    fn new_call(&mut self, named: &Named, planned: Option<usize>) -> usize {
        let place = self.calls.len();
        self.calls.push(Call {
            tool: named.tool.clone(),
            args: named.args.clone(),
            call_id: named.call_id.clone(),
            planned,
            planned_args: named.args.clone().filter(|_| planned.is_some()),
            attempts: Vec::new(),
            approvals: Vec::new(),
            records: Vec::new(),
            result: None,
        });
        if let Some(step) = self.steps.last_mut() {
            step.calls.push(place);
        }
        place
    }

    /// The call that a record is about: by its id, else by tool and arguments, else by its tool; else it is one that no answer of the
    /// model has planned.
    fn call_for(&mut self, record: usize, named: &Named) -> usize {
        let of_tool = |call: &Call| call.tool == named.tool;
        let by_id = named.call_id.as_ref().and_then(|id| self.in_turn(|call| call.call_id.as_ref() == Some(id)));
        let by_args = || {
            let args = named.args.as_ref()?;
            self.in_turn(|call| of_tool(call) && call.args.as_ref() == Some(args))
        };
        // An id that fits no call is not another call's. Arguments may differ from what was planned.
        let by_tool = || match named.call_id {
            None => self.in_turn(|call| of_tool(call) && !call.records.is_empty()).or_else(|| self.in_turn(of_tool)),
            Some(_) => self.in_turn(|call| of_tool(call) && call.call_id.is_none()),
        };
        match by_id.or_else(by_args).or_else(by_tool) {
            Some(place) => {
                let call = &mut self.calls[place];
                call.args = call.args.take().or_else(|| named.args.clone());
                place
            }
            None => {
                let place = self.new_call(named, None);
                self.now.turn.push(place);
                if self.now.turn.len() > OPEN_CALLS {
                    let oldest = self.now.turn.remove(0);
                    self.pass_over(record, oldest, Ending::Abandoned);
                }
                place
            }
        }
    }

    /// The first open call of the turn that fits.
    fn in_turn(&self, fits: impl Fn(&Call) -> bool) -> Option<usize> {
        self.now.turn.iter().copied().find(|place| fits(&self.calls[*place]))
    }

    /// The call of the turn that an attempt belongs to.
    fn call_of(&self, attempt: usize) -> Option<usize> {
        self.now.turn.iter().copied().find(|place| self.calls[*place].attempts.contains(&attempt))
    }

    fn about(&mut self, role: &mut Role, call: usize, lane: Lane) {
        (role.lane, role.subject) = (lane, Subject::Call(call));
        self.calls[call].records.push(role.record);
    }

    /// What is asked or sent next tells that an attempt is over, and not how it ended.
    fn pass_over(&mut self, record: usize, call: usize, by: Ending) {
        if let Some(newest) = self.calls[call].attempts.last().copied() {
            let intent = self.attempts[newest].intent;
            self.end_where(record, by, |attempt| attempt.intent == intent);
        }
    }

    fn take_intent(&mut self, role: &mut Role, named: &Named, mut attempt: Attempt) {
        let by_id = named.call_id.as_ref().and_then(|id| self.in_turn(|call| call.call_id.as_ref() == Some(id)));
        let is_look_up = by_id.is_some_and(|place| self.calls[place].tool != named.tool);
        let call = by_id.unwrap_or_else(|| self.call_for(role.record, named));
        self.about(role, call, Lane::Tools);
        if is_look_up {
            attempt.purpose = Purpose::LookUp;
        } else if let Some(args) = &named.args {
            // What was sent counts, not what was planned.
            self.calls[call].args = Some(args.clone());
        }
        let by = if is_look_up { Ending::Inquiry } else { Ending::SentAgain };
        self.pass_over(role.record, call, by);
        let place = self.open_attempt(attempt);
        let is_first = self.calls[call].attempts.is_empty();
        self.calls[call].attempts.push(place);
        role.attempt = Some(place);
        role.opens = Some(if is_first { Span::Call } else { Span::Attempt });
    }

    fn take_result(&mut self, role: &mut Role, named: &Named, outcome: Outcome, error: Option<&RecordedError>) {
        let call = self.call_for(role.record, named);
        self.about(role, call, Lane::Tools);
        let first = self.calls[call].attempts.first().map(|place| self.attempts[*place].intent);
        self.close_of_call(role, call, Ending::Result, error, first);
        self.calls[call].result = Some(CallResult { record: role.record, outcome });
        self.now.turn.retain(|open| *open != call);
        self.now.had_result = Some(call);
    }

    // --- Approvals --------------------------------------------------------------------------------------------------------------

    fn take_question(&mut self, role: &mut Role, named: &Named, kind: QuestionKind) {
        let call = self.call_for(role.record, named);
        self.about(role, call, Lane::Person);
        self.pass_over(role.record, call, Ending::Inquiry);
        let open = self.calls[call].approvals.last().copied().filter(|place| self.approvals[*place].decided.is_none());
        let place = open.unwrap_or_else(|| self.new_approval(call, kind));
        let approval = &mut self.approvals[place];
        approval.asked.push(role.record);
        approval.is_interrupted = false;
        role.opens = Some(if open.is_some() { Span::Attempt } else { Span::Call });
        role.approval = Some(place);
        self.now.question = Some(place);
    }

    fn take_decision(&mut self, role: &mut Role, named: &Named, kind: QuestionKind) {
        let call = self.call_for(role.record, named);
        self.about(role, call, Lane::Person);
        let open = self.calls[call].approvals.last().copied().filter(|place| self.approvals[*place].decided.is_none());
        let place = open.unwrap_or_else(|| self.new_approval(call, kind));
        let approval = &mut self.approvals[place];
        approval.decided = Some(role.record);
        let newest = approval.asked.last().filter(|_| approval.asked.len() > 1 && !approval.is_interrupted);
        role.closes.extend(newest.map(|from| Closed { from: *from, span: Span::Attempt }));
        role.closes.extend(approval.asked.first().map(|from| Closed { from: *from, span: Span::Call }));
        role.approval = Some(place);
        self.now.question = self.now.question.filter(|question| *question != place);
    }

    fn new_approval(&mut self, call: usize, kind: QuestionKind) -> usize {
        let place = self.approvals.len();
        self.approvals.push(Approval { call, kind, asked: Vec::new(), decided: None, is_interrupted: false });
        self.calls[call].approvals.push(place);
        place
    }
}

fn attempt(intent: usize, purpose: Purpose) -> Attempt {
    Attempt { intent, purpose, tool: None, number: None, projected: None, idempotency_key: None, end: None, error: None }
}

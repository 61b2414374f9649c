//! What the search remembers of a state.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::scope::{Counters, Scope};
use crate::agent::fingerprint::hash_value;
use crate::agent::run::History;
use crate::agent::state::{AgentState, Message};
use crate::lab::explore::fingerprint::Fingerprint;
use crate::lab::ledger::{Entry, Row};
use crate::lab::session::Session;
use crate::lab::world::is_counted;
use crate::record::{InDoubt, Record, RecordBody, StopCause};

/// Taken in row by row and record by record, so that no step has to look at the whole of them again.
#[derive(Clone)]
pub(super) struct Memo {
    pub(super) scope: Scope,
    /// Rows and records taken in so far.
    pub(super) rows: usize,
    pub(super) records: usize,
    /// The rows that matter, hashed in order.
    pub(super) books: Fingerprint,
    /// The place of the first question among the rows.
    pub(super) first_question: Option<usize>,
    /// How often each of the scenario's faults on tools has been within reach.
    pub(super) hits: Vec<u32>,
    pub(super) model_calls: u32,
    pub(super) history: History,
    pub(super) settled: u64,
    pub(super) counters: Counters,
    /// What the model calls that are out can cost and use, while their intents have no result.
    pub(super) open: Vec<(u64, u64)>,
    /// The steps that the model has answered, hashed in order.
    pub(super) answered: Fingerprint,
    /// The calls that the model has not heard of: a hash of step, tool and key, the step, whether the newest attempt was a blip, and how
    /// many attempts there were, as far as the invariant about blips counts.
    pub(super) calls: Vec<(u64, u32, bool, u32)>,
    /// The tools' results in the log, hashed in order.
    pub(super) told: Fingerprint,
    /// Whether the last choice brought a record about money, and one with an answer of the model or a result.
    pub(super) has_news: (bool, bool),
    /// True once the agent has moved on without a record.
    pub(super) is_ahead: bool,
    /// The newest record that was taken in.
    pub(super) last: Option<Arc<Record>>,
    pub(super) state: Option<(Arc<AgentState>, Fingerprint)>,
    pub(super) messages: Option<(Arc<Vec<Arc<Message>>>, Fingerprint)>,
    pub(super) snapshot: Option<(Arc<AgentState>, Fingerprint)>,
    /// The invariants that are broken, by place.
    pub(super) broken: u32,
    /// The new agent could not be made.
    pub(super) is_stuck: bool,
}

impl Memo {
    /// Of nothing yet. `faults`: how many the scenario has.
    pub(super) fn new(scope: Scope, faults: usize) -> Memo {
        Memo {
            scope,
            rows: 0,
            records: 0,
            books: Fingerprint::default(),
            first_question: None,
            hits: vec![0; faults],
            model_calls: 0,
            history: History::default(),
            settled: 0,
            counters: Counters::default(),
            open: Vec::new(),
            answered: Fingerprint::default(),
            calls: Vec::new(),
            told: Fingerprint::default(),
            last: None,
            has_news: (false, false),
            is_ahead: false,
            state: None,
            messages: None,
            snapshot: None,
            broken: 0,
            is_stuck: false,
        }
    }

    /// The log is another one than was read.
    pub(super) fn forget_log(&mut self) {
        (self.history, self.records, self.settled) = (History::default(), 0, 0);
        (self.answered, self.told, self.open) = (Fingerprint::default(), Fingerprint::default(), Vec::new());
        self.counters = Counters { billed: self.counters.billed, ..Counters::default() };
    }

    pub(super) fn take_row(&mut self, row: &Row, session: &Session) {
        let world = session.world();
        match &row.entry {
            Entry::ModelCall { cost, input_tokens, .. } => {
                if *input_tokens > 0 {
                    let step = step_of(session, row);
                    self.calls.retain(|(_, of, _, _)| *of >= step);
                }
                self.model_calls += 1;
                self.counters.billed = self.counters.billed.saturating_add(cost.0);
            }
            Entry::Request { tool, args, key, result, .. } => {
                for (hits, fault) in self.hits.iter_mut().zip(&session.scenario().faults) {
                    let most = fault.calls.iter().copied().max().unwrap_or(0);
                    if *hits < most && is_counted(fault, tool, args) {
                        *hits += 1;
                    }
                }
                // The first one is what a repeated request is answered with, and what an approval is used up by.
                self.take_request(row, session);
                let is_first = || {
                    // Where the service does not recognise a repeated request, each is one of its own.
                    if !world.recognises_key_of(tool) {
                        return true;
                    }
                    let first = world.executed(tool, key).map(|(_, first)| first);
                    first.zip(result.as_ref()).is_some_and(|(first, result)| Arc::ptr_eq(first, result))
                };
                if result.is_some() && is_first() {
                    (&row.entry, step_of(session, row)).hash(&mut self.books);
                }
            }
            Entry::Question { .. } => {
                self.first_question = self.first_question.or(Some(self.rows));
                row.entry.hash(&mut self.books);
            }
            Entry::Refund { .. }
            | Entry::Effect { .. }
            | Entry::Decision { .. }
            | Entry::InboxLost
            | Entry::Mail { .. }
            | Entry::HandOver { .. } => row.entry.hash(&mut self.books),
        }
    }

    /// What the invariant about blips keeps in mind of a request.
    fn take_request(&mut self, row: &Row, session: &Session) {
        let Entry::Request { tool, key, outcome, .. } = &row.entry else {
            return;
        };
        let step = step_of(session, row);
        let mut name = Fingerprint::default();
        (step, tool, key).hash(&mut name);
        let name = name.finish();
        let is_repeatable = session.config().tool(tool).is_some_and(|spec| spec.idempotent || spec.read_only);
        let is_blip = is_repeatable && matches!(&**outcome, "unavailable" | "refused");
        let place = self.calls.iter().position(|(known, _, _, _)| *known == name);
        let attempts = place.map_or(0, |place| self.calls.remove(place).3) + 1;
        self.calls.push((name, step, is_blip, attempts.min(session.scenario().retry.max_attempts)));
    }

    pub(super) fn take_record(&mut self, record: &Record, session: &Session) {
        self.history.observe(record);
        if record.body.is_settled() {
            self.settled += 1;
        }
        self.counters.active_ms = self.history.active_ms;
        let mut count = |cost: u64, tokens: u64| {
            self.counters.cost = self.counters.cost.saturating_add(cost);
            self.counters.tokens = self.counters.tokens.saturating_add(tokens);
        };
        let mut is_about_money = true;
        match &record.body {
            RecordBody::LlmRequest { projected, .. } => {
                let next = session.agent().map(|agent| agent.run().projection(session.config()));
                let tokens = next.map_or(0, |next| next.input_tokens.saturating_add(next.output_tokens));
                self.open.push((projected.0.saturating_add(ROUNDED_OFF), tokens));
            }
            RecordBody::LlmCall(call) => {
                let cost = session.config().prices.cost(call.input_tokens, call.output_tokens);
                count(cost.0, call.input_tokens.saturating_add(call.output_tokens));
                self.open.pop();
                record.step.hash(&mut self.answered);
                self.has_news.1 = true;
            }
            RecordBody::LlmRetry(retry) => {
                if let Some((cost, tokens)) = self.open.pop().filter(|_| retry.failure.may_have_run()) {
                    count(cost, tokens);
                }
            }
            RecordBody::Resume { in_doubt, .. } => {
                let open = std::mem::take(&mut self.open);
                if let (Some(InDoubt::Model { .. }), Some((cost, tokens))) = (in_doubt, open.last()) {
                    count(*cost, *tokens);
                }
            }
            RecordBody::Stop { cause, .. } => {
                if matches!(cause, StopCause::ModelFailed { .. }) && !cause.model_may_have_run() {
                    self.open.clear();
                }
            }
            RecordBody::ToolResult { tool, outcome, result, .. } => {
                // The call is over: what the model will hear of it is decided. Not so where a call can be made again behind its result.
                if !self.scope.log && session.scenario().second_writer.is_none() {
                    let most = session.scenario().retry.max_attempts;
                    self.calls.retain_mut(|(_, step, is_blip, attempts)| {
                        let is_over = *step == record.step;
                        let is_heard_of = *is_blip && *attempts < most;
                        *attempts = if is_over { 0 } else { *attempts };
                        !is_over || is_heard_of
                    });
                }
                (record.step, tool, outcome).hash(&mut self.told);
                hash_value(result, &mut self.told);
                is_about_money = false;
                self.has_news.1 = true;
            }
            _ => is_about_money = false,
        }
        self.has_news.0 |= is_about_money;
    }
}

/// A projection in the log is rounded to 7 decimals; the invariant about spending gives that back.
const ROUNDED_OFF: u64 = 50_000;

/// The record that stood last when a row was caused.
fn intent_of<'a>(session: &'a Session, row: &Row) -> Option<&'a Record> {
    session.log().get(usize::try_from(row.record?).ok()?).map(Arc::as_ref)
}

/// The step in which a row was caused.
fn step_of(session: &Session, row: &Row) -> u32 {
    intent_of(session, row).map_or(0, |record| record.step)
}

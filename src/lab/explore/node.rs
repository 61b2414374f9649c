//! One state of the search, and what makes two states equal.
//!
//! Two states are equal if nothing that can still happen, and no verdict about it, can tell them apart. So a print leaves out what
//! has no future:
//!
//! - **The clock.** Times are distances from now. Nothing in core or lab reads the absolute time but the log.
//! - **The log**, where a resume would rebuild exactly the run that the living agent has. That is so from each resume on, unless a
//!   mechanism of recovery is off, the store or the agent has been tampered with (both are known from the start), or the agent has
//!   moved on without a record (which is noticed). Otherwise the print holds the snapshot and the records behind it.
//! - **Rows of the books** that neither a service nor an invariant asks for again: repeated, failed and billed calls. They are counted
//!   where a scenario counts.
//! - **What was spent, and how long the agent was active**: see [`Counters`]. This alone is not exact by construction; the search shows
//!   afterwards that it did not matter, or starts again with it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;

use super::choice::Left;
use super::print::Print;
use crate::agent::future::{hash_effect, hash_record, hash_value};
use crate::agent::protocol::{Answer, EffectKind};
use crate::agent::run::{History, Run, is_unknown};
use crate::agent::state::{AgentState, Message};
use crate::lab::faults::{FaultKind, FaultTarget};
use crate::lab::invariants::{INVARIANTS, Kind};
use crate::lab::ledger::{Entry, Row};
use crate::lab::mechanisms::Mechanism;
use crate::lab::scenario::When;
use crate::lab::seat::{Seat, SeatState};
use crate::lab::session::Session;
use crate::lab::world::is_counted;
use crate::log::record::{InDoubt, Record, RecordBody};
use crate::log::store::{MemoryStore, Store};

/// Storage that a search can copy and compare.
pub trait SearchStore: Store + Clone {
    /// True if what was written is durable in that order at once, and nothing else is.
    fn is_faithful(&self) -> bool;

    /// Hashes what is on its way and not durable yet.
    fn hash_pending(&self, out: &mut Print);
}

impl SearchStore for MemoryStore {
    fn is_faithful(&self) -> bool {
        true
    }

    fn hash_pending(&self, _: &mut Print) {}
}

/// What the prints of one search hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Tokens, money recorded and money billed.
    pub money: bool,
    /// The active time.
    pub time: bool,
    /// The absolute time, as a fault of the scenario names a date or other agents keep their own time.
    pub clock: bool,
    /// Snapshot and log, always.
    pub log: bool,
    /// All rows and records, as an invariant is not known to make do with less.
    pub everything: bool,
}

impl Scope {
    /// The smallest scope that may do. `is_plain`: neither store nor agent is tampered with.
    pub fn smallest(session: &Session, is_plain: bool) -> Scope {
        let mechanisms = session.mechanisms();
        let has = |all: &[Mechanism]| all.iter().all(|mechanism| mechanisms.has(*mechanism));
        let scenario = session.scenario();
        // Without one writer a second agent writes to the log what the first one does not know.
        let is_plain = is_plain && (scenario.rival.is_none() || mechanisms.has(Mechanism::SingleWriter));
        let keeps_counters = has(&[Mechanism::Journal, Mechanism::Checkpoints, Mechanism::SavedGuards]) && is_plain;
        Scope {
            money: !keeps_counters,
            time: !is_plain,
            clock: scenario.herd.is_some() || scenario.faults.iter().any(|fault| names_a_date(&fault.kind)),
            log: !(keeps_counters && mechanisms.has(Mechanism::DurableApprovals)),
            everything: !INVARIANTS.iter().all(|invariant| reads_of(invariant.id).is_some()),
        }
    }
}

fn names_a_date(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::RateLimited { retry_after: Some(text) } if text.contains(' '))
}

/// What grows along a run and is only ever compared with a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// The active time that the log tells, in milliseconds.
    pub active_ms: u64,
    /// The cost that the log tells as the invariant about it counts, calls in doubt with their projection; in 10⁻¹² USD.
    pub cost: u64,
    /// The tokens that the log tells, likewise.
    pub tokens: u64,
    /// What the provider has billed, in 10⁻¹² USD.
    pub billed: u64,
}

/// Which parts of a state an invariant is judged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// The books: judged when there is a new row.
    Rows,
    /// What the log says about money and what was billed: judged when there is a new row or a record about that.
    Spending,
    /// The model's answers and the tools' results in the log.
    Answers,
    /// The log's time.
    Log,
}

/// `None`: an invariant that this search does not know, so nothing is left out and it is judged after every choice. For those that it
/// knows, [`Memo`] keeps what their later verdicts can depend on.
fn reads_of(id: &str) -> Option<Reads> {
    match id {
        "refunded_once" | "refund_within_charge" | "approved_exactly" | "asked_once" | "told_the_truth" => Some(Reads::Rows),
        "within_budget" | "blips_hidden" | "traced" | "ends" | "refund_happens" => Some(Reads::Rows),
        "spend_recorded" => Some(Reads::Spending),
        "step_paid_once" | "no_circles" => Some(Reads::Answers),
        "no_lockstep" => Some(Reads::Log),
        _ => None,
    }
}

/// A state with what the search remembers of it, so that no step has to look at the whole of it again.
#[derive(Clone)]
pub struct Node<S> {
    /// Agent, world, and where the driver stands.
    pub session: Session,
    /// Storage.
    pub store: S,
    /// What the driver may still do.
    pub left: Left,
    memo: Memo,
}

#[derive(Clone)]
struct Memo {
    scope: Scope,
    /// Rows and records taken in so far.
    rows: usize,
    records: usize,
    /// The rows that matter, hashed in order.
    books: Print,
    /// The place of the first question among the rows.
    first_question: Option<usize>,
    /// How often each of the scenario's faults on tools has been within reach.
    hits: Vec<u32>,
    model_calls: u32,
    history: History,
    settled: u64,
    counters: Counters,
    /// What the model calls that are out can cost and use, while their intents have no result.
    open: Vec<(u64, u64)>,
    /// The steps that the model has answered, hashed in order.
    answered: Print,
    /// The calls that the model has not heard of: a hash of step, tool and key, the step, whether the newest attempt was a blip, and how
    /// many attempts there were, as far as the invariant about blips counts.
    calls: Vec<(u64, u32, bool, u32)>,
    /// The tools' results in the log, hashed in order.
    told: Print,
    /// Whether the last choice brought a record about money, and one with an answer of the model or a result.
    has_news: (bool, bool),
    /// True once the agent has moved on without a record.
    is_ahead: bool,
    /// The newest record that was taken in.
    last: Option<Arc<Record>>,
    state: Option<(Arc<AgentState>, Print)>,
    messages: Option<(Arc<Vec<Arc<Message>>>, Print)>,
    snapshot: Option<(Arc<AgentState>, Print)>,
    /// The invariants that are broken, by place.
    broken: u32,
    /// The new agent could not be made.
    is_stuck: bool,
}

impl<S: SearchStore> Node<S> {
    /// The state at the start.
    pub fn new(mut session: Session, store: S, left: Left, scope: Scope) -> Node<S> {
        session.leave_judging_to_me();
        let memo = Memo {
            scope,
            rows: 0,
            records: 0,
            books: Print::default(),
            first_question: None,
            hits: vec![0; session.scenario().faults.len()],
            model_calls: 0,
            history: History::default(),
            settled: 0,
            counters: Counters::default(),
            open: Vec::new(),
            answered: Print::default(),
            calls: Vec::new(),
            told: Print::default(),
            last: None,
            has_news: (false, false),
            is_ahead: false,
            state: None,
            messages: None,
            snapshot: None,
            broken: 0,
            is_stuck: false,
        };
        let mut node = Node { session, store, left, memo };
        node.take_in(None);
        node
    }

    /// The invariants that are broken here, as bits by their place in the list.
    pub fn broken(&self) -> u32 {
        self.memo.broken
    }

    /// True if the run cannot go on from here, though it has not ended.
    pub fn is_stuck(&self) -> bool {
        self.memo.is_stuck
    }

    /// What has grown so far.
    pub fn counters(&self) -> Counters {
        self.memo.counters
    }

    /// What is compared with limits here, beside [`Counters`].
    pub fn margin(&self) -> Margin {
        let next = self.session.agent().map(|agent| agent.run().projection(self.session.config()));
        Margin {
            next_cost: next.map_or(0, |next| next.cost.0),
            next_tokens: next.map_or(0, |next| next.input_tokens.saturating_add(next.output_tokens)),
            open: self.memo.open.iter().map(|(cost, _)| *cost).sum(),
        }
    }

    /// Takes in what a choice has changed. `before`: the run before the choice, if its effect was not a record.
    pub fn take_in(&mut self, before: Option<Run>) {
        let session = &self.session;
        let memo = &mut self.memo;
        if let (Some(before), Some(agent)) = (before, session.agent()) {
            let run = agent.run();
            memo.is_ahead |= !Arc::ptr_eq(&before.state, &run.state) || before.turn != run.turn;
        }
        let (had_rows, had_records) = (memo.rows, memo.records);
        for row in &session.world().rows()[memo.rows..] {
            memo.take_row(row, session);
            memo.rows += 1;
        }
        let is_same_log = match (&memo.last, memo.records.checked_sub(1)) {
            (Some(last), Some(place)) => session.log().get(place).is_some_and(|record| Arc::ptr_eq(record, last)),
            _ => true,
        };
        if !is_same_log {
            memo.forget_log();
        }
        memo.has_news = (false, false);
        for record in &session.log()[memo.records..] {
            memo.take_record(record, session);
        }
        memo.records = session.log().len();
        memo.last = session.log().last().cloned();
        self.judge(had_rows, had_records);
    }

    fn judge(&mut self, had_rows: usize, had_records: usize) {
        let memo = &self.memo;
        let (has_rows, has_records) = (memo.rows != had_rows, memo.records != had_records);
        let (has_money, has_answer) = memo.has_news;
        if !(has_rows || has_records || memo.scope.everything) {
            return;
        }
        let works_alone = self.session.world().herd().is_none();
        self.session.judge_those(|place| match reads_of(INVARIANTS[place].id) {
            Some(Reads::Rows) => has_rows,
            Some(Reads::Spending) => has_rows || has_money,
            Some(Reads::Answers) => has_answer,
            Some(Reads::Log) => has_records && !works_alone,
            None => true,
        });
        for breach in self.session.breaches() {
            if let Some(place) = INVARIANTS.iter().position(|invariant| invariant.id == breach.id) {
                self.memo.broken |= 1 << place;
            }
        }
    }

    /// At the end of a run: what should have held by now does not. Returns what does.
    pub fn judge_end(&mut self) -> u32 {
        let mut held = 0;
        for (place, invariant) in INVARIANTS.iter().enumerate().filter(|(_, invariant)| invariant.kind != Kind::Always) {
            match (invariant.judge)(&self.session.evidence()) {
                Ok(_) => held |= 1 << place,
                Err(_) if invariant.kind == Kind::Eventually => self.memo.broken |= 1 << place,
                Err(_) => {}
            }
        }
        held
    }

    /// The run as it is, if the effect in hand is one whose answer should not move it.
    pub fn run_before_answer(&self) -> Option<Run> {
        match self.session.in_flight() {
            Some((effect, When::After)) if !matches!(effect.kind, EffectKind::Append(_) | EffectKind::SaveCheckpoint { .. }) => {
                self.session.agent().map(|agent| agent.run().clone())
            }
            _ => None,
        }
    }

    /// The new agent could not be made: what is stored cannot be resumed.
    pub fn get_stuck(&mut self) {
        self.memo.is_stuck = true;
    }

    /// The living agent is what a resume would make now: it has just been made so, or has just saved itself.
    pub fn is_in_step(&mut self) {
        self.memo.is_ahead = false;
    }

    // --- The print -----------------------------------------------------------------------------------------------------------

    /// The print of this state.
    pub fn print(&mut self) -> u128 {
        let mut out = Print::default();
        let (session, memo) = (&self.session, &mut self.memo);
        let now_ms = session.now_ms();
        let scope = memo.scope;
        (self.left, memo.broken, memo.is_stuck, session.is_fenced(), session.status()).hash(&mut out);
        (&session.progress().spots_met, session.progress().crashes).hash(&mut out);
        memo.print_books(session, now_ms, &mut out);
        memo.history.hash_future(now_ms, &mut out);
        if let Some((effect, when)) = session.in_flight() {
            when.hash(&mut out);
            hash_effect(&effect.kind, now_ms, &mut out);
        }
        if let Some((reply, due_ms)) = session.reply() {
            due_ms.saturating_sub(now_ms).hash(&mut out);
            hash_answer(&reply.answer, &mut out);
        }
        if let Some(agent) = session.agent() {
            agent.hash_future(now_ms, &mut out);
            let state = &agent.run().state;
            memo.print_of_state(state).number().hash(&mut out);
            if scope.money {
                (state.cost, state.input_tokens, state.output_tokens).hash(&mut out);
            }
            if scope.time {
                agent.run().history.active_ms.hash(&mut out);
            }
        }
        if scope.money {
            (memo.counters.cost, memo.counters.tokens, memo.counters.billed).hash(&mut out);
        }
        (&memo.open, memo.answered.number(), &memo.calls).hash(&mut out);
        if scope.time {
            memo.history.active_ms.hash(&mut out);
        }
        if scope.clock {
            now_ms.hash(&mut out);
        }
        if let Some(rival) = self.session.rival() {
            print_rival(rival, now_ms, scope, &mut out);
        }
        if scope.log {
            self.memo.told.number().hash(&mut out);
        }
        if scope.log || self.memo.is_ahead || self.session.agent().is_none() {
            self.print_storage(&mut out);
        }
        if scope.everything {
            self.session.world().rows().iter().for_each(|row| (&row.entry, row.record).hash(&mut out));
            self.session.log().iter().for_each(|record| hash_record(record, Some(record.ts_ms), &mut out));
        }
        out.number()
    }

    /// What a resume would start from: the newest snapshot, and the records that would be replayed onto it.
    fn print_storage(&mut self, out: &mut Print) {
        let now_ms = self.session.now_ms();
        let snapshots = self.store.snapshots();
        let newest = snapshots.first().and_then(|found| found.state.as_ref().ok());
        let mut behind = self.memo.settled;
        if let Some(state) = newest {
            if !matches!(&self.memo.snapshot, Some((known, _)) if Arc::ptr_eq(known, state)) {
                let mut print = print_state(state);
                print.write_u128(print_messages(None, &state.messages).number());
                self.memo.snapshot = Some((state.clone(), print));
            }
            self.memo.snapshot.as_ref().map(|(_, print)| print.number()).hash(out);
            behind = behind.saturating_sub(state.log_position);
            if self.memo.scope.money {
                (state.cost, state.input_tokens, state.output_tokens).hash(out);
            }
        }
        // How far the snapshot covers the log is all that its position decides.
        behind.hash(out);
        self.store.hash_pending(out);
        let durable;
        let log = if self.store.is_faithful() {
            self.session.log()
        } else {
            durable = self.store.read().records;
            &durable
        };
        let policies = &self.session.config().policies;
        let replays = policies.journal && policies.checkpoints;
        let mut wait = None;
        for record in log.iter().rev() {
            if record.body.is_settled() {
                match behind.checked_sub(1) {
                    Some(less) => behind = less,
                    None => break,
                }
            }
            if let RecordBody::LlmRetry(retry) | RecordBody::ToolRetry { retry, .. } = &record.body {
                wait = wait.or(Some((retry.until_ms.saturating_sub(now_ms), retry.backoff_ms)));
            }
            // Where nothing is replayed, only the end of a run is read.
            if replays || matches!(record.body, RecordBody::Stop { .. }) {
                hash_record(record, None, out);
            }
        }
        if self.session.agent().is_none() {
            wait.hash(out);
        }
    }
}

/// An agent that goes on beside the session's own, with all that it knows.
fn print_rival(rival: &Seat, now_ms: u64, scope: Scope, out: &mut Print) {
    rival.state().hash(out);
    if rival.state() != SeatState::Working {
        return;
    }
    if let Some((effect, when)) = rival.in_flight() {
        when.hash(out);
        hash_effect(&effect.kind, now_ms, out);
    }
    if let Some((reply, due_ms)) = rival.reply() {
        due_ms.saturating_sub(now_ms).hash(out);
        hash_answer(&reply.answer, out);
    }
    if let Some(agent) = rival.agent() {
        agent.hash_future(now_ms, out);
        let state = &agent.run().state;
        (print_state(state).number(), print_messages(None, &state.messages).number()).hash(out);
        agent.run().history.hash_future(now_ms, out);
        if scope.money {
            (state.cost, state.input_tokens, state.output_tokens, agent.run().history.active_ms).hash(out);
        }
    }
}

/// See [`Node::margin`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// What the next model call can cost, in 10⁻¹² USD.
    pub next_cost: u64,
    /// The tokens that it can use.
    pub next_tokens: u64,
    /// What calls that are out can have cost, in 10⁻¹² USD.
    pub open: u64,
}

/// A projection in the log is rounded to 7 decimals; the invariant about spending gives that back.
const ROUNDED_OFF: u64 = 50_000;

fn print_state(state: &AgentState) -> Print {
    let mut print = Print::default();
    state.hash_future(&mut print);
    print
}

/// The messages hashed in order, going on from a shorter conversation where it is the same.
fn print_messages(known: Option<&(Arc<Vec<Arc<Message>>>, Print)>, messages: &Arc<Vec<Arc<Message>>>) -> Print {
    let is_continued = |known: &&(Arc<Vec<Arc<Message>>>, Print)| match known.0.len().checked_sub(1) {
        Some(last) => messages.get(last).is_some_and(|message| Arc::ptr_eq(message, &known.0[last])),
        None => true,
    };
    let (from, mut print) = known.filter(is_continued).map_or((0, Print::default()), |known| (known.0.len(), known.1));
    messages[from..].iter().for_each(|message| message.hash_future(&mut print));
    print
}

/// The record that stood last when a row was caused.
fn intent_of<'a>(session: &'a Session, row: &Row) -> Option<&'a Record> {
    session.log().get(usize::try_from(row.record?).ok()?).map(Arc::as_ref)
}

/// The step in which a row was caused.
fn step_of(session: &Session, row: &Row) -> u32 {
    intent_of(session, row).map_or(0, |record| record.step)
}

/// Hashes an answer that is under way. What storage calls a snapshot decides nothing.
fn hash_answer(answer: &Answer, out: &mut Print) {
    answer.word().hash(out);
    match answer {
        Answer::Durable | Answer::Saved { .. } | Answer::TimeHasCome | Answer::Expired => {}
        Answer::StorageFailed { message } => message.hash(out),
        Answer::Fenced { owner_epoch } => owner_epoch.hash(out),
        Answer::Completion(said) => {
            (&said.thought, &said.plan, &said.tool_calls, said.latency_ms).hash(out);
            hash_value(&said.usage, out);
        }
        Answer::Result(result) => hash_value(result, out),
        Answer::Failed(failure) => failure.hash(out),
        Answer::Decided(decision) => decision.hash(out),
    }
}

impl Memo {
    /// The log is another one than was read.
    fn forget_log(&mut self) {
        (self.history, self.records, self.settled) = (History::default(), 0, 0);
        (self.answered, self.told, self.open) = (Print::default(), Print::default(), Vec::new());
        self.counters = Counters { billed: self.counters.billed, ..Counters::default() };
    }

    fn take_row(&mut self, row: &Row, session: &Session) {
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
                    // Where services do not recognise a repeated request, each is one of its own.
                    if !session.mechanisms().has(Mechanism::Idempotency) {
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
            | Entry::Voucher { .. }
            | Entry::Note { .. }
            | Entry::Escalation { .. }
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
        let mut name = Print::default();
        (step, tool, key).hash(&mut name);
        let name = name.finish();
        let is_repeatable = session.config().tool(tool).is_some_and(|spec| spec.idempotent || spec.read_only);
        let is_blip = is_repeatable && matches!(&**outcome, "unavailable" | "refused");
        let place = self.calls.iter().position(|(known, _, _, _)| *known == name);
        let attempts = place.map_or(0, |place| self.calls.remove(place).3) + 1;
        self.calls.push((name, step, is_blip, attempts.min(session.scenario().retry.max_attempts)));
    }

    fn print_books(&self, session: &Session, now_ms: u64, out: &mut Print) {
        self.books.number().hash(out);
        self.hits.hash(out);
        let model_faults = session.scenario().faults.iter().filter(|fault| fault.on == FaultTarget::Model);
        let counted = model_faults.flat_map(|fault| fault.calls.iter().copied()).max().unwrap_or(0);
        self.model_calls.min(counted).hash(out);
        let Some(first) = self.first_question else {
            return;
        };
        // A question that is open is answered so and so long after it was asked; an answer on its way arrives in so and so long.
        let rows = &session.world().rows()[first..];
        for (place, row) in rows.iter().enumerate() {
            match &row.entry {
                Entry::Question { key, .. } => {
                    let decides =
                        |later: &&Arc<Row>| matches!(&later.entry, Entry::Decision { key: decided, .. } if decided == key);
                    if !rows[place..].iter().any(|later| decides(&later)) {
                        let due = [session.world().answer_due_ms(key), session.world().expiry_due_ms(key)];
                        due.map(|due_ms| due_ms.map(|due_ms| due_ms.saturating_sub(now_ms))).hash(out);
                    }
                }
                Entry::Decision { .. } => row.at_ms.saturating_sub(now_ms).hash(out),
                _ => {}
            }
        }
    }

    fn take_record(&mut self, record: &Record, session: &Session) {
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
                if let Some((cost, tokens)) = self.open.pop().filter(|_| is_unknown(&retry.error)) {
                    count(cost, tokens);
                }
            }
            RecordBody::Resume { in_doubt, .. } => {
                let open = std::mem::take(&mut self.open);
                if let (Some(InDoubt::Model { .. }), Some((cost, tokens))) = (in_doubt, open.last()) {
                    count(*cost, *tokens);
                }
            }
            RecordBody::Stop { explanation, .. } => {
                let error = explanation.get("error").and_then(Value::as_str);
                if error.is_some_and(|error| !is_unknown(error)) {
                    self.open.clear();
                }
            }
            RecordBody::ToolResult { tool, ok, result, .. } => {
                // The call is over: what the model will hear of it is decided. Not so where a call can be made again behind its result.
                if !self.scope.log && session.scenario().rival.is_none() {
                    let most = session.scenario().retry.max_attempts;
                    self.calls.retain_mut(|(_, step, is_blip, attempts)| {
                        let is_over = *step == record.step;
                        let is_heard_of = *is_blip && *attempts < most;
                        *attempts = if is_over { 0 } else { *attempts };
                        !is_over || is_heard_of
                    });
                }
                (record.step, tool, ok).hash(&mut self.told);
                hash_value(result, &mut self.told);
                is_about_money = false;
                self.has_news.1 = true;
            }
            _ => is_about_money = false,
        }
        self.has_news.0 |= is_about_money;
    }

    /// The print of a state, kept until the state changes.
    fn print_of_state(&mut self, state: &Arc<AgentState>) -> Print {
        if let Some((known, print)) = &self.state
            && Arc::ptr_eq(known, state)
        {
            return *print;
        }
        let messages = print_messages(self.messages.as_ref(), &state.messages);
        self.messages = Some((state.messages.clone(), messages));
        let mut print = print_state(state);
        print.write_u128(messages.number());
        self.state = Some((state.clone(), print));
        print
    }
}

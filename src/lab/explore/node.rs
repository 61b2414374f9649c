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

use super::choice::Left;
use super::print::Print;
use crate::agent::future::{hash_effect, hash_record, hash_value};
use crate::agent::protocol::{Answer, EffectKind};
use crate::agent::run::{History, ModelStage, Projection, Run, Turn};
use crate::agent::state::{AgentState, Message};
use crate::lab::faults::{FaultKind, FaultTarget};
use crate::lab::invariants::{INVARIANTS, Kind, step_of};
use crate::lab::ledger::{Entry, Row};
use crate::lab::mechanisms::Mechanism;
use crate::lab::scenario::When;
use crate::lab::seat::Seat;
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
    /// The absolute time, as a fault of the scenario names a date or a service is as busy as a herd makes it.
    pub clock: bool,
    /// Snapshot and log, always.
    pub log: bool,
    /// All rows and records, as an invariant is not known to make do with less.
    pub everything: bool,
}

impl Scope {
    /// The smallest scope that may do. `is_plain`: neither store nor agent is tampered with.
    pub fn smallest(session: &Session, is_plain: bool) -> Scope {
        let (mechanisms, scenario) = (session.mechanisms(), session.scenario());
        // A second agent writes to the log what the first one does not know.
        let is_plain = is_plain && scenario.rival.is_none();
        let has = |all: &[Mechanism]| all.iter().all(|mechanism| mechanisms.has(*mechanism));
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
    /// The cost that the log tells, calls in doubt with their projection; in 10⁻¹² USD.
    pub cost: u64,
    /// The tokens that the log tells, likewise.
    pub tokens: u64,
    /// What the provider has billed, in 10⁻¹² USD.
    pub billed: u64,
}

/// Which parts of a state an invariant is judged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// The rows that a print holds.
    Books,
    /// The billed sum and the run's state.
    Spending,
    /// A row and the record before it, when the row is new. What has been judged once stays as it is.
    NewRows,
    /// The calls that are failing, of which a print tells.
    Failing,
    /// The answers and results that the log tells, and the time. The agent's state tells of both, where a resume would rebuild it.
    Log,
}

/// `None`: an invariant that this search does not know, so nothing is left out and it is judged after every choice.
fn reads_of(id: &str) -> Option<Reads> {
    match id {
        "refunded_once" | "refund_within_charge" | "approved_exactly" | "asked_once" | "told_the_truth" => Some(Reads::Books),
        "within_budget" | "spend_recorded" => Some(Reads::Spending),
        "traced" => Some(Reads::NewRows),
        "blips_hidden" => Some(Reads::Failing),
        "step_paid_once" | "no_circles" | "no_lockstep" => Some(Reads::Log),
        "ends" | "refund_happens" => Some(Reads::Books),
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
    /// The calls that are failing, hashed.
    failing: Print,
    /// The model's answers and the tools' results, hashed in the order of the log.
    told: Print,
    /// The place of the first question among the rows.
    first_question: Option<usize>,
    /// How often each of the scenario's faults on tools has been within reach.
    hits: Vec<u32>,
    model_calls: u32,
    history: History,
    settled: u64,
    counters: Counters,
    /// What the model call that is out can cost, while its intent has no result.
    open_projection: Option<Projection>,
    /// True once the agent has moved on without a record.
    is_ahead: bool,
    state: Option<(Arc<AgentState>, Print)>,
    messages: Option<(Arc<Vec<Arc<Message>>>, Print)>,
    snapshot: Option<(Arc<AgentState>, Print)>,
    /// The invariants that are broken, by place.
    broken: u32,
    /// What spending was judged from last.
    judged_spending: Option<(Arc<AgentState>, bool)>,
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
            failing: Print::default(),
            told: Print::default(),
            first_question: None,
            hits: vec![0; session.scenario().faults.len()],
            model_calls: 0,
            history: History::default(),
            settled: 0,
            counters: Counters::default(),
            open_projection: None,
            is_ahead: false,
            state: None,
            messages: None,
            snapshot: None,
            broken: 0,
            judged_spending: None,
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

    /// What the agent would compare with the limits here, beside [`Counters`]: its next call's projection, and what it has recorded
    /// beyond the log's count minus the bill. `None`: there is no agent.
    pub fn margin(&self) -> Option<Margin> {
        let run = self.session.agent()?.run();
        let projection = run.projection(self.session.config());
        let open = if is_model_out(run) { projection.cost.0 } else { 0 };
        let recorded = i128::from(run.state.cost.0) + i128::from(open);
        let from_log = i128::from(self.memo.counters.cost);
        let tokens = projection.input_tokens.saturating_add(projection.output_tokens);
        Some(Margin { next_cost: projection.cost.0, next_tokens: tokens, ahead: (recorded - from_log) as i64 })
    }

    /// Takes in what a choice has changed. `before`: the run before the choice, if its effect was not a record.
    pub fn take_in(&mut self, before: Option<Run>) {
        let session = &self.session;
        let memo = &mut self.memo;
        if let (Some(before), Some(agent)) = (before, session.agent()) {
            let run = agent.run();
            memo.is_ahead |= !Arc::ptr_eq(&before.state, &run.state) || before.turn != run.turn;
        }
        let had_rows = memo.rows;
        for row in &session.world().rows()[memo.rows..] {
            memo.take_row(row, session);
        }
        memo.rows = session.world().rows().len();
        if session.log().len() < memo.records || !self.store.is_faithful() {
            // Another log than the one that was read.
            memo.history = History::default();
            memo.told = Print::default();
            (memo.records, memo.settled) = (0, 0);
        }
        let had_records = memo.records;
        for record in &session.log()[memo.records..] {
            memo.take_record(record, session);
        }
        memo.records = session.log().len();
        let (has_new_rows, has_new_records) = (memo.rows != had_rows, memo.records != had_records);
        if has_new_rows {
            memo.failing = print_failing(session);
        }
        self.judge(has_new_rows, has_new_records);
    }

    fn judge(&mut self, has_new_rows: bool, has_new_records: bool) {
        let spending = self.session.agent().map(|agent| (agent.run().state.clone(), is_model_out(agent.run())));
        let is_same = match (&spending, &self.memo.judged_spending) {
            (Some((state, out)), Some((judged, was_out))) => Arc::ptr_eq(state, judged) && out == was_out,
            (None, None) => true,
            _ => false,
        };
        let spends = has_new_rows || has_new_records || !is_same;
        self.memo.judged_spending = spending;
        if !spends && !self.memo.scope.everything {
            return;
        }
        self.session.judge_those(|place| match reads_of(INVARIANTS[place].id) {
            Some(Reads::Books | Reads::NewRows | Reads::Failing) => has_new_rows,
            Some(Reads::Log) => has_new_records,
            Some(Reads::Spending) => spends,
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
        memo.failing.number().hash(&mut out);
        memo.history.hash_future(now_ms, &mut out);
        if let Some((effect, when)) = session.in_flight() {
            when.hash(&mut out);
            hash_effect(&effect.kind, now_ms, &mut out);
        }
        if let Some(reply) = session.reply() {
            reply.takes_ms.hash(&mut out);
            hash_answer(&reply.answer, &mut out);
        }
        if let Some(rival) = session.rival() {
            print_rival(rival, now_ms, &mut out);
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
            memo.counters.billed.hash(&mut out);
        }
        if scope.time {
            memo.history.active_ms.hash(&mut out);
        }
        if scope.clock {
            now_ms.hash(&mut out);
        }
        if scope.log {
            memo.told.number().hash(&mut out);
        }
        if scope.log || memo.is_ahead || session.agent().is_none() {
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

/// The calls whose newest attempt has failed, and that the model has not heard of, with what came of that attempt and how often they
/// failed.
fn print_failing(session: &Session) -> Print {
    type Call<'a> = (u32, &'a Arc<str>, &'a Arc<str>);
    let evidence = session.evidence();
    let mut failing: Vec<(Call, &Arc<str>, u32)> = Vec::new();
    for row in session.world().rows() {
        let step = step_of(&evidence, row);
        match &row.entry {
            Entry::Request { tool, key, outcome, .. } => {
                let call = (step, tool, key);
                let place = failing.iter().position(|(failed, _, _)| *failed == call);
                let failures = place.map_or(0, |place| failing.remove(place).2) + 1;
                if !matches!(&**outcome, "ok" | "repeated" | "rejected") {
                    failing.push((call, outcome, failures));
                }
            }
            Entry::ModelCall { input_tokens: 1.., .. } => failing.retain(|(call, _, _)| call.0 >= step),
            _ => {}
        }
    }
    let mut print = Print::default();
    failing.hash(&mut print);
    print
}

/// An agent that goes on beside the session's own, with all that it knows.
fn print_rival(rival: &Seat, now_ms: u64, out: &mut Print) {
    rival.state().hash(out);
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
        let print = print_state(state);
        (print.number(), print_messages(None, &state.messages).number()).hash(out);
        (state.cost, state.input_tokens, state.output_tokens, agent.run().history.active_ms).hash(out);
    }
}

/// See [`Node::margin`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margin {
    /// What the next model call can cost, in 10⁻¹² USD.
    pub next_cost: u64,
    /// The tokens that it can use.
    pub next_tokens: u64,
    /// What the agent counts as spent beyond what the log tells, in 10⁻¹² USD.
    pub ahead: i64,
}

fn is_model_out(run: &Run) -> bool {
    matches!(&run.turn, Turn::Model(turn) if turn.stage == ModelStage::InFlight)
}

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
    fn take_row(&mut self, row: &Row, session: &Session) {
        let world = session.world();
        match &row.entry {
            Entry::ModelCall { cost, .. } => {
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
                let is_first = || {
                    let first = world.executed(tool, key).map(|(_, first)| first);
                    first.zip(result.as_ref()).is_some_and(|(first, result)| Arc::ptr_eq(first, result))
                };
                if result.is_some() && is_first() {
                    row.entry.hash(&mut self.books);
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
        let prices = &session.config().prices;
        let mut count = |cost: u64, tokens: u64| {
            self.counters.cost = self.counters.cost.saturating_add(cost);
            self.counters.tokens = self.counters.tokens.saturating_add(tokens);
        };
        match &record.body {
            RecordBody::LlmCall(_) => record.step.hash(&mut self.told),
            RecordBody::ToolResult { tool, ok, result, .. } => {
                (record.step, tool, ok).hash(&mut self.told);
                hash_value(result, &mut self.told);
            }
            _ => {}
        }
        match &record.body {
            RecordBody::LlmRequest { .. } => {
                self.open_projection = session.agent().map(|agent| agent.run().projection(session.config()));
            }
            RecordBody::LlmCall(call) => {
                count(prices.cost(call.input_tokens, call.output_tokens).0, call.input_tokens + call.output_tokens);
                self.open_projection = None;
            }
            RecordBody::LlmRetry(retry) => {
                let projection = self.open_projection.take();
                if let Some(projection) = projection.filter(|_| crate::agent::run::is_unknown(&retry.error)) {
                    count(projection.cost.0, projection.input_tokens + projection.output_tokens);
                }
            }
            RecordBody::Resume { in_doubt: Some(InDoubt::Model { .. }), .. } | RecordBody::Guard { .. } => {
                if let Some(projection) = self.open_projection.take() {
                    count(projection.cost.0, projection.input_tokens + projection.output_tokens);
                }
            }
            _ => {}
        }
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

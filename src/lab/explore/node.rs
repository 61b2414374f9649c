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

mod fingerprint;
mod memo;
mod scope;

use std::sync::Arc;

use super::choice::Left;
use crate::agent::protocol::EffectKind;
use crate::agent::run::Run;
use crate::lab::explore::fingerprint::Fingerprint;
use crate::lab::invariants::{INVARIANTS, Kind};
use crate::lab::scenario::When;
use crate::lab::session::Session;
use crate::log::store::{MemoryStore, Store};
use memo::Memo;
pub use scope::{Counters, Margin, Scope};
use scope::{Reads, reads_of};

/// Storage that a search can copy and compare.
pub trait SearchStore: Store + Clone {
    /// True if what was written is durable in that order at once, and nothing else is.
    fn is_faithful(&self) -> bool;

    /// Hashes what is on its way and not durable yet.
    fn hash_pending(&self, out: &mut Fingerprint);
}

impl SearchStore for MemoryStore {
    fn is_faithful(&self) -> bool {
        true
    }

    fn hash_pending(&self, _: &mut Fingerprint) {}
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

impl<S: SearchStore> Node<S> {
    /// The state at the start.
    pub fn new(mut session: Session, store: S, left: Left, scope: Scope) -> Node<S> {
        session.leave_judging_to_me();
        let memo = Memo::new(scope, session.scenario().faults.len());
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
        let works_alone = self.session.world().fleet().is_none();
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
}

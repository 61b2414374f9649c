//! The print of a state: what the future of a run can depend on.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::memo::Memo;
use super::scope::Scope;
use super::{Node, SearchStore};
use crate::agent::fingerprint::{hash_effect, hash_record, hash_value};
use crate::agent::protocol::Answer;
use crate::agent::state::{AgentState, Message};
use crate::lab::driver_state::{DriverState, Liveness};
use crate::lab::explore::fingerprint::Fingerprint;
use crate::lab::faults::FaultTarget;
use crate::lab::ledger::{Entry, Row};
use crate::lab::session::Session;
use crate::record::RecordBody;

impl<S: SearchStore> Node<S> {
    /// The print of this state.
    pub fn print(&mut self) -> u128 {
        let mut out = Fingerprint::default();
        let (session, memo) = (&self.session, &mut self.memo);
        let now_ms = session.now_ms();
        let scope = memo.scope;
        (self.left, memo.broken, memo.is_stuck, session.is_fenced(), session.status()).hash(&mut out);
        (&session.progress().points_met, session.progress().crashes).hash(&mut out);
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
        if let Some(second_writer) = self.session.second_writer() {
            hash_second_writer(second_writer, now_ms, scope, &mut out);
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
    fn print_storage(&mut self, out: &mut Fingerprint) {
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

impl Memo {
    fn print_books(&self, session: &Session, now_ms: u64, out: &mut Fingerprint) {
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

    /// The print of a state, kept until the state changes.
    fn print_of_state(&mut self, state: &Arc<AgentState>) -> Fingerprint {
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

/// An agent that goes on beside the session's own, with all that it knows.
fn hash_second_writer(second_writer: &DriverState, now_ms: u64, scope: Scope, out: &mut Fingerprint) {
    second_writer.state().hash(out);
    if second_writer.state() != Liveness::Working {
        return;
    }
    if let Some((effect, when)) = second_writer.in_flight() {
        when.hash(out);
        hash_effect(&effect.kind, now_ms, out);
    }
    if let Some((reply, due_ms)) = second_writer.reply() {
        due_ms.saturating_sub(now_ms).hash(out);
        hash_answer(&reply.answer, out);
    }
    if let Some(agent) = second_writer.agent() {
        agent.hash_future(now_ms, out);
        let state = &agent.run().state;
        (print_state(state).number(), print_messages(None, &state.messages).number()).hash(out);
        agent.run().history.hash_future(now_ms, out);
        if scope.money {
            (state.cost, state.input_tokens, state.output_tokens, agent.run().history.active_ms).hash(out);
        }
    }
}

fn print_state(state: &AgentState) -> Fingerprint {
    let mut print = Fingerprint::default();
    state.hash_future(&mut print);
    print
}

/// The messages hashed in order, going on from a shorter conversation where it is the same.
fn print_messages(known: Option<&(Arc<Vec<Arc<Message>>>, Fingerprint)>, messages: &Arc<Vec<Arc<Message>>>) -> Fingerprint {
    let is_continued = |known: &&(Arc<Vec<Arc<Message>>>, Fingerprint)| match known.0.len().checked_sub(1) {
        Some(last) => messages.get(last).is_some_and(|message| Arc::ptr_eq(message, &known.0[last])),
        None => true,
    };
    let (from, mut print) = known.filter(is_continued).map_or((0, Fingerprint::default()), |known| (known.0.len(), known.1));
    messages[from..].iter().for_each(|message| message.hash_future(&mut print));
    print
}

/// Hashes an answer that is under way. What storage calls a snapshot decides nothing.
fn hash_answer(answer: &Answer, out: &mut Fingerprint) {
    answer.as_str().hash(out);
    match answer {
        Answer::Durable | Answer::Saved { .. } | Answer::TimeHasCome => {}
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

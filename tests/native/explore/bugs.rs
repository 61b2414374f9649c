//! Small bugs, put into the core from outside: what it wants is changed on its way to the driver, or what storage does with it. The
//! search finds each of them within its default bounds.

use std::sync::Arc;

use crashlab::agent::protocol::EffectKind;
use crashlab::agent::state::AgentState;
use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::explore::fingerprint::Fingerprint;
use crashlab::lab::explore::node::SearchStore;
use crashlab::lab::explore::{Explorer, SearchVerdict};
use crashlab::lab::invariants::INVARIANTS;
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup};
use crashlab::log::store::{Durable, MemoryStore, SavedSnapshot, Store, StoreError, Writer};
use crashlab::record::{ApprovalStatus, Record, RecordBody, RecordedFailure, Retry};
use serde_json::json;
use std::hash::Hash;

use crate::support::{after, after_nth, first, refund_of, scenario, scripted, voucher_of};

/// Storage with a bug in what it is given.
#[derive(Clone)]
struct Storage {
    inner: MemoryStore,
    bug: StorageBug,
    /// Acknowledged, and not durable yet.
    held: Vec<Arc<Record>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StorageBug {
    None,
    /// The checkpoint claims the record that comes next.
    CheckpointAhead,
    /// The checkpoint does not count its last record.
    CheckpointBehind,
    /// Approvals are left out of the checkpoint.
    NoApprovals,
    /// A decision is written behind the call's result.
    ApprovalLate,
    /// Each record is durable only when the next one is written.
    OneRecordLate,
    /// Nobody is refused.
    NoFence,
}

impl Storage {
    fn put(&mut self, writer: Writer, record: &Arc<Record>) -> Result<(), StoreError> {
        self.inner.append(writer, record)
    }
}

impl Store for Storage {
    fn append(&mut self, writer: Writer, record: &Arc<Record>) -> Result<(), StoreError> {
        let writer = Writer { fenced: writer.fenced && self.bug != StorageBug::NoFence, ..writer };
        let waits = match self.bug {
            StorageBug::ApprovalLate => matches!(record.body, RecordBody::Approval { .. }),
            StorageBug::OneRecordLate => true,
            _ => false,
        };
        let flushes = self.bug == StorageBug::OneRecordLate || matches!(record.body, RecordBody::ToolResult { .. });
        if !waits {
            self.put(writer, record)?;
        }
        for held in if flushes { std::mem::take(&mut self.held) } else { Vec::new() } {
            self.put(writer, &held)?;
        }
        self.held.extend(waits.then(|| record.clone()));
        Ok(())
    }

    fn save(&mut self, writer: Writer, state: &Arc<AgentState>) -> Result<SavedSnapshot, StoreError> {
        let mut saved = (**state).clone();
        match self.bug {
            StorageBug::CheckpointAhead => saved.log_position += 1,
            StorageBug::CheckpointBehind => saved.log_position -= 1,
            StorageBug::NoApprovals => saved.approvals.clear(),
            _ => {}
        }
        self.inner.save(writer, &Arc::new(saved))
    }

    fn take_over(&mut self) -> Result<u32, StoreError> {
        // Whoever takes over finds what is durable.
        self.held.clear();
        self.inner.take_over()
    }

    fn epoch(&self) -> u32 {
        self.inner.epoch()
    }

    fn read(&self) -> Durable {
        self.inner.read()
    }
}

impl SearchStore for Storage {
    fn is_faithful(&self) -> bool {
        false
    }

    fn hash_pending(&self, out: &mut Fingerprint) {
        self.held.hash(out);
    }
}

fn no_change(_: &mut EffectKind) {}

fn changed(effect: &mut EffectKind, change: impl Fn(&mut RecordBody)) {
    if let EffectKind::Append(record) = effect {
        change(&mut Arc::make_mut(record).body);
    }
}

/// Attempts are all the first one, in the log and outside.
fn attempts_not_counted(effect: &mut EffectKind) {
    changed(effect, |body| {
        if let RecordBody::ToolCall { attempt, .. } = body {
            *attempt = 1;
        }
    });
}

/// Each attempt has a key of its own.
fn key_per_attempt(effect: &mut EffectKind) {
    changed(effect, |body| {
        if let RecordBody::ToolCall { attempt, idempotency_key, .. } = body {
            *idempotency_key = format!("{idempotency_key}#{attempt}").into();
        }
    });
    if let EffectKind::CallTool { attempt, idempotency_key, .. } = effect {
        *idempotency_key = format!("{idempotency_key}#{attempt}").into();
    }
}

/// A model call in doubt is forgotten at the resume.
fn doubt_not_recorded(effect: &mut EffectKind) {
    changed(effect, |body| {
        if let RecordBody::Resume { in_doubt, .. } = body {
            *in_doubt = None;
        }
    });
}

/// A timeout of the model is written down as a refusal.
fn unknown_taken_for_refused(effect: &mut EffectKind) {
    changed(effect, |body| {
        if let RecordBody::LlmRetry(Retry { failure, .. }) = body {
            *failure = RecordedFailure::parse("unavailable: 503");
        }
    });
}

/// A denial is written down as an approval.
fn denial_recorded_as_approval(effect: &mut EffectKind) {
    changed(effect, |body| {
        if let RecordBody::Approval { decision, .. } = body {
            decision.status = ApprovalStatus::Approved;
        }
    });
}

/// What the agent has read is not sent along.
fn version_not_sent(effect: &mut EffectKind) {
    if let EffectKind::CallTool { expected_version, .. } = effect {
        *expected_version = None;
    }
}

/// An invoice, a refund of one of its charges, and an answer.
fn one_refund() -> Arc<Scenario> {
    let read = json!([{"tool": "get_invoice", "args": {"invoice_id": "INV-2026-004512"}}]);
    let answer =
        |outcome: &str, say: &str| json!({"when": {"after": "issue_refund", "outcome": outcome}, "say": say, "calls": []});
    let turns = [
        first(read),
        after("get_invoice", "any", json!([refund_of(288)])),
        answer("ok", "Refunded as {{issue_refund.refund_id}}."),
        answer("any", "Not refunded."),
    ];
    scripted(&turns, |_| {})
}

/// The same voucher twice, each with its own question.
fn two_vouchers() -> Arc<Scenario> {
    let turns = [
        first(json!([voucher_of(20)])),
        after_nth("send_voucher", 1, json!([voucher_of(20)])),
        after_nth("send_voucher", 2, json!([])),
    ];
    scripted(&turns, |_| {})
}

struct Bug {
    name: &'static str,
    storage: StorageBug,
    agent: fn(&mut EffectKind),
    scenario: Arc<Scenario>,
}

fn bugs() -> Vec<Bug> {
    let storage = |name, storage, scenario| Bug { name, storage, agent: no_change, scenario };
    let agent = |name, agent, scenario| Bug { name, storage: StorageBug::None, agent, scenario };
    vec![
        storage("the checkpoint is written before the result", StorageBug::CheckpointAhead, one_refund()),
        storage("the checkpoint is one record behind", StorageBug::CheckpointBehind, one_refund()),
        storage("approvals are not in the checkpoint", StorageBug::NoApprovals, two_vouchers()),
        storage("the approval is recorded after the call", StorageBug::ApprovalLate, one_refund()),
        storage("records are acknowledged before they are durable", StorageBug::OneRecordLate, one_refund()),
        storage("the old writer is not refused", StorageBug::NoFence, scenario("two-tabs")),
        agent("the attempt counter is not saved", attempts_not_counted, one_refund()),
        agent("each attempt has a key of its own", key_per_attempt, one_refund()),
        agent("a model call in doubt is not counted", doubt_not_recorded, one_refund()),
        agent("an unknown outcome is taken for a refusal", unknown_taken_for_refused, one_refund()),
        agent("a denial is recorded as an approval", denial_recorded_as_approval, one_refund()),
        agent("the version that was read is not sent", version_not_sent, scenario("refunded-meanwhile")),
    ]
}

fn search(bug: &Bug) -> Explorer<Storage> {
    let mut store = Storage { inner: MemoryStore::default(), bug: bug.storage, held: Vec::new() };
    let setup = Setup { interactive: true, ..Setup::of(&bug.scenario) };
    let mut session = Session::start(setup, &mut store).unwrap();
    session.tamper_with(bug.agent);
    Explorer::of(session, store, Bounds::default(), false)
}

#[test]
fn each_of_twelve_bugs_of_the_core_is_found_within_the_default_bounds() {
    for bug in bugs() {
        let mut explorer = search(&bug).until_first();
        let progress = explorer.run();
        let broken: Vec<_> = (0..INVARIANTS.len())
            .filter_map(|place| match explorer.verdict(place) {
                SearchVerdict::Broken(choices) => Some((INVARIANTS[place].id, choices.len())),
                _ => None,
            })
            .collect();
        println!("{}: {broken:?} in {} states", bug.name, progress.states);
        assert!(!broken.is_empty(), "{}: not found in {progress:?}", bug.name);
    }
}

#[test]
fn without_a_bug_the_same_scenarios_and_the_same_storage_are_fine() {
    for scenario in [one_refund(), two_vouchers()] {
        let bug = Bug { name: "none", storage: StorageBug::None, agent: no_change, scenario };
        let mut explorer = search(&bug);
        explorer.step(30_000);
        for (place, invariant) in INVARIANTS.iter().enumerate() {
            assert!(!matches!(explorer.verdict(place), SearchVerdict::Broken(_)), "{}", invariant.name);
        }
    }
}

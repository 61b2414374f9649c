//! The three panels, now or as of a record.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::describe::{Tone, clock, line, tone};
use super::diff::{Change, changes};
use crate::agent::guards::guard_figures;
use crate::agent::money::{PicoUsd, cents_text};
use crate::agent::protocol::EffectKind;
use crate::agent::run::Run;
use crate::agent::state::{AgentState, Message};
use crate::json::decimal;
use crate::lab::invariants::{Evidence, INVARIANTS, Kind};
use crate::lab::ledger::Entry;
use crate::lab::mechanisms::Mechanism;
use crate::lab::scenario::When;
use crate::lab::session::Session;
use crate::lab::spots::effect_label;
use crate::lab::world::World;
use crate::log::checkpoint;
use crate::log::record::{Record, RecordBody};
use crate::log::recovery::run_at;
use crate::log::store::FoundSnapshot;

/// Where an effect takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Log and checkpoint.
    Storage,
    /// The model's provider.
    Model,
    /// The services.
    Tools,
    /// Who approves.
    Person,
    /// The clock.
    Clock,
    /// The customer, or who takes over.
    World,
}

/// The place of an effect.
pub fn place_of(effect: &EffectKind) -> Place {
    match effect {
        EffectKind::Append(_) | EffectKind::SaveCheckpoint { .. } => Place::Storage,
        EffectKind::CallModel { .. } => Place::Model,
        EffectKind::CallTool { .. } => Place::Tools,
        EffectKind::AskApproval { .. } => Place::Person,
        EffectKind::Wait { .. } => Place::Clock,
        EffectKind::Stop { .. } => Place::World,
    }
}

/// An effect as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EffectView {
    /// The running number in the session.
    pub index: u64,
    /// Its kind.
    pub r#type: &'static str,
    /// Where it takes place.
    pub place: Place,
    /// The step it belongs to.
    pub step: u32,
    /// In words.
    pub label: String,
    /// `issued` or `happened`.
    pub stage: &'static str,
}

/// The effect that is out.
pub fn effect_in_flight(session: &Session) -> Option<EffectView> {
    let (effect, when) = session.in_flight()?;
    Some(EffectView {
        index: session.progress().effects.saturating_sub(1),
        r#type: effect.kind.word(),
        place: place_of(&effect.kind),
        step: session.agent().map_or(0, |agent| agent.run().state.step),
        label: effect_label(&effect.kind),
        stage: match when {
            When::Before => "issued",
            When::After => "happened",
        },
    })
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordView {
    /// Its place.
    pub index: usize,
    /// The step it belongs to.
    pub step: u32,
    /// Its type.
    pub r#type: String,
    /// Seconds since the first record.
    pub at_s: f64,
    /// The time of day.
    pub clock: String,
    /// The tool it is about.
    pub tool: Option<String>,
    /// The call it is about.
    pub call_id: Option<String>,
    /// The attempt it is about.
    pub attempt: Option<u32>,
    /// What happened, in a line.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// The line itself.
    pub line: String,
}

/// A record as the list shows it. `start_ms`: the time of the first record.
pub fn record_view(index: usize, record: &Record, start_ms: u64) -> RecordView {
    let (tool, call_id, attempt) = subject(&record.body);
    RecordView {
        index,
        step: record.step,
        r#type: record.body.kind().to_string(),
        at_s: seconds(record.ts_ms.saturating_sub(start_ms)),
        clock: clock(record.ts_ms),
        tool: tool.map(|tool| tool.to_string()),
        call_id: call_id.map(|call_id| call_id.to_string()),
        attempt,
        text: line(record),
        tone: tone(record),
        line: record.to_line(),
    }
}

/// Tool, call and attempt that a record is about.
fn subject(body: &RecordBody) -> (Option<&Arc<str>>, Option<&Arc<str>>, Option<u32>) {
    match body {
        RecordBody::LlmRequest { attempt, .. } => (None, None, Some(*attempt)),
        RecordBody::LlmRetry(retry) => (None, None, Some(retry.attempt)),
        RecordBody::ToolRetry { tool, retry } => (Some(tool), None, Some(retry.attempt)),
        RecordBody::ApprovalRequest { tool, .. } | RecordBody::Approval { tool, .. } => (Some(tool), None, None),
        RecordBody::ToolCall { tool, call_id, attempt, .. } => (Some(tool), Some(call_id), Some(*attempt)),
        RecordBody::ToolResult { tool, call_id, .. } => (Some(tool), Some(call_id), None),
        RecordBody::RunStart { .. }
        | RecordBody::LlmCall(_)
        | RecordBody::Replan { .. }
        | RecordBody::Guard { .. }
        | RecordBody::Checkpoint { .. }
        | RecordBody::Resume { .. }
        | RecordBody::Stop { .. }
        | RecordBody::Crash { .. }
        | RecordBody::Unknown { .. } => (None, None, None),
    }
}

/// A record with what it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordDetail {
    /// As the list shows it.
    pub record: RecordView,
    /// As indented JSON text.
    pub json: String,
    /// What it changed in the agent's state.
    pub changes: Vec<Change>,
    /// The state after it.
    pub state_json: String,
    /// The rows of the ledger that it caused.
    pub ledger: Vec<usize>,
}

/// A record with what it did; `None` if there is no such record.
pub fn record_detail(session: &Session, index: usize) -> Option<RecordDetail> {
    let log = session.log();
    let record = log.get(index)?;
    let state_at = |count| run_at(session.config(), log, count).map(|run| checkpoint::to_json(&run.state)).unwrap_or(Value::Null);
    let (before, after) = (state_at(index), state_at(index + 1));
    let caused = |(_, row): &(usize, &Arc<crate::lab::ledger::Row>)| row.record == Some(index as u64);
    Some(RecordDetail {
        record: record_view(index, record, start_ms(session)),
        json: pretty(&record.to_json()),
        changes: changes(&before, &after),
        state_json: pretty(&after),
        ledger: session.world().rows().iter().enumerate().filter(caused).map(|(seq, _)| seq).collect(),
    })
}

/// Everything the panels and controls show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabView {
    run_id: String,
    scenario_id: String,
    scenario_title: String,
    task_id: String,
    ticket: String,
    seed: String,
    mechanisms: Vec<MechanismView>,
    now_s: f64,
    clock: String,
    phase: &'static str,
    status: Option<&'static str>,
    sentence: String,
    in_flight: Option<EffectView>,
    armed: Option<ArmedView>,
    record_count: usize,
    memory: Option<MemoryView>,
    storage: StorageView,
    world: WorldView,
    invariants: Vec<InvariantView>,
    crashes: u32,
    resumes: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MechanismView {
    id: &'static str,
    on: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ArmedView {
    index: u64,
    when: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MemoryView {
    step: u32,
    status: &'static str,
    plan: PlanView,
    messages: Vec<MessageView>,
    guards: Vec<GuardView>,
    llm_calls: u32,
    input_tokens: f64,
    output_tokens: f64,
    cost_usd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PlanView {
    steps: Vec<String>,
    version: u32,
    needs_replan: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MessageView {
    role: &'static str,
    text: String,
    tool: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct GuardView {
    name: &'static str,
    observed: String,
    limit: String,
    share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct StorageView {
    records: usize,
    log_bytes: usize,
    epoch: u32,
    generations: Vec<GenerationView>,
    summary: Option<Vec<SummaryView>>,
    checkpoint_json: Option<String>,
    warning: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct GenerationView {
    generation: f64,
    step: u32,
    bytes: f64,
    damage: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct SummaryView {
    key: String,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct WorldView {
    meter: MeterView,
    charges: Vec<ChargeView>,
    refunds: Vec<RefundView>,
    refunded_total: String,
    notes: Vec<TextRow>,
    outbox: Vec<MailView>,
    inbox: Vec<QuestionView>,
    requests: Vec<RequestView>,
    person: Option<PersonView>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MeterView {
    calls: f64,
    input_tokens: f64,
    output_tokens: f64,
    cost_usd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ChargeView {
    charge_id: String,
    invoice_id: String,
    amount: String,
    refunded: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RefundView {
    seq: usize,
    record: Option<f64>,
    refund_id: String,
    charge_id: String,
    amount: String,
    by: String,
    key: String,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct TextRow {
    seq: usize,
    record: Option<f64>,
    text: String,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MailView {
    seq: usize,
    record: Option<f64>,
    to: String,
    text: String,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct QuestionView {
    seq: usize,
    record: Option<f64>,
    approval_key: String,
    tool: String,
    args_json: String,
    args: Vec<ArgumentView>,
    status: &'static str,
    approver: Option<String>,
    note: Option<String>,
    asked_s: f64,
    decided_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ArgumentView {
    name: String,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RequestView {
    seq: usize,
    record: Option<f64>,
    tool: String,
    outcome: String,
    ok: bool,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PersonView {
    id: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct InvariantView {
    id: &'static str,
    name: &'static str,
    kind: &'static str,
    verdict: &'static str,
    record: Option<usize>,
    explanation: String,
}

/// What the host of a session knows beside it.
#[derive(Clone, Debug, Default)]
pub struct HostFacts {
    /// A sentence, if storage is full, absent or damaged.
    pub warning: Option<String>,
}

/// The panels as they are now.
pub fn view(session: &Session, snapshots: &[FoundSnapshot], epoch: u32, host: HostFacts) -> LabView {
    let run = session.agent().map(|agent| agent.run());
    let storage = StorageView { warning: host.warning, ..storage_view(session.log(), snapshots, epoch) };
    assemble(session, session.log(), session.world(), run, storage, session.now_ms())
}

/// The panels as they were right after a record; what later became of the run is left out.
pub fn view_at(session: &Session, index: usize) -> LabView {
    let log = &session.log()[..session.log().len().min(index + 1)];
    let at_ms = log.last().map_or(session.now_ms(), |record| record.ts_ms);
    let was_dead = log.iter().rev().find_map(|record| match record.body {
        RecordBody::Crash { .. } => Some(true),
        RecordBody::Resume { .. } => Some(false),
        _ => None,
    });
    let run = run_at(session.config(), log, log.len()).ok();
    let rows = session.world().rows();
    let later = |row: &Arc<crate::lab::ledger::Row>| match row.record {
        Some(cause) => cause >= index as u64,
        None => row.at_ms > at_ms,
    };
    let known = rows.iter().position(later).unwrap_or(rows.len());
    let world = session.world().as_of(known);
    let epoch = 1 + log.iter().filter(|record| matches!(record.body, RecordBody::Resume { .. })).count() as u32;
    let storage = storage_view(log, &snapshots_in(session, log), epoch);
    let living = run.as_ref().filter(|_| !was_dead.unwrap_or(false));
    assemble(session, log, &world, living, storage, at_ms)
}

/// The snapshots as the log tells of them.
fn snapshots_in(session: &Session, log: &[Arc<Record>]) -> Vec<FoundSnapshot> {
    let saved = log.iter().enumerate().rev().filter_map(|(index, record)| match &record.body {
        RecordBody::Checkpoint { bytes, generation } => Some((index, *bytes, *generation)),
        _ => None,
    });
    let found = |(index, bytes, generation): (usize, u64, u64)| {
        let state = run_at(session.config(), log, index).map(|run| run.state).map_err(|error| error.to_string());
        FoundSnapshot { generation, bytes, state }
    };
    saved.take(2).map(found).collect()
}

fn assemble(
    session: &Session,
    log: &[Arc<Record>],
    world: &World,
    run: Option<&Run>,
    storage: StorageView,
    at_ms: u64,
) -> LabView {
    let is_now = log.len() == session.log().len();
    let scenario = session.scenario();
    let start = start_ms(session);
    let status = log.iter().rev().find_map(|record| match &record.body {
        RecordBody::Stop { status, .. } => Some(*status),
        _ => None,
    });
    let status = if is_now { session.status().or(status.filter(|_| world.is_closed())) } else { status };
    let phase = match (status, run) {
        (Some(_), _) => "stopped",
        _ if is_now && session.is_fenced() => "fenced",
        (None, None) => "crashed",
        _ if is_now && session.is_waiting_for_person() => "waiting_for_person",
        _ => "running",
    };
    LabView {
        run_id: session.config().run_id.to_string(),
        scenario_id: scenario.id.clone(),
        scenario_title: scenario.title.clone(),
        task_id: scenario.task_id.to_string(),
        ticket: scenario.ticket.to_string(),
        seed: session.config().seed.to_string(),
        mechanisms: Mechanism::ALL.map(|one| MechanismView { id: one.text().id, on: session.mechanisms().has(one) }).into(),
        now_s: seconds(at_ms.saturating_sub(start)),
        clock: clock(at_ms),
        phase,
        status: status.map(|status| status.word()),
        sentence: sentence(session, log, phase, status.map(|status| status.word())),
        in_flight: if is_now { effect_in_flight(session) } else { None },
        armed: session.armed().map(|(index, when)| ArmedView { index, when: when.word() }),
        record_count: log.len(),
        memory: run.map(|run| memory_view(session, run)),
        storage,
        world: world_view(session, world, start),
        invariants: invariant_views(session, log, world, run, status.is_some()),
        crashes: session.progress().crashes,
        resumes: session.progress().resumes,
    }
}

/// What is going on, in one sentence.
fn sentence(session: &Session, log: &[Arc<Record>], phase: &str, status: Option<&str>) -> String {
    let task = &session.scenario().task_id;
    let step = log.last().map_or(0, |record| record.step);
    match (phase, status) {
        (_, Some("done")) => format!("{task} is done: the customer has the answer."),
        (_, Some(status)) => format!("{task} was stopped by {status}. A person takes over."),
        ("crashed", _) => format!("{task} stopped at step {step}: its agent is gone. Storage and the world are still there."),
        ("fenced", _) => format!("Another agent has taken {task} over. This one may write nothing more."),
        ("waiting_for_person", _) => format!("{task} waits at step {step} for a person’s decision."),
        _ => match log.last() {
            Some(record) => format!("Step {step}: {}.", record.body.kind().replace('_', " ")),
            None => format!("{task} has not started."),
        },
    }
}

fn memory_view(session: &Session, run: &Run) -> MemoryView {
    let state = &run.state;
    let message = |message: &Arc<Message>| MessageView {
        role: message.role(),
        text: message.content().to_string(),
        tool: match message.as_ref() {
            Message::Tool { name, .. } => Some(name.to_string()),
            Message::Assistant { tool_calls, .. } => tool_calls.first().map(|call| call.name.to_string()),
            Message::System { .. } | Message::User { .. } => None,
        },
    };
    let guards = guard_figures(run, session.config());
    MemoryView {
        step: state.step,
        status: state.status.word(),
        plan: PlanView {
            steps: state.plan.steps.iter().map(|step| step.to_string()).collect(),
            version: state.plan.version,
            needs_replan: state.plan.needs_replan,
        },
        messages: state.messages.iter().map(message).collect(),
        guards: guards
            .into_iter()
            .map(|figures| GuardView {
                name: figures.guard.word(),
                observed: figures.observed,
                limit: figures.limit,
                share: figures.share,
            })
            .collect(),
        llm_calls: state.llm_calls,
        input_tokens: state.input_tokens as f64,
        output_tokens: state.output_tokens as f64,
        cost_usd: state.cost.usd(),
    }
}

fn storage_view(log: &[Arc<Record>], snapshots: &[FoundSnapshot], epoch: u32) -> StorageView {
    let newest = snapshots.iter().find_map(|found| found.state.as_ref().ok());
    let generation = |found: &FoundSnapshot| GenerationView {
        generation: found.generation as f64,
        step: found.state.as_ref().map_or(0, |state| state.step),
        bytes: found.bytes as f64,
        damage: found.state.as_ref().err().cloned(),
    };
    let summary =
        |state: &Arc<AgentState>| checkpoint::summary(state).into_iter().map(|(key, value)| SummaryView { key, value }).collect();
    StorageView {
        records: log.len(),
        log_bytes: log.iter().map(|record| record.to_line().len() + 1).sum(),
        epoch,
        generations: snapshots.iter().map(generation).collect(),
        summary: newest.map(summary),
        checkpoint_json: newest.map(|state| pretty(&checkpoint::to_json(state))),
        warning: None,
    }
}

fn world_view(session: &Session, world: &World, start: u64) -> WorldView {
    let at_s = |ms: u64| seconds(ms.saturating_sub(start));
    let cause = |record: Option<u64>| record.map(|record| record as f64);
    let (calls, input_tokens, output_tokens, cost) = world.meter();
    let mut refunds = Vec::new();
    let mut notes = Vec::new();
    let mut outbox = Vec::new();
    let mut requests = Vec::new();
    let mut total = 0;
    for (seq, row) in world.rows().iter().enumerate() {
        let (record, at_s) = (cause(row.record), at_s(row.at_ms));
        match &row.entry {
            Entry::Refund { refund_id, charge_id, cents, key, by } => {
                total += cents;
                refunds.push(RefundView {
                    seq,
                    record,
                    refund_id: refund_id.to_string(),
                    charge_id: charge_id.to_string(),
                    amount: format!("{} USD", cents_text(*cents)),
                    by: by.to_string(),
                    key: key.to_string(),
                    at_s,
                });
            }
            Entry::Voucher { voucher_id, customer_id, cents } => {
                let text = format!("Voucher {voucher_id} of {} USD for {customer_id}", cents_text(*cents));
                notes.push(TextRow { seq, record, text, at_s });
            }
            Entry::Note { text } => notes.push(TextRow { seq, record, text: text.to_string(), at_s }),
            Entry::Escalation { text } => notes.push(TextRow { seq, record, text: format!("Handed over: {text}"), at_s }),
            Entry::HandOver { status } => {
                let text = format!("The run was stopped by {status}. A colleague takes the ticket over.");
                notes.push(TextRow { seq, record, text, at_s });
            }
            Entry::Mail { to, text } => outbox.push(MailView { seq, record, to: to.to_string(), text: text.to_string(), at_s }),
            Entry::Request { tool, outcome, .. } => {
                let ok = **outcome == *"ok" || **outcome == *"repeated";
                requests.push(RequestView { seq, record, tool: tool.to_string(), outcome: outcome.to_string(), ok, at_s });
            }
            Entry::ModelCall { .. } | Entry::Question { .. } | Entry::Decision { .. } | Entry::InboxLost => {}
        }
    }
    WorldView {
        meter: MeterView {
            calls: calls as f64,
            input_tokens: input_tokens as f64,
            output_tokens: output_tokens as f64,
            cost_usd: PicoUsd::usd(cost),
        },
        charges: charge_views(world),
        refunds,
        refunded_total: format!("{} USD", cents_text(total)),
        notes,
        outbox,
        inbox: inbox_views(world, at_s),
        requests,
        person: session.scenario().person.as_ref().map(|person| PersonView { id: person.id.clone(), name: person.name.clone() }),
    }
}

fn charge_views(world: &World) -> Vec<ChargeView> {
    let mut charges = Vec::new();
    for invoice in &world.data().invoices {
        for charge in invoice["charges"].as_array().into_iter().flatten() {
            let charge_id = charge["charge_id"].as_str().unwrap_or_default();
            let amount = decimal(&charge["amount"]).and_then(|amount| amount.scaled(2)).unwrap_or(0);
            let refunded: u64 = world.refunds_of(charge_id).map(|(cents, _)| cents).sum();
            charges.push(ChargeView {
                charge_id: charge_id.to_string(),
                invoice_id: invoice["invoice_id"].as_str().unwrap_or_default().to_string(),
                amount: format!("{} {}", cents_text(amount), charge["currency"].as_str().unwrap_or_default()),
                refunded: cents_text(refunded),
            });
        }
    }
    charges
}

fn inbox_views(world: &World, at_s: impl Fn(u64) -> f64) -> Vec<QuestionView> {
    let mut views = Vec::new();
    for question in world.questions() {
        let (status, approver, note) = match question.decided.map(|row| &row.entry) {
            Some(Entry::Decision { status, approver, note, .. }) => (status.word(), Some(approver), note.as_ref()),
            _ => ("open", None, None),
        };
        let args = match question.args.as_ref() {
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| ArgumentView { name: name.clone(), value: value.to_string() }).collect()
            }
            other => vec![ArgumentView { name: "value".to_string(), value: other.to_string() }],
        };
        views.push(QuestionView {
            seq: question.seq,
            record: question.asked.record.map(|record| record as f64),
            approval_key: question.key.to_string(),
            tool: question.tool.to_string(),
            args_json: pretty(question.args),
            args,
            status,
            approver: approver.map(|approver| approver.to_string()),
            note: note.map(|note| note.to_string()),
            asked_s: at_s(question.asked.at_ms),
            decided_s: question.decided.map(|row| at_s(row.at_ms)),
        });
    }
    views
}

fn invariant_views(
    session: &Session,
    log: &[Arc<Record>],
    world: &World,
    run: Option<&Run>,
    is_over: bool,
) -> Vec<InvariantView> {
    let evidence = Evidence { scenario: session.scenario(), config: session.config(), world, log, run };
    let mut views = Vec::new();
    for invariant in &INVARIANTS {
        let breach = session.breach(invariant.id).filter(|breach| breach.record.is_none_or(|record| record < log.len()));
        let judged = (invariant.judge)(&evidence);
        let (verdict, explanation) = match (breach, judged) {
            (Some(breach), _) => ("broken", breach.explanation.clone()),
            (None, Ok(explanation)) => ("holds", explanation),
            (None, Err(explanation)) if invariant.kind == Kind::Eventually && is_over => ("broken", explanation),
            (None, Err(explanation)) => ("open", explanation),
        };
        views.push(InvariantView {
            id: invariant.id,
            name: invariant.name,
            kind: invariant.kind.word(),
            verdict,
            record: breach.and_then(|breach| breach.record),
            explanation,
        });
    }
    views
}

fn start_ms(session: &Session) -> u64 {
    session.log().first().map_or(session.scenario().start_ms, |record| record.ts_ms)
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// A value as indented JSON text.
pub fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

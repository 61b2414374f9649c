//! What the page shows of a run: the three panels, now or as of a record.
//!
//! Views are plain data, whose types stand in `src/web/types.ts`.

mod effect;
mod memory;
mod record;
mod storage;
mod world;

use std::sync::Arc;

use serde_json::Value;

pub use effect::{effect_in_flight, place_of};
pub use record::{LogRows, RecordView, record_detail, record_view, record_views};
pub use storage::{Snapshots, snapshots_view};

use super::describe::clock;
use crate::agent::run::Run;
use crate::lab::driver_state::Liveness;
use crate::lab::invariants::{Evidence, INVARIANTS, Invariant, Kind};
use crate::lab::ledger::Row;
use crate::lab::mechanisms::Mechanism;
use crate::lab::session::Session;
use crate::lab::world::World;
use crate::record::{Record, RecordBody, object, seconds};

/// What the host of a session knows beside it, and need not find out anew for every frame.
#[derive(Clone, Debug, Default)]
pub struct HostFacts {
    /// A sentence, if storage is full, absent or damaged.
    pub warning: Option<String>,
    /// The snapshots, as last saved or read.
    pub snapshots: Snapshots,
    /// Which writer owns the run.
    pub epoch: u32,
    /// The length of the log in bytes.
    pub log_bytes: usize,
}

/// How far a reader of the views has read the lists that only grow. A view carries what comes after, so that a frame costs the
/// same late in a run as early.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Messages of the conversation.
    pub messages: usize,
    /// Rows of the world's books.
    pub rows: usize,
}

/// The panels as they are now.
pub fn view(session: &Session, host: HostFacts, known: Known) -> Value {
    let run = session.agent().map(|agent| agent.run());
    let half_step = HalfStep { log: session.log(), world: session.world(), run, at_ms: session.now_ms() };
    assemble(session, &half_step, storage::storage_view(session.log(), host), known)
}

/// The panels as they were right after a record; what later became of the run is left out.
pub fn view_at(session: &Session, index: usize) -> Value {
    let log = &session.log()[..session.log().len().min(index + 1)];
    let at_ms = log.last().map_or(session.now_ms(), |record| record.ts_ms);
    let was_dead = log.iter().rev().find_map(|record| match record.body {
        RecordBody::Crash { .. } => Some(true),
        RecordBody::Resume { .. } => Some(false),
        _ => None,
    });
    let run = session.run_at(log.len()).ok();
    let rows = session.world().rows();
    let later = |row: &Arc<Row>| match row.record {
        Some(cause) => cause >= index as u64,
        None => row.at_ms > at_ms,
    };
    let world = session.world().as_of(rows.iter().position(later).unwrap_or(rows.len()));
    let living = run.as_ref().filter(|_| !was_dead.unwrap_or(false));
    let half_step = HalfStep { log, world: &world, run: living, at_ms };
    assemble(session, &half_step, storage::storage_as_of(session, log), Known::default())
}

/// What is shown, now or then.
struct HalfStep<'a> {
    log: &'a [Arc<Record>],
    world: &'a World,
    run: Option<&'a Run>,
    at_ms: u64,
}

fn assemble(session: &Session, half_step: &HalfStep, storage: Value, known: Known) -> Value {
    let &HalfStep { log, world, run, at_ms } = half_step;
    let is_now = log.len() == session.log().len();
    let scenario = session.scenario();
    let start = start_ms(session);
    let status = log.iter().rev().find_map(|record| match &record.body {
        RecordBody::Stop { status, .. } => Some(*status),
        _ => None,
    });
    let status = if is_now { session.status() } else { status };
    // Right after `stop` was written, the world has not been told yet: that is no broken promise.
    let is_told = world.is_closed() || world.rows().len() == session.world().rows().len();
    let phase = match (status, run) {
        (Some(_), _) => "stopped",
        _ if is_now && session.is_fenced() => "fenced",
        (None, None) => "crashed",
        _ if is_now && session.is_waiting_for_person() => "waiting_for_person",
        _ => "running",
    };
    let mechanism = |one: Mechanism| object([("id", one.text().id.into()), ("on", session.mechanisms().has(one).into())]);
    let armed = session.armed().map(|(index, when)| object([("index", index.into()), ("when", when.as_str().into())]));
    object([
        ("run_id", Value::from(&*session.config().run_id)),
        ("scenario_id", Value::from(scenario.id.as_str())),
        ("scenario_title", Value::from(scenario.title.as_str())),
        ("task_id", Value::from(&*scenario.task_id)),
        ("ticket", Value::from(&*scenario.ticket)),
        ("seed", session.config().seed.to_string().into()),
        ("mechanisms", Mechanism::ALL.into_iter().map(mechanism).collect()),
        ("now_s", seconds(at_ms.saturating_sub(start))),
        ("clock", clock(at_ms).into()),
        ("phase", phase.into()),
        ("status", status.map(|status| status.as_str()).into()),
        ("sentence", sentence(session, log, phase, status.map(|status| status.as_str())).into()),
        ("in_flight", if is_now { effect_in_flight(session) } else { Value::Null }),
        ("armed", armed.into()),
        ("record_count", log.len().into()),
        ("memory", run.map(|run| memory::memory_view(session, run, known.messages)).into()),
        ("storage", storage),
        ("world", world::world_view(session, world, start, known.rows)),
        ("invariants", invariant_views(session, half_step, status.is_some() && is_told)),
        ("crashes", session.progress().crashes.into()),
        ("resumes", session.progress().resumes.into()),
        ("rival", if is_now { second_writer_view(session).into() } else { Value::Null }),
    ])
}

fn second_writer_view(session: &Session) -> Option<Value> {
    let second_writer = session.second_writer()?;
    let state = match second_writer.state() {
        Liveness::Working => "working",
        Liveness::Fenced | Liveness::Dead => "fenced",
        Liveness::Stopped(_) => "stopped",
    };
    Some(object([("state", state.into()), ("step", second_writer.agent()?.run().state.step.into())]))
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

fn invariant_views(session: &Session, half_step: &HalfStep, is_over: bool) -> Value {
    let &HalfStep { log, world, .. } = half_step;
    let evidence = Evidence { scenario: session.scenario(), config: session.config(), world, log };
    let view = |invariant: &Invariant| {
        let breach = session.breach(invariant.id).filter(|breach| breach.record.is_none_or(|record| record < log.len()));
        let judged = (invariant.judge)(&evidence);
        let (verdict, explanation) = match (breach, judged) {
            (Some(breach), _) => ("broken", breach.explanation.clone()),
            (None, Ok(explanation)) => ("holds", explanation),
            (None, Err(explanation)) if invariant.kind == Kind::Eventually && is_over => ("broken", explanation),
            (None, Err(explanation)) => ("open", explanation),
        };
        object([
            ("id", invariant.id.into()),
            ("name", invariant.name.into()),
            ("kind", invariant.kind.as_str().into()),
            ("verdict", verdict.into()),
            ("record", breach.and_then(|breach| breach.record).into()),
            ("explanation", explanation.into()),
        ])
    };
    INVARIANTS.iter().filter(|invariant| (invariant.concerns)(session.scenario())).map(view).collect()
}

fn start_ms(session: &Session) -> u64 {
    session.log().first().map_or(session.scenario().start_ms, |record| record.ts_ms)
}

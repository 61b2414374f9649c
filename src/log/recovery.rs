//! Recovery: the newest good checkpoint, and the records after it.
//!
//! Results that are recorded are replayed, not bought or done again. An intent without a result is in doubt, and the resumed agent
//! says so in its first record.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::store::{Durable, FoundSnapshot};
use crate::agent::Agent;
use crate::agent::config::Config;
use crate::agent::machine::ResumeNote;
use crate::agent::run::{Divergence, Run, ToolStage, Turn};
use crate::agent::state::AgentState;
use crate::base::json::compact;
use crate::record::{FORMAT, Record, RecordBody, Status};

/// Why a run cannot be resumed as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveryError {
    /// There is neither a log nor a checkpoint.
    Nothing,
    /// A record in the middle of the log cannot be read.
    Damaged(String),
    /// The run was started under other conditions than it is resumed under.
    Changed {
        /// What differs, such as "scenario" or "limit `max_steps`".
        what: String,
        /// What the log says.
        recorded: String,
        /// What it is now.
        now: String,
    },
    /// A record does not follow from what came before.
    Diverged {
        /// Its place in the log, from 0.
        index: usize,
        /// What does not fit.
        divergence: Divergence,
    },
}

impl fmt::Display for RecoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecoveryError::Nothing => write!(f, "there is neither a log nor a usable checkpoint to resume from"),
            RecoveryError::Damaged(message) => write!(f, "the log is damaged: {message}"),
            RecoveryError::Changed { what, recorded, now } => {
                write!(f, "the {what} has changed since the run began: recorded is {recorded}, now it is {now}. ")?;
                write!(f, "Resume it with what was recorded, or start a new run")
            }
            RecoveryError::Diverged { index, divergence } => write!(f, "record {index} does not fit: {divergence}"),
        }
    }
}

impl std::error::Error for RecoveryError {}

/// An agent that goes on where the log ends. `now_ms`: milliseconds since 1970.
pub fn recover(config: Arc<Config>, durable: &Durable, now_ms: u64) -> Result<Agent, RecoveryError> {
    if let Some(damage) = durable.log_damage.as_ref().filter(|damage| !damage.is_torn_end) {
        return Err(RecoveryError::Damaged(damage.message.clone()));
    }
    compare_with_start(&config, &durable.records)?;
    let good = |found: &&FoundSnapshot| found.state.is_ok();
    let snapshot = durable.snapshots.iter().find(good).filter(|_| config.policies.checkpoints);
    let base = snapshot.and_then(|found| found.state.as_ref().ok());
    if base.is_none() && durable.records.is_empty() {
        return Err(RecoveryError::Nothing);
    }
    let (run, replayed) = rebuild(&config, base, &durable.records)?;
    let is_last = run.history.resumes >= config.limits.max_resumes;
    // What only has to be written down is written down: an answer that is there, figures that a guard has recorded.
    let is_decided = run.tripped.is_some() || run.state.status == Status::Done;
    let note = if run.stopped || (is_last && is_decided) {
        None
    } else if is_last {
        Some(ResumeNote::GivesUp)
    } else {
        Some(ResumeNote::Resumes { checkpoint_generation: snapshot.map(|found| found.generation), records_replayed: replayed })
    };
    Ok(Agent::at(config, run, now_ms, note))
}

/// The run as a log and a checkpoint tell it, and how many records were replayed onto the checkpoint.
fn rebuild(config: &Config, base: Option<&Arc<AgentState>>, records: &[Arc<Record>]) -> Result<(Run, u64), RecoveryError> {
    let skipped = base.map_or(0, |state| state.log_position);
    let mut run = match base {
        Some(state) => Run::from_state((**state).clone()),
        None => Run::new(config),
    };
    let uses_journal = config.policies.journal && config.policies.checkpoints;
    let mut settled = 0;
    let mut replayed = 0;
    for (index, record) in records.iter().enumerate() {
        // The journal's position counts settled records; what stands before it is in the checkpoint already.
        let is_covered = settled < skipped;
        if record.body.is_settled() {
            settled += 1;
        }
        let is_final = matches!(record.body, RecordBody::Stop { .. });
        let is_start = matches!(record.body, RecordBody::RunStart { .. });
        if is_start {
            run.started = true;
        }
        if is_covered || is_start || (!uses_journal && !is_final) {
            run.history.observe(record);
            continue;
        }
        run.apply(record, config).map_err(|divergence| RecoveryError::Diverged { index, divergence })?;
        replayed += 1;
    }
    if settled < skipped {
        // Whoever went on would take the next records for some that the checkpoint covers.
        let message = format!("the checkpoint covers {skipped} settled records, and {settled} are left of the log");
        return Err(RecoveryError::Damaged(message));
    }
    if !config.policies.durable_approvals {
        forget_approvals(&mut run);
    }
    Ok((run, replayed))
}

/// A log of another scenario, seed, mechanisms or limits is not silently continued.
fn compare_with_start(config: &Config, records: &[Arc<Record>]) -> Result<(), RecoveryError> {
    // It need not be the first record: a crash before it leaves the lab's mark in front.
    let start = records.iter().map(|record| &record.body).find(|body| matches!(body, RecordBody::RunStart { .. }));
    let Some(RecordBody::RunStart { format, scenario, seed, mechanisms, limits, .. }) = start else {
        return Ok(());
    };
    let changed = |what: &str, recorded: String, now: String| RecoveryError::Changed { what: what.to_string(), recorded, now };
    if *format > FORMAT {
        return Err(changed("format", format.to_string(), format!("at most {FORMAT}")));
    }
    if *scenario != config.scenario {
        return Err(changed("scenario", scenario.to_string(), config.scenario.to_string()));
    }
    if *seed != config.seed {
        return Err(changed("seed", seed.to_string(), config.seed.to_string()));
    }
    let all_on = |_: &str| Some(Value::from(true));
    let limits_now = config.limits_json();
    let default_limit = |key: &str| config.default_limits_json().get(key).cloned();
    let different = difference(mechanisms, &config.mechanisms, all_on).map(|found| ("mechanism", found));
    match different.or_else(|| difference(limits, &limits_now, default_limit).map(|found| ("limit", found))) {
        Some((of, (key, recorded, now))) => Err(changed(&format!("{of} `{key}`"), recorded, now)),
        None => Ok(()),
    }
}

/// The first key whose values differ, and both values. A key that one side lacks has its default there: a run that began before there
/// was such a key was run with it.
fn difference(recorded: &Value, now: &Value, default: impl Fn(&str) -> Option<Value>) -> Option<(String, String, String)> {
    // As it nearly always is, and a search resumes very often.
    if recorded == now {
        return None;
    }
    let empty = Map::new();
    let (before, after) = (recorded.as_object().unwrap_or(&empty), now.as_object().unwrap_or(&empty));
    let value = |of: &Map<String, Value>, key: &str| of.get(key).cloned().or_else(|| default(key));
    let shown = |value: Option<Value>| value.as_ref().map_or("nothing".to_string(), compact);
    before.keys().chain(after.keys()).find_map(|key| {
        let (recorded, now) = (value(before, key), value(after, key));
        (recorded != now).then(|| (key.clone(), shown(recorded), shown(now)))
    })
}

/// What is left when approvals lived in memory only: an undecided gate.
fn forget_approvals(run: &mut Run) {
    Arc::make_mut(&mut run.state).approvals.clear();
    if let Turn::Tools(turn) = &mut run.turn
        && matches!(turn.stage, ToolStage::Asking { .. } | ToolStage::Decided { .. })
    {
        turn.stage = ToolStage::Due;
    }
}

/// The run after the first `count` records of a log: what the agent knew then. `origin`: the checkpoint of another run that it began
/// with, if it did.
///
/// Where a mechanism is off that recovery needs, the agent knew less after a resume than the log does; so at each `resume` the run
/// is rebuilt as recovery rebuilt it.
pub fn run_at(
    config: &Config,
    origin: Option<&Arc<AgentState>>,
    records: &[Arc<Record>],
    count: usize,
) -> Result<Run, RecoveryError> {
    let policies = &config.policies;
    let forgets = !(policies.journal && policies.checkpoints && policies.saved_guards && policies.durable_approvals);
    let (mut run, _) = rebuild(config, origin, &[])?;
    let mut snapshots: Vec<Arc<AgentState>> = origin.cloned().into_iter().collect();
    for (index, record) in records.iter().take(count).enumerate() {
        if let (RecordBody::Resume { checkpoint_generation, .. }, true) = (&record.body, forgets) {
            let generation = checkpoint_generation.and_then(|generation| usize::try_from(generation).ok()).unwrap_or(0);
            // A step that was complete but not saved when the agent died is no snapshot.
            snapshots.truncate(generation);
            let base = generation.checked_sub(1).and_then(|place| snapshots.get(place));
            (run, _) = rebuild(config, base, &records[..index])?;
        }
        let step = run.state.step;
        run.apply(record, config).map_err(|divergence| RecoveryError::Diverged { index, divergence })?;
        if run.state.step > step {
            snapshots.push(run.state.as_saved(policies.saved_guards));
        }
    }
    Ok(run)
}

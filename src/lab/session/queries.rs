//! What is to be seen of a session, and what is judged.

use std::sync::Arc;

use crate::agent::Agent;
use crate::agent::config::Config;
use crate::agent::protocol::{Effect, EffectKind};
use crate::agent::run::Run;
use crate::lab::driver_state::DriverState;
use crate::lab::invariants::{Breach, Evidence, INVARIANTS, Kind};
use crate::lab::mechanisms::Mechanisms;
use crate::lab::scenario::{Scenario, When};
use crate::lab::session::{DriverStage, RunProgress, Session, World};
use crate::lab::world::Reply;
use crate::log::recovery::{RecoveryError, run_at};
use crate::record::{Record, Status};

impl Session {
    pub(super) fn judge(&mut self) {
        if self.judges {
            self.judge_those(|_| true);
        }
    }

    /// From here on the caller judges, who knows what has changed.
    pub fn leave_judging_to_me(&mut self) {
        self.judges = false;
    }

    /// Puts a bug into the agent: each of its effects goes through this function. For tests of the search.
    #[doc(hidden)]
    pub fn tamper_with(&mut self, tamper: fn(&mut EffectKind)) {
        self.tamper = Some(tamper);
    }

    /// Takes note of those of the `Always` invariants that are broken now. They are named by their index in [`INVARIANTS`].
    pub fn judge_those(&mut self, which: impl Fn(usize) -> bool) {
        let record = self.log.len().checked_sub(1);
        for (index, invariant) in INVARIANTS.iter().enumerate() {
            if invariant.kind != Kind::Always || !which(index) || self.breach(invariant.id).is_some() {
                continue;
            }
            if let Err(explanation) = (invariant.judge)(&self.evidence()) {
                self.breaches.push(Breach { id: invariant.id, explanation, record });
            }
        }
    }

    /// All that invariants are judged from.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { scenario: &self.scenario, config: &self.config, world: &self.world, log: &self.log }
    }

    /// Invariants that broke, in the order in which they did, with the record at which it was seen.
    pub fn breaches(&self) -> &[Breach] {
        &self.breaches
    }

    /// How an invariant broke, if it did.
    pub fn breach(&self, id: &str) -> Option<&Breach> {
        self.breaches.iter().find(|breach| breach.id == id)
    }

    /// The agent; `None` after a crash.
    pub fn agent(&self) -> Option<&Agent> {
        self.driver_state.agent.as_ref()
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The log as far as this session knows it.
    pub fn log(&self) -> &[Arc<Record>] {
        &self.log
    }

    /// The run as the agent knew it after the first `count` records of the log.
    pub fn run_at(&self, count: usize) -> Result<Run, RecoveryError> {
        run_at(&self.config, self.origin.as_ref(), &self.log, count)
    }

    /// What the agent was given.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// What is run.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// With which mechanisms.
    pub fn mechanisms(&self) -> Mechanisms {
        self.mechanisms
    }

    /// Virtual time, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// When something happens next, as far as that is known.
    pub fn next_ms(&self) -> u64 {
        self.driver_state.reply().map_or(self.now_ms, |(_, due_ms)| due_ms)
    }

    /// What has to survive a closed page.
    pub fn progress(&self) -> &RunProgress {
        &self.progress
    }

    /// Where the agent will die.
    pub fn armed(&self) -> Option<(u64, When)> {
        self.armed
    }

    /// The effect that is out, and whether it has happened.
    pub fn in_flight(&self) -> Option<(&Effect, When)> {
        self.driver_state.in_flight()
    }

    /// The answer that is under way to the agent, and when it arrives.
    pub fn reply(&self) -> Option<(&Reply, u64)> {
        self.driver_state.reply()
    }

    /// When in the run this is: twice the number of effects that were asked for, less one until the last of them has happened.
    pub fn half_step(&self) -> u64 {
        let waits = matches!(self.driver_state.stage, DriverStage::Issued(_));
        2 * self.progress.effects - u64::from(waits && self.progress.effects > 0)
    }

    /// The final status, once the run is over.
    pub fn status(&self) -> Option<Status> {
        match &self.driver_state.stage {
            DriverStage::Stopped(status) => Some(*status),
            _ => None,
        }
    }

    /// The agent from which the run was taken while it lived, if there is one.
    pub fn second_writer(&self) -> Option<&DriverState> {
        self.second_writer.as_ref()
    }

    /// True if another writer owns the run.
    pub fn is_fenced(&self) -> bool {
        matches!(self.driver_state.stage, DriverStage::Fenced)
    }

    /// True if a person has the question and has not decided.
    pub fn is_waiting_for_person(&self) -> bool {
        matches!(&self.driver_state.stage, DriverStage::Asked(_))
    }
}

//! What a session is started with. The same setup gives the same run.

use std::sync::Arc;

use super::mechanisms::{Mechanism, Mechanisms};
use super::scenario::Scenario;
use crate::agent::state::AgentState;
use crate::base::hash::hash64;
use crate::base::text::list;
use crate::log::checkpoint;

/// How a session is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What is run.
    pub scenario: Arc<Scenario>,
    /// With which mechanisms.
    pub mechanisms: Mechanisms,
    /// What jitter is drawn from.
    pub seed: u64,
    /// True: questions wait for a decision from outside.
    pub interactive: bool,
    /// 0, or which of the runs of the same input this is: one that goes another way from some record on has its own storage.
    pub branch: u32,
}

impl Setup {
    /// The scenario as it stands, with its own mechanisms and its own person, seed 1.
    pub fn of(scenario: &Arc<Scenario>) -> Setup {
        Setup { scenario: scenario.clone(), mechanisms: scenario.mechanisms, seed: 1, interactive: false, branch: 0 }
    }

    /// The same input gives the same name, and another input another: runs do not share anything by accident.
    pub fn run_id(&self) -> Arc<str> {
        let is_off = |one: &&Mechanism| !self.mechanisms.has(**one);
        let off: Vec<String> = Mechanism::ALL.iter().filter(is_off).map(|one| format!("\"{}\"", one.text().id)).collect();
        let off: Vec<&str> = off.iter().map(String::as_str).collect();
        let (scenario, off) = (&self.scenario, list(&off));
        let mut input = format!("{}\n{:016x}\n[{off}]\n{}", scenario.id, scenario.digest, self.seed);
        if self.branch > 0 {
            input += &format!("\n{}", self.branch);
        }
        let digest = hash64(input.as_bytes());
        format!("{}-{:08x}", self.scenario.task_id, digest >> 32).into()
    }

    /// The name of the run that continues from a checkpoint of another run: another checkpoint is another run.
    pub fn run_id_from(&self, checkpoint: &AgentState) -> Arc<str> {
        let digest = hash64(checkpoint::encode(checkpoint).as_bytes());
        format!("{}-{:08x}", self.run_id(), digest >> 32).into()
    }
}

//! What a session is started with. The same setup gives the same run.

use std::sync::Arc;

use super::mechanisms::{Mechanism, Mechanisms};
use super::scenario::Scenario;
use crate::agent::identity::hash64;

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
}

impl Setup {
    /// The scenario as it stands, with its own mechanisms and its own person, seed 1.
    pub fn of(scenario: &Arc<Scenario>) -> Setup {
        Setup { scenario: scenario.clone(), mechanisms: scenario.mechanisms, seed: 1, interactive: false }
    }

    /// The same input gives the same name, and another input another: runs do not share anything by accident.
    pub fn run_id(&self) -> Arc<str> {
        let off: Vec<&str> = Mechanism::ALL.iter().filter(|one| !self.mechanisms.has(**one)).map(|one| one.text().id).collect();
        let digest = hash64(format!("{}\n{:016x}\n{off:?}\n{}", self.scenario.id, self.scenario.digest, self.seed).as_bytes());
        format!("{}-{:08x}", self.scenario.task_id, digest >> 32).into()
    }
}

//! One agent and where its driver stands. A session has one such state, and a second one while an
//! agent lives on from which the run was taken.

use crate::agent::Agent;
use crate::agent::protocol::Effect;
use crate::lab::scenario::When;
use crate::lab::world::Reply;
use crate::record::Status;

/// An agent, what it may write as, and where its driver stands.
#[derive(Clone, Debug)]
pub struct DriverState {
    pub(super) agent: Option<Agent>,
    pub(super) epoch: u32,
    pub(super) stage: DriverStage,
    /// The newest record that this agent wrote or was made from: what it does outside is caused by it.
    pub(super) cause: Option<u64>,
}

/// Where a driver stands.
#[derive(Clone, Debug)]
pub(super) enum DriverStage {
    /// There is no agent.
    Dead,
    /// The agent has not been asked for its first effect.
    Fresh,
    /// The agent wants this, and it has not happened.
    Issued(Effect),
    /// A person has the question.
    Asked(Effect),
    /// It has happened, and the answer arrives at this time.
    Happened { effect: Effect, reply: Reply, due_ms: u64 },
    /// The run is over.
    Stopped(Status),
    /// Another writer owns the run.
    Fenced,
}

/// How it stands with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// It continues.
    Working,
    /// It is dead.
    Dead,
    /// Storage has refused it, as another writer owns the run.
    Fenced,
    /// It has come to an end.
    Stopped(Status),
}

impl DriverState {
    /// How it stands with the agent.
    pub fn state(&self) -> Liveness {
        match &self.stage {
            DriverStage::Fresh | DriverStage::Issued(_) | DriverStage::Asked(_) | DriverStage::Happened { .. } => {
                Liveness::Working
            }
            DriverStage::Dead => Liveness::Dead,
            DriverStage::Fenced => Liveness::Fenced,
            DriverStage::Stopped(status) => Liveness::Stopped(*status),
        }
    }

    /// The agent, unless it is dead.
    pub fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// The effect that is out, and whether it has happened.
    pub fn in_flight(&self) -> Option<(&Effect, When)> {
        match &self.stage {
            DriverStage::Issued(effect) => Some((effect, When::Before)),
            DriverStage::Asked(effect) | DriverStage::Happened { effect, .. } => Some((effect, When::After)),
            DriverStage::Dead | DriverStage::Fresh | DriverStage::Stopped(_) | DriverStage::Fenced => None,
        }
    }

    /// The answer that is under way to the agent, and when it arrives.
    pub fn reply(&self) -> Option<(&Reply, u64)> {
        match &self.stage {
            DriverStage::Happened { reply, due_ms, .. } => Some((reply, *due_ms)),
            DriverStage::Dead
            | DriverStage::Fresh
            | DriverStage::Issued(_)
            | DriverStage::Asked(_)
            | DriverStage::Stopped(_)
            | DriverStage::Fenced => None,
        }
    }
}

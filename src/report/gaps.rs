//! The instants ahead at which a crash makes a difference.

use serde::Serialize;

use super::view::{Place, place_of};
use crate::lab::session::{Session, Tick};
use crate::lab::spots::gap_label;
use crate::log::store::MemoryStore;

/// A gap at which a crash can be armed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The running number of the effect.
    pub index: u64,
    /// `before` or `after`.
    pub when: &'static str,
    /// The step it belongs to.
    pub step: u32,
    /// Where it takes place.
    pub place: Place,
    /// In words.
    pub label: String,
}

/// No run shows more gaps than this.
const GAP_LIMIT: usize = 2_000;

/// All gaps from here to the end, found by running a copy ahead: the scenario's person answers, and nobody crashes it.
pub fn gaps_ahead(session: &Session, store: &MemoryStore) -> Vec<Gap> {
    let (mut ahead, mut store) = (session.clone(), store.clone());
    ahead.disarm();
    ahead.answer_by_script();
    let mut gaps = Vec::new();
    let mut note = |ahead: &Session| {
        let (Some((effect, when)), Some(agent)) = (ahead.in_flight(), ahead.agent()) else {
            return;
        };
        gaps.push(Gap {
            index: ahead.progress().effects.saturating_sub(1),
            when: when.word(),
            step: agent.run().state.step,
            place: place_of(&effect.kind),
            label: gap_label(&effect.kind, when),
        });
    };
    note(&ahead);
    for _ in 0..GAP_LIMIT {
        match ahead.tick(&mut store) {
            Tick::Happened { .. } | Tick::Answered => note(&ahead),
            // A scenario that kills the agent by itself goes on behind its own crash.
            Tick::Crashed { .. } => {
                if ahead.resume(&mut store).is_err() {
                    break;
                }
            }
            Tick::WaitingForPerson { .. } | Tick::Stopped { .. } | Tick::Fenced => break,
        }
    }
    gaps
}

//! The instants ahead at which a crash makes a difference.

use serde_json::Value;

use super::view::place_of;
use crate::lab::crash_points::gap_label;
use crate::lab::session::{Session, Tick};
use crate::log::store::MemoryStore;
use crate::record::object;

/// No run shows more gaps than this.
const GAP_LIMIT: usize = 2_000;

/// All gaps from here to the end, found by running a copy ahead: the scenario's person answers, and nobody crashes it. Each is a
/// `Gap`.
pub fn gaps_ahead(session: &Session, store: &MemoryStore) -> Value {
    let (mut ahead, mut store) = (session.clone(), store.clone());
    ahead.disarm();
    ahead.answer_by_script();
    let mut gaps = Vec::new();
    let mut note = |ahead: &Session| {
        let (Some((effect, when)), Some(agent)) = (ahead.in_flight(), ahead.agent()) else {
            return;
        };
        gaps.push(object([
            ("index", ahead.progress().effects.saturating_sub(1).into()),
            ("when", when.as_str().into()),
            ("step", agent.run().state.step.into()),
            ("place", place_of(&effect.kind).into()),
            ("label", gap_label(&ahead.scenario().tools, &effect.kind, when).into()),
        ]));
    };
    note(&ahead);
    for _ in 0..GAP_LIMIT {
        match ahead.tick(&mut store) {
            Tick::Happened { .. } | Tick::Answered => note(&ahead),
            // A scenario that kills the agent by itself continues after its own crash.
            Tick::Crashed { .. } => {
                if ahead.resume(&mut store).is_err() {
                    break;
                }
            }
            Tick::WaitingForPerson { .. } | Tick::Stopped { .. } | Tick::Fenced => break,
        }
    }
    gaps.into()
}

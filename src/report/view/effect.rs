//! The effect that is out.

use serde_json::Value;

use crate::agent::protocol::EffectKind;
use crate::lab::crash_points::effect_label;
use crate::lab::scenario::When;
use crate::lab::session::Session;
use crate::record::object;

/// Where an effect takes place: a `Place`.
pub fn place_of(effect: &EffectKind) -> &'static str {
    match effect {
        EffectKind::Append(_) | EffectKind::SaveCheckpoint { .. } => "storage",
        EffectKind::CallModel { .. } => "model",
        EffectKind::CallTool { .. } => "tools",
        EffectKind::AskApproval { .. } => "person",
        EffectKind::Wait { .. } => "clock",
        EffectKind::Stop { .. } => "world",
    }
}

/// The effect that is out: an `EffectView`, or `null`.
pub fn effect_in_flight(session: &Session) -> Value {
    let Some((effect, when)) = session.in_flight() else {
        return Value::Null;
    };
    let stage = match when {
        When::Before => "issued",
        When::After => "happened",
    };
    object([
        ("index", session.progress().effects.saturating_sub(1).into()),
        ("type", effect.kind.as_str().into()),
        ("place", place_of(&effect.kind).into()),
        ("step", session.agent().map_or(0, |agent| agent.run().state.step).into()),
        ("label", effect_label(&effect.kind).into()),
        ("stage", stage.into()),
    ])
}

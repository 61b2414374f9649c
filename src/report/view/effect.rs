//! The effect that is out.

use serde::Serialize;

use crate::agent::protocol::EffectKind;
use crate::lab::scenario::When;
use crate::lab::session::Session;
use crate::lab::spots::effect_label;

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

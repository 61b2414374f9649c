//! Where an agent may die: the scenario's own crash spots, how often each was met, and the words for the instants around an effect.

use super::scenario::{CrashSpot, Scenario, When};
use crate::agent::protocol::EffectKind;

/// What has to survive a closed page beside log, checkpoint and the world's books.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Progress {
    /// Effects asked for so far, over all agents of the run.
    pub effects: u64,
    /// How often an agent died.
    pub crashes: u32,
    /// How often a new one took over.
    pub resumes: u32,
    /// How often each of the scenario's crash spots was met.
    pub spots_met: Vec<u32>,
}

impl Progress {
    /// Counts the scenario's crash spots that are at this instant of this effect. True: the agent dies at one of them.
    pub fn meets_spot(&mut self, scenario: &Scenario, effect: &EffectKind, when: When) -> bool {
        self.spots_met.resize(scenario.crashes.len(), 0);
        let mut dies = false;
        for (spot, met) in scenario.crashes.iter().zip(&mut self.spots_met) {
            if spot.fits(effect, when) {
                *met += 1;
                dies |= *met == spot.nth;
            }
        }
        dies
    }
}

impl CrashSpot {
    /// True at this spot, whichever time it is.
    pub fn fits(&self, effect: &EffectKind, when: When) -> bool {
        let (tool, record) = match effect {
            EffectKind::CallTool { call, .. } => (Some(&*call.name), None),
            EffectKind::AskApproval { tool, .. } => (Some(&**tool), None),
            EffectKind::Append(record) => (None, Some(record.body.kind())),
            EffectKind::CallModel { .. }
            | EffectKind::Wait { .. }
            | EffectKind::SaveCheckpoint { .. }
            | EffectKind::Stop { .. } => (None, None),
        };
        self.when == when
            && self.effect == effect.word()
            && self.tool.as_deref().is_none_or(|wanted| Some(wanted) == tool)
            && self.record.as_deref().is_none_or(|wanted| Some(wanted) == record)
    }
}

/// An effect in a few words.
pub fn effect_label(effect: &EffectKind) -> String {
    match effect {
        EffectKind::Append(record) => format!("write {}", record.body.kind()),
        EffectKind::CallModel { attempt: 1, .. } => "call the model".to_string(),
        EffectKind::CallModel { attempt, .. } => format!("call the model, attempt {attempt}"),
        EffectKind::CallTool { call, attempt: 1, .. } => call.name.to_string(),
        EffectKind::CallTool { call, attempt, .. } => format!("{}, attempt {attempt}", call.name),
        EffectKind::AskApproval { tool, .. } => format!("ask a person about {tool}"),
        EffectKind::Wait { .. } => "wait".to_string(),
        EffectKind::SaveCheckpoint { .. } => "save the checkpoint".to_string(),
        EffectKind::Stop { status, .. } => format!("stop: {}", status.word()),
    }
}

/// The instant before or after an effect, in words.
pub fn gap_label(effect: &EffectKind, when: When) -> String {
    let label = effect_label(effect);
    match (when, effect) {
        (When::Before, _) => format!("before: {label}"),
        (When::After, EffectKind::Append(_) | EffectKind::SaveCheckpoint { .. }) => {
            format!("after: {label}, before the agent knew")
        }
        (When::After, EffectKind::CallTool { .. } | EffectKind::CallModel { .. }) => {
            format!("after: {label} happened, before its answer")
        }
        (When::After, EffectKind::AskApproval { .. }) => format!("after: {label}, before the answer"),
        (When::After, EffectKind::Wait { .. } | EffectKind::Stop { .. }) => format!("after: {label}"),
    }
}

//! Where an agent may die: the scenario's own crash points, how often each was met, and the words for the instants around an effect.

use crate::agent::protocol::EffectKind;
use crate::lab::scenario::{CrashPoint, Scenario, When};
use crate::lab::tool_definition::{Labels, ToolDefinition};
use crate::record::RecordBody;

/// What has to survive a closed page beside log, checkpoint and the world's books.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunProgress {
    /// Effects asked for so far, over all agents of the run.
    pub effects: u64,
    /// How often an agent died.
    pub crashes: u32,
    /// How often a new one took over.
    pub resumes: u32,
    /// How often each of the scenario's crash points was met, and after them the point at which a second tab opens.
    pub points_met: Vec<u32>,
}

impl RunProgress {
    /// Counts the scenario's points that are at this instant of this effect. True: the agent dies at one of them.
    pub fn meets_point(&mut self, scenario: &Scenario, effect: &EffectKind, when: When) -> bool {
        let crashes = scenario.crashes.len();
        self.points_met.resize(crashes + 1, 0);
        let mut dies = false;
        for (index, point) in scenario.crashes.iter().chain(&scenario.second_writer).enumerate() {
            if point.fits(effect, when) {
                self.points_met[index] += 1;
                dies |= index < crashes && self.points_met[index] == point.nth;
            }
        }
        dies
    }

    /// How often the point was met at which the scenario opens a second tab.
    pub fn second_writer_point_met(&self, scenario: &Scenario) -> u32 {
        self.points_met.get(scenario.crashes.len()).copied().unwrap_or(0)
    }
}

impl CrashPoint {
    /// True at this point, whichever time it is.
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
            && self.effect == effect.as_str()
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
        EffectKind::Stop { status, .. } => format!("stop: {}", status.as_str()),
    }
}

/// The instant before or after an effect, as it follows "crash" or "the agent dies".
pub fn gap_label(tools: &[ToolDefinition], effect: &EffectKind, when: When) -> String {
    let words = |subject: String, before: &str, after: &str| Labels { subject, before: before.into(), after: after.into() };
    let (Labels { subject, before, after }, then) = match effect {
        EffectKind::Append(record) => {
            (words(record_noun(&record.body), "is written down", "was written down"), ", before the agent knew")
        }
        EffectKind::SaveCheckpoint { .. } => {
            (words("the checkpoint".to_string(), "is saved", "was saved"), ", before the agent knew")
        }
        EffectKind::CallModel { .. } => (words("the model".to_string(), "is asked", "was asked"), ", before its answer"),
        EffectKind::CallTool { call, .. } => (labels_of(tools, &call.name), ", before its answer"),
        EffectKind::AskApproval { tool, .. } => {
            let question = format!("the question about {}", labels_of(tools, tool).subject);
            (words(question, "is asked", "was asked"), ", before the answer")
        }
        EffectKind::Wait { .. } => (words("the wait".to_string(), "begins", "was over"), ""),
        EffectKind::Stop { .. } => (words("the run".to_string(), "ends", "ended"), ""),
    };
    let attempt = match effect {
        EffectKind::CallModel { attempt, .. } | EffectKind::CallTool { attempt, .. } if *attempt > 1 => {
            format!(" (attempt {attempt})")
        }
        _ => String::new(),
    };
    match when {
        When::Before => format!("before {subject} {before}{attempt}"),
        When::After => format!("after {subject} {after}{attempt}{then}"),
    }
}

/// The instant before or after an effect as a stable id, such as `after:call_tool:issue_refund`: unlike its label, it never changes with
/// the wording. A repeated attempt has its number at the end.
pub fn gap_id(effect: &EffectKind, when: When) -> String {
    let (subject, attempt) = match effect {
        EffectKind::Append(record) => {
            let tool = match &record.body {
                RecordBody::ToolRetry { tool, .. }
                | RecordBody::ApprovalRequest { tool, .. }
                | RecordBody::Approval { tool, .. }
                | RecordBody::ToolCall { tool, .. }
                | RecordBody::ToolResult { tool, .. } => format!(":{tool}"),
                _ => String::new(),
            };
            (format!(":{}{tool}", record.body.kind()), 1)
        }
        EffectKind::CallModel { attempt, .. } => (String::new(), *attempt),
        EffectKind::CallTool { call, attempt, .. } => (format!(":{}", call.name), *attempt),
        EffectKind::AskApproval { tool, .. } => (format!(":{tool}"), 1),
        EffectKind::Wait { .. } | EffectKind::SaveCheckpoint { .. } | EffectKind::Stop { .. } => (String::new(), 1),
    };
    let attempt = if attempt > 1 { format!(":{attempt}") } else { String::new() };
    format!("{}:{}{subject}{attempt}", when.as_str(), effect.as_str())
}

/// How people call an execution of a tool. The model may ask about a tool that does not exist.
fn labels_of(tools: &[ToolDefinition], name: &str) -> Labels {
    let known = tools.iter().find(|tool| tool.spec.name == name);
    known.map_or_else(|| Labels::of(name), |tool| tool.labels.clone())
}

/// What a record says, as the subject of a sentence.
fn record_noun(body: &RecordBody) -> String {
    let noun = match body {
        RecordBody::RunStart { .. } => "the start of the run",
        RecordBody::LlmRequest { .. } => "the intent to ask the model",
        RecordBody::LlmCall(_) => "the model’s answer",
        RecordBody::LlmRetry(_) => "the model’s failure",
        RecordBody::ToolRetry { tool, .. } => return format!("the failure of {tool}"),
        RecordBody::ApprovalRequest { tool, .. } => return format!("the intent to ask about {tool}"),
        RecordBody::Approval { tool, .. } => return format!("the decision about {tool}"),
        RecordBody::ToolCall { tool, .. } => return format!("the intent to call {tool}"),
        RecordBody::ToolResult { tool, .. } => return format!("the result of {tool}"),
        RecordBody::Replan { .. } => "the need to plan again",
        RecordBody::Guard { .. } => "the limit that was reached",
        RecordBody::Checkpoint { .. } => "the checkpoint’s number",
        RecordBody::Resume { .. } => "the resume",
        RecordBody::Stop { .. } => "the end of the run",
        RecordBody::Crash { .. } | RecordBody::Unknown { .. } => "a mark",
    };
    noun.to_string()
}

//! Faults: what can go wrong outside, and when.

use serde_json::Value;

use super::world::WorldData;
use crate::agent::tools::{ToolSpec, one_of};
use crate::base::json::{Fields, count, wrong};
use crate::record::{Failure, FailureCode};

/// A fault of the scenario: it hits certain calls of one tool, of the model, or comes while the agent is dead or a person thinks.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What it hits.
    pub on: FaultTarget,
    /// Only calls whose arguments contain these.
    pub args: Option<Value>,
    /// Which of those calls, from 1.
    pub calls: Vec<u32>,
    /// What happens.
    pub kind: FaultKind,
}

/// What a fault hits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FaultTarget {
    /// A model call.
    Model,
    /// A call of this tool.
    Tool(String),
    /// The time between a crash and the resume.
    Downtime,
    /// The time in which a person thinks about a question.
    Question,
}

/// Kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// 503: nothing was done.
    Unavailable,
    /// 429: nothing was done; perhaps with a Retry-After.
    RateLimited {
        /// The field as it is sent.
        retry_after: Option<String>,
    },
    /// The connection was refused: nothing was done.
    Refused,
    /// No answer, and nothing was done.
    TimeoutBefore,
    /// No answer, and it was done.
    TimeoutAfter,
    /// The connection broke after the effect.
    ReplyLost,
    /// It was done, and the answer cannot be read.
    Malformed,
    /// 4xx: nothing was done, and it never will be.
    Rejected {
        /// What the service says.
        message: String,
    },
    /// It was done, late.
    Slow {
        /// How late, in milliseconds.
        by_ms: u64,
    },
    /// Somebody else refunds a charge meanwhile.
    SomebodyRefunds {
        /// The charge.
        charge_id: String,
        /// Who.
        by: String,
    },
}

impl FaultKind {
    /// The word in scenarios.
    pub fn as_str(&self) -> &'static str {
        match self {
            FaultKind::Unavailable => "unavailable",
            FaultKind::RateLimited { .. } => "rate_limited",
            FaultKind::Refused => "refused",
            FaultKind::TimeoutBefore => "timeout_before",
            FaultKind::TimeoutAfter => "timeout_after",
            FaultKind::ReplyLost => "reply_lost",
            FaultKind::Malformed => "malformed",
            FaultKind::Rejected { .. } => "rejected",
            FaultKind::Slow { .. } => "slow",
            FaultKind::SomebodyRefunds { .. } => "somebody_refunds",
        }
    }

    /// What the agent hears instead of the answer; `None` if it hears the answer.
    pub fn failure(&self) -> Option<Failure> {
        let failure = |code, message: &str| Some(Failure::new(code, message));
        match self {
            FaultKind::Unavailable => failure(FailureCode::Unavailable, "503 Service Unavailable"),
            FaultKind::RateLimited { retry_after } => Some(Failure {
                code: FailureCode::RateLimited,
                message: match retry_after {
                    Some(field) => format!("429 Too Many Requests, Retry-After: {field}"),
                    None => "429 Too Many Requests".to_string(),
                },
                retry_after: retry_after.clone(),
            }),
            FaultKind::Refused => failure(FailureCode::Refused, "connection refused"),
            FaultKind::TimeoutBefore | FaultKind::TimeoutAfter => failure(FailureCode::Timeout, "no answer within 10 s"),
            FaultKind::ReplyLost => failure(FailureCode::ReplyLost, "the connection broke before the answer was complete"),
            FaultKind::Malformed => failure(FailureCode::Malformed, "the answer is not valid JSON"),
            FaultKind::Rejected { message } => failure(FailureCode::Rejected, message),
            FaultKind::Slow { .. } | FaultKind::SomebodyRefunds { .. } => None,
        }
    }

    /// True if the service does its work in spite of the fault.
    pub fn is_executed(&self) -> bool {
        match self {
            FaultKind::TimeoutAfter | FaultKind::ReplyLost | FaultKind::Malformed => true,
            FaultKind::Slow { .. } | FaultKind::SomebodyRefunds { .. } => true,
            FaultKind::Unavailable
            | FaultKind::RateLimited { .. }
            | FaultKind::Refused
            | FaultKind::TimeoutBefore
            | FaultKind::Rejected { .. } => false,
        }
    }

    /// Milliseconds by which the answer comes later.
    pub fn delay_ms(&self) -> u64 {
        match self {
            FaultKind::TimeoutBefore | FaultKind::TimeoutAfter => 10_000,
            FaultKind::Slow { by_ms } => *by_ms,
            _ => 0,
        }
    }
}

impl Fault {
    /// Reads one fault of a scenario.
    pub fn from_json(from: &Fields, tools: &[ToolSpec], world: &WorldData) -> Fault {
        from.only(&["on", "args", "calls", "kind", "retry_after", "message", "by_s", "charge_id", "by"]);
        let on = match from.str("on") {
            "model" => FaultTarget::Model,
            "downtime" => FaultTarget::Downtime,
            "question" => FaultTarget::Question,
            tool => {
                if tools.iter().all(|known| known.name != tool) {
                    from.note_wrong("on", &format!("model, downtime, question or {}", one_of(tools)));
                }
                FaultTarget::Tool(tool.to_string())
            }
        };
        let read = |(index, value): (usize, &Value)| {
            let number = count(value).filter(|&number| number >= 1).and_then(|number| u32::try_from(number).ok());
            number.unwrap_or_else(|| {
                from.note(wrong(&format!("{}[{index}]", from.path("calls")), "a whole number from 1 to 4294967295", value));
                1
            })
        };
        let calls = from.optional("calls", Fields::array).map(|calls| calls.iter().enumerate().map(read).collect());
        let calls: Vec<u32> = calls.unwrap_or_else(|| vec![1]);
        if calls.is_empty() {
            from.note_wrong("calls", "at least one number");
        }
        let kind = FaultKind::from_json(from);
        if let FaultKind::SomebodyRefunds { charge_id, .. } = &kind
            && !world.has_charge(charge_id)
        {
            from.note_wrong("charge_id", "a charge of the world’s invoices");
        }
        let brings_somebody = matches!(kind, FaultKind::SomebodyRefunds { .. });
        if matches!(on, FaultTarget::Downtime | FaultTarget::Question) && !brings_somebody {
            from.note_wrong("kind", "somebody_refunds, the only kind that can come then");
        }
        let args = from.maybe("args").cloned();
        if args.is_some() {
            from.object("args");
        }
        Fault { on, args, calls, kind }
    }
}

impl FaultKind {
    fn from_json(from: &Fields) -> FaultKind {
        let text = |key: &str| from.str(key).to_string();
        match from.str("kind") {
            "unavailable" => FaultKind::Unavailable,
            "rate_limited" => {
                FaultKind::RateLimited { retry_after: from.optional("retry_after", Fields::str).map(str::to_string) }
            }
            "refused" => FaultKind::Refused,
            "timeout_before" => FaultKind::TimeoutBefore,
            "timeout_after" => FaultKind::TimeoutAfter,
            "reply_lost" => FaultKind::ReplyLost,
            "malformed" => FaultKind::Malformed,
            "rejected" => FaultKind::Rejected { message: text("message") },
            "slow" => FaultKind::Slow { by_ms: from.duration_ms("by_s") },
            "somebody_refunds" => FaultKind::SomebodyRefunds { charge_id: text("charge_id"), by: text("by") },
            _ => {
                let known = "unavailable, rate_limited, refused, timeout_before, timeout_after, reply_lost, malformed, rejected, slow \
                             or somebody_refunds";
                from.note_wrong("kind", known);
                FaultKind::Unavailable
            }
        }
    }
}

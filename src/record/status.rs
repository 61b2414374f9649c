//! How questions are decided and why runs are over.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use crate::base::json::Fields;

/// How a question was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalStatus {
    /// Yes, once.
    Approved,
    /// No; it stands.
    Denied,
    /// Nobody decided in time; neither a yes nor a person's no.
    Expired,
}

impl ApprovalStatus {
    /// The word in records.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalStatus::Approved => "approved",
            ApprovalStatus::Denied => "denied",
            ApprovalStatus::Expired => "expired",
        }
    }

    /// Reads a record's field.
    pub fn read(from: &Fields, key: &str) -> ApprovalStatus {
        from.str(key).parse().unwrap_or_else(|_| {
            from.note_wrong(key, "approved, denied or expired");
            ApprovalStatus::Denied
        })
    }
}

/// Running, or why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// Not over.
    Running,
    /// The customer has an answer.
    Done,
    /// A guard: steps.
    MaxSteps,
    /// A guard: money.
    BudgetUsd,
    /// A guard: tokens.
    BudgetTokens,
    /// A guard: active time.
    Deadline,
    /// A guard: the same call again and again, or two in turn.
    RepeatedCall,
    /// A guard: steps that taught nothing new.
    Stale,
    /// A guard: failures that forced a new plan.
    MaxReplans,
    /// A guard: crashes.
    MaxResumes,
    /// The model could not be had.
    ModelFailed,
    /// Storage took no more records. The only status that is not in the log.
    StorageFailed,
}

impl Status {
    const ALL: [Status; 12] = [
        Status::Running,
        Status::Done,
        Status::MaxSteps,
        Status::BudgetUsd,
        Status::BudgetTokens,
        Status::Deadline,
        Status::RepeatedCall,
        Status::Stale,
        Status::MaxReplans,
        Status::MaxResumes,
        Status::ModelFailed,
        Status::StorageFailed,
    ];

    /// The word in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::MaxSteps => "max_steps",
            Status::BudgetUsd => "budget_usd",
            Status::BudgetTokens => "budget_tokens",
            Status::Deadline => "deadline",
            Status::RepeatedCall => "repeated_call",
            Status::Stale => "stale",
            Status::MaxReplans => "max_replans",
            Status::MaxResumes => "max_resumes",
            Status::ModelFailed => "model_failed",
            Status::StorageFailed => "storage_failed",
        }
    }

    /// Reads a record's field.
    pub fn read(from: &Fields, key: &str) -> Status {
        from.str(key).parse().unwrap_or_else(|_| {
            from.note_wrong(key, "a status");
            Status::Running
        })
    }
}

impl FromStr for Status {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Status, UnknownName> {
        Status::ALL.into_iter().find(|status| status.as_str() == name).ok_or(UnknownName)
    }
}

impl FromStr for ApprovalStatus {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<ApprovalStatus, UnknownName> {
        let all = [ApprovalStatus::Approved, ApprovalStatus::Denied, ApprovalStatus::Expired];
        all.into_iter().find(|status| status.as_str() == name).ok_or(UnknownName)
    }
}

/// A text names no variant of the type that it was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName;

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown name")
    }
}

impl std::error::Error for UnknownName {}

/// A decision about a question: the same value from the button to the record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Yes, no, or nobody in time.
    pub status: ApprovalStatus,
    /// `human:…` or `policy:…`; `nobody` if it expired.
    pub approver: Arc<str>,
    /// What they wrote beside it.
    pub note: Option<Arc<str>>,
}

impl Decision {
    /// A yes or a no.
    pub fn new(is_approved: bool, approver: impl Into<Arc<str>>, note: Option<Arc<str>>) -> Decision {
        let status = if is_approved { ApprovalStatus::Approved } else { ApprovalStatus::Denied };
        Decision { status, approver: approver.into(), note }
    }

    /// Nobody decided in time.
    pub fn expired() -> Decision {
        Decision { status: ApprovalStatus::Expired, approver: "nobody".into(), note: None }
    }
}

/// What a question asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionKind {
    /// May this call run?
    MayRun,
    /// This call may have run already: send it again?
    SendAgain,
}

impl QuestionKind {
    /// The name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            QuestionKind::MayRun => "may_run",
            QuestionKind::SendAgain => "send_again",
        }
    }
}

impl QuestionKind {
    /// What a question of format 1 asks: it told the kinds apart by a part of the key alone.
    pub fn of_format_1_key(approval_key: &str) -> QuestionKind {
        if approval_key.contains(":in-doubt:") { QuestionKind::SendAgain } else { QuestionKind::MayRun }
    }
}

impl FromStr for QuestionKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<QuestionKind, UnknownName> {
        [QuestionKind::MayRun, QuestionKind::SendAgain].into_iter().find(|kind| kind.as_str() == name).ok_or(UnknownName)
    }
}

/// What came of a tool call, as the agent and its readers tell results apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolOutcome {
    /// The tool answered.
    Ok,
    /// It failed, and certainly had no effect.
    Failed {
        /// The same call may work later.
        retryable: bool,
    },
    /// The approver said no.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// It may have had its effect.
    InDoubt {
        /// The same call may work later.
        retryable: bool,
    },
}

impl ToolOutcome {
    /// True for the one that is a success.
    pub fn is_ok(self) -> bool {
        self == ToolOutcome::Ok
    }

    /// The outcome that a recorded result stands for. The loop itself writes every result that is not `ok`, so its fields say which.
    pub fn of_result(ok: bool, result: &Value) -> ToolOutcome {
        let is_set = |field: &str| result.get(field).and_then(Value::as_bool).unwrap_or(false);
        let retryable = is_set("retryable");
        match ok {
            true => ToolOutcome::Ok,
            false if is_set("denied") => ToolOutcome::Denied,
            false if is_set("expired") => ToolOutcome::Expired,
            false if is_set("in_doubt") => ToolOutcome::InDoubt { retryable },
            false => ToolOutcome::Failed { retryable },
        }
    }

    /// What the model is told: `{"ok": false, …, "error": …}`. A success has the tool's own result instead.
    pub fn result(self, error: String) -> Value {
        let flag = |name: &'static str, value: bool| (name, Value::from(value));
        let fields: Vec<(&str, Value)> = match self {
            ToolOutcome::Ok => vec![flag("ok", true)],
            ToolOutcome::Failed { retryable } => vec![flag("ok", false), flag("retryable", retryable)],
            ToolOutcome::Denied => vec![flag("ok", false), flag("denied", true)],
            ToolOutcome::Expired => vec![flag("ok", false), flag("expired", true)],
            ToolOutcome::InDoubt { retryable } => vec![flag("ok", false), flag("retryable", retryable), flag("in_doubt", true)],
        };
        let error = ("error", Value::from(error));
        Value::Object(fields.into_iter().chain([error]).map(|(name, value)| (name.to_string(), value)).collect())
    }
}

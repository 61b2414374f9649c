//! How questions are decided and why runs are over.

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
        let all = [ApprovalStatus::Approved, ApprovalStatus::Denied, ApprovalStatus::Expired];
        let word = from.str(key);
        all.into_iter().find(|status| status.as_str() == word).unwrap_or_else(|| {
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

    /// The status of a word.
    pub fn from_name(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Reads a record's field.
    pub fn read(from: &Fields, key: &str) -> Status {
        Status::from_name(from.str(key)).unwrap_or_else(|| {
            from.note_wrong(key, "a status");
            Status::Running
        })
    }
}

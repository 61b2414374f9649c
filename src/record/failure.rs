//! How a remote side fails, and what a failure says about the effect.

use std::fmt;

/// A failure of the remote side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Failure {
    /// What kind.
    pub code: FailureCode,
    /// For people.
    pub message: String,
    /// The Retry-After field as it was sent.
    pub retry_after: Option<String>,
}

impl Failure {
    /// A failure without Retry-After.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), retry_after: None }
    }
}

impl fmt::Display for Failure {
    /// The form of the records' `error` field: the code's word, a colon, the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureCode {
    /// 503.
    Unavailable,
    /// 429.
    RateLimited,
    /// The connection was refused.
    Refused,
    /// No answer in time.
    Timeout,
    /// The connection broke before the answer was complete.
    ReplyLost,
    /// An answer that cannot be read.
    Malformed,
    /// 4xx: it will never work.
    Rejected,
}

/// What a failure says about the effect: the one question that decides about a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// Certainly not done: may be sent again.
    NotExecuted,
    /// Perhaps done: only an idempotent call may be sent again.
    Unknown,
    /// Will never work: goes to the model.
    Rejected,
}

impl FailureCode {
    /// All of them.
    pub const ALL: [FailureCode; 7] = [
        FailureCode::Unavailable,
        FailureCode::RateLimited,
        FailureCode::Refused,
        FailureCode::Timeout,
        FailureCode::ReplyLost,
        FailureCode::Malformed,
        FailureCode::Rejected,
    ];

    /// The word in records and scenarios.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureCode::Unavailable => "unavailable",
            FailureCode::RateLimited => "rate_limited",
            FailureCode::Refused => "refused",
            FailureCode::Timeout => "timeout",
            FailureCode::ReplyLost => "reply_lost",
            FailureCode::Malformed => "malformed",
            FailureCode::Rejected => "rejected",
        }
    }

    /// What it says about the effect.
    pub fn outcome(self) -> FailureKind {
        match self {
            FailureCode::Unavailable | FailureCode::RateLimited | FailureCode::Refused => FailureKind::NotExecuted,
            FailureCode::Timeout | FailureCode::ReplyLost | FailureCode::Malformed => FailureKind::Unknown,
            FailureCode::Rejected => FailureKind::Rejected,
        }
    }

    /// The code at the front of a record's `error` field.
    pub fn of_error(error: &str) -> Option<FailureCode> {
        let word = error.split(':').next()?;
        FailureCode::ALL.into_iter().find(|code| code.as_str() == word)
    }
}

//! How a remote side fails, and what a failure says about the effect.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::UnknownName;

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
    /// The scripted model has nothing to say to this conversation: a gap in the scenario.
    Unscripted,
}

/// What a failure says about the effect: the one question that decides about a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// Certainly not done: may be sent again.
    NotExecuted,
    /// Perhaps done: only an idempotent call may be sent again.
    OutcomeUnknown,
    /// Will never work: goes to the model.
    Rejected,
}

impl FailureCode {
    /// All of them.
    pub const ALL: [FailureCode; 8] = [
        FailureCode::Unavailable,
        FailureCode::RateLimited,
        FailureCode::Refused,
        FailureCode::Timeout,
        FailureCode::ReplyLost,
        FailureCode::Malformed,
        FailureCode::Rejected,
        FailureCode::Unscripted,
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
            FailureCode::Unscripted => "unscripted",
        }
    }

    /// What it says about the effect.
    pub fn kind(self) -> FailureKind {
        match self {
            FailureCode::Unavailable | FailureCode::RateLimited | FailureCode::Refused => FailureKind::NotExecuted,
            FailureCode::Timeout | FailureCode::ReplyLost | FailureCode::Malformed => FailureKind::OutcomeUnknown,
            FailureCode::Rejected | FailureCode::Unscripted => FailureKind::Rejected,
        }
    }
}

impl FromStr for FailureCode {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<FailureCode, UnknownName> {
        FailureCode::ALL.into_iter().find(|code| code.as_str() == name).ok_or(UnknownName)
    }
}

/// A failure as a record has it: what kind it was, and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordedFailure {
    /// `None` in a trace of another program, whose errors have no code.
    pub code: Option<FailureCode>,
    /// For people.
    pub message: Arc<str>,
}

impl RecordedFailure {
    /// True if it leaves open whether the call was executed.
    pub fn may_have_run(&self) -> bool {
        self.code.is_some_and(|code| code.kind() == FailureKind::OutcomeUnknown)
    }

    /// The form of the `error` field: the code, a colon, the message. [`RecordedFailure::parse`] is its inverse, and no other code
    /// takes such a text apart.
    pub fn to_text(&self) -> String {
        match self.code {
            Some(code) => format!("{}: {}", code.as_str(), self.message),
            None => self.message.to_string(),
        }
    }

    /// Reads an `error` field. A text that begins with no known code is a message.
    pub fn parse(error: &str) -> RecordedFailure {
        let (code, message) = match error.split_once(": ") {
            Some((name, message)) => (name.parse().ok(), message),
            None => (None, error),
        };
        RecordedFailure { code, message: if code.is_some() { message.into() } else { error.into() } }
    }
}

impl From<&Failure> for RecordedFailure {
    fn from(failure: &Failure) -> RecordedFailure {
        RecordedFailure { code: Some(failure.code), message: failure.message.as_str().into() }
    }
}

impl fmt::Display for RecordedFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

//! What a record says in its text alone. Nothing else takes a fact from a text: where records carry it as a field of its own, the
//! function here is what has to change.

use std::sync::Arc;

use serde_json::Value;

use crate::record::{FailureCode, FailureKind, QuestionKind, RecordedFailure};

/// An error as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedError {
    /// Its kind, if it is one of this program's.
    pub code: Option<FailureCode>,
    /// The whole text, with the code.
    pub text: Arc<str>,
}

impl RecordedError {
    /// Reads `<code>: <message>`, and keeps what has another form.
    pub fn from_text(text: impl Into<Arc<str>>) -> RecordedError {
        let text = text.into();
        RecordedError { code: RecordedFailure::parse(&text).code, text }
    }

    /// A failure that a record of this program has as fields.
    pub fn of(failure: &RecordedFailure) -> RecordedError {
        RecordedError { code: failure.code, text: failure.to_text().into() }
    }

    /// What it says about the effect. Other programs write codes of HTTP, or words; an error that does not say is of unknown outcome.
    pub fn kind(&self) -> FailureKind {
        if let Some(code) = self.code {
            return code.kind();
        }
        let lower = self.text.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if ["400", "401", "403", "404", "409", "412", "422"].iter().any(|code| lower.starts_with(code)) {
            FailureKind::Rejected
        } else if says(&["503", "429", "unavailable", "rate limit", "rate_limit", "too many requests", "connection refused"]) {
            FailureKind::NotExecuted
        } else {
            FailureKind::OutcomeUnknown
        }
    }

    /// True for a call that did nothing because what it relied on is no longer so.
    pub fn is_stale_read(&self) -> bool {
        self.text.contains("has changed since it was read")
    }
}

/// True if a service's message tells of an earlier refund, as billing does when it refuses another one.
pub fn tells_of_a_refund(message: &str) -> bool {
    message.contains("refunds: ") || message.contains("RF-")
}

/// Why the model could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFailure {
    /// The scripted model has nothing to say in this situation.
    NoTurn,
    /// The provider refuses the request itself.
    Rejected,
    /// It does not answer.
    NoAnswer,
}

impl ModelFailure {
    /// What the error of a `stop` record says.
    pub fn from_error(error: &RecordedError) -> ModelFailure {
        if error.code == Some(FailureCode::Unscripted) || error.text.contains("the script has no turn") {
            ModelFailure::NoTurn
        } else if error.kind() == FailureKind::Rejected {
            ModelFailure::Rejected
        } else {
            ModelFailure::NoAnswer
        }
    }
}

/// What a question of any program asks. Those without a field `kind` are told apart as format 1 did.
pub(super) fn question_kind(value: &Value) -> QuestionKind {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    let named = text("kind").and_then(|name| name.parse().ok());
    named.unwrap_or_else(|| QuestionKind::of_format_1_key(text("approval_key").unwrap_or_default()))
}

/// Where an agent died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    /// As one tells of it afterwards: `before the refund happened`.
    pub told: String,
    /// True if what was about to happen did not.
    pub is_before_effect: bool,
}

impl CrashPoint {
    /// What the label of a `crash` record says, such as `before the refund happens`. A record that was about to be written says
    /// nothing about the effect before it.
    pub fn from_label(at: &str) -> CrashPoint {
        let Some(rest) = at.strip_prefix("before ") else {
            return CrashPoint { told: at.to_string(), is_before_effect: false };
        };
        CrashPoint { told: format!("before {}", in_the_past(rest)), is_before_effect: !at.contains("written down") }
    }
}

/// `the refund happens (attempt 2)` as `the refund happened (attempt 2)`.
fn in_the_past(event: &str) -> String {
    let (event, attempt) =
        event.split_once(" (attempt ").map_or((event, String::new()), |(event, rest)| (event, format!(" (attempt {rest}")));
    if let Some((subject, rest)) = event.rsplit_once(" is ") {
        return format!("{subject} was {rest}{attempt}");
    }
    let verbs = [("begins", "began"), ("ends", "ended"), ("happens", "happened"), ("runs", "ran")];
    let past = verbs.iter().find_map(|(now, then)| Some(format!("{}{then}", event.strip_suffix(now)?)));
    format!("{}{attempt}", past.as_deref().unwrap_or(event))
}

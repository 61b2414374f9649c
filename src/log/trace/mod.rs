//! What a log means: its steps, its calls with their attempts and approvals, and the part that each record has in them.
//!
//! This is the one place where records are put together. It is a fold: [`Trace::push`] takes a record at a time, costs the same late
//! in a log as early, and never changes what it said of an earlier record's [`Role`]. It is total: records that are unknown, torn,
//! foreign or in an impossible order are kept as far as they can be understood, and nothing is an error.
//!
//! Numbers of records are the caller's own, such as places in a file, and have to grow.

mod entry;
mod fold;
mod recorded_text;
mod runs;

use std::sync::Arc;

use serde_json::Value;

use crate::base::money::PicoUsd;
use crate::record::{QuestionKind, ToolOutcome};

pub use entry::{Entry, Named, What, read_result};
pub use recorded_text::{CrashPoint, ModelFailure, RecordedError, tells_of_a_refund};
pub use runs::Traces;

/// One run, as far as its records say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Stretches of records with the same step number. A step that is begun again after a crash is another one.
    pub steps: Vec<Step>,
    /// Tool calls, in the order in which they were planned or first met.
    pub calls: Vec<Call>,
    /// One for each intent to call the model or a tool, in the order of the intents.
    pub attempts: Vec<Attempt>,
    /// Questions to a person, with their decisions. A decision that nobody had asked for is one without a question.
    pub approvals: Vec<Approval>,
    /// `resume` records.
    pub resumes: Vec<usize>,
    /// `crash` records.
    pub crashes: Vec<usize>,
    /// `guard` records.
    pub guards: Vec<usize>,
    /// `checkpoint` records.
    pub checkpoints: Vec<usize>,
    /// `stop` records.
    pub stops: Vec<usize>,
    roles: Vec<Role>,
    now: fold::Now,
}

/// A stretch of records with the same step number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number, if its records have one.
    pub number: Option<u32>,
    /// Its first record.
    pub record: usize,
    /// Attempts to call the model: places in [`Trace::attempts`].
    pub model: Vec<usize>,
    /// Calls that were planned or first met in it: places in [`Trace::calls`].
    pub calls: Vec<usize>,
}

/// A tool call of the conversation, over all its attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments: as they were sent, else as they were planned or asked about.
    pub args: Option<Arc<Value>>,
    /// As the model named it.
    pub call_id: Option<Arc<str>>,
    /// The model's answer that planned it.
    pub planned: Option<usize>,
    /// The arguments as they were planned.
    pub planned_args: Option<Arc<Value>>,
    /// Places in [`Trace::attempts`].
    pub attempts: Vec<usize>,
    /// Places in [`Trace::approvals`].
    pub approvals: Vec<usize>,
    /// Every record about it but the one that planned it.
    pub records: Vec<usize>,
    /// What came of it.
    pub result: Option<CallResult>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The record.
    pub record: usize,
    /// As recorded.
    pub outcome: Outcome,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it was asked to.
    Succeeded,
    /// It did not.
    Failed,
    /// A person decided against it.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// Nobody knows whether it was executed.
    InDoubt,
    /// There is a result that does not say.
    Unstated,
}

impl From<ToolOutcome> for Outcome {
    fn from(outcome: ToolOutcome) -> Outcome {
        match outcome {
            ToolOutcome::Ok => Outcome::Succeeded,
            ToolOutcome::Failed { .. } => Outcome::Failed,
            ToolOutcome::Denied => Outcome::Denied,
            ToolOutcome::Expired => Outcome::Expired,
            ToolOutcome::InDoubt { .. } => Outcome::InDoubt,
        }
    }
}

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To have the model's answer.
    Model,
    /// To carry out a tool call.
    Tool,
    /// To ask whether an earlier attempt was executed.
    LookUp,
}

/// One request to the model or a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The record that announced it.
    pub intent: usize,
    /// What it is for.
    pub purpose: Purpose,
    /// The tool that was called, which in a look-up is not the call's; `None`: the model.
    pub tool: Option<Arc<str>>,
    /// As recorded, from 1.
    pub number: Option<u32>,
    /// The most that a model call can cost.
    pub projected: Option<PicoUsd>,
    /// The key that was sent along.
    pub idempotency_key: Option<Arc<str>>,
    /// How it ended; `None`: it is open.
    pub end: Option<End>,
    /// What went wrong.
    pub error: Option<RecordedError>,
}

/// The end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The record that ends it.
    pub record: usize,
    /// How.
    pub by: Ending,
}

/// What ends an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its result.
    Result,
    /// A failure, after which it is made again.
    Retry,
    /// A failure that ended the run.
    Stop,
    /// The death of the agent that made it.
    Crash,
    /// Another agent took over. If the one before was alive, its outcome replaces this end.
    Resume,
    /// It is made again, without a word about this one.
    SentAgain,
    /// A look-up or a question to a person, without a word about this one.
    Inquiry,
    /// The model is called for something else, without a word about this one.
    Abandoned,
}

/// Whether it is known what came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptState {
    /// It is under way, as far as the log goes.
    Open,
    /// Its outcome is recorded.
    Closed,
    /// It is over, and its outcome is not recorded.
    InDoubt,
}

/// A question to a person about a call, and the decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// The call, a place in [`Trace::calls`].
    pub call: usize,
    /// What was asked.
    pub kind: QuestionKind,
    /// The records of the question: several if it was put again.
    pub asked: Vec<usize>,
    /// The record of the decision.
    pub decided: Option<usize>,
    /// The agent that asked is gone, and no other has put the question again.
    pub is_interrupted: bool,
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The run.
    Run,
    /// The model call of its step.
    Model,
    /// A call, a place in [`Trace::calls`].
    Call(usize),
}

/// Where a record stands in a picture of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Calls of the model.
    Model,
    /// Calls of tools.
    Tools,
    /// Questions to a person.
    Person,
    /// Everything that concerns the run and its storage.
    Storage,
}

/// What a record begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// A call, with all its attempts: of the model, of a tool, or on a person.
    Call,
    /// One attempt of a call.
    Attempt,
}

/// Something that ends with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The record with which it began.
    pub from: usize,
    /// What it is.
    pub span: Span,
}

/// The part that a record has in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The record.
    pub record: usize,
    /// Where it stands.
    pub lane: Lane,
    /// The step, a place in [`Trace::steps`].
    pub step: usize,
    /// What it is about.
    pub subject: Subject,
    /// The attempt that it begins or ends, a place in [`Trace::attempts`].
    pub attempt: Option<usize>,
    /// The question or decision, a place in [`Trace::approvals`].
    pub approval: Option<usize>,
    /// The first of the neighbouring records about the same call; the record itself if it begins such a group or stands alone.
    pub group: usize,
    /// What begins with it.
    pub opens: Option<Span>,
    /// What ends with it.
    pub closes: Vec<Closed>,
}

impl Trace {
    /// What each record is to the run, in the order of the records.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// The model request whose outcome is not recorded, though nothing says that it is over.
    pub fn open_model(&self) -> Option<&Attempt> {
        let newest = self.attempts.iter().rfind(|attempt| attempt.purpose == Purpose::Model)?;
        (newest.state() == AttemptState::Open).then_some(newest)
    }
}

impl Attempt {
    /// Whether it is known what came of it.
    pub fn state(&self) -> AttemptState {
        match self.end.map(|end| end.by) {
            None => AttemptState::Open,
            Some(Ending::Result | Ending::Retry | Ending::Stop) => AttemptState::Closed,
            // A look-up after which the call is sent again has answered: it was not executed.
            Some(Ending::SentAgain) if self.purpose == Purpose::LookUp => AttemptState::Closed,
            Some(Ending::SentAgain | Ending::Inquiry | Ending::Abandoned | Ending::Crash | Ending::Resume) => {
                AttemptState::InDoubt
            }
        }
    }
}

impl Call {
    /// How it ended; `None`: it has no result.
    pub fn outcome(&self) -> Option<Outcome> {
        self.result.as_ref().map(|result| result.outcome)
    }
}

impl Outcome {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Succeeded => "ok",
            Outcome::Failed => "failed",
            Outcome::Denied => "denied",
            Outcome::Expired => "expired",
            Outcome::InDoubt => "in_doubt",
            Outcome::Unstated => "unstated",
        }
    }

    /// True if it was refused before it was sent.
    pub fn is_refusal(self) -> bool {
        matches!(self, Outcome::Denied | Outcome::Expired)
    }
}

impl Lane {
    /// As views name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Lane::Model => "model",
            Lane::Tools => "tools",
            Lane::Person => "person",
            Lane::Storage => "storage",
        }
    }
}

impl Span {
    /// As views name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Span::Call => "call",
            Span::Attempt => "attempt",
        }
    }
}

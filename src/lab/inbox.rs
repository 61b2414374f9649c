//! The inbox: questions to a person and what was decided. It belongs to the world, so no agent's death loses it.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::faults::FaultTarget;
use super::ledger::{Entry, Row};
use super::world::World;
use crate::agent::protocol::Answer;
use crate::record::{ApprovalStatus, Decision};

/// A question of the inbox and what came of it.
pub struct InboxEntry<'a> {
    /// The index of the question's row.
    pub seq: usize,
    /// When it was asked.
    pub asked: &'a Row,
    /// Its key.
    pub key: &'a Arc<str>,
    /// The tool.
    pub tool: &'a Arc<str>,
    /// The exact arguments.
    pub args: &'a Arc<Value>,
    /// The row of the decision.
    pub decided: Option<&'a Row>,
}

/// Why a decision was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionRefused {
    /// There is no question under this key.
    NoQuestion(String),
    /// It was decided before.
    AlreadyDecided(ApprovalStatus),
}

impl fmt::Display for DecisionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecisionRefused::NoQuestion(key) => write!(f, "there is no open question {key}"),
            DecisionRefused::AlreadyDecided(status) => {
                write!(f, "this question was {} before; the decision stands", status.as_str())
            }
        }
    }
}

impl std::error::Error for DecisionRefused {}

impl World {
    /// A question reaches the inbox. Under a key that it has, it is the same question.
    pub fn ask(&mut self, key: &Arc<str>, tool: &Arc<str>, args: &Arc<Value>, at_ms: u64, record: Option<u64>) {
        if self.question(key).is_none() {
            self.enter(at_ms, record, Entry::Question { key: key.clone(), tool: tool.clone(), args: args.clone() });
            let asked = self.inbox_count() as u32;
            self.changes(&FaultTarget::Question, asked, at_ms);
        }
    }

    /// A person decides. One decision a question, and only about a question that is there.
    pub fn decide(&mut self, key: &str, decision: Decision, at_ms: u64) -> Result<(), DecisionRefused> {
        self.close(key, decision, at_ms)
    }

    /// Nobody decided in time.
    pub fn expire(&mut self, key: &str, at_ms: u64) -> Result<(), DecisionRefused> {
        self.close(key, Decision::expired(), at_ms)
    }

    fn close(&mut self, key: &str, decision: Decision, at_ms: u64) -> Result<(), DecisionRefused> {
        let question = self.question(key).ok_or_else(|| DecisionRefused::NoQuestion(key.to_string()))?;
        if let Some(Entry::Decision { status, .. }) = question.decided.map(|row| &row.entry) {
            return Err(DecisionRefused::AlreadyDecided(*status));
        }
        // A run that is over asks nothing more.
        if self.is_settled() {
            return Err(DecisionRefused::NoQuestion(format!("{key}: the run is over")));
        }
        let Decision { status, approver, note } = decision;
        self.enter(at_ms, None, Entry::Decision { key: key.into(), status, approver, note });
        Ok(())
    }

    /// What the inbox says about a question: the answer, if there is one, and when it was given.
    pub fn decision(&self, key: &str) -> Option<(Answer, u64)> {
        let decided = self.question(key)?.decided?;
        let Entry::Decision { status, approver, note, .. } = &decided.entry else {
            return None;
        };
        let decision = Decision { status: *status, approver: approver.clone(), note: note.clone() };
        Some((Answer::Decided(decision), decided.at_ms))
    }

    /// The question of a key, if the inbox has not lost it.
    pub fn question(&self, key: &str) -> Option<InboxEntry<'_>> {
        self.inbox().into_iter().rev().find(|question| &**question.key == key)
    }

    /// The questions that the inbox knows.
    pub fn inbox(&self) -> Vec<InboxEntry<'_>> {
        let lost = self.rows().iter().rposition(|row| row.entry == Entry::InboxLost).map_or(0, |index| index + 1);
        self.questions_from(lost)
    }

    /// All questions that were ever put to a person.
    pub fn questions(&self) -> Vec<InboxEntry<'_>> {
        self.questions_from(0)
    }

    fn questions_from(&self, first: usize) -> Vec<InboxEntry<'_>> {
        let mut questions: Vec<InboxEntry> = Vec::new();
        for (seq, row) in self.rows().iter().enumerate().skip(first) {
            match &row.entry {
                Entry::Question { key, tool, args } => {
                    questions.push(InboxEntry { seq, asked: row, key, tool, args, decided: None })
                }
                Entry::Decision { key: decided, .. } => {
                    if let Some(question) = questions.iter_mut().rev().find(|question| question.key == decided) {
                        question.decided = Some(row);
                    }
                }
                _ => {}
            }
        }
        questions
    }

    pub(super) fn inbox_count(&self) -> usize {
        self.rows().iter().filter(|row| matches!(row.entry, Entry::Question { .. })).count()
    }

    /// A person sees an open question. One who never answers lets it expire; the scenario's answers are given if `answers` is true.
    pub fn person_sees(&mut self, key: &Arc<str>, answers: bool) {
        let (Some(due_ms), Some(person)) = (self.answer_due_ms(key), &self.scenario.clone().person) else {
            return;
        };
        // There is a question, and it is open: the caller has seen to both.
        let _ = match person.answer(self.number_of(key)) {
            None => self.expire(key, due_ms),
            Some(answer) if answers => {
                let approver = format!("human:{}", person.id);
                self.decide(key, Decision::new(answer.approved, approver, answer.note.clone()), due_ms)
            }
            Some(_) => Ok(()),
        };
    }

    /// When the person's decision about a question arrives, or when it expires.
    pub fn answer_due_ms(&self, key: &str) -> Option<u64> {
        let person = self.scenario.person.as_ref()?;
        let after_ms = match person.answer(self.number_of(key)) {
            Some(answer) => answer.after_ms.unwrap_or(person.answers_after_ms),
            None => person.expires_after_ms.unwrap_or(0),
        };
        Some(self.question(key)?.asked.at_ms + after_ms)
    }

    /// When a question that nobody decides expires; where the scenario does not say, when it would have been decided.
    pub fn expiry_due_ms(&self, key: &str) -> Option<u64> {
        let after_ms = self.scenario.person.as_ref().and_then(|person| person.expires_after_ms);
        match after_ms {
            Some(after_ms) => Some(self.question(key)?.asked.at_ms + after_ms),
            None => self.answer_due_ms(key),
        }
    }

    /// Which question this is, from 0.
    fn number_of(&self, key: &str) -> usize {
        self.questions().iter().rposition(|question| **question.key == *key).unwrap_or(0)
    }
}

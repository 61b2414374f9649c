//! The runs of a file, which may be written one after the other or mixed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Entry, Role, Trace};

/// The traces of a file's runs, in the order in which they begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traces {
    runs: Vec<(Arc<str>, Trace)>,
    places: BTreeMap<Arc<str>, usize>,
    current: usize,
    /// For each record: the run, and the place of its role there.
    found: Vec<(usize, usize)>,
}

impl Traces {
    /// Takes the next record in. One that does not name its run belongs to the run of the record before.
    pub fn push(&mut self, run_id: Option<&str>, entry: &Entry) -> &Role {
        if let Some(run_id) = run_id {
            let next = self.runs.len();
            self.current = match self.places.get(run_id) {
                Some(place) => *place,
                None => *self.places.entry(run_id.into()).or_insert(next),
            };
        }
        if self.runs.len() <= self.current {
            self.current = self.runs.len();
            self.runs.push((run_id.unwrap_or_default().into(), Trace::default()));
        }
        let record = self.found.len();
        let trace = &mut self.runs[self.current].1;
        self.found.push((self.current, trace.roles().len()));
        trace.push(record, entry)
    }

    /// The runs, each with its id, which is empty if its records have none.
    pub fn runs(&self) -> &[(Arc<str>, Trace)] {
        &self.runs
    }

    /// The place among the runs of the one that a record belongs to.
    pub fn run_of(&self, record: usize) -> Option<usize> {
        self.found.get(record).map(|(run, _)| *run)
    }

    /// The part of a record, and the run in which it has it.
    pub fn find(&self, record: usize) -> Option<(&Role, &Trace)> {
        let (run, place) = self.found.get(record).copied()?;
        let trace = &self.runs.get(run)?.1;
        Some((trace.roles().get(place)?, trace))
    }
}

//! Reading a trace, line by line.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{
    Form, ImportError, Line, MAX_BROKEN, MAX_RECORDS, ReadLine, RunSummary, Trace, TraceRow, read_line, refused, what_it_is,
};
use crate::log::trace::Traces;
use crate::record::Record;

/// Reads a trace bit by bit, so that a page can show how far it is.
#[derive(Clone, Debug)]
pub struct TraceReader {
    trace: Trace,
    /// How many lines cannot be read, and the first of them.
    broken: usize,
    first_broken: Option<(usize, String)>,
    /// The place of each run among the trace's.
    places: BTreeMap<Arc<str>, usize>,
    /// Where the next line starts, and how many there were before it.
    start: usize,
    number: usize,
}

impl TraceReader {
    /// A reader at the start of a file.
    pub fn new(bytes: Arc<[u8]>) -> TraceReader {
        // A mark of byte order is no part of the first line.
        let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let trace = Trace { bytes, lines: Vec::new(), runs: Vec::new(), traces: Traces::default(), start_ms: 0 };
        TraceReader { trace, broken: 0, first_broken: None, places: BTreeMap::new(), start, number: 0 }
    }

    /// Reads up to this many lines; false at the end of the file. `Err`: it is no trace.
    pub fn read_lines(&mut self, count: usize) -> Result<bool, ImportError> {
        self.read_each(count, |_, _, _, _| {})
    }

    /// Reads up to this many lines and gives them as the page's list shows them; false at the end of the file.
    pub fn read_rows(&mut self, count: usize) -> Result<(bool, Vec<TraceRow>), ImportError> {
        let mut rows = Vec::with_capacity(count.min(10_000));
        let goes_on = self.read_each(count, |trace, index, record, value| rows.push(trace.row_of(index, record, &value)))?;
        Ok((goes_on, rows))
    }

    fn read_each(
        &mut self,
        count: usize,
        mut read: impl FnMut(&Trace, usize, Option<Record>, Value),
    ) -> Result<bool, ImportError> {
        let bytes = self.trace.bytes.clone();
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(refused(1, "this is UTF-16 text; a trace is UTF-8"));
        }
        for _ in 0..count {
            if self.start >= bytes.len() || self.broken > MAX_BROKEN {
                return Ok(false);
            }
            self.number += 1;
            let (start, number) = (self.start, self.number);
            let length = bytes[start..].iter().position(|&byte| byte == b'\n');
            let end = length.map_or(bytes.len(), |length| start + length);
            self.start = end + 1;
            let line = &bytes[start..end];
            if line.trim_ascii().is_empty() {
                continue;
            }
            if self.trace.lines.len() == MAX_RECORDS {
                return Err(refused(number, &format!("this is record {}; at most {MAX_RECORDS} are read", MAX_RECORDS + 1)));
            }
            let ReadLine { form, record, value, run_id, entry } = read_line(line, length.is_none());
            if let Form::Broken(error) = &form {
                self.broken += 1;
                self.first_broken.get_or_insert_with(|| (number, error.to_string()));
            }
            if let Some(record) = &record {
                self.count(record);
            }
            self.trace.traces.push(run_id.as_deref(), &entry);
            self.trace.lines.push(Line { number, form, start, end });
            read(&self.trace, self.trace.lines.len() - 1, record, value);
        }
        Ok(true)
    }

    /// Counts a record to its run.
    fn count(&mut self, record: &Record) {
        let runs = &mut self.trace.runs;
        if runs.is_empty() {
            self.trace.start_ms = record.ts_ms;
        }
        let place = *self.places.entry(record.run_id.clone()).or_insert(runs.len());
        match runs.get_mut(place) {
            Some(run) => run.records += 1,
            None => runs.push(RunSummary { run_id: record.run_id.to_string(), records: 1 }),
        }
    }

    /// The part of the file that is read, from 0 to 1.
    pub fn progress(&self) -> f64 {
        (self.start as f64 / self.trace.bytes.len().max(1) as f64).min(1.0)
    }

    /// The trace, once all lines are read.
    pub fn finish(self) -> Result<Trace, ImportError> {
        let TraceReader { trace, broken, first_broken, .. } = self;
        let Some(first) = trace.lines.first() else {
            return Err(refused(1, "the file is empty; a trace has one record, a JSON object, a line"));
        };
        let is_suspicious = broken > 0 || trace.lines.len() == 1;
        if let Some(what) = is_suspicious.then(|| what_it_is(&trace.bytes)).flatten() {
            return Err(refused(first.number, what));
        }
        match first_broken {
            Some((number, error)) if broken == trace.lines.len() || broken > MAX_BROKEN => Err(refused(number, &error)),
            _ => Ok(trace),
        }
    }
}

//! What a file is that somebody hands to the page.

use serde_json::Value;

use crate::base::json::parse;
use crate::lab::explore::replay;
use crate::lab::run_file;

/// What somebody may have in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Records, one a line; also whatever is nothing else.
    Trace,
    /// The state of an agent.
    Checkpoint,
    /// A run with everything that was done to it.
    Run,
    /// A run that a search has found.
    Replay,
    /// A scenario.
    Scenario,
    /// An OpenTelemetry export.
    Otlp,
}

impl FileKind {
    /// What each kind has and no other.
    const MARKS: [(&str, FileKind); 6] = [
        ("\"type\"", FileKind::Trace),
        ("\"messages\"", FileKind::Checkpoint),
        (run_file::FORMAT, FileKind::Run),
        (replay::FORMAT, FileKind::Replay),
        ("\"script\"", FileKind::Scenario),
        ("\"resourceSpans\"", FileKind::Otlp),
    ];

    /// What a file is meant to be, also if it was cut.
    pub fn of(bytes: &[u8]) -> FileKind {
        // Of a file that is cut in the middle of a character, the start says enough.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        };
        match parse(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Object(fields)) => match fields.get("format").and_then(Value::as_str) {
                Some(run_file::FORMAT) => FileKind::Run,
                Some(replay::FORMAT) => FileKind::Replay,
                _ if fields.contains_key("type") => FileKind::Trace,
                _ if fields.contains_key("messages") => FileKind::Checkpoint,
                _ if fields.contains_key("script") => FileKind::Scenario,
                _ if fields.contains_key("resourceSpans") => FileKind::Otlp,
                // One of each that nothing else has: what is missing is named when the file is read.
                _ if fields.contains_key("seen_calls") || fields.contains_key("llm_calls") => FileKind::Checkpoint,
                _ if fields.contains_key("deeds") => FileKind::Run,
                _ if fields.contains_key("choices") => FileKind::Replay,
                _ => FileKind::Trace,
            },
            Ok(_) => FileKind::Trace,
            Err(_) => {
                let marks = FileKind::MARKS.iter().filter_map(|(mark, kind)| Some((text.find(mark)?, *kind)));
                marks.min_by_key(|(place, _)| *place).map_or(FileKind::Trace, |(_, kind)| kind)
            }
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            FileKind::Trace => "trace",
            FileKind::Checkpoint => "checkpoint",
            FileKind::Run => "run",
            FileKind::Replay => "replay",
            FileKind::Scenario => "scenario",
            FileKind::Otlp => "otlp",
        }
    }
}

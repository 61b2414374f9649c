//! Files, in and out.
//!
//! A trace is read bit by bit, as it may be large, and stays in the module: its bytes are those of the file. One module reads one
//! trace.

use std::cell::RefCell;

use js_sys::{Array, Reflect};
use serde::Serialize;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;

use super::study::json_text;
use super::{lab_error, scenario_of};
use crate::base::json::{parse, read};
use crate::lab::mechanisms::{Mechanism, Mechanisms};
use crate::lab::replay::Command;
use crate::lab::run_file::RunFile;
use crate::lab::session::Setup;
use crate::record::read_log;
use crate::report::file_kind::FileKind;
use crate::report::imported::{ImportError, Trace, TraceReader, TraceRow, read_checkpoint};

#[derive(Serialize)]
struct TracePart {
    part: f64,
    rows: Vec<TraceRow>,
}

enum Opened {
    Nothing,
    Reading(TraceReader),
    Read(Trace),
}

thread_local! {
    static OPENED: RefCell<Opened> = const { RefCell::new(Opened::Nothing) };
}

/// What a file is meant to be: `trace`, `checkpoint`, `run`, `replay`, `scenario` or `otlp`.
#[wasm_bindgen(unchecked_return_type = "FileKind")]
pub fn file_kind(bytes: &[u8]) -> String {
    FileKind::of(bytes).as_str().to_string()
}

/// Begins to read a trace.
#[wasm_bindgen]
pub fn trace_open(bytes: &[u8]) {
    OPENED.set(Opened::Reading(TraceReader::new(bytes.into())));
}

/// Reads up to this many lines further: the JSON text of a `TracePart`, which has no rows after the end, and the lines of its rows.
/// They stand beside the JSON and not in it, as to escape them and to read them again would take as long as all the rest.
#[wasm_bindgen(unchecked_return_type = "[part: string, lines: string]")]
pub fn trace_read(lines: usize) -> Result<JsValue, JsValue> {
    let mut reader = match OPENED.replace(Opened::Nothing) {
        Opened::Reading(reader) => reader,
        Opened::Read(trace) => {
            OPENED.set(Opened::Read(trace));
            return trace_part(1.0, vec![]);
        }
        Opened::Nothing => return Err(lab_error("not_found", "no trace is being read")),
    };
    let (goes_on, rows) = reader.read_rows(lines).map_err(|error| not_a_trace(&error))?;
    let part = if goes_on { reader.progress().min(0.999) } else { 1.0 };
    OPENED.set(match goes_on {
        true => Opened::Reading(reader),
        false => Opened::Read(reader.finish().map_err(|error| not_a_trace(&error))?),
    });
    trace_part(part, rows)
}

fn trace_part(part: f64, mut rows: Vec<TraceRow>) -> Result<JsValue, JsValue> {
    let lines: Vec<_> = rows.iter_mut().map(|row| std::mem::take(&mut row.record.line)).collect();
    let json = json_text(&TracePart { part, rows })?;
    Ok(Array::of2(&json.into(), &lines.join("\n").into()).into())
}

/// What the trace is: the JSON text of a `TraceSummary`.
#[wasm_bindgen]
pub fn trace_summary() -> Result<String, JsValue> {
    with_trace(|trace| json_text(&trace.summary()))
}

/// The trace as it was in its file.
#[wasm_bindgen]
pub fn trace_bytes() -> Result<Vec<u8>, JsValue> {
    with_trace(|trace| Ok(trace.bytes().to_vec()))
}

/// What a checkpoint says of itself, as the JSON text of a `CheckpointSummary`, if a run can go on from it.
#[wasm_bindgen]
pub fn checkpoint_summary(text: &str) -> Result<String, JsValue> {
    let state = read_checkpoint(text).map_err(|error| lab_error("damaged", &error.to_string()))?;
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_string(), value);
    };
    put("task_id", Value::from(&*state.task_id));
    put("step", state.step.into());
    put("messages", state.messages.len().into());
    put("llm_calls", state.llm_calls.into());
    put("approvals", state.approvals.len().into());
    Ok(Value::Object(fields).to_string())
}

/// A run as one file. `deeds`: what `Lab.deeds_json()` gives; `log`: what `Lab.log_jsonl()` gives.
#[wasm_bindgen]
pub fn run_file(
    #[wasm_bindgen(unchecked_param_type = "RunFileOptions")] options: JsValue,
    commands: &str,
    log: &str,
) -> Result<String, JsValue> {
    let bad = |message: &str| lab_error("bad_argument", message);
    let field = |name: &str| Reflect::get(&options, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let mut mechanisms = Mechanisms::ALL_ON;
    for id in Array::from(&field("off")).iter().filter_map(|id| id.as_string()) {
        let mechanism = Mechanism::of_id(&id).ok_or_else(|| bad(&format!("there is no mechanism `{id}`")))?;
        mechanisms = mechanisms.with(mechanism, false);
    }
    let setup = Setup {
        scenario: scenario_of(&field("scenario").as_string().unwrap_or_default())?,
        mechanisms,
        seed: field("seed").as_string().and_then(|seed| seed.parse().ok()).ok_or_else(|| bad("a seed is a number as text"))?,
        interactive: true,
        branch: field("branch").as_f64().map_or(0, |branch| branch as u32),
    };
    let done =
        parse(commands).and_then(|value| read(&value, "deeds", |from| (Command::read_list(from, "deeds"), from.u64("moment"))));
    let (commands, half_step) = done.map_err(|error| bad(&error.to_string()))?;
    let (records, _) = read_log(log).map_err(|error| lab_error("damaged", &error.to_string()))?;
    let records: Vec<_> = records.into_iter().map(Into::into).collect();
    let checkpoint = field("checkpoint").as_string();
    let file = RunFile::of(&setup, checkpoint.as_deref(), (&commands, half_step), &records);
    Ok(crate::base::json::pretty(&file.to_json()) + "\n")
}

/// Reads the file of a run and has the run again. Gives how to start and replay it, as the JSON text of an `OpenedRun`; an error, if
/// it does not come to the log that it had.
#[wasm_bindgen]
pub fn open_run_file(text: &str) -> Result<String, JsValue> {
    let misfit = |error: &dyn std::fmt::Display| lab_error("misfit", &error.to_string());
    let text = text.trim_start_matches('\u{feff}');
    let file = RunFile::from_json(text).map_err(|error| misfit(&error))?;
    let (session, _) = file.run().map_err(|error| misfit(&error))?;
    let mechanisms: Map<String, Value> =
        Mechanism::ALL.iter().map(|one| (one.text().id.to_string(), file.mechanisms.has(*one).into())).collect();
    let commands: Value = file.commands.iter().map(Command::to_json).collect();
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_string(), value);
    };
    put("run_id", Value::from(&*session.config().run_id));
    put("scenario", file.document.as_str().into());
    put("mechanisms", Value::Object(mechanisms));
    put("seed", file.seed.to_string().into());
    put("branch", file.branch.into());
    put("checkpoint", file.checkpoint.as_deref().map_or(Value::Null, Value::from));
    put(
        "done",
        [("deeds".to_string(), commands), ("moment".to_string(), file.half_step.into())]
            .into_iter()
            .collect::<Map<_, _>>()
            .into(),
    );
    put("records", session.log().len().into());
    Ok(Value::Object(fields).to_string())
}

fn with_trace<T>(take: impl FnOnce(&Trace) -> Result<T, JsValue>) -> Result<T, JsValue> {
    OPENED.with_borrow(|opened| match opened {
        Opened::Read(trace) => take(trace),
        Opened::Nothing | Opened::Reading(_) => Err(lab_error("not_found", "no trace is open")),
    })
}

fn not_a_trace(error: &ImportError) -> JsValue {
    lab_error("damaged", &error.to_string())
}

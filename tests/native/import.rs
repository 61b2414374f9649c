//! Files from elsewhere: traces and checkpoints that other programs wrote, that were cut, or that are something else.

use std::time::{Duration, Instant};

use crashlab::lab::crash_points::RunProgress;
use crashlab::lab::scenario::When;
use crashlab::lab::session::{Session, Setup};
use crashlab::log::checkpoint;
use crashlab::log::store::{MemoryStore, Store};
use crashlab::record::{Record, RecordBody, Status, read_log};
use crashlab::report::diagnose::diagnose;
use crashlab::report::imported::{Form, MAX_BROKEN, MAX_RECORDS, Trace, read_checkpoint};
use serde_json::{Value, json};

use crate::support::{
    all_scenarios, books, crash_points, finished, log_text, newest_checkpoint, of_type, ran, ran_with_crash, run_until, scenario,
};

/// Three lines as a Python program of the course wrote them.
const PYTHON: &str = include_str!("../traces/python.jsonl");

fn read(text: &str) -> Trace {
    Trace::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: impl AsRef<[u8]>) -> String {
    Trace::read(text.as_ref()).expect_err("it is no trace").to_string()
}

fn remarks(trace: &Trace, index: usize) -> (Vec<String>, Vec<String>, Vec<String>) {
    match &trace.lines()[index].form {
        Form::Known => Default::default(),
        Form::Foreign(remarks) => (remarks.missing.clone(), remarks.unknown.clone(), remarks.wrong.clone()),
        Form::Broken(error) => panic!("{error}"),
    }
}

// --- Other programs' traces ----------------------------------------------------------------------------------------------------

#[test]
fn three_lines_of_a_python_program_load_as_they_are() {
    let trace = read(PYTHON);
    assert_eq!(trace.lines().len(), 3);
    assert_eq!(trace.bytes(), PYTHON.as_bytes());
    let RecordBody::LlmCall(call) = trace.record(0).unwrap().body else { panic!() };
    assert_eq!((call.input_tokens, call.output_tokens, call.cost.usd()), (787, 50, "0.0001481".to_string()));
    assert_eq!((&*call.tool_calls[0].name, call.latency_ms, call.plan.map(|plan| plan.len())), ("get_invoice", 0, Some(2)));
    assert_eq!(remarks(&trace, 0).0, ["tool_calls[0].id", "thought", "plan_version"], "what is missing is named");
    for (index, (attempt, backoff_ms)) in [(1, 61), (2, 119)].into_iter().enumerate() {
        let record = trace.record(index + 1).unwrap();
        assert_eq!((record.step, &*record.run_id), (4, "r1"));
        let RecordBody::ToolRetry { tool, retry, .. } = record.body else { panic!() };
        assert_eq!((&*tool, retry.attempt, retry.backoff_ms), ("get_invoice", attempt, backoff_ms));
        assert_eq!(remarks(&trace, index + 1).0, ["until"]);
    }
    let rows = trace.rows(0, 10);
    assert_eq!(rows[0].record.text, r#"calls get_invoice {"invoice_id":"INV-2026-004512"}"#);
    assert_eq!(rows[1].record.text, "attempt 1 failed (503 Service Unavailable); again in 61 ms");
    assert_eq!(rows[2].record.at_ms, 65);
    assert_eq!(rows[1].record.line, PYTHON.lines().nth(1).unwrap());
    let summary = trace.summary();
    assert_eq!((summary.records, summary.foreign, summary.runs.len(), summary.problems.len()), (3, 3, 1, 0));
}

#[test]
fn a_retry_that_names_no_tool_and_a_plan_without_calls_are_told_in_words() {
    let text = concat!(
        r#"{"ts": 0.0, "run_id": "r", "step": 4, "type": "llm_call", "plan": ["get_invoice", "reply"], "tool_calls": [], "input_tokens": 787}"#,
        "\n",
        r#"{"ts": 0.061, "run_id": "r", "step": 4, "type": "tool_retry", "attempt": 1, "error": "503", "backoff_s": 0.061}"#,
    );
    let rows = read(text).rows(0, 2);
    assert_eq!(rows[0].record.text, "plans get_invoice, reply");
    assert_eq!(rows[1].record.text, "attempt 1 failed (503); again in 61 ms");
    let told = diagnose(&read(text)).remove(0);
    assert!(told.why.contains("a tool without a name"), "{told:?}");
}

#[test]
fn numbers_that_python_writes_and_json_does_not_have_are_named_and_read_as_null() {
    let line = r#"{"ts": 1.5, "run_id": "r", "step": 0, "type": "llm_call", "thought": "NaN \"Infinity", "cost_usd": NaN, "input_tokens": 12, "more": [-Infinity]}"#;
    let trace = read(line);
    let RecordBody::LlmCall(call) = trace.record(0).unwrap().body else { panic!() };
    assert_eq!((call.input_tokens, &*call.thought), (12, "NaN \"Infinity"));
    assert_eq!(trace.value(0).unwrap()["more"], json!([null]));
    assert_eq!(trace.bytes(), line.as_bytes(), "what is exported is what was there");
    let (_, _, wrong) = remarks(&trace, 0);
    assert!(wrong.contains(&"NaN: JSON has no such number; it is read as null".to_string()), "{wrong:?}");
    for broken in [r#"{"a": NaNa}"#, r#"{"a": 1, NaN: 2}"#] {
        assert!(
            matches!(Trace::read(format!("{line}\n{broken}").as_bytes()).unwrap().lines()[1].form, Form::Broken(_)),
            "{broken}"
        );
    }
}

#[test]
fn what_is_an_object_and_no_record_and_a_trace_over_several_lines_are_refused_in_words() {
    assert_eq!(refused("{}"), "line 1: this is a JSON object without `ts`, `run_id`, `step` and `type`, no record of a trace");
    let indented = "{\n  \"type\": \"stop\"\n}\n{\n  \"type\": \"stop\"\n}\n";
    assert_eq!(refused(indented), "line 1: a record goes over several lines; in a trace each stands on one line");
}

#[test]
fn unknown_types_and_fields_are_kept_and_what_is_missing_or_wrong_is_named() {
    let text = concat!(
        r#"{"ts": 1, "run_id": "r1", "step": 0, "type": "span", "name": "x", "deep": {"a": [1, {"b": null}]}}"#,
        "\n",
        r#"{"ts": "noon", "run_id": 7, "step": -1, "type": "llm_request", "attempt": "one", "model": "m-1"}"#,
        "\r\n\n",
        r#"{"note": "no type at all"}"#,
        "\n",
        r#"{"ts": 2, "run_id": "r1", "step": 1, "type": "llm_call", "plan": {"steps": ["a"]}, "latency": 0.4, "tool_calls": []}"#,
        "\n",
        r#"{"ts": 3, "run_id": "r2", "step": 1, "type": "stop", "status": "escalated", "reason": "policy"}"#,
        "\n",
        r#"{"ts": 3, "run_id": "r2", "step": 1, "type": "tool_result", "tool": "get_invoice", "preview": "{\"total\": 288"}"#,
    );
    let trace = read(text);
    assert_eq!(trace.bytes(), text.as_bytes());
    assert_eq!(trace.lines().iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 4, 5, 6, 7]);
    let Form::Foreign(first) = &trace.lines()[0].form else { panic!() };
    assert!(first.unknown_type && first.unknown.is_empty(), "{first:?}");
    let RecordBody::Unknown { kind, fields } = trace.record(0).unwrap().body else { panic!() };
    assert_eq!((&*kind, fields["deep"]["a"][1].to_string()), ("span", r#"{"b":null}"#.to_string()));

    let (missing, unknown, wrong) = remarks(&trace, 1);
    assert_eq!(missing, ["projected_usd"]);
    assert_eq!(unknown, ["model"]);
    assert_eq!(
        wrong,
        [
            "ts: expected a number from 0 to 18446744073709551, found a string (\"noon\")",
            "run_id: expected a string, found a number (7)",
            "step: expected a whole number from 0 to 4294967295, found a number (-1)",
            "attempt: expected a whole number from 0 to 4294967295, found a string (\"one\")",
        ]
    );
    assert_eq!(remarks(&trace, 2).0, ["ts", "run_id", "step", "type"]);
    let (missing, unknown, wrong) = remarks(&trace, 3);
    assert_eq!(missing, ["thought", "plan_version", "input_tokens", "output_tokens", "cost_usd", "latency_ms"]);
    assert_eq!(unknown, ["latency"]);
    assert_eq!(wrong, ["plan: expected an array, found an object ({\"steps\":[\"a\"]})"]);
    assert_eq!(remarks(&trace, 4).2, ["status: expected a status, found a string (\"escalated\")"]);
    assert!(trace.rows(4, 1)[0].record.text.contains("escalated"), "a status of another program is shown as it is");
    assert_eq!(remarks(&trace, 5).0, ["ok", "result", "call_id"]);
    assert_eq!(trace.rows(5, 1)[0].record.text, "get_invoice: {\"total\": 288");
    let runs: Vec<_> = trace.summary().runs.into_iter().map(|run| (run.run_id, run.records)).collect();
    assert_eq!(runs, [("r1".to_string(), 2), ("r2".to_string(), 2)]);
}

#[test]
fn the_table_of_fields_is_that_of_the_records() {
    for scenario in all_scenarios() {
        let (_, store) = ran(&scenario);
        for record in store.records() {
            let whole = record.to_json();
            assert_eq!(read(&whole.to_string()).lines()[0].form, Form::Known, "{whole}");
            for key in whole.as_object().unwrap().keys() {
                let mut without = whole.clone();
                without.as_object_mut().unwrap().shift_remove(key);
                let is_optional = Record::from_json(&without).is_ok();
                let (missing, unknown, wrong) = remarks(&read(&without.to_string()), 0);
                match (is_optional, key.as_str()) {
                    (true, _) => assert!(missing.is_empty(), "{key} of {whole}"),
                    // Without its type nothing else can be told of a record.
                    (false, "type") => assert_eq!(missing, ["type"]),
                    (false, key) => assert_eq!(missing, [key], "{whole}"),
                }
                assert!(unknown.is_empty() && wrong.is_empty(), "{key} of {whole}: {unknown:?} {wrong:?}");
            }
            let mut more = whole.clone();
            more["more"] = json!(1);
            let expected: &[&str] = if record.body.kind() == "stop" { &[] } else { &["more"] };
            assert_eq!(remarks(&read(&more.to_string()), 0).1, expected);
        }
    }
}

// --- The same bytes ------------------------------------------------------------------------------------------------------------

#[test]
fn export_import_export_is_the_same_bytes_for_every_shipped_scenario_and_every_crash() {
    for scenario in all_scenarios() {
        let mut texts = vec![log_text(&ran(&scenario).1)];
        let points = if scenario.crashes.is_empty() { crash_points(&scenario) } else { Vec::new() };
        for (effect, when, _) in points.into_iter().step_by(7) {
            texts.push(log_text(&ran_with_crash(&scenario, effect, when).1));
        }
        for text in texts {
            let trace = read(&text);
            assert_eq!(trace.bytes(), text.as_bytes());
            assert!(trace.lines().iter().all(|line| line.form == Form::Known));
            // Also through the records, as a log is written again.
            let again: String = trace.records().iter().map(|record| record.to_line() + "\n").collect();
            assert_eq!(again, text);
            assert_eq!(trace.records(), read_log(&text).unwrap().0);
        }
    }
}

#[test]
fn odd_text_keeps_its_bytes() {
    let odd = [
        r"half an emoji \ud83d, the other half \ude00, both \ud83d\ude00",
        "👍🏽 👨‍👩‍👧 🇩🇪 e\u{301}",
        "\u{202e}right to left\u{202c} \u{2067}x\u{2069} \u{200f}",
        r"\u0000 \u0007 \/ \u00e9 \ufeff",
        "line\u{2028}and\u{2029}paragraph",
    ];
    let mut text = String::from("\u{feff}");
    for (index, odd) in odd.iter().enumerate() {
        let numbers = r#"{"n": 123456789012345678901234567890, "e": 1e400, "z": -0.0, "f": 288.00}"#;
        text += &format!(
            "  {{\"ts\":{index}.5000,\"run_id\":\"r\",\"step\":0,\"type\":\"replan\",\"reason\":\"{odd}\",\"own\":{numbers}}}  \r\n"
        );
    }
    text += "\n \n";
    let trace = read(&text);
    assert_eq!(trace.bytes(), text.as_bytes());
    assert_eq!(trace.lines().len(), odd.len());
    for (index, odd) in odd.into_iter().enumerate() {
        assert_eq!(remarks(&trace, index).1, ["own"]);
        assert!(trace.text(index).contains(odd));
        assert!(trace.rows(index, 1)[0].record.line.contains(odd), "the list shows the line as it stands");
        assert!(trace.json(index).unwrap().contains("123456789012345678901234567890"));
        assert!(trace.json(index).unwrap().contains("1e+400"));
    }
    let RecordBody::Replan { reason, .. } = trace.record(0).unwrap().body else { panic!() };
    assert_eq!(&*reason, "half an emoji \u{fffd}, the other half \u{fffd}, both \u{1f600}");
}

// --- Faults of files (item 29: a truncated import) -----------------------------------------------------------------------------

#[test]
fn f29_a_truncated_import_keeps_every_whole_line_and_names_the_cut_one() {
    let (_, store) = ran(&scenario("double-charge"));
    let text = log_text(&store).replace("sorry for the trouble", "sørry for the trøuble 👍");
    let bytes = text.as_bytes();
    let whole_lines = |end: usize| bytes[..end].iter().filter(|&&byte| byte == b'\n').count();
    for end in (1..bytes.len()).rev().step_by(13).chain(bytes.len() - 900..bytes.len()) {
        let cut = &bytes[..end];
        let started = cut.last() != Some(&b'\n');
        // A cut right before the line's end leaves a whole record.
        let is_whole = bytes[end] == b'\n';
        match Trace::read(cut) {
            Ok(trace) => {
                assert_eq!(trace.bytes(), cut, "cut at {end}");
                let problems = trace.summary().problems;
                if started && !is_whole {
                    assert_eq!(problems.len(), 1);
                    assert_eq!((problems[0].index, problems[0].line), (whole_lines(end), whole_lines(end) + 1));
                    assert!(problems[0].message.starts_with("the last line was cut: "), "{}", problems[0].message);
                } else {
                    assert_eq!(problems, []);
                }
                let good = trace.records();
                assert_eq!(good.len(), whole_lines(end) + usize::from(started && is_whole));
            }
            Err(error) => {
                assert_eq!(whole_lines(end), 0, "only the first line was there: {error}");
                assert!(error.to_string().starts_with("line 1: the last line was cut: "), "{error}");
            }
        }
    }
}

#[test]
fn f29_a_character_cut_in_two_is_named_with_its_byte() {
    let text = "{\"ts\":1,\"run_id\":\"r\",\"step\":0,\"type\":\"crash\",\"at\":\"here\"}\n{\"ts\":2,\"run_id\":\"é";
    let bytes = &text.as_bytes()[..text.len() - 1];
    let trace = Trace::read(bytes).unwrap();
    assert_eq!(trace.bytes(), bytes);
    let problem = trace.summary().problems.remove(0);
    assert_eq!(
        (problem.line, problem.message.as_str()),
        (2, "the last line was cut: not UTF-8 text from byte 19 of the line on")
    );
    let row = trace.rows(1, 1).remove(0);
    assert_eq!((row.form, row.record.r#type.as_str(), row.line_number), ("broken", "broken", 2));
    assert_eq!(row.record.line, "{\"ts\":2,\"run_id\":\"\u{fffd}");
}

#[test]
fn f29_a_broken_line_in_the_middle_is_kept_in_its_place() {
    let (_, store) = ran(&scenario("double-charge"));
    let mut lines: Vec<String> = log_text(&store).lines().map(str::to_string).collect();
    lines[4] = lines[4].replacen(':', ";", 1);
    lines[9] = "[1]".to_string();
    let text = lines.join("\n");
    let trace = read(&text);
    assert_eq!((trace.lines().len(), trace.records().len()), (47, 45));
    let problems: Vec<_> = trace.summary().problems.into_iter().map(|problem| (problem.line, problem.message)).collect();
    assert_eq!(
        problems,
        [
            (5, "ts: not valid JSON at column 6: expected `:`, found `;`".to_string()),
            (10, "expected an object, found an array ([1])".to_string())
        ]
    );
}

#[test]
fn what_is_no_trace_is_refused_and_says_what_it_is() {
    let (_, store) = ran(&scenario("double-charge"));
    let empty = "line 1: the file is empty; a trace has one record, a JSON object, a line";
    for nothing in ["", "\n\n", " \r\n", "\u{feff}"] {
        assert_eq!(refused(nothing), empty, "{nothing:?}");
    }
    assert_eq!(refused("null"), "line 1: expected an object, found null (null)");
    assert_eq!(refused("\n\n42\n"), "line 3: expected an object, found a number (42)");
    assert_eq!(refused("\"text\"\n"), "line 1: expected an object, found a string (\"text\")");
    assert_eq!(refused("<!doctype html>\n<title>404</title>"), "line 1: not valid JSON at column 1: expected a value, found `<`");
    let array = "line 1: this is a JSON array; a trace has one record, a JSON object, a line";
    let log: Value = store.records().iter().map(|record| record.to_json()).collect();
    assert_eq!(refused(log.to_string()), array);
    assert_eq!(refused(serde_json::to_string_pretty(&log).unwrap()), array);
    let state: Value = serde_json::from_str(&newest_checkpoint(&store)).unwrap();
    for text in [state.to_string(), serde_json::to_string_pretty(&state).unwrap()] {
        assert_eq!(refused(text), "line 1: this is a checkpoint, not a trace");
    }
    assert_eq!(refused(&*scenario("denied").json), "line 1: this is a scenario, not a trace");
    assert!(refused(r#"{"resourceSpans":[]}"#).contains("OpenTelemetry"));
    assert_eq!(refused(b"\xff\xfe{\0}\0"), "line 1: this is UTF-16 text; a trace is UTF-8");
    let deep = format!("{{\"type\":{}", "[".repeat(100_000));
    let error = refused(deep);
    assert!(error.starts_with("line 1: the last line was cut: type[0][0]"), "{error}");
    assert!(error.ends_with("not valid JSON at column 136: expected at most 128 levels, found `[`"), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test measures")]
fn fifty_megabytes_are_read_in_linear_time_or_refused_with_the_line() {
    let record = r#"{"ts":1,"run_id":"r","step":0,"type":"replan","reason":"REASON"}"#;
    let quick = |name: &str, bytes: Vec<u8>| {
        let started = Instant::now();
        let read = Trace::read(&bytes);
        assert!(started.elapsed() < Duration::from_secs(300), "{name} took {:?}", started.elapsed());
        if let Ok(trace) = &read {
            assert_eq!(trace.bytes(), bytes);
        }
        read.map(|trace| trace.lines().len()).map_err(|error| error.to_string())
    };
    let one = record.replace("REASON", &"x".repeat(50_000_000));
    assert_eq!(quick("one huge line", one.clone().into_bytes()), Ok(1));
    assert!(quick("one huge line, cut", one[..40_000_000].into()).unwrap_err().starts_with("line 1: the last line was cut"));
    let surrogates = record.replace("REASON", &r"\ud83d".repeat(2_000_000));
    assert_eq!(quick("two million lone surrogates", surrogates.into_bytes()), Ok(1));
    let many = (record.replace("REASON", &"y".repeat(1_000)) + "\n").repeat(48_000);
    assert_eq!(quick("many lines", many.into_bytes()), Ok(48_000));
    let garbage = "x\n".repeat(25_000_000);
    assert_eq!(
        quick("garbage", garbage.into_bytes()).unwrap_err(),
        "line 1: not valid JSON at column 1: expected a value, found `x`"
    );
    let too_many = "{}\n".repeat(MAX_RECORDS + 5);
    let expected = "line 1000001: this is record 1000001; at most 1000000 are read";
    assert_eq!(quick("too many records", too_many.into_bytes()).unwrap_err(), expected);
    let mixed = format!("{record}\n").repeat(10) + &"{\n".repeat(MAX_BROKEN + 1);
    assert!(
        quick("mostly broken", mixed.into_bytes())
            .unwrap_err()
            .starts_with("line 11: not valid JSON at column 2: expected a key in double quotes, found the end")
    );
}

#[test]
fn two_thousand_damaged_traces_do_not_panic() {
    let (_, store) = ran_with_crash(&scenario("double-charge"), 40, When::After);
    let good = log_text(&store).into_bytes();
    let mut lot = 88_172_645_463_325_252_u64;
    let mut draw = |below: usize| {
        lot ^= lot << 13;
        lot ^= lot >> 7;
        lot ^= lot << 17;
        (lot % below as u64) as usize
    };
    let mut unreadable = 0;
    for _ in 0..2_000 {
        let mut bytes = good.clone();
        for _ in 0..=draw(3) {
            let at = draw(bytes.len());
            match draw(5) {
                0 => bytes[at] = draw(256) as u8,
                1 => bytes.truncate(at.max(1)),
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, b"{}[]\",:\\\n0"[draw(10)]),
                _ => {
                    let end = (at + draw(400)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = draw(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        let Ok(trace) = Trace::read(&bytes) else {
            unreadable += 1;
            continue;
        };
        assert_eq!(trace.bytes(), bytes);
        assert_eq!(trace.rows(0, usize::MAX).len(), trace.lines().len());
        assert_eq!(trace.summary().problems.len(), trace.lines().len() - trace.records().len());
    }
    assert!(unreadable < 100, "most of a damaged trace can be read: {unreadable}");
}

// --- Checkpoints ---------------------------------------------------------------------------------------------------------------

/// A checkpoint of a run that is under way.
fn saved_checkpoint() -> String {
    let scenario = scenario("double-charge");
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
    run_until(&mut session, &mut store, |session| !of_type(session, "approval").is_empty());
    newest_checkpoint(&store)
}

#[test]
fn a_checkpoint_that_does_not_fit_is_refused_with_the_path() {
    let good: Value = serde_json::from_str(&saved_checkpoint()).unwrap();
    let refused = |edit: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        edit(&mut value);
        read_checkpoint(&value.to_string()).unwrap_err().to_string()
    };
    assert!(read_checkpoint(&good.to_string()).is_ok());
    assert_eq!(refused(&|value| value["version"] = json!(2)), "$.version: this is version 2; this program reads version 1");
    assert_eq!(
        refused(&|value| value["step"] = json!("five")),
        "$.step: expected a whole number from 0 to 4294967295, found a string (\"five\")"
    );
    for key in checkpoint::COURSE_KEYS.into_iter().filter(|key| *key != "final") {
        let error = refused(&|value| {
            // The exact cost would do in place of the rounded one.
            value.as_object_mut().unwrap().shift_remove("cost_pico_usd");
            value.as_object_mut().unwrap().shift_remove(key);
        });
        assert!(error.starts_with(&format!("$.{key}: missing, expected ")), "{error}");
    }
    assert_eq!(
        refused(&|value| value["messages"][2]["tool_calls"][0] = json!(null)),
        "$.messages[2].tool_calls[0]: expected an object, found null (null)"
    );
    assert_eq!(
        refused(&|value| value["status"] = json!("done")),
        "$.status: the run of this checkpoint is over (done); nothing is left to resume"
    );
    assert_eq!(refused(&|value| *value = json!(null)), "$: expected an object, found null (null)");
    assert_eq!(refused(&|value| *value = json!([])), "$: expected an object, found an array ([])");
    assert_eq!(read_checkpoint(" \n").unwrap_err().to_string(), "$: the file is empty; a checkpoint is a JSON object");
    assert_eq!(
        read_checkpoint(PYTHON.lines().next().unwrap()).unwrap_err().to_string(),
        "$: this is a record of a trace, not a checkpoint"
    );
    let text = good.to_string();
    for end in (1..text.len()).step_by(37).filter(|&end| text.is_char_boundary(end)) {
        let error = read_checkpoint(&text[..end]).unwrap_err().to_string();
        assert!(error.starts_with('$') && error.contains(": not valid JSON at line 1, column "), "{error}");
    }
}

#[test]
fn a_checkpoint_is_resumed_in_a_fresh_run() {
    let state = read_checkpoint(&saved_checkpoint()).unwrap();
    assert_eq!(state.step, 5);
    let scenario = scenario("double-charge");
    let mut store = MemoryStore::default();
    let mut session = Session::start_from(Setup::of(&scenario), &state, &mut store).unwrap();
    assert_eq!(session.run_to_end(&mut store), Ok(Status::Done));
    let log = session.log();
    let kinds: Vec<_> = log.iter().take(3).map(|record| record.body.kind()).collect();
    // What it starts from is saved as its own before anything else.
    assert_eq!(kinds, ["run_start", "resume", "checkpoint"]);
    let RecordBody::Resume { from_step, checkpoint_generation, records_replayed, in_doubt } = &log[1].body else { panic!() };
    assert_eq!((*from_step, *checkpoint_generation, *records_replayed, in_doubt), (5, Some(1), 0, &None));
    // Three of the eight model calls are made here; the others are in the counters, so the budget goes on.
    assert_eq!(of_type(&session, "llm_call").len(), 3);
    let run = session.agent().unwrap().run();
    assert_eq!((run.state.llm_calls, run.state.messages.len(), run.state.plan.version), (8, 17, 3));
    assert_eq!(books(session.world()).refunds, 1);
    assert!(session.breaches().is_empty(), "{:?}", session.breaches());
}

#[test]
fn an_approval_in_somebodys_file_approves_nothing() {
    let mut value: Value = serde_json::from_str(&saved_checkpoint()).unwrap();
    let scenario = scenario("double-charge");
    // The file of a run in which the refund had been approved, and which stands before the refund.
    let (session, _) = ran(&scenario);
    let approval = &session.agent().unwrap().run().state.approvals[0];
    value["approvals"] = json!([{
        "tool": &*approval.tool, "identity": &*approval.identity, "action": &*approval.idempotency_key,
        "approval_key": &*approval.approval_key, "decision": "approved", "approver": "human:maya",
    }]);
    let state = read_checkpoint(&value.to_string()).unwrap();
    assert_eq!(state.approvals.len(), 1);
    let mut store = MemoryStore::default();
    let mut session = Session::start_from(Setup::of(&scenario), &state, &mut store).unwrap();
    session.run_to_end(&mut store).unwrap();
    assert_eq!(books(session.world()).questions, 1);
    assert!(of_type(&session, "approval").iter().all(|record| record["reused"] == false));
}

#[test]
fn a_run_from_a_checkpoint_survives_a_crash_and_a_closed_page_under_its_own_name() {
    let state = read_checkpoint(&saved_checkpoint()).unwrap();
    let setup = Setup::of(&scenario("double-charge"));
    let run_id = setup.run_id_from(&state);
    assert_ne!(run_id, setup.run_id());
    let mut store = MemoryStore::default();
    let mut session = Session::start_from(setup.clone(), &state, &mut store).unwrap();
    run_until(&mut session, &mut store, |session| !of_type(session, "tool_call").is_empty());
    session.crash(&mut store);
    let rows = session.world().rows().to_vec();
    let mut reopened = Session::reopen(setup, rows, RunProgress::default(), &store);
    assert_eq!(reopened.config().run_id, run_id);
    assert_eq!(reopened.run_to_end(&mut store), Ok(Status::Done));
    assert!(store.read().records.iter().all(|record| record.run_id == run_id));
    assert_eq!(books(reopened.world()).refunds, 1);
}

#[test]
fn a_checkpoint_of_a_python_program_with_the_thirteen_keys_is_enough() {
    let ours: Value = serde_json::from_str(&saved_checkpoint()).unwrap();
    let mut theirs = json!({});
    for key in checkpoint::COURSE_KEYS {
        theirs[key] = ours[key].clone();
    }
    theirs["fingerprints"] = json!(["9e107d9d372bb6826bd81d3542a419d6", "another form"]);
    let state = read_checkpoint(&theirs.to_string()).unwrap();
    let mut store = MemoryStore::default();
    let mut session = Session::start_from(Setup::of(&scenario("double-charge")), &state, &mut store).unwrap();
    assert_eq!(session.run_to_end(&mut store), Ok(Status::Done));
    let (whole, _) = finished(Setup::of(&scenario("double-charge")));
    assert_eq!(session.agent().unwrap().run().state.final_text, whole.agent().unwrap().run().state.final_text);
}

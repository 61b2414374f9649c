//! The log's format: every type of record, its fields in their order, and the course's readings of exported files.

use std::collections::BTreeSet;
use std::sync::Arc;

use crashlab::base::money::PicoUsd;
use crashlab::lab::ledger::Row;
use crashlab::log::checkpoint;
use crashlab::record::{
    ApprovalStatus, Decision, FORMAT, FailureCode, InDoubt, LlmCall, QuestionKind, Record, RecordBody, RecordedFailure, Retry,
    Status, StopCause, ToolCall, ToolOutcome, read_log,
};
use crashlab::report::view::view_at;
use serde_json::{Map, Value, json};

use crate::support::{all_scenarios, log_json, log_text, model_calls, newest_checkpoint, of_type, ran, requests, scenario};

/// The design's table, section 3: type, and fields beyond `ts`, `run_id`, `step`, `type`. Those in brackets stand only when they say
/// something.
const TABLE: [(&str, &str); 15] = [
    ("run_start", "[format] scenario seed mechanisms limits traceparent [tracestate]"),
    ("llm_request", "attempt projected_usd"),
    ("llm_call", "thought [plan] plan_version tool_calls input_tokens output_tokens cost_usd latency_ms [usage_partial]"),
    ("llm_retry", "attempt [code] error backoff_s until"),
    ("tool_retry", "tool [call_id] attempt [code] error backoff_s until"),
    ("approval_request", "[kind] [call_id] tool args approval_key"),
    ("approval", "[kind] [call_id] tool args approval_key decision approver note reused"),
    ("tool_call", "tool args call_id attempt idempotency_key traceparent"),
    ("tool_result", "tool call_id ok [code] result preview"),
    ("replan", "[call_id] reason"),
    ("guard", "guard observed limit"),
    ("checkpoint", "bytes generation"),
    ("resume", "from_step checkpoint_generation records_replayed in_doubt"),
    ("stop", "status used [next_call] [limit] [code] [attempt] [error] [why]"),
    ("crash", "at [point]"),
];

fn text(text: &str) -> Arc<str> {
    text.into()
}

fn arc(value: Value) -> Arc<Value> {
    Arc::new(value)
}

/// Every type, with everything that may be absent both there and absent.
fn one_of_each() -> Vec<RecordBody> {
    let call = |plan, usage_partial| {
        RecordBody::LlmCall(LlmCall {
            thought: text("I look it up: “Größe” 👍"),
            plan,
            plan_version: 2,
            tool_calls: [ToolCall::new("call_1", "get_invoice", json!({"b": 1, "a": [null, true]}))].into(),
            input_tokens: 787,
            output_tokens: 50,
            cost: PicoUsd(148_100_000),
            latency_ms: 812,
            usage_partial,
        })
    };
    let retry = Retry {
        attempt: 2,
        failure: RecordedFailure::parse("timeout: no answer within 10 s"),
        backoff_ms: 86,
        until_ms: 1_772_525_404_286,
    };
    let approval = |status, note: Option<&str>, reused| RecordBody::Approval {
        kind: if reused { QuestionKind::MayRun } else { QuestionKind::SendAgain },
        call_id: Some(text("call_1")),
        tool: text("issue_refund"),
        args: arc(json!({"amount": 288})),
        approval_key: text("k"),
        decision: Decision { status, approver: text("human:maya"), note: note.map(text) },
        reused,
    };
    let resume = |checkpoint_generation, in_doubt| RecordBody::Resume {
        from_step: 5,
        checkpoint_generation,
        records_replayed: 12,
        in_doubt,
    };
    let in_doubt = InDoubt::Tool { tool: text("issue_refund"), call_id: text("call_6"), attempt: 1, idempotency_key: text("i") };
    let stop = |cause| RecordBody::Stop { status: Status::BudgetUsd, used: arc(json!(0.5)), cause };
    let lost = |error: &str, attempt| StopCause::ModelFailed { failure: RecordedFailure::parse(error), attempt };
    vec![
        RecordBody::RunStart {
            format: FORMAT,
            scenario: text("double-charge#1f0c22ab"),
            seed: u64::MAX,
            mechanisms: arc(json!({"retries": true})),
            limits: arc(json!({"max_steps": 20})),
            traceparent: Some(text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
            tracestate: Some(text("rojo=00f067aa0ba902b7")),
        },
        RecordBody::RunStart {
            format: 1,
            scenario: text("s"),
            seed: 0,
            mechanisms: arc(json!({})),
            limits: arc(json!({})),
            traceparent: None,
            tracestate: None,
        },
        RecordBody::LlmRequest { attempt: 1, projected: PicoUsd(219_200_000) },
        call(Some(vec![text("look"), text("answer")]), true),
        call(None, false),
        RecordBody::LlmRetry(retry.clone()),
        RecordBody::ToolRetry { tool: text("get_invoice"), call_id: Some(text("call_1")), retry: retry.clone() },
        RecordBody::ToolRetry { tool: text("get_invoice"), call_id: None, retry },
        RecordBody::ApprovalRequest {
            kind: QuestionKind::SendAgain,
            call_id: Some(text("call_1")),
            tool: text("issue_refund"),
            args: arc(json!({"amount": 288})),
            approval_key: text("k"),
        },
        approval(ApprovalStatus::Approved, Some("Go ahead."), false),
        approval(ApprovalStatus::Denied, None, true),
        approval(ApprovalStatus::Expired, None, false),
        RecordBody::ToolCall {
            tool: text("get_invoice"),
            args: arc(json!("{\"amount\":")),
            call_id: text("call_1"),
            attempt: 3,
            idempotency_key: text("T-1:0/call_1"),
            traceparent: text("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        },
        RecordBody::ToolResult {
            tool: text("get_invoice"),
            call_id: text("call_1"),
            outcome: ToolOutcome::Ok,
            code: None,
            result: arc(json!(null)),
        },
        RecordBody::ToolResult {
            tool: text("get_invoice"),
            call_id: text("call_1"),
            outcome: ToolOutcome::Failed { retryable: false },
            code: Some(FailureCode::Rejected),
            result: arc(json!("x".repeat(500))),
        },
        RecordBody::Replan { call_id: Some(text("call_1")), reason: text("it did not work") },
        RecordBody::Guard { guard: Status::MaxSteps, observed: arc(json!(3)), limit: arc(json!(3)) },
        RecordBody::Checkpoint { bytes: 2_138, generation: 1 },
        resume(Some(4), Some(in_doubt)),
        resume(None, Some(InDoubt::Model { attempt: 2, projected: PicoUsd(300_000) })),
        resume(None, None),
        stop(StopCause::Plain),
        stop(StopCause::Budget { next_call: json!(0.25), limit: json!(0.6) }),
        stop(lost("timeout: no answer within 10 s", Some(3))),
        stop(lost("a provider's own words, in attempt 3", None)),
        stop(StopCause::Other(Map::from_iter([("why".to_string(), json!("bored"))]))),
        RecordBody::Crash {
            at: text("after the refund happened, before its answer"),
            point: Some(text("after:call_tool:issue_refund")),
        },
        RecordBody::Unknown { kind: text("of_a_later_version"), fields: Map::from_iter([("what".to_string(), json!({"a": 1}))]) },
    ]
}

fn record(body: RecordBody) -> Record {
    Record { ts_ms: 1_772_525_400_782, run_id: text("T-1001-d2c6b9b5"), step: 5, body }
}

#[test]
fn every_type_of_record_comes_back_from_its_line_as_it_was() {
    for body in one_of_each() {
        let written = record(body);
        let line = written.to_line();
        assert!(!line.contains('\n'));
        let read = Record::from_line(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(read, written);
        assert_eq!(read.to_line(), line);
    }
}

#[test]
fn fields_have_the_names_and_the_order_of_the_designs_table() {
    let mut seen = BTreeSet::new();
    let mut check = |json: &Value| {
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let kind = json["type"].as_str().unwrap();
        let Some((_, fields)) = TABLE.iter().find(|(name, _)| *name == kind) else {
            assert_eq!(kind, "of_a_later_version");
            return;
        };
        seen.insert(kind.to_string());
        assert_eq!(keys[..4], ["ts", "run_id", "step", "type"]);
        let expected: Vec<&str> = fields
            .split(' ')
            .filter_map(|field| match field.strip_prefix('[').and_then(|field| field.strip_suffix(']')) {
                Some(optional) => keys.contains(&optional).then_some(optional),
                None => Some(field),
            })
            .collect();
        assert_eq!(keys[4..], expected, "{kind}");
    };
    one_of_each().into_iter().for_each(|body| check(&record(body).to_json()));
    for scenario in all_scenarios() {
        log_json(&ran(&scenario).1).iter().for_each(&mut check);
    }
    assert_eq!(seen, TABLE.iter().map(|(kind, _)| kind.to_string()).collect());
}

#[test]
fn times_are_seconds_with_three_decimals_and_money_has_at_most_seven() {
    let line = record(RecordBody::LlmRequest { attempt: 1, projected: PicoUsd(148_149_999) }).to_line();
    assert!(line.starts_with(r#"{"ts":1772525400.782,"run_id":"T-1001-d2c6b9b5","step":5,"type":"llm_request","#), "{line}");
    assert!(line.ends_with(r#""projected_usd":0.0001481}"#), "{line}");
    let half_up = record(RecordBody::LlmRequest { attempt: 1, projected: PicoUsd(148_150_000) }).to_line();
    assert!(half_up.ends_with(r#""projected_usd":0.0001482}"#), "{half_up}");
    let whole = Record { ts_ms: 5, ..record(RecordBody::Checkpoint { bytes: 1, generation: 1 }) };
    assert!(whole.to_line().starts_with(r#"{"ts":0.005,"#));
}

#[test]
fn a_field_that_does_not_fit_is_named_with_what_was_expected_and_found() {
    let read = |changed: &str, to: Value| {
        let mut json = record(RecordBody::LlmRequest { attempt: 1, projected: PicoUsd(0) }).to_json();
        json[changed] = to;
        Record::from_line(&json.to_string()).unwrap_err().to_string()
    };
    assert_eq!(
        read("attempt", json!("one")),
        "$.attempt: expected a whole number from 0 to 4294967295, found a string (\"one\")"
    );
    assert_eq!(read("ts", json!(null)), "$.ts: expected a number from 0 to 18446744073709551, found null (null)");
    assert_eq!(read("step", json!(1.5)), "$.step: expected a whole number from 0 to 4294967295, found a number (1.5)");
    assert_eq!(read("type", json!(7)), "$.type: expected a string, found a number (7)");
}

#[test]
fn every_field_of_every_type_is_missed_by_name() {
    for body in one_of_each() {
        let json = record(body).to_json();
        let optional = [
            "format",
            "code",
            "kind",
            "point",
            "plan",
            "usage_partial",
            "traceparent",
            "tracestate",
            "note",
            "preview",
            "checkpoint_generation",
            "in_doubt",
        ];
        let optional_here = |key: &str| {
            let later = json["type"] == "of_a_later_version" && key == "what";
            let explains = json["type"] == "stop" && !["ts", "run_id", "step", "type", "status", "used"].contains(&key);
            let since_2 = key == "call_id" && !["tool_call", "tool_result"].contains(&json["type"].as_str().unwrap());
            later || explains || since_2 || (optional.contains(&key) && !(key == "traceparent" && json["type"] == "tool_call"))
        };
        for key in json.as_object().unwrap().keys() {
            let mut without = json.clone();
            without.as_object_mut().unwrap().shift_remove(key);
            let read = Record::from_line(&without.to_string());
            match optional_here(key) {
                true => assert!(read.is_ok(), "{key} of {json}"),
                false => assert!(read.unwrap_err().to_string().starts_with(&format!("$.{key}: missing")), "{json}"),
            }
        }
    }
}

#[test]
fn a_log_with_a_broken_line_names_the_line_and_the_field() {
    let (_, store) = ran(&scenario("double-charge"));
    let text = log_text(&store);
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines[1] = lines[1].replace("\"attempt\":1", "\"attempt\":\"x\"");
    let error = read_log(&lines.join("\n")).unwrap_err().to_string();
    assert_eq!(error, "line 2: $.attempt: expected a whole number from 0 to 4294967295, found a string (\"x\")");
    // A last line that is whole, and wrong, is damage; one that was cut is a torn end.
    let last = lines.len() - 1;
    lines[1] = lines[1].replace("\"x\"", "1");
    lines[last] = lines[last].replace("\"done\"", "\"fine\"");
    let error = read_log(&lines.join("\n")).unwrap_err().to_string();
    assert_eq!(error, "line 47: $.status: expected a status, found a string (\"fine\")");
    lines[last].truncate(30);
    let (records, torn) = read_log(&lines.join("\n")).unwrap();
    assert_eq!(records.len(), 46);
    assert!(torn.unwrap().starts_with("the last line was cut and is left out"));
    assert_eq!(read_log("").unwrap(), (Vec::new(), None));
    assert_eq!(read_log("\n\n").unwrap(), (Vec::new(), None));
}

#[test]
fn an_exported_log_with_the_line_ends_of_another_system_is_the_same_log() {
    let (_, store) = ran(&scenario("double-charge"));
    let text = log_text(&store);
    let (records, _) = read_log(&text.replace('\n', "\r\n")).unwrap();
    assert_eq!(records, read_log(&text).unwrap().0);
}

// --- The course's readings of exported files -----------------------------------------------------------------------------------

/// `jq -c '[.type, .step]'` on exported text.
fn types_and_steps(text: &str) -> Vec<(String, u64)> {
    let read = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        (record["type"].as_str().unwrap().to_string(), record["step"].as_u64().unwrap())
    };
    text.lines().map(read).collect()
}

#[test]
fn the_last_four_records_of_budget_are_a_note_and_a_stop() {
    let (session, store) = ran(&scenario("budget"));
    let read = types_and_steps(&log_text(&store));
    let expected =
        [("tool_call", 6), ("tool_result", 6), ("checkpoint", 7), ("stop", 7)].map(|(kind, step)| (kind.to_string(), step));
    assert_eq!(read[read.len() - 4..], expected);
    let stop = &of_type(&session, "stop")[0];
    assert_eq!(stop["status"], "budget_usd");
    let (used, next, limit) =
        (stop["used"].as_f64().unwrap(), stop["next_call"].as_f64().unwrap(), stop["limit"].as_f64().unwrap());
    assert!(used <= limit && used + next > limit, "{stop}");
    assert_eq!(model_calls(session.world()), 7);
    assert_eq!(of_type(&session, "tool_call").last().unwrap()["tool"], "add_internal_note");
}

#[test]
fn the_checkpoints_keys_of_crash_resume_are_those_of_the_course() {
    let (_, store) = ran(&scenario("crash-resume"));
    let text = newest_checkpoint(&store);
    let value: Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys[..13], checkpoint::COURSE_KEYS);
    assert_eq!(keys[13..], ["version", "log_position", "cost_pico_usd", "replans", "approvals"]);
    let summary = checkpoint::summary(&checkpoint::decode(&text).unwrap());
    let shown = |key: &str| summary.iter().find(|(name, _)| name == key).unwrap().1.clone();
    assert_eq!(shown("task_id"), "\"T-1001\"");
    assert_eq!(shown("messages"), "<17 items>");
    assert_eq!(shown("seen_calls"), "<7 items>");
    assert_eq!(shown("fingerprints"), "<7 items>");
    assert_eq!(shown("step"), "8");
    assert_eq!(shown("llm_calls"), "8");
    assert_eq!(shown("status"), "\"done\"");
    assert_eq!(shown("stale_steps"), "0");
    assert_eq!(
        value["plan"],
        json!({"steps": ["issue_refund", "add_internal_note", "reply"], "version": 3, "needs_replan": false})
    );
    assert_eq!(value["final"], value["messages"][16]["content"]);
    assert_eq!(checkpoint::encode(&checkpoint::decode(&text).unwrap()), text);
}

#[test]
fn double_charge_is_eight_model_calls_seven_tool_calls_and_seventeen_messages() {
    let (session, store) = ran(&scenario("double-charge"));
    let read = types_and_steps(&log_text(&store));
    let count = |kind: &str| read.iter().filter(|(found, _)| found == kind).count();
    assert_eq!((count("llm_call"), count("tool_result"), count("checkpoint")), (8, 7, 8));
    // The seven calls, with two repeated attempts at one of them.
    assert_eq!((count("tool_call"), count("tool_retry")), (9, 2));
    let tools: Vec<_> =
        of_type(&session, "tool_result").iter().map(|record| record["tool"].as_str().unwrap().to_string()).collect();
    let expected =
        ["search_kb", "read_article", "get_account", "get_invoice", "get_invoice", "issue_refund", "add_internal_note"];
    assert_eq!(tools, expected);
    let results = of_type(&session, "tool_result");
    assert_eq!(results[5]["result"]["refund_id"], "RF-00001");
    assert_eq!(results[5]["result"]["amount"].to_string(), "288.00");
    assert_eq!(results[6]["result"].to_string(), r#"{"saved":true,"note_count":1}"#);
    let state = &session.agent().unwrap().run().state;
    assert_eq!((state.messages.len(), state.llm_calls, state.plan.version), (17, 8, 3));
    assert_eq!(model_calls(session.world()), 8);
}

#[test]
fn the_model_never_sees_the_503s_that_were_repeated() {
    let (session, _) = ran(&scenario("double-charge"));
    assert_eq!(requests(session.world(), "get_invoice"), 1 + 3);
    let retries = of_type(&session, "tool_retry");
    assert_eq!(retries.iter().map(|retry| retry["step"].clone()).collect::<Vec<_>>(), [4, 4]);
    assert!(retries.iter().all(|retry| retry["error"] == "unavailable: 503 Service Unavailable"));
    let messages = &session.agent().unwrap().run().state.messages;
    assert!(!messages.iter().any(|message| message.content().contains("503") || message.content().contains("navailable")));
    let invoice = messages.iter().filter(|message| message.content().contains("INV-2026-004512") && message.role() == "tool");
    assert_eq!(invoice.filter(|message| message.content().starts_with(r#"{"invoice_id""#)).count(), 1);
}

#[test]
fn the_worlds_books_come_back_from_their_lines_as_they_were() {
    for scenario in all_scenarios() {
        for row in ran(&scenario).0.world().rows() {
            assert_eq!(Row::from_line(&row.to_line()).unwrap(), **row);
        }
    }
}

#[test]
fn looking_back_breaks_no_promise_that_holds() {
    for scenario in all_scenarios() {
        let (session, _) = ran(&scenario);
        let broken = |index: usize| {
            let view = serde_json::to_value(view_at(&session, index)).unwrap();
            let verdicts = view["invariants"].as_array().unwrap().clone();
            verdicts.into_iter().filter(|one| one["verdict"] == "broken").collect::<Vec<_>>()
        };
        for index in 0..session.log().len() {
            assert_eq!(broken(index), [] as [Value; 0], "{}, record {index}", scenario.id);
        }
    }
}

//! What only the whole log knows: active time, resumes, and how much a run has learnt since its newest snapshot.

use std::sync::Arc;

use crashlab::agent::run::History;
use crashlab::base::money::PicoUsd;
use crashlab::record::{
    FORMAT, LlmCall, QuestionKind, Record, RecordBody, RecordedFailure, Retry, Status, StopCause, ToolOutcome,
};
use serde_json::{Value, json};

use crate::support::yes;

/// A log that is written record by record.
struct Log {
    history: History,
    now_ms: u64,
}

impl Log {
    fn new() -> Log {
        let mut log = Log { history: History::default(), now_ms: 1_000_000 };
        let start = RecordBody::RunStart {
            format: FORMAT,
            scenario: "s".into(),
            seed: 1,
            mechanisms: Arc::new(json!({})),
            limits: Arc::new(json!({})),
            traceparent: None,
            tracestate: None,
        };
        assert_eq!(log.counts(0, start), 0, "a run has no time before its first record");
        log
    }

    /// How much of the time since the newest record counts as active, if this one follows so many milliseconds later.
    fn counts(&mut self, later_ms: u64, body: RecordBody) -> u64 {
        self.now_ms += later_ms;
        self.at(self.now_ms, body)
    }

    fn at(&mut self, ts_ms: u64, body: RecordBody) -> u64 {
        let before = self.history.active_ms;
        self.history.observe(&Record { ts_ms, run_id: "r".into(), step: 7, body });
        self.history.active_ms - before
    }
}

fn request() -> RecordBody {
    RecordBody::LlmRequest { attempt: 1, projected: PicoUsd(1) }
}

fn model_retry(backoff_ms: u64) -> RecordBody {
    RecordBody::LlmRetry(Retry { attempt: 1, failure: RecordedFailure::parse("timeout: late"), backoff_ms, until_ms: 0 })
}

fn tool_retry(backoff_ms: u64) -> RecordBody {
    RecordBody::ToolRetry {
        tool: "t".into(),
        call_id: None,
        retry: Retry { attempt: 1, failure: RecordedFailure::parse("timeout: late"), backoff_ms, until_ms: 0 },
    }
}

fn question() -> RecordBody {
    RecordBody::ApprovalRequest {
        kind: QuestionKind::MayRun,
        call_id: None,
        tool: "t".into(),
        args: Arc::new(json!({})),
        approval_key: "k".into(),
    }
}

fn decision(reused: bool) -> RecordBody {
    RecordBody::Approval {
        kind: QuestionKind::MayRun,
        call_id: None,
        tool: "t".into(),
        args: Arc::new(json!({})),
        approval_key: "k".into(),
        decision: yes(),
        reused,
    }
}

fn crash() -> RecordBody {
    RecordBody::Crash { at: "here".into(), point: None }
}

fn resume() -> RecordBody {
    RecordBody::Resume { from_step: 0, checkpoint_generation: None, records_replayed: 0, in_doubt: None }
}

fn result(result: Value) -> RecordBody {
    RecordBody::ToolResult {
        tool: "t".into(),
        call_id: "c".into(),
        outcome: ToolOutcome::Ok,
        code: None,
        result: Arc::new(result),
    }
}

#[test]
fn time_at_work_counts_and_time_in_which_a_person_thinks_does_not() {
    let mut log = Log::new();
    assert_eq!(log.counts(100, request()), 100);
    assert_eq!(log.counts(30, question()), 30);
    assert_eq!(log.counts(3_600_000, decision(false)), 0);
    assert_eq!(log.counts(20, request()), 20, "from the decision on it is at work again");
    assert_eq!(log.counts(7, decision(true)), 7, "nobody was asked");
    assert_eq!(log.history.active_ms, 157);
    assert_eq!(log.history.last_ts_ms, log.now_ms);
}

#[test]
fn a_question_that_is_still_open_counts_nothing_whatever_follows() {
    let mut log = Log::new();
    assert_eq!(log.counts(1, question()), 1);
    assert_eq!(log.counts(5_000, request()), 0);
    assert_eq!(log.counts(5_000, request()), 5_000);
}

#[test]
fn a_wait_counts_as_long_as_it_was_planned_and_no_longer() {
    for retry in [model_retry, tool_retry] {
        for (passed, counted) in [(400, 400), (999, 999), (1_000, 1_000), (1_001, 1_000), (90_000, 1_000)] {
            let mut log = Log::new();
            assert_eq!(log.counts(10, retry(1_000)), 10);
            assert_eq!(log.counts(passed, request()), counted, "{passed}");
            assert_eq!(log.counts(5_000, request()), 5_000, "the wait is over");
        }
    }
}

#[test]
fn time_in_which_no_agent_lives_does_not_count() {
    let mut log = Log::new();
    assert_eq!(log.counts(10, request()), 10);
    assert_eq!(log.counts(40, crash()), 40, "until then it was alive");
    assert_eq!(log.counts(60_000, resume()), 0);
    assert_eq!(log.counts(25, request()), 25);
    // A crash that left no mark shows only in the resume.
    assert_eq!(log.counts(60_000, resume()), 0);
    // One that comes before anything else is written, likewise.
    assert_eq!(log.counts(5, crash()), 5);
    assert_eq!(log.counts(60_000, crash()), 0);
    assert_eq!(log.counts(60_000, request()), 0);
    assert_eq!(log.history.resumes, 2);
}

#[test]
fn a_wait_that_a_crash_interrupts_goes_on_behind_the_resume() {
    let mut log = Log::new();
    log.counts(10, model_retry(1_000));
    assert_eq!(log.counts(400, crash()), 400);
    assert_eq!(log.counts(60_000, resume()), 0);
    assert_eq!(log.counts(70_000, request()), 1_000);
    let mut log = Log::new();
    log.counts(10, question());
    assert_eq!(log.counts(400, crash()), 0);
    log.counts(60_000, resume());
    assert_eq!(log.counts(70_000, decision(false)), 0);
}

#[test]
fn time_never_runs_backwards() {
    let mut log = Log::new();
    let newest = log.now_ms;
    assert_eq!(log.at(newest - 500, request()), 0);
    assert_eq!(log.history.last_ts_ms, newest);
    assert_eq!(log.at(newest + 3, request()), 3);
}

#[test]
fn a_crash_in_front_of_the_start_is_where_time_begins() {
    let mut history = History::default();
    history.observe(&Record { ts_ms: 5_000, run_id: "r".into(), step: 0, body: crash() });
    assert_eq!((history.active_ms, history.last_ts_ms), (0, 5_000));
    history.observe(&Record { ts_ms: 9_000, run_id: "r".into(), step: 0, body: request() });
    assert_eq!(history.active_ms, 0);
}

#[test]
fn what_was_learnt_since_the_newest_snapshot_is_counted_in_bytes_of_text() {
    let mut log = Log::new();
    let call = |thought: &str| {
        RecordBody::LlmCall(LlmCall {
            thought: thought.into(),
            plan: None,
            plan_version: 0,
            tool_calls: Vec::new().into(),
            input_tokens: 1,
            output_tokens: 1,
            cost: PicoUsd(1),
            latency_ms: 1,
            usage_partial: false,
        })
    };
    let mut grown = |body: RecordBody| {
        let before = log.history.bytes_since_snapshot;
        log.counts(1, body);
        log.history.bytes_since_snapshot - before
    };
    assert_eq!(grown(call("")), 200);
    assert_eq!(grown(call("twelve bytes")), 212);
    assert_eq!(grown(result(json!(""))), 200);
    assert_eq!(grown(result(json!(["ab", "cde", ["f"]]))), 206);
    assert_eq!(grown(result(json!({"key": "value", "k": {}}))), 209);
    assert_eq!(grown(result(json!([1, true, null]))), 224);
    let stop = RecordBody::Stop { status: Status::Done, used: Arc::new(json!(1)), cause: StopCause::Plain };
    for other in [request(), model_retry(1), question(), decision(false), crash(), resume(), stop] {
        assert_eq!(grown(other), 0);
    }
    log.counts(1, RecordBody::Checkpoint { bytes: 4_321, generation: 3 });
    let history = &log.history;
    assert_eq!((history.snapshot_bytes, history.snapshot_step, history.bytes_since_snapshot), (4_321, 7, 0));
}

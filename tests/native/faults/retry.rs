//! Retry and clock: items 16 to 19.

use crashlab::agent::protocol::{Answer, EffectKind};
use crashlab::lab::scenario::When;
use crashlab::lab::session::{Session, Setup};
use crashlab::log::store::MemoryStore;
use crashlab::record::{FailureCode, QuestionKind, Record, RecordBody, Status};
use serde_json::{Value, json};

use crate::support::{
    Bench, after, books, crash_points, first, model_calls, observations, of_type, ran, ran_with_crash, requests, run_until,
    scenario, scripted, search_for,
};

const HOUR_MS: u64 = 3_600_000;

/// One search and its end; `fault` hits it.
fn one_search(fault: Value, edit: impl FnOnce(&mut Value)) -> std::sync::Arc<crashlab::lab::scenario::Scenario> {
    let turns = [first(json!([search_for("refund")])), after("search_kb", "any", json!([]))];
    scripted(&turns, |document| {
        document["faults"] = json!([fault]);
        edit(document);
    })
}

/// The waits before the second attempt, in seconds, of a tool and of the model; `None`: it was not tried again.
fn waits_after(retry_after: Option<&str>) -> [Option<String>; 2] {
    ["search_kb", "model"].map(|target| {
        let fault = json!({"on": target, "kind": "rate_limited", "retry_after": retry_after});
        let (session, _) = ran(&one_search(fault, |document| document["retry"] = json!({"cap_s": 10, "patience_s": 120})));
        let retries = [of_type(&session, "tool_retry"), of_type(&session, "llm_retry")].concat();
        assert!(retries.len() <= 1, "{retry_after:?}");
        let retry = retries.first()?;
        let (until, ts) = (retry["until"].as_f64().unwrap(), retry["ts"].as_f64().unwrap());
        let backoff_s = retry["backoff_s"].as_f64().unwrap();
        assert!((until - ts - backoff_s).abs() < 0.002, "{retry_after:?}: {retry}");
        Some(retry["backoff_s"].to_string())
    })
}

#[test]
fn f16_retry_after_is_honoured_beyond_the_cap_and_never_believed_blindly() {
    let own = waits_after(None);
    assert!(own.iter().all(Option::is_some));
    for honoured in ["30", " 30", "30 ", "030", "Tue, 03 Mar 2026 08:10:30 GMT"] {
        let [of_tool, _] = waits_after(Some(honoured));
        let of_tool: f64 = of_tool.unwrap().parse().unwrap();
        assert!((28.0..=30.0).contains(&of_tool), "{honoured:?} gave {of_tool}");
    }
    for ignored in ["0", "-5", "soon", "1e3", "", "0x1e", "30.5", "Sun, 06 Nov 1994 08:49:37 GMT", "Tue, 31 Feb"] {
        assert_eq!(waits_after(Some(ignored)), own, "{ignored:?}");
    }
    for too_long in ["121", "2200000", "18446744073709551616", "Thu, 01 Jan 2099 00:00:00 GMT"] {
        assert_eq!(waits_after(Some(too_long)), [None, None], "{too_long:?}");
    }
}

#[test]
fn f17_after_a_crash_during_a_wait_the_same_deadline_holds_and_attempts_count_on() {
    let limited = json!({"on": "search_kb", "calls": [1, 2], "kind": "rate_limited", "retry_after": "100"});
    for downtime_s in [0, 10, 99, 100, 500] {
        let scenario = one_search(limited.clone(), |document| document["downtime_s"] = json!(downtime_s));
        let mut store = MemoryStore::default();
        let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
        let is_waiting = |session: &Session| {
            session
                .in_flight()
                .is_some_and(|(effect, when)| matches!(effect.kind, EffectKind::Wait { .. }) && when == When::Before)
        };
        run_until(&mut session, &mut store, is_waiting);
        session.crash(&mut store);
        assert_eq!(session.run_to_end(&mut store), Ok(Status::Done));
        let until = &of_type(&session, "tool_retry")[0]["until"];
        let resumed = &of_type(&session, "resume")[0]["ts"];
        let calls = of_type(&session, "tool_call");
        let attempts: Vec<_> = calls.iter().map(|call| call["attempt"].as_u64().unwrap()).collect();
        assert_eq!(attempts, [1, 2, 3], "{downtime_s}");
        let later = if until.as_f64() > resumed.as_f64() { until } else { resumed };
        assert_eq!(&calls[1]["ts"], later, "{downtime_s} s dead");
    }
}

#[test]
fn f17_failures_before_a_crash_count_against_the_attempts() {
    let down = json!({"on": "search_kb", "calls": [1, 2, 3, 4, 5, 6, 7, 8], "kind": "unavailable"});
    let scenario = one_search(down, |_| {});
    for (effect, when, kind) in crash_points(&scenario) {
        let (session, _) = ran_with_crash(&scenario, effect, when);
        // One more than without a crash at most: the one in doubt.
        let count = requests(session.world(), "search_kb");
        assert!((4..=5).contains(&count), "{when:?} {effect} {}: {count} requests", kind.as_str());
        let attempts: Vec<u64> = of_type(&session, "tool_call").iter().map(|call| call["attempt"].as_u64().unwrap()).collect();
        assert!(attempts.windows(2).all(|pair| pair[1] == pair[0] + 1), "{when:?} {effect}: {attempts:?}");
    }
}

#[test]
fn f18_always_429_is_as_many_calls_at_the_provider_as_attempts() {
    let always: Vec<u32> = (1..=100).collect();
    for max_attempts in [1, 2, 4, 7] {
        let hit = |target: &str| {
            let fault = json!({"on": target, "calls": always, "kind": "rate_limited"});
            one_search(fault, |document| document["retry"] = json!({"max_attempts": max_attempts}))
        };
        let (session, _) = ran(&hit("search_kb"));
        assert_eq!(requests(session.world(), "search_kb"), max_attempts);
        assert_eq!(of_type(&session, "tool_call").len(), max_attempts);
        assert_eq!(observations(&session).len(), 1, "the model sees one failure");
        let (session, _) = ran(&hit("model"));
        assert_eq!(session.status(), Some(Status::ModelFailed));
        assert_eq!(model_calls(session.world()), max_attempts);
        assert_eq!(of_type(&session, "llm_request").len(), max_attempts);
        assert_eq!(session.world().meter().3.0, 0);
        assert_eq!(books(session.world()).hand_overs, 1);
        let stop = &of_type(&session, "stop")[0];
        assert_eq!(stop["error"], json!(format!("rate_limited: 429 Too Many Requests, in attempt {max_attempts}")));
    }
}

/// A wait in which the clock jumps, and the run after it.
fn with_jump(before_the_wait: impl FnOnce(&mut Bench), jumped: impl FnOnce(u64, u64) -> u64) -> Bench {
    let scenario = scripted(&[first(json!([]))], |document| document["limits"] = json!({"deadline_s": 60}));
    let mut bench = Bench::new(&scenario);
    bench.writes(&["run_start", "llm_request"]).calls_model();
    bench.says("I search.", &[("call_1", "search_kb", json!({"query": "x"}))]).writes(&["llm_call", "tool_call"]);
    bench.calls_tool("search_kb").fails(FailureCode::Unavailable).writes(&["tool_retry"]);
    before_the_wait(&mut bench);
    let until_ms = bench.waits();
    assert!(until_ms <= bench.now_ms + 10_000, "no wait is longer than its backoff");
    bench.now_ms = jumped(bench.now_ms, until_ms);
    bench.answer(Answer::TimeHasCome).writes(&["tool_call"]).calls_tool("search_kb").gives(json!({"hits": []}));
    bench.writes(&["tool_result"]).saves();
    bench
}

#[test]
fn f19_a_clock_that_jumps_during_a_backoff_neither_ends_nor_delays_the_run() {
    type Jump = fn(u64, u64) -> u64;
    let jumps: [Jump; 3] = [|_, until| until, |_, until| until + HOUR_MS, |now, _| now - HOUR_MS];
    let crashes: [fn(&mut Bench); 2] = [
        |_| {},
        |bench| {
            bench.dies_and_resumes();
        },
    ];
    for crash in crashes {
        for jump in jumps {
            let mut bench = with_jump(crash, jump);
            assert!(bench.agent.run().history.active_ms < 1_000, "{} ms", bench.agent.run().history.active_ms);
            bench.writes(&["llm_request"]).calls_model().says("Done.", &[]).writes(&["llm_call"]).saves().writes(&["stop"]);
            bench.stops(Status::Done).nothing_more();
            let times: Vec<u64> = bench.store.records().iter().map(|record| record.ts_ms).collect();
            assert!(times.is_sorted(), "{times:?}");
        }
    }
}

#[test]
fn f19_a_clock_that_was_set_back_while_the_agent_was_dead_makes_no_wait_longer() {
    let mut bench = Bench::new(&scenario("double-charge"));
    bench.writes(&["run_start", "llm_request"]).calls_model().fails(FailureCode::Unavailable).writes(&["llm_retry"]);
    let RecordBody::LlmRetry(retry) = bench.newest().clone() else { panic!() };
    bench.now_ms -= 24 * HOUR_MS;
    bench.dies_and_resumes();
    assert_eq!(bench.waits(), retry.until_ms);
    let started = bench.store.records()[0].ts_ms;
    assert!(bench.store.records().iter().all(|record| record.ts_ms >= started && record.ts_ms < started + 1_000));
}

#[test]
fn f19_time_that_passes_while_the_agent_is_dead_is_no_active_time() {
    let history_of = |bodies: &[(u64, RecordBody)]| {
        let mut history = crashlab::agent::run::History::default();
        for (ts_ms, body) in bodies {
            history.observe(&Record { ts_ms: 1_000_000 + ts_ms, run_id: "r".into(), step: 0, body: body.clone() });
        }
        history.active_ms
    };
    let crash = || RecordBody::Crash { at: "somewhere".into(), point: None };
    let resume = || RecordBody::Resume { from_step: 0, checkpoint_generation: None, records_replayed: 0, in_doubt: None };
    let request = || RecordBody::LlmRequest { attempt: 1, projected: Default::default() };
    let asked = || RecordBody::ApprovalRequest {
        kind: QuestionKind::MayRun,
        call_id: None,
        tool: "t".into(),
        args: json!({}).into(),
        approval_key: "k".into(),
    };
    assert_eq!(history_of(&[(0, request()), (5, crash()), (HOUR_MS, resume()), (HOUR_MS + 7, request())]), 12);
    assert_eq!(history_of(&[(0, request()), (HOUR_MS, resume()), (HOUR_MS + 7, request())]), 7);
    // A person thinks for an hour, and the agent dies meanwhile.
    assert_eq!(history_of(&[(0, asked()), (HOUR_MS, crash()), (HOUR_MS + 9, resume()), (HOUR_MS + 10, request())]), 0);
}

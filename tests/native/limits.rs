//! Every limit at one less, exactly, and one more: a guard is only as good as its comparison.

use std::collections::BTreeMap;

use crashlab::agent::config::{Config, Policies};
use crashlab::agent::guards::{Trip, check, guard_figures};
use crashlab::agent::retry::{RetryAfter, RetryPolicy};
use crashlab::agent::run::Run;
use crashlab::agent::state::AgentState;
use crashlab::agent::tools::{Parameter, ParameterKind, ToolSpec};
use crashlab::base::money::PicoUsd;
use crashlab::lab::session::Session;
use crashlab::record::{FailureCode, RecordBody, Status, seconds};
use serde_json::{Value, json};

use crate::support::{Bench, Site, assert_unbroken, document, of_type, ran, read, scenario, scripted, search_for};

/// A run between two steps, and what it was given.
fn between_steps() -> (Run, Config) {
    let site = Site::new(&scenario("double-charge"));
    let mut state = (*Run::new(&site.config).state).clone();
    state.input_tokens = 4_000;
    state.output_tokens = 300;
    state.cost = PicoUsd(7_777_777_777);
    (Run::from_state(state), (*site.config).clone())
}

fn with_state(run: &Run, edit: impl FnOnce(&mut AgentState)) -> Run {
    let mut state = (*run.state).clone();
    edit(&mut state);
    Run::from_state(state)
}

/// What the guards say before a step's first attempt, and before a repeated one.
fn says(run: &Run, config: &Config) -> [Option<Status>; 2] {
    [true, false].map(|first| check(run, config, first).map(|trip| trip.status))
}

#[test]
fn as_many_steps_as_are_allowed_are_made_and_not_one_more() {
    let (run, mut config) = between_steps();
    config.limits.max_steps = 7;
    let at = |step: u32| with_state(&run, |state| state.step = step);
    assert_eq!(says(&at(6), &config), [None, None]);
    assert_eq!(says(&at(7), &config), [Some(Status::MaxSteps), None], "a step that has begun is not cut off");
    assert_eq!(says(&at(8), &config), [Some(Status::MaxSteps), None]);
    let trip = check(&at(8), &config, true).unwrap();
    assert_eq!(trip, Trip { status: Status::MaxSteps, observed: json!(8), limit: json!(7), next_call: None });
}

#[test]
fn a_call_that_uses_up_the_budget_exactly_is_made_and_one_pico_dollar_more_is_not() {
    let (run, mut config) = between_steps();
    let needed = run.state.cost.plus(run.projection(&config).cost);
    for (budget, expected) in [(needed.0 - 1, Some(Status::BudgetUsd)), (needed.0, None), (needed.0 + 1, None)] {
        config.limits.budget = PicoUsd(budget);
        assert_eq!(says(&run, &config), [expected, expected], "{budget} of {}", needed.0);
    }
    config.limits.budget = PicoUsd(needed.0 - 1);
    let trip = check(&run, &config, false).unwrap();
    assert_eq!(trip.observed, run.state.cost.usd_number());
    assert_eq!(trip.limit, config.limits.budget.usd_number());
    assert_eq!(trip.next_call, Some(run.projection(&config).cost.usd_number()));
    config.policies.budget_guard = false;
    assert_eq!(says(&run, &config), [None, None]);
}

#[test]
fn a_call_that_uses_up_the_tokens_exactly_is_made_and_one_token_more_is_not() {
    let (run, mut config) = between_steps();
    let next = run.projection(&config);
    assert_eq!(next.output_tokens, config.limits.output_reserve);
    assert_eq!(next.input_tokens, run.state.messages.iter().map(|message| message.tokens()).sum::<u64>());
    let needed = 4_300 + next.input_tokens + next.output_tokens;
    for (budget, expected) in [(needed - 1, Some(Status::BudgetTokens)), (needed, None), (needed + 1, None)] {
        config.limits.budget_tokens = budget;
        assert_eq!(says(&run, &config), [expected, expected], "{budget} of {needed}");
    }
    config.limits.budget_tokens = needed - 1;
    let trip = check(&run, &config, false).unwrap();
    assert_eq!((trip.observed, trip.limit), (json!(4_300), json!(needed - 1)));
    assert_eq!(trip.next_call, Some(json!(next.input_tokens + next.output_tokens)));
}

#[test]
fn the_deadline_itself_is_in_time_and_a_millisecond_later_is_not() {
    let (mut run, mut config) = between_steps();
    config.limits.deadline_ms = 5_000;
    for (active_ms, expected) in [(4_999, None), (5_000, None), (5_001, Some(Status::Deadline))] {
        run.history.active_ms = active_ms;
        assert_eq!(says(&run, &config), [expected, expected], "{active_ms}");
    }
    let trip = check(&run, &config, true).unwrap();
    assert_eq!((trip.observed, trip.limit, trip.next_call), (seconds(5_001), seconds(5_000), None));
}

#[test]
fn a_call_that_was_made_as_often_as_is_allowed_ends_the_run() {
    let (run, mut config) = between_steps();
    config.limits.max_repeats = 4;
    let called = |times: u32| {
        with_state(&run, |state| {
            state.push_seen_call("search_kb {}".into());
            // Others between them keep the calls from being two in turn.
            for nth in 1..times {
                state.push_seen_call(format!("read_article {nth}").into());
                state.push_seen_call("search_kb {}".into());
            }
        })
    };
    assert_eq!(says(&called(3), &config), [None, None]);
    assert_eq!(says(&called(4), &config), [Some(Status::RepeatedCall), None]);
    assert_eq!(says(&called(5), &config), [Some(Status::RepeatedCall), None]);
    assert_eq!(check(&called(4), &config, true).unwrap().limit, json!(4));
    // Only the newest call is asked about: what was called too often before has been let go.
    let past = with_state(&called(4), |state| state.push_seen_call("get_invoice {}".into()));
    assert_eq!(says(&past, &config), [None, None]);
    config.policies.loop_guard = false;
    assert_eq!(says(&called(5), &config), [None, None]);
}

#[test]
fn two_calls_in_turn_are_a_loop_and_what_only_looks_like_it_is_none() {
    let (run, mut config) = between_steps();
    config.limits.max_repeats = 99;
    let called = |calls: &str| {
        let run = with_state(&run, |state| calls.split(' ').for_each(|call| state.push_seen_call(call.into())));
        says(&run, &config)[0]
    };
    for loops in ["a b a b", "b a b a b", "c c a b a b"] {
        assert_eq!(called(loops), Some(Status::RepeatedCall), "{loops}");
    }
    for free in ["a b a", "a a b b", "a b b a", "a a a a", "a b a c", "a b c b", "a b a b c"] {
        assert_eq!(called(free), None, "{free}");
    }
}

#[test]
fn as_many_stale_steps_as_are_allowed_end_the_run() {
    let (run, mut config) = between_steps();
    config.limits.max_stale_steps = 4;
    let at = |stale: u32| with_state(&run, |state| state.stale_steps = stale);
    assert_eq!(says(&at(3), &config), [None, None]);
    assert_eq!(says(&at(4), &config), [Some(Status::Stale), None]);
    assert_eq!(says(&at(5), &config), [Some(Status::Stale), None]);
    let trip = check(&at(5), &config, true).unwrap();
    assert_eq!((trip.observed, trip.limit), (json!(5), json!(4)));
    config.policies.loop_guard = false;
    assert_eq!(says(&at(5), &config), [None, None]);
}

#[test]
fn as_many_new_plans_as_are_allowed_are_made_and_not_one_more() {
    let (run, mut config) = between_steps();
    config.limits.max_replans = 2;
    let at = |replans: u32| with_state(&run, |state| state.replans = replans);
    assert_eq!(says(&at(1), &config), [None, None]);
    assert_eq!(says(&at(2), &config), [None, None]);
    assert_eq!(says(&at(3), &config), [Some(Status::MaxReplans), None]);
    let trip = check(&at(3), &config, true).unwrap();
    assert_eq!((trip.observed, trip.limit), (json!(3), json!(2)));
}

#[test]
fn a_run_is_resumed_as_often_as_is_allowed_and_the_next_agent_writes_down_why_it_is_over() {
    for limit in 0..4 {
        let scenario = scripted(&[crate::support::first(json!([search_for("charge")]))], |document| {
            document["limits"] = json!({"max_resumes": limit});
        });
        let mut bench = Bench::new(&scenario);
        bench.writes(&["run_start", "llm_request"]).calls_model();
        for _ in 0..limit {
            bench.dies_and_resumes().writes(&["llm_request"]).calls_model();
        }
        bench.dies().writes(&["guard"]);
        match bench.newest() {
            RecordBody::Guard { guard, observed, limit: said } => {
                assert_eq!((*guard, &**observed, &**said), (Status::MaxResumes, &json!(limit), &json!(limit)));
            }
            other => panic!("{other:?}"),
        }
        // The call that was out when the last agent died counts too, although nobody resumes it.
        assert_eq!(bench.agent.run().state.llm_calls, limit + 1);
        bench.writes(&["stop"]).stops(Status::MaxResumes).nothing_more();
    }
}

#[test]
fn a_whole_run_may_use_up_its_budget_to_the_last_pico_dollar() {
    let with_limit = |key: &str, value: Value| {
        let mut document = document("double-charge");
        document["limits"] = json!({});
        document["limits"][key] = value;
        ran(&read(&document.to_string())).0
    };
    let calm = ran(&scenario("double-charge")).0;
    let (mut most, mut most_tokens) = (PicoUsd(0), 0);
    for place in (0..calm.log().len()).filter(|place| calm.log()[*place].body.kind() == "llm_request") {
        let run = calm.run_at(place).unwrap();
        let next = run.projection(calm.config());
        most = most.max(run.state.cost.plus(next.cost));
        most_tokens = most_tokens.max(run.state.input_tokens + run.state.output_tokens + next.input_tokens + next.output_tokens);
    }
    let usd =
        |pico: u64| serde_json::from_str::<Value>(&format!("{}.{:012}", pico / 10_u64.pow(12), pico % 10_u64.pow(12))).unwrap();
    let ends = |session: &Session| {
        assert_unbroken(session, "at the limit");
        session.status().unwrap()
    };
    assert_eq!(ends(&with_limit("budget_usd", usd(most.0))), Status::Done);
    let short = with_limit("budget_usd", usd(most.0 - 1));
    assert_eq!(ends(&short), Status::BudgetUsd);
    assert_eq!(of_type(&short, "guard"), Vec::<Value>::new(), "a budget says its figures in `stop` itself");
    assert_eq!(ends(&with_limit("budget_tokens", json!(most_tokens))), Status::Done);
    assert_eq!(ends(&with_limit("budget_tokens", json!(most_tokens - 1))), Status::BudgetTokens);
}

#[test]
fn the_figures_of_the_guards_say_how_much_of_each_limit_is_used_up() {
    let (run, mut config) = between_steps();
    config.limits.budget = PicoUsd(10_000_000_000);
    config.limits.budget_tokens = 8_600;
    config.limits.max_steps = 8;
    config.limits.deadline_ms = 10_000;
    config.limits.max_repeats = 4;
    config.limits.max_stale_steps = 1;
    config.limits.max_replans = 0;
    let mut run = with_state(&run, |state| {
        state.step = 2;
        state.stale_steps = 3;
        for call in ["a", "b", "a", "a"] {
            state.push_seen_call(call.into());
        }
    });
    run.history.active_ms = 2_500;
    let figures = guard_figures(&run, &config);
    let shares: BTreeMap<Status, u64> = figures.iter().map(|figure| (figure.guard, figure.share)).collect();
    let expected = [
        (Status::BudgetUsd, 777),
        (Status::BudgetTokens, 500),
        (Status::MaxSteps, 250),
        (Status::Deadline, 200),
        (Status::RepeatedCall, 750),
        (Status::Stale, 1_000),
        // A limit of nothing is used up from the start.
        (Status::MaxReplans, 1_000),
    ];
    assert_eq!(shares, BTreeMap::from(expected));
    let shown: Vec<(&str, &str)> = figures.iter().map(|figure| (&*figure.observed, &*figure.limit)).collect();
    let expected = [
        ("0.0077778", "0.01 USD"),
        ("4,300", "8,600 tokens"),
        ("2", "8 steps"),
        ("2", "10 s"),
        ("3", "4 times"),
        ("3", "1 step"),
        ("0", "0 new plans"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_retry_after_of_exactly_the_patience_is_waited_for() {
    let policy = RetryPolicy { patience_ms: 90_000, base_ms: 1_000, jitter: false, ..RetryPolicy::default() };
    let wait = |asked| policy.backoff_ms(1, Some(RetryAfter::Wait(asked)), 1, "c");
    assert_eq!(wait(89_999), Some(89_999));
    assert_eq!(wait(90_000), Some(90_000));
    assert_eq!(wait(90_001), None);
    // What is asked for is the least: the agent's own backoff may be longer.
    assert_eq!(wait(999), Some(1_000));
    assert_eq!(policy.backoff_ms(1, Some(RetryAfter::Unreadable), 1, "c"), Some(1_000));
}

#[test]
fn as_many_attempts_as_are_allowed_are_made_and_not_one_more() {
    for max_attempts in 1..5 {
        let policy = RetryPolicy { max_attempts, ..RetryPolicy::default() };
        let waits: Vec<bool> = (1..7).map(|failures| policy.backoff_ms(failures, None, 1, "c").is_some()).collect();
        assert_eq!(waits.iter().filter(|waits| **waits).count(), max_attempts as usize - 1);
    }
}

#[test]
fn half_of_a_backoff_is_certain_and_the_other_half_is_drawn_to_its_ends() {
    let policy = RetryPolicy { base_ms: 7, max_attempts: 99, ..RetryPolicy::default() };
    let waits: std::collections::BTreeSet<u64> = (0..500).filter_map(|seed| policy.backoff_ms(1, None, seed, "c")).collect();
    assert_eq!(waits, (3..=7).collect());
    // Seed, call and attempt each change the lot.
    let lots = |of: &dyn Fn(u32) -> Option<u64>| (0..40).map(of).collect::<std::collections::BTreeSet<_>>().len();
    let policy = RetryPolicy { base_ms: 10_000, ..policy };
    assert!(lots(&|n| policy.backoff_ms(1, None, n.into(), "c")) > 30);
    assert!(lots(&|n| policy.backoff_ms(1, None, 1, &format!("c{n}"))) > 30);
    assert!(lots(&|n| policy.backoff_ms(n + 1, None, 1, "c")) > 30);
    let still = RetryPolicy { base_ms: 0, ..policy };
    assert_eq!(still.backoff_ms(1, None, 1, "c"), Some(0));
}

#[test]
fn each_kind_of_argument_takes_its_own_json_type_and_no_other() {
    let samples = [
        (ParameterKind::Text, json!("1")),
        (ParameterKind::Number, json!(1)),
        (ParameterKind::Boolean, json!(true)),
        (ParameterKind::List, json!([1])),
        (ParameterKind::Object, json!({"a": 1})),
    ];
    let tool = |kind, required| ToolSpec {
        parameters: vec![Parameter { name: "x".to_string(), kind, required }],
        ..ToolSpec::new("tool", "Does.")
    };
    for (kind, _) in &samples {
        for (of, sample) in &samples {
            assert_eq!(tool(*kind, true).check(&json!({"x": sample})).is_ok(), kind == of, "{kind:?}, {sample}");
        }
        assert!(tool(*kind, true).check(&json!({"x": null})).is_err());
        assert!(tool(ParameterKind::Any, true).check(&json!({"x": samples[0].1})).is_ok());
        assert!(tool(*kind, true).check(&json!({})).is_err());
        assert!(tool(*kind, false).check(&json!({})).is_ok(), "what is not required may be absent");
        assert!(tool(*kind, false).check(&json!({"x": null})).is_err(), "and `null` is a value");
        assert!(tool(*kind, false).check(&json!({"y": 1})).is_err());
    }
    assert!(tool(ParameterKind::Any, true).check(&Value::Null).is_err());
    assert!(tool(ParameterKind::Any, true).check(&json!([])).is_err());
    // What the sentence names: the tool, the argument, what was expected and what stands there.
    let message = |args: Value| tool(ParameterKind::List, true).check(&args).unwrap_err();
    for word in ["tool", "x", ParameterKind::List.as_str(), "a string"] {
        assert!(message(json!({"x": "1"})).contains(word), "{word}");
    }
    let both = ToolSpec {
        parameters: ["a", "b"].map(|name| Parameter { name: name.to_string(), kind: ParameterKind::Any, required: false }).into(),
        ..ToolSpec::new("tool", "Does.")
    };
    let unknown = both.check(&json!({"a": 1, "c": 1})).unwrap_err();
    assert!(["`a`", "`b`", "`c`"].iter().all(|name| unknown.contains(name)), "{unknown}");
    assert_ne!(message(json!("{\"x\": ")), message(json!("\"text\"")), "half a text is told from a text that is no object");
}

#[test]
fn a_tool_without_flags_is_destructive_and_not_idempotent() {
    let tool = ToolSpec::new("tool", "Does.");
    assert!(tool.irreversible && !tool.idempotent && !tool.read_only);
    assert_eq!((&*tool.name, &*tool.description), ("tool", "Does."));
    assert!(tool.check(&json!({})).is_ok());
}

#[test]
fn mechanisms_are_all_on_unless_somebody_takes_one_away() {
    let all = Policies::default();
    assert_eq!(scenario("double-charge").config(crashlab::lab::mechanisms::Mechanisms::ALL_ON, 1, "r".into()).policies, all);
}

/// A step whose calls teach something and nothing, in this order.
fn step_of(bench: &mut Bench, results: &[Value]) {
    let calls: Vec<(String, Value)> =
        (0..results.len()).map(|place| (format!("c{place}"), json!({"query": format!("{} {place}", bench.now_ms)}))).collect();
    let calls: Vec<(&str, &str, Value)> = calls.iter().map(|(id, args)| (id.as_str(), "search_kb", args.clone())).collect();
    bench.writes(&["llm_request"]).calls_model().says("I search.", &calls).writes(&["llm_call"]);
    for result in results {
        bench.writes(&["tool_call"]).calls_tool("search_kb").gives(result.clone()).writes(&["tool_result"]);
    }
    bench.saves();
}

#[test]
fn one_new_observation_anywhere_in_a_step_is_news() {
    let (old, new) = (json!({"hits": ["old"]}), |nth: u32| json!({"hits": [nth]}));
    for results in [vec![new(1), old.clone()], vec![old.clone(), new(1)], vec![old.clone(), new(1), old.clone()]] {
        let mut bench = Bench::new(&scenario("double-charge"));
        bench.writes(&["run_start"]);
        step_of(&mut bench, std::slice::from_ref(&old));
        assert_eq!(bench.agent.run().state.stale_steps, 0);
        step_of(&mut bench, &results);
        assert_eq!(bench.agent.run().state.stale_steps, 0, "{results:?}");
        step_of(&mut bench, std::slice::from_ref(&old));
        assert_eq!(bench.agent.run().state.stale_steps, 1);
        step_of(&mut bench, &[old.clone(), old.clone()]);
        assert_eq!(bench.agent.run().state.stale_steps, 2);
        step_of(&mut bench, &[old.clone(), new(2)]);
        assert_eq!(bench.agent.run().state.stale_steps, 0);
    }
}

#[test]
fn what_failed_counts_as_an_attempt_only_for_its_own_call() {
    let scenario = scripted(&[crate::support::first(json!([]))], |document| {
        document["retry"] = json!({"max_attempts": 2, "base_s": 0.001});
    });
    let mut bench = Bench::new(&scenario);
    bench.writes(&["run_start", "llm_request"]).calls_model();
    let call = |id: &'static str| (id, "search_kb", json!({"query": id}));
    bench.says("Two.", &[call("a"), call("b")]).writes(&["llm_call"]);
    for _ in 0..2 {
        bench.writes(&["tool_call"]).calls_tool("search_kb").fails(FailureCode::Unavailable).writes(&["tool_retry"]);
        bench.waits();
        bench.answer(crashlab::agent::protocol::Answer::TimeHasCome);
        bench.writes(&["tool_call"]).calls_tool("search_kb").gives(json!({"hits": []})).writes(&["tool_result"]);
    }
    let attempt_of = |record: &std::sync::Arc<crashlab::record::Record>| match &record.body {
        RecordBody::ToolCall { attempt, .. } => Some(*attempt),
        _ => None,
    };
    let attempts: Vec<u32> = bench.store.records().iter().filter_map(attempt_of).collect();
    assert_eq!(attempts, [1, 2, 1, 2]);
}

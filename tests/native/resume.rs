//! Under which conditions a run may be resumed, and what is remembered when it is.

use std::sync::Arc;

use crashlab::agent::Agent;
use crashlab::agent::approval::{question_key, standing};
use crashlab::agent::config::{Config, Limits};
use crashlab::agent::run::Run;
use crashlab::agent::state::{AgentState, Approval};
use crashlab::agent::tools::ToolSpec;
use crashlab::base::money::{PicoUsd, Prices};
use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, SessionError, Setup};
use crashlab::log::checkpoint;
use crashlab::log::recovery::{RecoveryError, recover};
use crashlab::log::store::{MemoryStore, Store, seal, unseal};
use crashlab::record::{ApprovalStatus, ToolCall};
use serde_json::{Value, json};

use crate::support::{Site, crash_points, document, read, run_until, scenario};

/// A run that was cut off in its middle, without a mark of it in the log.
fn cut_off(setup: Setup) -> (Session, MemoryStore) {
    let mut store = MemoryStore::default();
    let mut session = Session::start(setup, &mut store).unwrap();
    run_until(&mut session, &mut store, |session| session.log().len() >= 12);
    session.kill_unrecorded();
    (session, store)
}

/// Fails unless a run that began under `began` is refused under `now`, the error says `named`, and nobody loses anything.
fn assert_changed(began: Setup, now: Setup, named: &str) {
    let (dead, store) = cut_off(began);
    let mut taken = store.clone();
    let mut session = Session::reopen(now, dead.world().rows().to_vec(), dead.progress().clone(), &taken);
    match session.resume(&mut taken) {
        Err(SessionError::Recovery(error @ RecoveryError::Changed { .. })) => {
            assert!(error.to_string().contains(named), "{named}: {error}");
        }
        other => panic!("{named}: {other:?}"),
    }
    assert_eq!(taken, store, "{named}: log, checkpoints and owner are as they were");
    assert!(session.agent().is_none(), "{named}");
    assert_eq!(session.world().rows(), dead.world().rows(), "{named}");
}

#[test]
fn a_run_is_resumed_under_what_it_was_started_with() {
    let (dead, mut store) = cut_off(Setup::of(&scenario("double-charge")));
    let setup = Setup::of(&scenario("double-charge"));
    let mut session = Session::reopen(setup, dead.world().rows().to_vec(), dead.progress().clone(), &store);
    assert_eq!(session.resume(&mut store), Ok(()));
    assert_eq!(store.epoch(), 2);
}

#[test]
fn another_scenario_or_seed_is_refused_and_named() {
    let began = Setup::of(&scenario("double-charge"));
    let mut other = document("double-charge");
    other["title"] = json!("Another one");
    let other = read(&other.to_string());
    assert_changed(began.clone(), Setup { scenario: other, ..began.clone() }, "scenario");
    assert_changed(began.clone(), Setup { seed: 2, ..began.clone() }, "seed");
    assert_changed(Setup { seed: u64::MAX, ..began.clone() }, began, "seed");
}

#[test]
fn each_mechanism_that_was_switched_meanwhile_is_refused_and_named() {
    let on = Setup::of(&scenario("double-charge"));
    for mechanism in Mechanism::ALL {
        let off = Setup { mechanisms: Mechanisms::without(mechanism), ..on.clone() };
        assert_changed(on.clone(), off.clone(), mechanism.text().id);
        assert_changed(off, on.clone(), mechanism.text().id);
    }
}

/// The scenario with one thing changed of which its digest knows nothing, as another program's driver could do.
fn edited(edit: impl FnOnce(&mut Scenario)) -> Arc<Scenario> {
    let mut scenario = (*scenario("double-charge")).clone();
    edit(&mut scenario);
    Arc::new(scenario)
}

#[test]
fn each_limit_that_was_changed_meanwhile_is_refused_and_named() {
    type Edit = fn(&mut Limits);
    let limits: [(&str, Edit); 9] = [
        ("max_steps", |limits| limits.max_steps += 1),
        ("budget_usd", |limits| limits.budget.0 += 100_000),
        ("budget_tokens", |limits| limits.budget_tokens -= 1),
        ("deadline_s", |limits| limits.deadline_ms += 1),
        ("max_repeats", |limits| limits.max_repeats += 1),
        ("max_stale_steps", |limits| limits.max_stale_steps -= 1),
        ("max_replans", |limits| limits.max_replans += 1),
        ("max_resumes", |limits| limits.max_resumes += 1),
        ("output_reserve", |limits| limits.output_reserve -= 1),
    ];
    let began = Setup::of(&scenario("double-charge"));
    for (name, edit) in limits {
        let now = Setup { scenario: edited(|scenario| edit(&mut scenario.limits)), ..began.clone() };
        assert_changed(began.clone(), now.clone(), name);
        assert_changed(now, began.clone(), name);
    }
}

#[test]
fn other_prices_and_attempts_are_refused_and_named() {
    type Edit = fn(&mut Scenario);
    let dearer = |prices: Prices, input: u64, output: u64| Prices {
        input: PicoUsd(prices.input.0 + input),
        output: PicoUsd(prices.output.0 + output),
    };
    let began = Setup::of(&scenario("double-charge"));
    let prices = began.scenario.prices;
    let attempts: Edit = |scenario| scenario.retry.max_attempts += 1;
    let changed = [
        ("input_usd_per_million", edited(|scenario| scenario.prices = dearer(prices, 10_000, 0))),
        ("output_usd_per_million", edited(|scenario| scenario.prices = dearer(prices, 0, 10_000))),
        ("max_attempts", edited(attempts)),
    ];
    for (name, now) in changed {
        assert_changed(began.clone(), Setup { scenario: now, ..began.clone() }, name);
    }
}

#[test]
fn other_flags_of_a_tool_are_refused_and_named() {
    type Edit = fn(&mut ToolSpec);
    let (session, store) = cut_off(Setup::of(&scenario("double-charge")));
    let flags: [(&str, Edit); 3] = [
        ("irreversible", |tool| tool.irreversible = true),
        ("not_idempotent", |tool| tool.idempotent = false),
        ("read_only", |tool| tool.read_only = true),
    ];
    for (name, edit) in flags {
        let mut tools = session.config().tools.to_vec();
        let place = tools.iter().position(|tool| tool.name == "add_internal_note").unwrap();
        edit(&mut tools[place]);
        let config = Config { tools: tools.into(), ..(**session.config()).clone() };
        match recover(Arc::new(config), &store.read(), session.now_ms()) {
            Err(error @ RecoveryError::Changed { .. }) => assert!(error.to_string().contains(name), "{name}: {error}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_log_without_a_start_is_compared_with_nothing() {
    // A crash in front of `run_start` leaves only the lab's mark.
    let setup = Setup::of(&scenario("double-charge"));
    let mut store = MemoryStore::default();
    let mut session = Session::start(setup.clone(), &mut store).unwrap();
    session.crash(&mut store);
    assert_eq!(session.log().len(), 1);
    let config = Arc::new(setup.scenario.config(setup.mechanisms, 99, setup.run_id()));
    assert!(recover(config, &store.read(), session.now_ms()).is_ok());
}

// --- The checkpoint's version --------------------------------------------------------------------------------------------------

#[test]
fn a_checkpoint_of_another_version_is_refused_and_one_without_is_of_the_first() {
    let (_, store) = cut_off(Setup::of(&scenario("double-charge")));
    let state = store.read().snapshots[0].state.clone().unwrap();
    let with = |version: Option<Value>| {
        let mut value = checkpoint::to_json(&state);
        match version {
            Some(version) => value["version"] = version,
            None => drop(value.as_object_mut().unwrap().remove("version")),
        }
        checkpoint::decode(&value.to_string())
    };
    assert_eq!(with(None).as_ref(), Ok(&*state));
    assert_eq!(with(Some(json!(null))).as_ref(), Ok(&*state), "null counts as absent");
    assert_eq!(with(Some(json!(checkpoint::VERSION))).as_ref(), Ok(&*state));
    for version in [json!(0), json!(2), json!(u64::MAX), json!(-1), json!("1"), json!(1.5), json!([])] {
        assert_eq!(
            with(Some(version.clone())).map_err(|error| error.path().to_string()),
            Err("$.version".to_string()),
            "{version}"
        );
        let mut value = checkpoint::to_json(&state);
        value["version"] = version.clone();
        let found = unseal(&seal(3, &value.to_string()));
        assert!(found.state.is_err(), "{version}");
    }
}

// --- What an agent knew --------------------------------------------------------------------------------------------------------

/// An answer with five calls, and no crash but those that a test arms.
fn five_calls() -> Arc<Scenario> {
    let mut document = document("five-calls");
    document["crashes"] = json!([]);
    read(&document.to_string())
}

/// Compares what a living agent knows with what its log says it knows, whenever the log has grown. How often it did.
fn compared_with_its_log(mechanisms: Mechanisms, effect: u64, when: When) -> usize {
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup { mechanisms, ..Setup::of(&five_calls()) }, &mut store).unwrap();
    session.leave_judging_to_me();
    session.arm(effect, when);
    let (mut compared, mut length) = (0, 0);
    for _ in 0..400 {
        session.tick(&mut store);
        if session.status().is_some() {
            break;
        }
        let Some(agent) = session.agent() else {
            session.resume(&mut store).unwrap();
            continue;
        };
        // A record of which the agent has not heard yet is not compared.
        let has_heard = session.in_flight().is_none_or(|(effect, _)| effect.kind.as_str() != "append");
        if has_heard && session.log().len() > length {
            length = session.log().len();
            let known = session.run_at(length).unwrap();
            assert_eq!(known.state, agent.run().state, "{mechanisms:?}, {when:?} effect {effect}, {length} records");
            compared += 1;
        }
    }
    assert!(session.status().is_some());
    compared
}

#[test]
fn what_an_agent_knew_at_any_record_is_had_again_whatever_was_off_and_wherever_it_died() {
    let effects = crash_points(&five_calls()).len() as u64 / 2;
    for off in [None, Some(Mechanism::Journal), Some(Mechanism::SavedGuards), Some(Mechanism::DurableApprovals)] {
        let mechanisms = off.map_or(Mechanisms::ALL_ON, Mechanisms::without);
        for effect in (3..effects).step_by(9) {
            assert!(compared_with_its_log(mechanisms, effect, When::After) > 3, "{off:?}, effect {effect}");
        }
    }
}

// --- Which decision stands -----------------------------------------------------------------------------------------------------

fn refund(amount: u64) -> ToolCall {
    let args = json!({"invoice_id": "I", "charge_id": "C", "amount": amount, "currency": "USD", "reason": "r"});
    ToolCall::new("call_1", "issue_refund", args)
}

fn decided(call: &ToolCall, action: &str, status: ApprovalStatus, by: &str) -> Arc<Approval> {
    Arc::new(Approval {
        tool: call.name.clone(),
        identity: call.identity.clone(),
        idempotency_key: action.into(),
        approval_key: format!("key of {by}").into(),
        status,
        approver: by.into(),
    })
}

/// Who decided what stands for a call, and how.
fn stands(config: &Config, approvals: &[Arc<Approval>], call: &ToolCall) -> Option<(ApprovalStatus, String)> {
    let state = AgentState { approvals: approvals.to_vec(), ..(*Run::new(config).state).clone() };
    standing(&state, config, call).map(|found| (found.status, found.approver.to_string()))
}

#[test]
fn of_several_decisions_that_cover_a_call_the_newest_stands() {
    use ApprovalStatus::{Approved, Denied, Expired};
    let config = (*Site::new(&scenario("double-charge")).config).clone();
    let call = refund(288);
    let action = crashlab::agent::approval::idempotency_key_of(&config, 0, &call);
    let by = |status, name| decided(&call, &action, status, name);
    for (first, second) in
        [(Approved, Denied), (Denied, Approved), (Expired, Approved), (Approved, Expired), (Approved, Approved)]
    {
        let both = [by(first, "first"), by(second, "second")];
        assert_eq!(stands(&config, &both, &call), Some((second, "second".to_string())), "{first:?}, {second:?}");
    }
    assert_eq!(stands(&config, &[], &call), None);
}

#[test]
fn an_approval_covers_its_action_alone_and_a_denial_its_arguments() {
    use ApprovalStatus::{Approved, Denied, Expired};
    let mut config = (*Site::new(&scenario("double-charge")).config).clone();
    let (call, other) = (refund(288), refund(2_880));
    let action = crashlab::agent::approval::idempotency_key_of(&config, 0, &call);
    let yes = [decided(&call, &action, Approved, "maya")];
    assert_eq!(stands(&config, &yes, &call), Some((Approved, "maya".to_string())));
    assert_eq!(stands(&config, &yes, &other), None, "other arguments");
    assert_eq!(stands(&config, &[decided(&call, "another action", Approved, "maya")], &call), None);
    for no in [Denied, Expired] {
        let no = [decided(&call, "another action", no, "maya")];
        assert!(stands(&config, &no, &call).is_some());
        assert_eq!(stands(&config, &no, &other), None);
    }
    // A later approval of something else does not hide the denial.
    let mixed = [decided(&call, &action, Denied, "maya"), decided(&call, "another action", Approved, "kim")];
    assert_eq!(stands(&config, &mixed, &call), Some((Denied, "maya".to_string())));
    config.policies.exact_arguments = false;
    assert_eq!(stands(&config, &yes, &other), Some((Approved, "maya".to_string())));
    let note = ToolCall::new("call_1", "send_voucher", (*call.args).clone());
    assert_eq!(stands(&config, &yes, &note), None, "another tool");
}

#[test]
fn each_question_about_the_same_call_has_a_key_of_its_own() {
    let config = (*Site::new(&scenario("double-charge")).config).clone();
    let (call, other) = (refund(288), refund(2_880));
    let key = |approvals: &[Arc<Approval>], call: &ToolCall| {
        let state = AgentState { approvals: approvals.to_vec(), ..(*Run::new(&config).state).clone() };
        question_key(&state, &config, call)
    };
    let used = [decided(&call, "a", ApprovalStatus::Approved, "maya")];
    assert_ne!(key(&[], &call), key(&used, &call));
    assert_eq!(key(&[], &other), key(&used, &other));
    assert_ne!(key(&[], &call), key(&[], &other));
}

#[test]
fn an_agent_that_is_made_again_has_the_newest_time_of_its_log() {
    let (dead, store) = cut_off(Setup::of(&scenario("double-charge")));
    let config = dead.config().clone();
    let agent = |now_ms| -> Agent { recover(config.clone(), &store.read(), now_ms).unwrap() };
    let newest = store.records().last().unwrap().ts_ms;
    let first = |now_ms: u64| match agent(now_ms).poll().unwrap().kind {
        crashlab::agent::protocol::EffectKind::Append(record) => record.ts_ms,
        other => panic!("{other:?}"),
    };
    assert_eq!(first(newest - 5_000), newest, "a clock that was set back");
    assert_eq!(first(newest + 5_000), newest + 5_000);
}

//! Each mechanism is missed in one way: a scenario in which exactly the invariant breaks that its text names, and with it none.

use crashlab::lab::driver_state::Liveness;
use crashlab::lab::fleet::Fleet;
use crashlab::lab::inbox::InboxEntry;
use crashlab::lab::ledger::Entry;
use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup};
use crashlab::log::store::MemoryStore;
use crashlab::record::Status;
use crashlab::report::fleet::herd_json;
use serde_json::{Value, json};

use crate::support::{
    after, assert_unbroken, books, document, finished, first, one_of_each, ran, requests, scenario, scripted, voucher_of,
};

/// The invariants that break in a run of this scenario, in the order in which they do.
fn broken(id: &str, mechanisms: Mechanisms) -> Vec<&'static str> {
    let (session, _) = finished(Setup { mechanisms, ..Setup::of(&scenario(id)) });
    session.breaches().iter().map(|breach| breach.id).collect()
}

#[test]
fn taking_a_mechanism_away_breaks_exactly_what_its_text_says_and_giving_it_back_mends_it() {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for mechanism in Mechanism::ALL {
        let text = mechanism.text();
        let (without, with) = (broken(text.scenario, Mechanisms::without(mechanism)), broken(text.scenario, Mechanisms::ALL_ON));
        table.push_str(&format!("{}: {} breaks {without:?}\n", text.id, text.scenario));
        if without != [text.breaks] || !with.is_empty() {
            wrong.push(format!("{}: without it {without:?} instead of {}, with it {with:?}", text.id, text.breaks));
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn storage_refuses_the_first_tab_and_everything_happens_once() {
    let (session, _) = ran(&scenario("two-tabs"));
    assert_eq!(session.second_writer().map(|second_writer| second_writer.state()), Some(Liveness::Fenced));
    assert_eq!(books(session.world()), one_of_each());
    // The first agent has called the service, and could not write what came of it.
    let kinds: Vec<&str> = session.log().iter().map(|record| record.body.kind()).collect();
    let resume = kinds.iter().position(|kind| *kind == "resume").unwrap();
    assert_eq!(kinds[resume - 1..resume + 2], ["tool_call", "resume", "tool_call"]);
    assert_eq!(requests(session.world(), "get_invoice"), 2);
    assert_unbroken(&session, "two tabs");
}

#[test]
fn without_one_writer_two_agents_pay_for_each_step() {
    let mechanisms = Mechanisms::without(Mechanism::SingleWriter);
    let (session, _) = finished(Setup { mechanisms, ..Setup::of(&scenario("two-tabs")) });
    assert_eq!(session.second_writer().map(|second_writer| second_writer.state()), Some(Liveness::Stopped(Status::Done)));
    let calm = ran(&scenario("two-tabs")).0.world().meter().0;
    assert!(session.world().meter().0 > calm, "{} model calls, {calm} with one writer", session.world().meter().0);
    // The keys still do their part.
    assert_eq!(books(session.world()), one_of_each());
}

#[test]
fn a_second_tab_may_open_at_any_instant() {
    let scenario = scenario("double-charge");
    let (mut fenced, mut ticks) = (0, 0);
    loop {
        let mut store = MemoryStore::default();
        let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
        for _ in 0..ticks {
            session.tick(&mut store);
        }
        if session.status().is_some() {
            break;
        }
        session.open_second_tab(&mut store).unwrap_or_else(|error| panic!("{ticks}: {error}"));
        assert_eq!(session.run_to_end(&mut store), Ok(Status::Done), "after {ticks} ticks");
        assert_eq!(books(session.world()), one_of_each(), "after {ticks} ticks");
        assert_unbroken(&session, &format!("after {ticks} ticks"));
        fenced += u32::from(session.second_writer().map(|second_writer| second_writer.state()) == Some(Liveness::Fenced));
        ticks += 1;
    }
    // Two ticks for each of 76 effects. Behind the last record there is nothing to refuse.
    assert_eq!((ticks, fenced), (152, 150));
}

#[test]
fn a_herd_with_jitter_is_served_and_one_in_lockstep_gives_up() {
    let scenario = scenario("retry-storm");
    let figures = |mechanisms: Mechanisms| {
        let setup = Setup { mechanisms, ..Setup::of(&scenario) };
        let fleet = Fleet::of(&setup).unwrap();
        let unserved = fleet.ends.iter().filter(|end| end.served_ms.is_none()).count();
        let counted: u32 = fleet.buckets(100, u64::MAX).iter().map(|bucket| bucket.requests).sum();
        assert_eq!(counted as usize, fleet.requests.len());
        assert_eq!(Some(&fleet), Fleet::of(&setup).as_ref(), "the same input gives the same herd");
        for second in fleet.buckets(1_000, u64::MAX) {
            assert!(second.served <= 10, "{second:?}");
        }
        let told = herd_json(&fleet, 100);
        assert_eq!((told["agents"].as_u64(), told["served_agents"].as_u64()), (Some(50), Some(50 - unserved as u64)));
        assert_eq!(told["buckets"].as_array().unwrap().len(), fleet.buckets(100, u64::MAX).len());
        (unserved, fleet.most_at_once(u64::MAX), fleet.requests.len())
    };
    // Agents that were never served, agents that came back in the same millisecond, and requests.
    assert_eq!(figures(Mechanisms::ALL_ON), (0, 3, 206));
    assert_eq!(figures(Mechanisms::without(Mechanism::Jitter)), (20, 50, 220));
}

#[test]
fn the_run_that_is_shown_is_that_of_the_herds_first_agent() {
    for mechanisms in [Mechanisms::ALL_ON, Mechanisms::without(Mechanism::Jitter)] {
        let (session, _) = finished(Setup { mechanisms, ..Setup::of(&scenario("retry-storm")) });
        let fleet = session.world().fleet().unwrap();
        let of_the_first = fleet.requests.iter().filter(|request| request.agent == 0);
        let of_the_herd: Vec<_> = of_the_first.map(|request| (request.at_ms, request.is_served)).collect();
        let rows = session.world().rows().iter().filter_map(|row| match &row.entry {
            Entry::Request { tool, outcome, .. } if **tool == *"get_account" => Some((row.at_ms, **outcome == *"ok")),
            _ => None,
        });
        assert_eq!(rows.collect::<Vec<_>>(), of_the_herd);
        assert!(of_the_herd.len() > 2);
    }
}

#[test]
fn a_herd_that_cannot_be_is_refused_with_a_path() {
    let refused = |key: &str, value: Value| {
        let mut document = document("retry-storm");
        document["herd"][key] = value;
        Scenario::from_json(&document.to_string()).unwrap_err().to_string()
    };
    assert_eq!(refused("agents", json!(1)), "$.herd.agents: expected a number of agents from 2 to 200, found a number (1)");
    assert_eq!(refused("agents", json!(201)), "$.herd.agents: expected a number of agents from 2 to 200, found a number (201)");
    let none = "$.herd.capacity_per_s: expected a whole number from 1 to 4294967295, found a number (0)";
    assert_eq!(refused("capacity_per_s", json!(0)), none);
    let unknown = refused("tool", json!("get_acount"));
    assert!(unknown.starts_with("$.herd.tool: expected ") && unknown.contains("get_account"), "{unknown}");
}

#[test]
fn a_person_looks_at_each_question_as_long_as_its_answer_says() {
    let turns = [first(json!([voucher_of(10), voucher_of(20), voucher_of(30)])), after("send_voucher", "any", json!([]))];
    let scenario = scripted(&turns, |document| {
        document["person"]["answers"] = json!([{"decision": "denied", "answers_after_s": 90}, "approved", {
            "decision": "approved", "answers_after_s": 1.5,
        }]);
    });
    let (session, _) = ran(&scenario);
    let looked_ms = |question: &InboxEntry| question.decided.unwrap().at_ms - question.asked.at_ms;
    let looks: Vec<u64> = session.world().questions().iter().map(looked_ms).collect();
    assert_eq!(looks, [90_000, 42_000, 1_500]);
}

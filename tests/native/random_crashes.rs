//! Random schedules of crashes and faults. The seed is printed first; a schedule that fails becomes a scenario of its own.

use crashlab::agent::protocol::EffectKind;
use crashlab::lab::faults::FaultKind;
use crashlab::lab::invariants::{INVARIANTS, Kind};
use crashlab::lab::mechanisms::Mechanisms;
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::record::Status;
use std::sync::Arc;

use crate::lots::Lots;
use crate::support::{TextStore, all_scenarios, assert_counts_its_spending, books, scenario, tally};

fn fault(lots: &mut Lots) -> FaultKind {
    let retry_after = ["0", "3", "soon", "90", "4000"][lots.below(5) as usize].to_string();
    match lots.below(9) {
        0 => FaultKind::Unavailable,
        1 => FaultKind::RateLimited { retry_after: Some(retry_after) },
        2 => FaultKind::Refused,
        3 => FaultKind::TimeoutBefore,
        4 => FaultKind::TimeoutAfter,
        5 => FaultKind::ReplyLost,
        6 => FaultKind::Malformed,
        7 => FaultKind::Rejected { message: "422 not today".to_string() },
        _ => FaultKind::Slow { by_ms: lots.below(20_000) },
    }
}

/// One schedule with all mechanisms on: what was done to the run, and how it ended.
fn run(scenario: &Arc<Scenario>, seed: u64) -> (Status, usize) {
    let mut lots = Lots(seed << 20);
    let (crash_every, fault_every) = (20 + lots.below(60), 2 + lots.below(10));
    let failing = (0..lots.below(4)).map(|_| lots.below(80) as usize).collect();
    let mut store = TextStore { failing, ..TextStore::default() };
    let mut session = Session::start(Setup { seed, mechanisms: Mechanisms::ALL_ON, ..Setup::of(scenario) }, &mut store).unwrap();
    let mut schedule = vec![format!("{}, seed {seed}", scenario.id)];
    for _ in 0..20_000 {
        if lots.one_in(crash_every) {
            let effect = session.progress().effects + lots.below(3);
            let when = if lots.one_in(2) { When::Before } else { When::After };
            schedule.push(format!("crash {when:?} effect {effect}"));
            session.arm(effect, when);
        }
        let call = session.in_flight().filter(|(_, when)| *when == When::Before).map(|(effect, _)| &effect.kind);
        if matches!(call, Some(EffectKind::CallModel { .. } | EffectKind::CallTool { .. })) && lots.one_in(fault_every) {
            let kind = match (fault(&mut lots), call) {
                // A model that rejects its request ends the run; that is seen often enough.
                (FaultKind::Rejected { .. }, Some(EffectKind::CallModel { .. })) if !lots.one_in(5) => FaultKind::ReplyLost,
                (kind, _) => kind,
            };
            schedule.push(format!("at effect {}: {kind:?}", session.progress().effects));
            session.inject(kind);
        }
        let tick = session.tick(&mut store);
        assert_eq!(session.breaches(), [], "{}", schedule.join("\n"));
        if let Some(agent) = session.agent() {
            assert_counts_its_spending(agent, session.world(), &schedule.join("\n"));
        }
        match tick {
            Tick::Crashed { .. } => session.resume(&mut store).unwrap_or_else(|error| panic!("{error}\n{schedule:?}")),
            Tick::Stopped { status } => {
                for invariant in INVARIANTS.iter().filter(|invariant| invariant.kind == Kind::Eventually) {
                    if let Err(why) = (invariant.judge)(&session.evidence()) {
                        panic!("{}: {why}\n{}", invariant.name, schedule.join("\n"));
                    }
                }
                let books = books(session.world());
                assert_eq!(books.mails + books.hand_overs, 1, "{}", schedule.join("\n"));
                return (status, books.refunds);
            }
            Tick::Happened { .. } | Tick::Answered | Tick::WaitingForPerson { .. } | Tick::Fenced => {}
        }
    }
    panic!("the run does not end\n{}", schedule.join("\n"));
}

#[test]
fn three_hundred_random_schedules_keep_every_invariant_and_end() {
    let scenario = scenario("double-charge");
    let first_seed = 1;
    println!("seeds {first_seed} to {}", first_seed + 299);
    let ends = tally((first_seed..first_seed + 300).map(|seed| run(&scenario, seed)));
    println!("status, refunds: {ends:?}");
    // They are not all alike, and a refund does happen.
    assert!(ends.keys().any(|(status, refunds)| *status == Status::Done && *refunds == 1), "{ends:?}");
    assert!(ends.keys().any(|(_, refunds)| *refunds == 0), "{ends:?}");
}

#[test]
fn random_schedules_of_every_shipped_scenario_keep_every_invariant_and_end() {
    let seeds = 1_000..1_040;
    println!("seeds {seeds:?}");
    for scenario in all_scenarios() {
        let ends = tally(seeds.clone().map(|seed| run(&scenario, seed)));
        println!("{}: status, refunds: {ends:?}", scenario.id);
    }
}

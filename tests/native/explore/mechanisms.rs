//! Each mechanism off alone is found out, in the scenario and by the invariant that its text names, by a run that cannot be shorter.

use crashlab::lab::explore::choice::{Bounds, Choice};
use crashlab::lab::explore::story::ExploredRun;
use crashlab::lab::explore::{Explorer, SearchVerdict};
use crashlab::lab::invariants::INVARIANTS;
use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::session::Setup;
use crashlab::log::store::MemoryStore;

use crate::support::scenario;

fn place_of(invariant: &str) -> usize {
    INVARIANTS.iter().position(|known| known.id == invariant).unwrap_or_else(|| panic!("no invariant {invariant}"))
}

/// The least bounds within which a mechanism is missed, the cheapest first.
const LEAST_FIRST: [(u8, u8); 4] = [(0, 0), (1, 0), (0, 1), (1, 1)];

#[test]
fn each_mechanism_off_alone_breaks_its_invariant_by_a_shortest_run() {
    for mechanism in Mechanism::ALL {
        let text = mechanism.text();
        let (scenario, place) = (scenario(text.scenario), place_of(text.breaks));
        let search = |mechanisms, (crashes, faults)| {
            let setup = Setup { mechanisms, ..Setup::of(&scenario) };
            Explorer::new(setup, Bounds { crashes, faults, ..Bounds::default() }).unwrap()
        };
        let (off, on) = (Mechanisms::without(mechanism), Mechanisms::ALL_ON);
        let found = LEAST_FIRST.into_iter().find_map(|bounds| {
            let mut explorer = search(off, bounds);
            explorer.run();
            match explorer.verdict(place) {
                SearchVerdict::Broken(choices) => Some((bounds, explorer, choices)),
                _ => None,
            }
        });
        let (bounds, explorer, choices) = found.unwrap_or_else(|| panic!("{}: {} is not broken", text.id, text.breaks));
        let mut plain = search(off, bounds).without_merging();
        plain.run();
        let SearchVerdict::Broken(shortest) = plain.verdict(place) else {
            panic!("{}: plain enumeration finds nothing", text.id)
        };
        assert_eq!(choices.len(), shortest.len(), "{}", text.id);

        // The run tells itself, and only its last choice breaks the invariant.
        let story = explorer.tell(&choices).unwrap();
        let holds: Vec<bool> = story.clauses(place).iter().map(|clause| clause.holds).collect();
        assert!(!holds[choices.len()] && holds[..choices.len()].iter().all(|holds| *holds), "{}: {holds:?}", text.id);
        println!("{} in {}, {bounds:?}: {} choices", text.id, text.scenario, choices.len());
        check_twin(&explorer, &choices, place, text.id);

        let mut mended = search(on, bounds);
        mended.run();
        assert_eq!(mended.verdict(place), SearchVerdict::Holds, "{}: it does not help", text.id);
    }
}

/// The twin goes along as far as any run that stays fine can.
fn check_twin(explorer: &Explorer<MemoryStore>, choices: &[crashlab::lab::explore::choice::Choice], place: usize, id: &str) {
    let Some(twin) = explorer.twin(choices) else {
        // Then no run stays fine.
        let futures = explorer.futures(&[], place).unwrap();
        assert!(futures[0].broken > 0, "{id}");
        return;
    };
    assert_eq!(twin.choices[..twin.parts_at], choices[..twin.parts_at], "{id}");
    assert_ne!(twin.choices[twin.parts_at], choices[twin.parts_at], "{id}");
    let story: ExploredRun<MemoryStore> = explorer.tell(&twin.choices).unwrap();
    let end = story.states.last().unwrap();
    assert!(end.session.status().is_some() && end.session.breaches().is_empty(), "{id}: {:?}", end.session.breaches());
    // Behind the parting every run breaks something: that is the point of no return.
    let futures = explorer.futures(choices, place).unwrap();
    assert!(futures.windows(2).all(|pair| pair[0].all >= pair[1].all), "{id}");
    let last = futures.last().unwrap();
    assert_eq!(last.all, last.broken, "{id}: what is broken stays broken");
}

#[test]
fn a_run_says_where_it_can_no_longer_be_saved() {
    let scenario = scenario("refund-timeout");
    let setup = Setup { mechanisms: Mechanisms::without(Mechanism::Idempotency), ..Setup::of(&scenario) };
    let mut explorer = Explorer::new(setup, Bounds { crashes: 1, faults: 0, ..Bounds::default() }).unwrap();
    explorer.run();
    let place = place_of("refunded_once");
    let SearchVerdict::Broken(choices) = explorer.verdict(place) else { panic!("not broken") };
    let futures = explorer.futures(&choices, place).unwrap();
    // At the start most runs can still go well (a denial refunds nothing), at the end none can.
    assert!(futures[0].broken > 0 && futures[0].broken < futures[0].all, "{:?}", futures[0]);
    let no_return = futures.iter().position(|runs| runs.broken == runs.all).unwrap();
    assert!(no_return > 0 && futures[no_return..].iter().all(|runs| runs.broken == runs.all));
}

/// A second crash makes the shortest run of all shorter, as it saves a wait; nothing breaks because of it.
#[test]
fn a_run_that_breaks_something_has_no_crash_that_it_could_do_without() {
    let off = Mechanisms::without(Mechanism::Idempotency).with(Mechanism::RereadWorld, false);
    let setup = Setup { mechanisms: off, ..Setup::of(&scenario("double-charge")) };
    let place = place_of("refunded_once");
    let found = [1, 2].map(|crashes| {
        let bounds = Bounds { crashes, faults: 0, decisions: 1, ..Bounds::default() };
        let mut explorer = Explorer::new(setup.clone(), bounds).unwrap();
        explorer.run();
        let SearchVerdict::Broken(choices) = explorer.verdict(place) else { panic!("it holds with {crashes} crashes") };
        assert_eq!(choices.iter().filter(|choice| **choice == Choice::Crash).count(), 1);
        choices
    });
    assert_eq!(found[0], found[1]);
}

//! Runs that the search has found, as files: each gives the same log again, byte for byte.

use std::fs;
use std::path::PathBuf;

use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::explore::replay::{Misfit, Replay};
use crashlab::lab::explore::{Explorer, SearchVerdict};
use crashlab::lab::invariants::INVARIANTS;
use crashlab::lab::mechanisms::{Mechanism, Mechanisms};
use crashlab::lab::session::Setup;
use crashlab::lab::shipped::shipped;
use serde_json::Value;

use crate::support::{assert_golden, document, read, scenario};

/// The mechanisms whose absence a file shows.
const SHOWN: [Mechanism; 4] =
    [Mechanism::Idempotency, Mechanism::Checkpoints, Mechanism::DurableApprovals, Mechanism::RereadWorld];

/// A shortest run in which a mechanism is missed.
fn found(mechanism: Mechanism) -> (Setup, Replay) {
    let text = mechanism.text();
    let setup = Setup { mechanisms: Mechanisms::without(mechanism), ..Setup::of(&scenario(text.scenario)) };
    let bounds = Bounds { crashes: 1, faults: 0, ..Bounds::default() };
    let mut explorer = Explorer::new(setup.clone(), bounds).unwrap();
    explorer.run();
    let place = INVARIANTS.iter().position(|invariant| invariant.id == text.breaks).unwrap();
    let SearchVerdict::Broken(choices) = explorer.verdict(place) else { panic!("{} is not broken", text.breaks) };
    let replay = Replay::of(&setup, &choices).unwrap();
    assert_eq!(replay.all_choices(&setup).unwrap(), choices);
    (setup, replay)
}

fn files() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/replays");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().to_string();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

fn setup_of(replay: &Replay) -> Result<Setup, Misfit> {
    replay.setup(|id| shipped(id).map(str::to_string))
}

#[test]
fn the_search_still_finds_the_runs_in_the_files() {
    for mechanism in SHOWN {
        let (_, replay) = found(mechanism);
        let text = serde_json::to_string_pretty(&replay.to_json()).unwrap() + "\n";
        assert_golden(&format!("../replays/without-{}.json", mechanism.text().id), &text);
    }
}

#[test]
fn each_file_replays_to_the_same_log_and_breaks_what_it_shows() {
    let files = files();
    assert!(files.len() >= SHOWN.len());
    for (name, text) in files {
        let replay = Replay::from_json(&text).unwrap_or_else(|misfit| panic!("{name}: {misfit}"));
        let setup = setup_of(&replay).unwrap_or_else(|misfit| panic!("{name}: {misfit}"));
        let (session, _) = replay.run(&setup).unwrap_or_else(|misfit| panic!("{name}: {misfit}"));
        assert!(!session.breaches().is_empty(), "{name}");
        assert_eq!(Replay::from_json(&replay.to_json().to_string()).unwrap(), replay, "{name}");
    }
}

#[test]
fn a_file_that_does_not_fit_names_what_differs() {
    let (setup, replay) = found(Mechanism::Idempotency);
    type Edit<'a> = &'a dyn Fn(&mut Value);
    let misfit = |edit: Edit| {
        let mut file = replay.to_json();
        edit(&mut file);
        let read = Replay::from_json(&file.to_string());
        read.and_then(|replay| setup_of(&replay).and_then(|setup| replay.run(&setup))).err().unwrap().to_string()
    };
    let cases: [(Edit, &str); 12] = [
        (&|file| file["version"] = 2.into(), "version 2"),
        (&|file| file["format"] = "something".into(), "$.format"),
        (&|file| file["scenario"] = "gone".into(), "no scenario `gone`"),
        (&|file| file["scenario_digest"] = "00000000000000aa".into(), "has changed since"),
        (
            &|file| file["scenario"] = "double-charge".into(),
            "names the scenario `double-charge`, and the run was recorded in `refund-timeout`",
        ),
        (&|file| file["off"] = Value::Array(vec!["magic".into()]), "$.off"),
        (&|file| file["off"] = Value::Array(vec!["journal".into(), "journal".into()]), "each mechanism at most once"),
        (&|file| file["seed"] = "18446744073709551616".into(), "a number from 0 to 2^64-1"),
        (&|file| file["choices"][0]["at"] = "call_model/before".into(), "stood at `call_model/before`"),
        (&|file| file["choices"][0]["choose"] = "dance".into(), "choose"),
        (&|file| file["log_digest"] = "00000000000000aa".into(), "its text differs"),
        (&|file| file["steps"] = 3.into(), "records"),
    ];
    for (edit, expected) in cases {
        let found = misfit(edit);
        assert!(found.contains(expected), "{found}");
    }
    assert!(Replay::from_json("{").is_err());
    assert!(replay.run(&setup).is_ok());
}

#[test]
fn a_scenario_of_ones_own_is_in_the_file() {
    let mut own = document("double-charge");
    own["title"] = "Mine".into();
    let setup = Setup::of(&read(&own.to_string()));
    let mut explorer = Explorer::new(setup.clone(), Bounds { crashes: 0, faults: 0, ..Bounds::default() }).unwrap();
    explorer.run();
    let story = explorer.finish_plainly(&[]).unwrap();
    let replay = Replay::of(&setup, &story.choices).unwrap();
    assert!(replay.document.is_some());
    let again = Replay::from_json(&replay.to_json().to_string()).unwrap();
    let (session, _) = again.run(&setup_of(&again).unwrap()).unwrap();
    assert_eq!(session.world().refund_count(), 1);
}

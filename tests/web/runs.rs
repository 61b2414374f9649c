//! Several runs in one localStorage.

use crashlab::web::{Lab, forget_run, saved_runs};
use serde_json::{Value, json};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{ONE_OF_EACH, Start, books, changed, clean, entry, finish, given, local, put, run_id, stored, thrown, tick};

fn side_by_side() -> [Start; 3] {
    let denied = changed(|document| {
        document["task"]["id"] = json!("T-1001/x");
        document["id"] = json!("other");
    });
    [local(), Start { seed: "18446744073709551615", ..local() }, Start { scenario: denied, ..local() }]
}

#[wasm_bindgen_test]
fn runs_side_by_side_share_nothing() {
    clean();
    let starts = side_by_side();
    let mut labs = starts.each_ref().map(Start::lab);
    let names = labs.each_mut().map(run_id);
    // A tick of each in turn.
    for _ in 0..400 {
        for lab in &mut labs {
            tick(lab);
        }
    }
    for ((lab, name), start) in labs.iter_mut().zip(&names).zip(&starts) {
        let alone = start.calm();
        assert_eq!(lab.log_jsonl(), alone.log_jsonl(), "{name}");
        assert_eq!(lab.checkpoint_json(), alone.checkpoint_json(), "{name}");
        assert_eq!(books(lab), ONE_OF_EACH, "{name}");
        assert_eq!(Lab::open(name).unwrap().log_jsonl(), alone.log_jsonl(), "{name}");
    }
    let listed = given(saved_runs());
    let listed: Vec<&str> = listed.as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap()).collect();
    let mut sorted = names.each_ref().map(String::as_str);
    sorted.sort_unstable();
    assert_eq!(listed, sorted);
    clean();
}

#[wasm_bindgen_test]
fn forgetting_a_run_removes_exactly_its_keys() {
    clean();
    let mut labs = side_by_side().map(|start| start.lab());
    let names = labs.each_mut().map(run_id);
    labs.iter_mut().for_each(|lab| drop(finish(lab)));
    // Names that begin like a run's are not its.
    put(&entry(&format!("{}0", names[0]), "session"), "near");
    put(&format!("crashlab/{}", names[0]), "near");
    for name in &names {
        let before = stored("");
        let own = entry(name, "");
        forget_run(name).unwrap();
        let left = stored("");
        assert!(left.keys().all(|key| !key.starts_with(&own)));
        assert_eq!(left.len(), before.keys().filter(|key| !key.starts_with(&own)).count());
        assert_eq!(thrown(Lab::open(name)).0, "not_found");
    }
    assert_eq!(stored("").len(), 2);
    forget_run("there is none").unwrap();
    assert_eq!(stored("").len(), 2);
    clean();
}

#[wasm_bindgen_test]
fn starting_a_run_again_replaces_it() {
    clean();
    let mut lab = local().lab();
    finish(&mut lab);
    let keys = stored("").len();
    let mut again = local().lab();
    assert!(stored("").len() < keys, "what the first one left is gone");
    assert_eq!(again.log_jsonl(), "");
    assert_eq!(finish(&mut again), "done");
    assert_eq!(again.log_jsonl(), lab.log_jsonl());
    assert_eq!(stored("").len(), keys);
    clean();
}

#[wasm_bindgen_test]
fn a_run_in_memory_leaves_nothing_in_local_storage() {
    clean();
    let mut lab = Start { storage: "memory", ..local() }.lab();
    finish(&mut lab);
    assert!(stored("").is_empty());
    assert_eq!(thrown(Lab::open(&run_id(&mut lab))).0, "not_found");
    assert_eq!(given(saved_runs()), json!([]));
    clean();
}

#[wasm_bindgen_test]
fn a_seed_is_drawn_if_none_is_given_and_keeps_its_64_bits() {
    clean();
    let seed = |start: &Start| crate::support::view(&mut start.lab())["seed"].clone();
    let most = Start { seed: "18446744073709551615", ..local() };
    assert_eq!(seed(&most), "18446744073709551615");
    let mut lab = most.lab();
    finish(&mut lab);
    let first = lab.log_jsonl().lines().next().unwrap().to_string();
    assert!(first.contains("\"seed\":18446744073709551615,"), "{first}");
    assert_eq!(crate::support::view(&mut crate::support::reload(lab))["seed"], "18446744073709551615");

    let options = Start { storage: "memory", ..local() }.options();
    js_sys::Reflect::delete_property(&options.clone().into(), &"seed".into()).unwrap();
    let drawn = [0; 4].map(|_| crate::support::view(&mut Lab::start(options.clone()).unwrap())["seed"].clone());
    assert!(drawn.iter().any(|seed| *seed != drawn[0]), "{drawn:?}");
    clean();
}

#[wasm_bindgen_test]
fn wrong_options_and_arguments_are_named() {
    clean();
    let wrong = |key: &str, value: Value| {
        let options = local().options();
        let value = js_sys::JSON::parse(&value.to_string()).unwrap();
        js_sys::Reflect::set(&options, &key.into(), &value).unwrap();
        thrown(Lab::start(options))
    };
    for (key, value, code, message) in [
        ("storage", json!("cloud"), "bad_argument", "`storage` is local or memory, not `cloud`"),
        ("seed", json!("-1"), "bad_argument", "a seed is a number from 0 to 2^64-1, not `-1`"),
        ("seed", json!("18446744073709551616"), "bad_argument", "a seed is a number"),
        ("scenario", json!("{"), "bad_scenario", ""),
        ("scenario", json!("{}"), "bad_scenario", "$."),
        ("mechanisms", json!({"jiter": false}), "bad_argument", "mechanisms.jiter: unknown key"),
        ("mechanisms", json!({"jitter": 1}), "bad_argument", "mechanisms.jitter: expected true or false"),
    ] {
        let (found, said) = wrong(key, value.clone());
        assert_eq!(found, code, "{key} {value}: {said}");
        assert!(said.starts_with(message), "{key} {value}: {said}");
    }
    assert!(stored("").is_empty(), "nothing was begun");
    let mut lab = local().lab();
    assert_eq!(thrown(lab.arm(0, "during")).0, "bad_argument");
    assert_eq!(thrown(lab.record(99)).0, "not_found");
    assert_eq!(thrown(lab.decide("no such key", "approved", "maya", "")).0, "refused");
    assert_eq!(thrown(lab.decide("no such key", "perhaps", "maya", "")).0, "bad_argument");
    clean();
}

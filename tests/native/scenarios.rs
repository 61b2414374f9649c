//! Scenarios: the shipped ones and those in `tests/scenarios/` are judged as they say, and broken ones are refused with a path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crashlab::lab::expect::unmet;
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, Setup};
use crashlab::lab::shipped::SHIPPED;
use crashlab::log::store::MemoryStore;
use serde_json::{Map, Number, Value, json};

use crate::support::{all_scenarios, assert_golden, books, first, observations, ran, ran_with_crash, read, refund_of, scripted};

// --- Judged as they say --------------------------------------------------------------------------------------------------------

/// What a run of the scenario, as it stands, does not show.
fn complaints(scenario: &Arc<Scenario>) -> Vec<String> {
    let (session, _) = ran(scenario);
    unmet(&session).into_iter().map(|complaint| format!("{}: {complaint}", scenario.id)).collect()
}

#[test]
fn each_shipped_scenario_shows_what_it_expects() {
    let scenarios = all_scenarios();
    for scenario in &scenarios {
        let expect = &scenario.expect;
        assert!(expect.status.is_some(), "{}", scenario.id);
        let counts = [expect.refunds, expect.questions, expect.notes, expect.model_calls];
        assert!(counts.iter().all(Option::is_some), "{} counts nothing", scenario.id);
        assert!(!scenario.watch.is_empty(), "{} says nothing about what is to be observed", scenario.id);
    }
    let complaints: Vec<String> = scenarios.iter().flat_map(complaints).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn shipped_scenarios_have_ids_and_titles_of_their_own() {
    let scenarios = all_scenarios();
    for (place, scenario) in scenarios.iter().enumerate() {
        for other in &scenarios[..place] {
            assert_ne!(scenario.id, other.id);
            assert_ne!(scenario.title, other.title);
            assert_ne!(scenario.summary, other.summary);
        }
        let file = format!("src/lab/scenarios/{}.json", scenario.id);
        assert!(root().join(&file).exists(), "{file}");
    }
}

/// A learner will deny what the shipped person approves, and will not answer at all.
#[test]
fn each_shipped_scenario_keeps_every_invariant_whatever_its_person_says() {
    let answers =
        [json!(["approved"]), json!(["denied"]), json!(["denied", "approved"]), json!(["approved", "denied"]), json!([])];
    for (id, _) in SHIPPED {
        let document = crate::support::document(id);
        for answers in answers.iter().filter(|_| document.get("person").is_some()) {
            let mut document = document.clone();
            document["person"]["answers"] = answers.clone();
            document["person"]["expires_after_s"] = 3_600.into();
            let (session, _) = ran(&read(&document.to_string()));
            assert_expected_breaches(&session, &format!("{id} answered with {answers}"));
        }
    }
}

/// The places differ from scenario to scenario; together they are of all kinds.
#[test]
fn each_shipped_scenario_keeps_every_invariant_with_one_more_crash() {
    let scenarios = all_scenarios();
    for (number, scenario) in scenarios.iter().enumerate() {
        let (calm, _) = ran(scenario);
        for effect in (0..calm.progress().effects).skip(number % 4).step_by(4) {
            for when in [When::Before, When::After] {
                let (session, _) = ran_with_crash(scenario, effect, when);
                assert_expected_breaches(&session, &format!("{} crashed {} effect {effect}", scenario.id, when.as_str()));
            }
        }
    }
}

/// The run has ended, and what broke is what the scenario says.
fn assert_expected_breaches(session: &Session, place: &str) {
    assert!(session.world().is_closed(), "{place}: it has not ended");
    let expected = &session.scenario().expect.broken;
    let broken: Vec<_> = session.breaches().iter().filter(|breach| !expected.iter().any(|id| id == breach.id)).collect();
    assert!(broken.is_empty(), "{place}: {broken:?}");
}

/// Whoever drops a scenario into `tests/scenarios/` has it judged here, and in the browser by `tests/web/scenarios.rs`.
#[test]
fn each_scenario_of_the_folder_shows_what_it_expects() {
    let mut complaints_of_all = Vec::new();
    for (id, json) in folder() {
        let scenario = Scenario::from_json(&json).unwrap_or_else(|error| panic!("tests/scenarios/{id}.json: {error}"));
        assert_ne!(scenario.expect, Default::default(), "tests/scenarios/{id}.json expects nothing");
        complaints_of_all.extend(complaints(&Arc::new(scenario)));
    }
    assert!(complaints_of_all.is_empty(), "{complaints_of_all:#?}");
}

/// The same folder, for tests that cannot read it.
const LISTED: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

#[test]
fn the_list_for_the_browser_names_each_scenario_of_the_folder() {
    let listed: Vec<_> = LISTED.iter().map(|(name, json)| (name.to_string(), json.to_string())).collect();
    let found: Vec<_> = folder().into_iter().map(|(id, json)| (format!("{id}.json"), json)).collect();
    assert_eq!(listed, found);
}

#[test]
fn a_scenario_that_does_not_show_what_it_expects_is_told_why() {
    let mut document = crate::support::document("crash-resume");
    document["expect"] = json!({"status": "budget_usd", "refunds": 2, "questions": 0, "broken": ["refunded_once"]});
    let complaints = complaints(&read(&document.to_string()));
    let expected = [
        "crash-resume: the status is done, expected was budget_usd",
        "crash-resume: there are 1 refunds, expected were 2",
        "crash-resume: there are 1 questions, expected were 0",
        "crash-resume: the invariant refunded_once was expected to break, and it held",
    ];
    assert_eq!(complaints, expected);
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Name and text of each scenario in `tests/scenarios/`.
fn folder() -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join("tests/scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().to_string();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

// --- The reference ------------------------------------------------------------------------------------------------------------

fn every_key() -> Value {
    serde_json::from_str(&fs::read_to_string(root().join("tests/scenarios/every-key.json")).unwrap()).unwrap()
}

/// The keys that the reader knows, asked of the reader itself: an unknown key in an object is answered with the known ones. Each set
/// comes with the keys of it that are used.
fn known_keys(document: &Value) -> BTreeMap<Vec<String>, BTreeSet<String>> {
    let mut known: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    for (pointer, _) in nodes(document) {
        let Some(Value::Object(fields)) = document.pointer(&pointer) else {
            continue;
        };
        let changed = with(document, &pointer, |value| value["surprise"] = 1.into());
        if let Err(error) = Scenario::from_json(&changed)
            && let Some((_, keys)) = error.to_string().split_once("unknown key; known are ")
        {
            let keys = keys.split(", ").map(str::to_string).collect();
            known.entry(keys).or_default().extend(fields.keys().cloned());
        }
    }
    known
}

#[test]
fn the_reference_names_each_key_that_the_reader_knows() {
    let reference = fs::read_to_string(root().join("src/lab/scenarios/README.md")).unwrap();
    let known = known_keys(&every_key());
    assert!(known.len() >= 14, "{known:#?}");
    let missing: BTreeSet<&String> = known.keys().flatten().filter(|key| !reference.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "src/lab/scenarios/README.md does not name {missing:?}");
}

#[test]
fn the_example_uses_each_key_that_the_reader_knows() {
    for (keys, used) in known_keys(&every_key()) {
        // The names of tools and mechanisms are lists of their own.
        if keys.iter().any(|key| key == "get_invoice" || key == "retries") {
            continue;
        }
        let unused: Vec<_> = keys.iter().filter(|key| !used.contains(*key)).collect();
        assert!(unused.is_empty(), "tests/scenarios/every-key.json does not use {unused:?} of {keys:?}");
    }
}

#[test]
fn what_the_reference_shows_can_be_read() {
    let reference = fs::read_to_string(root().join("src/lab/scenarios/README.md")).unwrap();
    let blocks: Vec<&str> = reference.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 8, "{}", blocks.len());
    let scenario = blocks.iter().find(|block| block.contains("\"script\"")).unwrap();
    assert_eq!(complaints(&read(scenario)), [""; 0]);
    // The other blocks are parts: each replaces that part of the scenario.
    for block in &blocks {
        let Value::Object(part) = serde_json::from_str(block).unwrap_or_else(|error| panic!("{error} in {block}")) else {
            panic!("{block}");
        };
        let mut document: Value = serde_json::from_str(scenario).unwrap();
        document.as_object_mut().unwrap().extend(part);
        let text = document.to_string();
        Scenario::from_json(&text).unwrap_or_else(|error| panic!("{error} in {block}"));
    }
}

// --- Broken ones ---------------------------------------------------------------------------------------------------------------

/// All places of a document: JSON pointer and JSON path.
fn nodes(document: &Value) -> Vec<(String, String)> {
    fn walk(value: &Value, pointer: &str, path: &str, found: &mut Vec<(String, String)>) {
        found.push((pointer.to_string(), path.to_string()));
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    walk(field, &format!("{pointer}/{key}"), &format!("{path}.{key}"), found);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{pointer}/{index}"), &format!("{path}[{index}]"), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(document, "", "$", &mut found);
    found
}

/// The document's text with one value changed.
fn with(document: &Value, pointer: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut changed = document.clone();
    change(changed.pointer_mut(pointer).unwrap());
    changed.to_string()
}

/// The document's text without one field or item.
fn without(document: &Value, pointer: &str) -> String {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    with(document, parent, |value| match value {
        Value::Object(fields) => {
            fields.shift_remove(key);
        }
        Value::Array(items) => {
            items.remove(key.parse().unwrap());
        }
        _ => unreachable!(),
    })
}

/// A document with one mistake.
struct Mistake {
    path: String,
    what: &'static str,
    text: String,
}

/// Mistakes of some kinds at all places of a document; of all that could be made, each n-th.
fn mistakes(document: &Value, every: usize) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let mut number = 0;
    for (pointer, path) in nodes(document) {
        let mut add = |what, text: &dyn Fn() -> String| {
            if number % every == 0 {
                mistakes.push(Mistake { path: path.clone(), what, text: text() });
            }
            number += 1;
        };
        let replace = |value: &Value| with(document, &pointer, |place| *place = value.clone());
        let value = document.pointer(&pointer).unwrap();
        let another_type = match value {
            Value::String(_) | Value::Null => json!(7),
            Value::Number(_) | Value::Bool(_) => json!("seven"),
            Value::Array(_) => json!({"0": 7}),
            Value::Object(_) => json!([7]),
        };
        add("another type", &|| replace(&another_type));
        add("null", &|| replace(&Value::Null));
        if !pointer.is_empty() {
            add("missing", &|| without(document, &pointer));
        }
        match value {
            Value::String(_) => {
                add("empty", &|| replace(&json!("")));
                add("an unknown name", &|| replace(&json!("nobody knows this")));
            }
            Value::Number(_) => {
                for (what, number) in [
                    ("negative", "-1"),
                    ("huge", "1e400"),
                    ("half", "0.5"),
                    ("zero", "0"),
                    ("very large", "18446744073709551615"),
                ] {
                    add(what, &|| replace(&Value::Number(number.parse::<Number>().unwrap())));
                }
            }
            Value::Object(_) => {
                add("an unknown key", &|| with(document, &pointer, |place| place["surprise"] = json!(1)));
            }
            Value::Array(items) if !items.is_empty() => {
                add("empty", &|| replace(&json!([])));
                add("its first item twice", &|| {
                    with(document, &pointer, |place| {
                        let first = place[0].clone();
                        place.as_array_mut().unwrap().push(first);
                    })
                });
            }
            _ => {}
        }
    }
    mistakes
}

#[test]
fn each_mistake_has_an_error_that_names_path_finding_and_expectation() {
    let mut golden = String::new();
    let mut count = 0;
    let mut seen = BTreeSet::new();
    for Mistake { path, what, text } in mistakes(&every_key(), 1) {
        if let Err(error) = Scenario::from_json(&text) {
            count += 1;
            // One item of a list stands for all.
            let place: String = path.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            if ["huge", "half", "zero", "very large"].contains(&what) || !seen.insert((place, what)) {
                continue;
            }
            writeln!(golden, "{path}, {what}\n  {error}").unwrap();
        }
    }
    assert!(count >= 100, "{count}");
    assert_golden("broken-scenarios.txt", &golden);
}

#[test]
fn broken_scenarios_give_an_error_with_a_path_and_whatever_is_read_comes_to_an_end() {
    let mut documents: Vec<(Value, usize)> = SHIPPED.iter().map(|(_, json)| (serde_json::from_str(json).unwrap(), 7)).collect();
    documents.push((every_key(), 1));
    let (mut refused, mut read, mut ran) = (0, 0, 0);
    for (document, every) in &documents {
        for Mistake { path, what, text } in mistakes(document, *every) {
            let place = format!("{} with {path} {what}", document["id"]);
            match Scenario::from_json(&text) {
                Err(error) => {
                    let message = error.message();
                    assert!(error.path().starts_with('$'), "{place}: {error}");
                    assert!(message.contains("expected") || message.contains("unknown key"), "{place}: {error}");
                    if ["another type", "negative", "huge", "an unknown key"].contains(&what) {
                        let related = error.path().starts_with(&path) || path.starts_with(error.path());
                        assert!(related, "{place}: {error}");
                    }
                    refused += 1;
                }
                Ok(scenario) => {
                    // Most of them differ in a word of a text that nothing depends on.
                    read += 1;
                    if read % 7 == 0 {
                        let mut store = MemoryStore::default();
                        let mut session = Session::start(Setup::of(&Arc::new(scenario)), &mut store).unwrap();
                        session.run_to_end(&mut store).unwrap_or_else(|error| panic!("{place}: {error}"));
                        ran += 1;
                    }
                }
            }
        }
    }
    println!("{refused} refused, {read} read, {ran} of them run");
    assert!(refused >= 2_000 && ran >= 200, "{refused} refused, {ran} ran");
}

#[test]
fn a_scenario_that_is_cut_off_anywhere_is_an_error_with_a_path() {
    for (id, json) in SHIPPED {
        let places = (0..json.trim_end().len()).step_by(23).filter(|place| json.is_char_boundary(*place));
        for place in places {
            let error = Scenario::from_json(&json[..place]).expect_err(id);
            assert!(error.path().starts_with('$') && error.message().contains("expected"), "{id} cut at {place}: {error}");
        }
    }
}

#[test]
fn what_is_no_scenario_at_all_is_refused() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nothing = ["", " ", "null", "7", "\"text\"", "[]", "{}", "{\"id\":", "\u{feff}{}", "\0", "<html>", &deep];
    for text in nothing {
        let error = Scenario::from_json(text).map(|scenario| scenario.id).expect_err(text);
        assert!(error.path().starts_with('$') && error.message().contains("expected"), "{text}: {error}");
    }
    let fields = Map::from_iter((0..10_000).map(|number| (format!("key{number}"), Value::from(number))));
    assert!(Scenario::from_json(&Value::Object(fields).to_string()).is_err());
}

#[test]
fn billing_pays_no_more_than_was_charged() {
    for (amount, refunds) in [(288, 1), (289, 0), (9_007_199_254_740_993, 0)] {
        let scenario = scripted(&[first(json!([refund_of(amount)]))], |_| {});
        let (session, _) = ran(&scenario);
        assert_eq!(books(session.world()).refunds, refunds, "{amount}");
        if refunds == 0 {
            assert!(observations(&session)[0].contains("422 charge CH-90121 was 288.00, and"), "{amount}");
        }
    }
}

//! Damaged entries in localStorage.

use crashlab::log::store::seal;
use crashlab::web::{Lab, saved_runs};
use js_sys::{JsString, Reflect};
use serde_json::{Value, json};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{
    ONE_OF_EACH, Start, books, broken, changed, clean, entry, finish, given, local, log_lines, put, remove, resumes, run_id,
    run_until, storage, stored, thrown, tick, view,
};

/// A run that was left behind right after the refund; its name.
fn left_behind() -> String {
    clean();
    let mut lab = local().lab();
    run_until(&mut lab, "call_tool", "issue_refund", "happened");
    run_id(&mut lab)
}

/// Opens the run, resumes it and runs to the end.
fn taken_up(run_id: &str) -> Lab {
    let mut lab = Lab::open(run_id).unwrap();
    lab.resume().unwrap();
    assert_eq!(finish(&mut lab), "done");
    assert_eq!(books(&mut lab), ONE_OF_EACH);
    assert_eq!(broken(&mut lab), [""; 0]);
    lab
}

/// The entries of the two snapshots, the newer first, each with its generation.
fn snapshots(run_id: &str) -> Vec<(String, u64)> {
    let generation = |text: &str| text.split(' ').next().unwrap().parse().unwrap();
    let found = stored(&entry(run_id, "checkpoint/"));
    let mut found: Vec<(String, u64)> = found.into_iter().map(|(key, text)| (key, generation(&text))).collect();
    found.sort_by_key(|(_, generation)| std::cmp::Reverse(*generation));
    found
}

fn change(key: &str, change: impl FnOnce(String) -> String) {
    put(key, &change(storage().get_item(key).unwrap().unwrap()));
}

/// Another letter in the middle: the length and the form stay.
fn flipped(text: String) -> String {
    text.replacen("KB-207", "KB-201", 1)
}

#[wasm_bindgen_test]
fn a_damaged_checkpoint_falls_back_to_the_one_before() {
    let calm = local().calm().checkpoint_json();
    type Damage = fn(String) -> String;
    let damages: [(&str, Damage); 4] = [
        ("a letter changed", flipped),
        ("cut", |text| text[..text.len() / 2].to_string()),
        ("empty", |_| String::new()),
        ("something else", |_| "{\"hello\": 1}".to_string()),
    ];
    for (name, damage) in damages {
        let run_id = left_behind();
        let found = snapshots(&run_id);
        assert_eq!(found.len(), 2);
        change(&found[0].0, damage);
        let opened = view(&mut Lab::open(&run_id).unwrap());
        let generations = opened["storage"]["generations"].as_array().unwrap().clone();
        assert_eq!(generations.iter().filter(|one| one["damage"].is_string()).count(), 1, "{name}");
        let mut lab = taken_up(&run_id);
        assert_eq!(resumes(&mut lab)[0]["checkpoint_generation"], found[1].1, "{name}");
        assert_eq!(lab.checkpoint_json(), calm, "{name}");
    }
    clean();
}

#[wasm_bindgen_test]
fn the_good_checkpoint_is_kept_until_the_damaged_one_has_been_replaced() {
    let run_id = left_behind();
    let found = snapshots(&run_id);
    change(&found[0].0, flipped);
    let good = storage().get_item(&found[1].0).unwrap();
    let mut lab = Lab::open(&run_id).unwrap();
    lab.resume().unwrap();
    run_until(&mut lab, "save_checkpoint", "", "happened");
    assert_eq!(storage().get_item(&found[1].0).unwrap(), good);
    let generations = view(&mut lab)["storage"]["generations"].as_array().unwrap().clone();
    assert!(generations.iter().all(|one| one["damage"].is_null()));
    clean();
}

#[wasm_bindgen_test]
fn two_damaged_checkpoints_leave_the_log() {
    let calm = local().calm().checkpoint_json();
    let run_id = left_behind();
    for (key, _) in snapshots(&run_id) {
        change(&key, flipped);
    }
    let mut lab = taken_up(&run_id);
    assert_eq!(resumes(&mut lab)[0]["checkpoint_generation"], Value::Null);
    assert_eq!(lab.checkpoint_json(), calm);
    clean();
}

#[wasm_bindgen_test]
fn without_log_and_checkpoints_there_is_nothing_to_resume_from() {
    let run_id = left_behind();
    for key in stored(&entry(&run_id, "log/")).into_keys().chain(stored(&entry(&run_id, "checkpoint/")).into_keys()) {
        remove(&key);
    }
    let mut lab = Lab::open(&run_id).unwrap();
    let (code, message) = thrown(lab.resume());
    assert_eq!((code.as_str(), message.contains("neither a log nor a usable checkpoint")), ("damaged", true));
    assert_eq!(view(&mut lab)["phase"], "crashed");
    clean();
}

#[wasm_bindgen_test]
fn a_checkpoint_of_a_later_version_is_not_guessed_at() {
    let run_id = left_behind();
    let found = snapshots(&run_id);
    change(&found[0].0, |text| {
        let json = text.splitn(3, ' ').nth(2).unwrap();
        seal(found[0].1, &json.replacen("\"version\":1,\"log_position\"", "\"version\":99,\"log_position\"", 1))
    });
    let damage = view(&mut Lab::open(&run_id).unwrap())["storage"]["generations"][0]["damage"].clone();
    assert_eq!(damage, "$.version: this is version 99; this program reads version 1");
    let mut lab = taken_up(&run_id);
    assert_eq!(resumes(&mut lab)[0]["checkpoint_generation"], found[1].1);
    clean();
}

/// A text cut at a UTF-16 unit, as only JavaScript can make it.
fn store_cut(key: &str, units: u32) {
    let storage: JsValue = storage().into();
    let call = |name: &str, args: &js_sys::Array| {
        let method: js_sys::Function = Reflect::get(&storage, &name.into()).unwrap().unchecked_into();
        method.apply(&storage, args).unwrap()
    };
    let text: JsString = call("getItem", &js_sys::Array::of1(&key.into())).unchecked_into();
    call("setItem", &js_sys::Array::of2(&key.into(), &text.slice(0, units)));
}

#[wasm_bindgen_test]
fn a_log_cut_in_the_middle_of_a_character_is_read_up_to_the_cut() {
    let scenario =
        changed(|document| document["script"][2]["say"] = json!("👩‍💻 The later of two equal charges is the duplicate. 🧾"));
    let start = Start { scenario, ..local() };
    clean();
    let mut lab = start.lab();
    run_until(&mut lab, "append", "write tool_call", "issued");
    run_until(&mut lab, "append", "write tool_call", "issued");
    run_until(&mut lab, "append", "write tool_call", "issued");
    let run_id = run_id(&mut lab);
    drop(lab);
    let lines = log_lines(&run_id);
    let last = lines.last().unwrap();
    assert!(last.contains("\"type\":\"llm_call\"") && last.contains('👩'), "{last}");
    let key = entry(&run_id, &format!("log/{:06}", lines.len() - 1));
    let before = last[..last.find('👩').unwrap()].encode_utf16().count() as u32;
    store_cut(&key, before + 1);

    let mut lab = Lab::open(&run_id).unwrap();
    let opened = view(&mut lab);
    assert_eq!(opened["record_count"], lines.len() - 1);
    let warning = opened["storage"]["warning"].as_str().unwrap().to_string();
    assert!(warning.starts_with("The last record was cut"), "{warning}");
    assert!(warning.contains(&format!("(record {}: ", lines.len() - 1)), "{warning}");
    lab.resume().unwrap();
    assert_eq!(view(&mut lab)["storage"]["warning"], Value::Null, "the torn record has made room");
    assert_eq!(finish(&mut lab), "done");
    assert_eq!(books(&mut lab), ONE_OF_EACH);
    assert_eq!(resumes(&mut lab)[0]["in_doubt"]["type"], "llm_request");
    // The log is whole again, and another page reads the same.
    assert_eq!(log_lines(&run_id).join("\n") + "\n", lab.log_jsonl());
    assert!(lab.log_jsonl().contains("👩‍💻"));
    clean();
}

#[wasm_bindgen_test]
fn a_torn_record_makes_room_also_where_two_may_write() {
    clean();
    let mut lab = Start { mechanisms: json!({"single_writer": false}), ..local() }.lab();
    run_until(&mut lab, "call_tool", "get_account", "issued");
    let run_id = run_id(&mut lab);
    drop(lab);
    let last = entry(&run_id, &format!("log/{:06}", log_lines(&run_id).len() - 1));
    change(&last, |line| line[..line.len() - 9].to_string());
    let lab = taken_up(&run_id);
    assert_eq!(log_lines(&run_id).join("\n") + "\n", lab.log_jsonl());
    clean();
}

#[wasm_bindgen_test]
fn a_broken_record_in_the_middle_is_named_and_nothing_is_guessed() {
    type Damage = fn(&str);
    let damages: [(Damage, &str); 4] = [
        (|key| put(key, "garbage"), "the log is damaged: record 5: "),
        (|key| put(key, "{\"ts\":1}"), "the log is damaged: record 5: $.run_id: missing"),
        (|key| put(key, ""), "the log is damaged: record 5: "),
        (remove, "the log is damaged: record 5 is missing, and others stand behind it"),
    ];
    for (damage, expected) in damages {
        let run_id = left_behind();
        let lines = log_lines(&run_id).len();
        damage(&entry(&run_id, "log/000005"));
        let left = stored(&entry(&run_id, "log/"));
        let mut lab = Lab::open(&run_id).unwrap();
        assert!(view(&mut lab)["storage"]["warning"].as_str().unwrap().contains("(record 5"));
        assert_eq!(view(&mut lab)["record_count"], 5, "what stands before it is shown");
        let (code, message) = thrown(lab.resume());
        assert_eq!(code, "damaged");
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(given(lab.tick()), json!({"type": "crashed", "armed": false}));
        lab.crash();
        assert!(stored(&entry(&run_id, "log/")) == left && lines > 5, "the log is left as it was found");
    }
    clean();
}

#[wasm_bindgen_test]
fn a_last_record_that_is_json_but_no_record_was_not_torn() {
    let run_id = left_behind();
    let last = entry(&run_id, &format!("log/{:06}", log_lines(&run_id).len() - 1));
    put(&last, "{\"ts\":1772525400.000,\"run_id\":\"x\"}");
    let (code, message) = thrown(Lab::open(&run_id).unwrap().resume());
    assert_eq!(code, "damaged");
    assert!(message.contains("$.step: missing"), "{message}");
    clean();
}

#[wasm_bindgen_test]
fn a_run_whose_entries_are_gone_or_garbage_says_so_and_leaves_the_others_alone() {
    type Damage = fn(&str);
    let damages: [(&str, Damage, &str); 7] = [
        ("session", |key| put(key, "%%%"), "damaged"),
        ("session", |key| put(key, ""), "damaged"),
        ("session", |key| put(key, "{\"version\":1"), "damaged"),
        ("session", |key| put(key, "null"), "damaged"),
        ("session", |key| change(key, |text| text.replacen("\"version\":1", "\"version\":2", 1)), "damaged"),
        ("scenario", remove, "damaged"),
        ("scenario", |key| put(key, "{}"), "bad_scenario"),
    ];
    for (place, damage, expected) in damages {
        let damaged = left_behind();
        let other = run_id(&mut Start { seed: "2", ..local() }.lab());
        damage(&entry(&damaged, place));
        let (code, message) = thrown(Lab::open(&damaged));
        assert_eq!(code, expected, "{place}: {message}");
        let listed = given(saved_runs());
        let of = |run_id: &str| listed.as_array().unwrap().iter().find(|run| run["run_id"] == run_id).unwrap().clone();
        assert_eq!(of(&other)["damage"], Value::Null);
        if code == "damaged" {
            let damage = of(&damaged)["damage"].as_str().unwrap().to_string();
            assert!(damage.starts_with(&format!("what is stored about run `{damaged}` cannot be read: ")), "{damage}");
            assert_eq!(damage, message);
        }
        Lab::open(&other).unwrap();
    }
    // A later version is named with both numbers.
    let run_id = left_behind();
    change(&entry(&run_id, "session"), |text| text.replacen("\"version\":1", "\"version\":2", 1));
    assert!(thrown(Lab::open(&run_id)).1.ends_with("$.version: this is version 2; this page reads version 1"));
    // Without its session a run is not one.
    remove(&entry(&run_id, "session"));
    assert_eq!(thrown(Lab::open(&run_id)).0, "not_found");
    assert_eq!(given(saved_runs()), json!([]));
    clean();
}

#[wasm_bindgen_test]
fn a_broken_row_of_the_worlds_books_is_named() {
    let run_id = left_behind();
    put(&entry(&run_id, "world/000003"), "{\"at_ms\": -1}");
    assert_eq!(thrown(Lab::open(&run_id)).0, "damaged");
    clean();
}

#[wasm_bindgen_test]
fn a_scenario_that_was_changed_behind_the_run_is_not_silently_gone_on_with() {
    let run_id = left_behind();
    change(&entry(&run_id, "scenario"), |text| text.replacen("Charged twice", "Charged thrice", 1));
    let mut lab = Lab::open(&run_id).unwrap();
    let (code, message) = thrown(lab.resume());
    assert_eq!(code, "damaged");
    assert!(message.contains("the scenario has changed since the run began"), "{message}");
    clean();
}

#[wasm_bindgen_test]
fn a_run_of_an_older_page_whose_owner_has_no_token_can_be_taken_over() {
    let run_id = left_behind();
    put(&entry(&run_id, "epoch"), "1");
    let mut lab = taken_up(&run_id);
    assert_eq!(view(&mut lab)["storage"]["epoch"], 2);
    put(&entry(&run_id, "epoch"), "what is this");
    assert_eq!(view(&mut Lab::open(&run_id).unwrap())["storage"]["epoch"], 0);
    clean();
}

#[wasm_bindgen_test]
fn other_keys_of_the_origin_are_never_touched() {
    clean();
    let foreign = ["other", "crashlab", "crashlab:ui", "crashlabel/x", "Crashlab/T-1001/log/000000", "crashlab\u{fe0f}/x", ""];
    for key in foreign {
        put(key, "keep");
    }
    let mut lab = local().lab();
    for _ in 0..40 {
        tick(&mut lab);
    }
    let run_id = run_id(&mut lab);
    taken_up(&run_id);
    given(saved_runs());
    crashlab::web::forget_run(&run_id).unwrap();
    let left = stored("");
    assert_eq!(left.len(), foreign.len());
    assert!(foreign.iter().all(|key| left.get(*key).is_some_and(|value| value == "keep")));
    clean();
}

//! localStorage that is full.

use crashlab::web::{Lab, saved_runs, storage_warning};
use serde_json::Value;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{
    ONE_OF_EACH, PREFIX, books, breathe, broken, clean, fill, fill_but, finish, given, local, log_lines, make_room, reload,
    run_id, run_until, stored, thrown, tick, view,
};

fn count(lines: &[String], kind: &str) -> usize {
    lines.iter().filter(|line| line.contains(&format!("\"type\":\"{kind}\""))).count()
}

#[wasm_bindgen_test]
fn a_run_is_not_begun_where_it_cannot_be_kept() {
    clean();
    fill();
    let before = stored("");
    let (code, message) = thrown(Lab::start(local().options()));
    assert_eq!((code.as_str(), message.as_str()), ("storage", "This page’s storage is full."));
    assert!(stored("") == before, "something was left behind");
    // With room for the owner's entry alone it is the same.
    for room in [40, 60, 500, 5_000] {
        make_room();
        fill_but(room);
        assert_eq!(thrown(Lab::start(local().options())).0, "storage", "{room} characters");
        assert!(stored(PREFIX).is_empty(), "with {room} characters something was left behind");
    }
    make_room();
    fill_but(40_000);
    assert_eq!(finish(&mut local().lab()), "storage_failed");
    clean();
}

#[wasm_bindgen_test]
async fn a_run_stops_before_an_effect_that_it_cannot_record_and_goes_on_when_there_is_room() {
    for ticks in [1, 9, 30, 61, 94, 97, 120, 133] {
        breathe().await;
        clean();
        let mut lab = local().lab();
        for _ in 0..ticks {
            assert_ne!(tick(&mut lab)["type"], "stopped");
        }
        let run_id = run_id(&mut lab);
        fill();
        let lines = log_lines(&run_id);
        let (requests, calls) = (world_count(&mut lab, "requests"), model_calls(&mut lab));
        let status = finish(&mut lab);
        assert_eq!(status, "storage_failed", "after {ticks} ticks");
        assert_eq!(log_lines(&run_id), lines, "after {ticks} ticks");
        let seen = view(&mut lab);
        assert_eq!(seen["phase"], "stopped");
        assert_eq!(seen["sentence"], "T-1001 was stopped by storage_failed. A person takes over.");
        let warning = seen["storage"]["warning"].as_str().unwrap();
        assert_eq!(warning, "This page’s storage is full. What happens now is gone with the page.");
        // At most the one effect whose intent was there has happened.
        let done = world_count(&mut lab, "requests") - requests + model_calls(&mut lab) - calls;
        assert!(done <= 1, "after {ticks} ticks {done} effects happened without a record");
        assert_eq!(broken(&mut lab), [""; 0], "after {ticks} ticks");

        // With room again, in the same page.
        make_room();
        lab.resume().unwrap();
        assert_eq!(finish(&mut lab), "done", "after {ticks} ticks");
        assert_eq!(books(&mut lab)[..2], ONE_OF_EACH[..2], "after {ticks} ticks");
        assert_eq!(view(&mut lab)["storage"]["warning"], Value::Null);
        assert_eq!(broken(&mut lab), [""; 0], "after {ticks} ticks");
        // What the world did while there was no room has been written down since.
        let world = view(&mut lab)["world"].clone();
        assert_eq!(view(&mut reload(lab))["world"], world);
    }
    clean();
}

fn world_count(lab: &mut Lab, list: &str) -> usize {
    view(lab)["world"][list].as_array().unwrap().len()
}

fn model_calls(lab: &mut Lab) -> usize {
    view(lab)["world"]["meter"]["calls"].as_f64().unwrap() as usize
}

#[wasm_bindgen_test]
fn a_run_that_lacked_room_is_offered_by_the_next_page_and_goes_on() {
    clean();
    let mut lab = local().lab();
    run_until(&mut lab, "append", "write tool_call", "issued");
    fill();
    assert_eq!(finish(&mut lab), "storage_failed");
    let run_id = run_id(&mut lab);
    drop(lab);
    make_room();
    let offers = given(saved_runs());
    assert_eq!((&offers[0]["run_id"], &offers[0]["status"]), (&Value::from(run_id.as_str()), &Value::Null));
    let mut lab = Lab::open(&run_id).unwrap();
    assert_eq!(view(&mut lab)["phase"], "crashed");
    lab.resume().unwrap();
    assert_eq!(finish(&mut lab), "done");
    assert_eq!(books(&mut lab)[..2], ONE_OF_EACH[..2]);
    assert_eq!(count(&log_lines(&run_id), "stop"), 1);
    clean();
}

#[wasm_bindgen_test]
fn a_checkpoint_that_does_not_fit_costs_nothing_but_itself() {
    clean();
    let calm = local().calm().checkpoint_json();
    let mut lab = local().lab();
    run_until(&mut lab, "save_checkpoint", "", "issued");
    fill();
    let tick = given(lab.tick());
    assert_eq!(tick["effect"]["type"], "save_checkpoint");
    make_room();
    assert_eq!(finish(&mut lab), "done");
    assert_eq!(books(&mut lab), ONE_OF_EACH);
    assert_eq!(lab.checkpoint_json(), calm);
    assert_eq!(count(&log_lines(&run_id(&mut lab)), "checkpoint"), 7);
    clean();
}

#[wasm_bindgen_test]
fn the_warning_says_that_storage_is_full_and_leaves_no_trace() {
    clean();
    assert_eq!(storage_warning(), None);
    assert!(stored("").is_empty());
    fill();
    let full = stored("");
    assert_eq!(
        storage_warning().as_deref(),
        Some("This page’s storage is full: a run that is started now is gone with the page.")
    );
    assert!(stored("") == full);
    make_room();
    assert_eq!(storage_warning(), None);
    clean();
}

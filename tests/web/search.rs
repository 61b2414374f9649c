//! The explorer's bindings: what they say is what `types.ts` declares, and a run's file replays to the very log.

use crashlab::lab::shipped::shipped;
use crashlab::web::{Explorer, Matrix, replay, replay_scenario};
use js_sys::{JSON, Reflect};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::*;

use crate::typescript::Types;

fn options(rest: &str) -> JsValue {
    let options = JSON::parse(rest).unwrap();
    Reflect::set(&options, &"scenario".into(), &shipped("refund-timeout").unwrap().into()).unwrap();
    options
}

fn field(value: &JsValue, name: &str) -> JsValue {
    Reflect::get(value, &name.into()).unwrap()
}

fn is_done(progress: &JsValue) -> bool {
    field(progress, "done").is_truthy()
}

#[wasm_bindgen_test]
fn a_search_says_what_is_declared_and_its_run_replays() {
    let mut types = Types::shipped();
    let options = options(r#"{"crashes": 1, "faults": 0, "mechanisms": {"idempotency": false}}"#);
    types.check("SearchOptions", &options);
    let mut explorer = Explorer::new(options).unwrap();
    let mut progress = explorer.step(100).unwrap();
    while !is_done(&progress) {
        types.check("SearchProgress", &progress);
        progress = explorer.step(500).unwrap();
    }
    types.check("SearchProgress", &progress);
    types.check_list("SearchVerdict", &explorer.verdicts().unwrap());
    assert!(explorer.runs().unwrap().parse::<u64>().unwrap() > 100);
    let found = explorer.run("refunded_once").unwrap();
    types.check("SearchRun", &found);
    assert!(explorer.run("asked_once").unwrap().is_null());
    assert!(explorer.run("nothing").is_err());

    let run = field(&found, "run");
    let file = field(&run, "replay").as_string().unwrap();
    assert_eq!(replay_scenario(&file).unwrap(), "refund-timeout");
    let replayed = replay(&file, shipped("refund-timeout").map(str::to_string)).unwrap();
    types.check("ReplayedRun", &replayed);
    let log = field(&replayed, "log").as_string().unwrap();
    let lines: Vec<String> =
        js_sys::Array::from(&field(&run, "records")).iter().map(|record| field(&record, "line").as_string().unwrap()).collect();
    // The file ends where the invariant breaks, the run goes on to its end.
    assert!(log.lines().count() <= lines.len());
    assert!(log.lines().zip(&lines).all(|(replayed, told)| replayed == told));
    let misfit = replay(&file, None).unwrap_err();
    assert_eq!(field(&misfit, "code").as_string().unwrap(), "bad_argument");
}

#[wasm_bindgen_test]
fn a_matrix_says_what_is_declared() {
    let mut types = Types::shipped();
    let mut matrix = Matrix::new(options(r#"{"decisions": 0}"#)).unwrap();
    types.check("MatrixView", &matrix.view().unwrap());
    let mut progress = matrix.step(0).unwrap();
    types.check("MatrixProgress", &progress);
    while !is_done(&progress) {
        progress = matrix.step(500).unwrap();
    }
    types.check("MatrixProgress", &progress);
    types.check("MatrixView", &matrix.view().unwrap());
    types.check("MatrixColumn", &matrix.column(0).unwrap());
    assert!(matrix.column(99).unwrap().is_null());
    types.check("SearchRun", &matrix.run(0, 0, None).unwrap());
    assert!(matrix.run(99, 0, None).unwrap().is_null());
}

//! What the page can start from: scenarios, and runs in localStorage.

use std::collections::BinaryHeap;
use std::fmt;

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::local_store::{LocalStore, PREFIX, keys, local_storage};
use super::{lab_error, scenario_of, to_js};
use crate::json::{Fields, ReadError, parse, read};
use crate::lab::mechanisms::{Mechanism, MechanismText};
use crate::lab::scenario::Scenario;

#[derive(Serialize)]
struct ScenarioInfo<'a> {
    id: &'a str,
    title: &'a str,
    summary: &'a str,
    ticket: &'a str,
    watch: &'a [String],
    json: &'a str,
}

#[derive(Serialize)]
struct MechanismInfo {
    id: &'static str,
    name: &'static str,
    what: &'static str,
    without: &'static str,
    breaks: &'static str,
    scenario: &'static str,
}

#[derive(Serialize, Default)]
struct SavedRun {
    run_id: String,
    task_id: String,
    scenario_id: String,
    scenario_title: String,
    step: u32,
    status: Option<String>,
    question_open: bool,
    damage: Option<String>,
    records: f64,
    last_active_ms: Option<f64>,
}

/// What a scenario is about, from its JSON text.
#[wasm_bindgen(unchecked_return_type = "ScenarioInfo")]
pub fn read_scenario(json: &str) -> Result<JsValue, JsValue> {
    scenario_info(&*scenario_of(json)?)
}

/// A scenario for people.
pub(crate) fn scenario_info(scenario: &Scenario) -> Result<JsValue, JsValue> {
    Ok(to_js(&ScenarioInfo {
        id: &scenario.id,
        title: &scenario.title,
        summary: &scenario.summary,
        ticket: &scenario.ticket,
        watch: &scenario.watch,
        json: &scenario.json,
    })?)
}

/// The mechanisms that can be switched off.
#[wasm_bindgen(unchecked_return_type = "MechanismInfo[]")]
pub fn mechanisms() -> Result<JsValue, JsValue> {
    let info = |mechanism: Mechanism| {
        let MechanismText { id, name, what, without, breaks, scenario } = mechanism.text();
        MechanismInfo { id, name, what, without, breaks, scenario }
    };
    Ok(to_js(&Mechanism::ALL.map(info).as_slice())?)
}

/// The runs in localStorage; none where there is no localStorage.
#[wasm_bindgen(unchecked_return_type = "SavedRun[]")]
pub fn saved_runs() -> Result<JsValue, JsValue> {
    let Ok(storage) = local_storage() else {
        return Ok(to_js(&Vec::<SavedRun>::new())?);
    };
    let run_of = |key: &String| key.strip_prefix(PREFIX)?.strip_suffix("/session").map(str::to_string);
    let runs = keys(&storage).iter().filter_map(run_of).collect::<BinaryHeap<String>>().into_sorted_vec();
    Ok(to_js(&runs.iter().map(|run_id| saved_run(run_id)).collect::<Vec<_>>())?)
}

fn saved_run(run_id: &str) -> SavedRun {
    let damaged = |damage: String| SavedRun { run_id: run_id.to_string(), damage: Some(damage), ..SavedRun::default() };
    let store = match LocalStore::open(run_id) {
        Ok(store) => store,
        Err(error) => return damaged(error.to_string()),
    };
    if store.get("scenario").is_none() {
        return damaged(unreadable(run_id, &"its scenario is missing"));
    }
    let text = store.get("session").unwrap_or_default();
    let found = parse(&text).and_then(|value| {
        read(&value, "$", |from| {
            check_version(from);
            SavedRun {
                run_id: run_id.to_string(),
                task_id: from.text("task_id").to_string(),
                scenario_id: from.text("scenario_id").to_string(),
                scenario_title: from.text("scenario_title").to_string(),
                step: from.small_count("step"),
                status: from.optional("status", Fields::text).map(str::to_string),
                question_open: from.boolean("question_open"),
                damage: None,
                records: store.record_count() as f64,
                last_active_ms: from.optional("saved_at_ms", Fields::count).map(|ms| ms as f64),
            }
        })
    });
    found.unwrap_or_else(|error| damaged(unreadable(run_id, &error)))
}

/// The version of the `session` entry.
pub(crate) const SESSION_VERSION: u64 = 1;

/// An entry of a later version is refused, not guessed at.
pub(crate) fn check_version(from: &Fields) {
    let version = from.count("version");
    if version != SESSION_VERSION {
        let message = format!("this is version {version}; this page reads version {SESSION_VERSION}");
        from.note(ReadError::new(&from.path("version"), message));
    }
}

/// The sentence about a run that cannot be opened.
pub(crate) fn unreadable(run_id: &str, error: &dyn fmt::Display) -> String {
    format!("what is stored about run `{run_id}` cannot be read: {error}")
}

/// Takes a run out of localStorage.
#[wasm_bindgen]
pub fn forget_run(run_id: &str) -> Result<(), JsValue> {
    LocalStore::create(run_id).map(drop).map_err(|error| lab_error("storage", &error.to_string()))
}

/// A sentence if localStorage cannot be used.
#[wasm_bindgen]
pub fn storage_warning() -> Option<String> {
    let storage = match local_storage() {
        Ok(storage) => storage,
        Err(message) => return Some(message),
    };
    let probe = format!("{PREFIX}probe");
    match storage.set_item(&probe, "1") {
        Ok(()) => {
            // A key that was written can be removed.
            let _ = storage.remove_item(&probe);
            None
        }
        Err(_) => Some("This page's storage is full: a run that is started now is gone with the page.".to_string()),
    }
}

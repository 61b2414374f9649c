//! What the page can start from: scenarios, and runs in localStorage.

use std::fmt;

use serde_json::Value;
use wasm_bindgen::prelude::*;

use super::local_store::{LocalStore, PREFIX, keys, local_storage};
use super::{lab_error, scenario_of, to_js};
use crate::base::json::{Fields, ReadError, parse, read};
use crate::lab::mechanisms::{Mechanism, MechanismText};
use crate::lab::scenario::Scenario;
use crate::record::object;

/// What a scenario is about, from its JSON text.
#[wasm_bindgen(unchecked_return_type = "ScenarioInfo")]
pub fn read_scenario(json: &str) -> Result<JsValue, JsValue> {
    scenario_info(&*scenario_of(json)?)
}

/// A scenario for people.
pub(crate) fn scenario_info(scenario: &Scenario) -> Result<JsValue, JsValue> {
    to_js(&object([
        ("id", Value::from(scenario.id.as_str())),
        ("title", Value::from(scenario.title.as_str())),
        ("summary", Value::from(scenario.summary.as_str())),
        ("ticket", Value::from(&*scenario.ticket)),
        ("watch", scenario.watch.iter().map(String::as_str).collect()),
        ("json", Value::from(&*scenario.json)),
    ]))
}

/// The mechanisms that can be switched off.
#[wasm_bindgen(unchecked_return_type = "MechanismInfo[]")]
pub fn mechanisms() -> Result<JsValue, JsValue> {
    let info = |mechanism: Mechanism| {
        let MechanismText { id, name, what, without, breaks, scenario } = mechanism.text();
        let texts =
            [("id", id), ("name", name), ("what", what), ("without", without), ("breaks", breaks), ("scenario", scenario)];
        object(texts.map(|(key, text)| (key, text.into())))
    };
    to_js(&Mechanism::ALL.into_iter().map(info).collect())
}

/// The runs in localStorage; none where there is no localStorage.
#[wasm_bindgen(unchecked_return_type = "SavedRun[]")]
pub fn saved_runs() -> Result<JsValue, JsValue> {
    let run_of = |key: &String| key.strip_prefix(PREFIX)?.strip_suffix("/session").map(str::to_string);
    let keys = local_storage().map(|storage| keys(&storage)).unwrap_or_default();
    let mut runs: Vec<String> = keys.iter().filter_map(run_of).collect();
    runs.sort_unstable();
    to_js(&runs.iter().map(|run_id| saved_run(run_id)).collect())
}

fn saved_run(run_id: &str) -> Value {
    read_saved_run(run_id).unwrap_or_else(|damage| {
        object([
            ("run_id", run_id.into()),
            ("task_id", "".into()),
            ("scenario_id", "".into()),
            ("scenario_title", "".into()),
            ("step", 0.into()),
            ("status", Value::Null),
            ("question_open", false.into()),
            ("damage", damage.into()),
            ("records", 0.into()),
            ("last_active_ms", Value::Null),
        ])
    })
}

/// A run, or a sentence that says what is wrong with it.
fn read_saved_run(run_id: &str) -> Result<Value, String> {
    let store = LocalStore::open(run_id).map_err(|error| error.to_string())?;
    if store.get("scenario").is_none() {
        return Err(unreadable(run_id, &"its scenario is missing"));
    }
    let text = store.get("session").unwrap_or_default();
    let run = parse(&text).and_then(|value| {
        read(&value, "$", |from| {
            check_version(from);
            object([
                ("run_id", run_id.into()),
                ("task_id", from.str("task_id").into()),
                ("scenario_id", from.str("scenario_id").into()),
                ("scenario_title", from.str("scenario_title").into()),
                ("step", from.u32("step").into()),
                ("status", from.optional("status", Fields::str).into()),
                ("question_open", from.bool("question_open").into()),
                ("damage", Value::Null),
                ("records", store.record_count().into()),
                ("last_active_ms", from.optional("saved_at_ms", Fields::u64).into()),
            ])
        })
    });
    run.map_err(|error| unreadable(run_id, &error))
}

/// The version of the `session` entry.
pub(crate) const SESSION_VERSION: u64 = 1;

/// An entry of a later version is refused, not guessed at.
pub(crate) fn check_version(from: &Fields) {
    let version = from.u64("version");
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
        Err(_) => Some("This page’s storage is full: a run that is started now is gone with the page.".to_string()),
    }
}

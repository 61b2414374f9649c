//! What the tests share: a clean localStorage, scenarios, and a driver that plays the person.

use std::collections::BTreeMap;

use crashlab::web::Lab;
use js_sys::Promise;
use serde_json::{Value, json};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Storage;

/// What all keys of the lab begin with.
pub const PREFIX: &str = "crashlab/";

/// Runs that take more ticks are not going to end.
const TICK_BOUND: usize = 3_000;

// --- Storage -------------------------------------------------------------------------------------------------------------------

/// The browser's own localStorage.
pub fn storage() -> Storage {
    web_sys::window().unwrap().local_storage().unwrap().unwrap()
}

/// An empty localStorage: each test begins and ends with one.
pub fn clean() {
    storage().clear().unwrap();
}

/// All that is stored under names that begin like this.
pub fn stored(prefix: &str) -> BTreeMap<String, String> {
    let storage = storage();
    let keys = (0..storage.length().unwrap()).map(|index| storage.key(index).unwrap().unwrap());
    keys.filter(|key| key.starts_with(prefix)).map(|key| (key.clone(), storage.get_item(&key).unwrap().unwrap())).collect()
}

/// The entry of a run.
pub fn entry(run_id: &str, rest: &str) -> String {
    format!("{PREFIX}{run_id}/{rest}")
}

/// The stored lines of a run's log.
pub fn log_lines(run_id: &str) -> Vec<String> {
    stored(&entry(run_id, "log/")).into_values().collect()
}

pub fn put(key: &str, value: &str) {
    storage().set_item(key, value).unwrap();
}

pub fn remove(key: &str) {
    storage().remove_item(key).unwrap();
}

/// Fills localStorage until not one character more fits.
pub fn fill() {
    assert!(fill_but(0) > 1_000_000);
    assert!(storage().set_item("f", "").is_err(), "there is still room");
}

/// Fills localStorage but for so many characters; how many that took.
pub fn fill_but(room: usize) -> usize {
    let storage = storage();
    let fits = |key: &str, size: usize| storage.set_item(key, &"x".repeat(size)).is_ok();
    // First a large piece, so that the room that is left can be measured with small ones.
    let mut large = 8 << 20;
    while !fits(FILLERS[0], large) {
        large -= 1 << 18;
    }
    let mut small = 0;
    for step in (0..19).rev().map(|bit| 1 << bit) {
        if fits(FILLERS[1], small + step) {
            small += step;
        }
    }
    assert!(fits(FILLERS[1], small - room));
    large + small - room
}

const FILLERS: [&str; 2] = ["filler/large", "filler/small"];

/// Gives the room back that `fill` took.
pub fn make_room() {
    FILLERS.into_iter().for_each(remove);
}

// --- Scenarios -----------------------------------------------------------------------------------------------------------------

/// The document of the scenario `double-charge`.
pub fn double_charge() -> Value {
    serde_json::from_str(include_str!("../../src/lab/scenarios/double-charge.json")).unwrap()
}

/// `double-charge` with changes.
pub fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut document = double_charge();
    change(&mut document);
    document
}

/// How a run is started.
pub struct Start {
    pub scenario: Value,
    pub seed: &'static str,
    pub storage: &'static str,
    pub mechanisms: Value,
}

/// A run of `double-charge` in localStorage.
pub fn local() -> Start {
    Start { scenario: double_charge(), seed: "1", storage: "local", mechanisms: json!({}) }
}

impl Start {
    /// The options as JavaScript gives them.
    pub fn options(&self) -> JsValue {
        let options = json!({
            "scenario": self.scenario.to_string(),
            "seed": self.seed,
            "storage": self.storage,
            "mechanisms": self.mechanisms,
        });
        js_sys::JSON::parse(&options.to_string()).unwrap()
    }

    /// Begins the run.
    pub fn lab(&self) -> Lab {
        Lab::start(self.options()).unwrap_or_else(|error| panic!("{}", message(&error)))
    }

    /// The same run in memory, to its end.
    pub fn calm(&self) -> Lab {
        let mut lab =
            Start { storage: "memory", scenario: self.scenario.clone(), mechanisms: self.mechanisms.clone(), ..*self }.lab();
        finish(&mut lab);
        lab
    }
}

/// Lets the browser breathe: a page that does not answer its driver for half a minute is given up.
pub async fn breathe() {
    let mut timeout = |done: js_sys::Function, _| {
        web_sys::window().unwrap().set_timeout_with_callback(&done).unwrap();
    };
    JsFuture::from(Promise::new(&mut timeout)).await.unwrap();
}

// --- Driving -------------------------------------------------------------------------------------------------------------------

/// A JavaScript value as JSON.
pub fn json_of(value: &JsValue) -> Value {
    let text = js_sys::JSON::stringify(value).unwrap();
    serde_json::from_str(&String::from(text)).unwrap()
}

/// What a call gave, as JSON.
pub fn given(result: Result<JsValue, JsValue>) -> Value {
    json_of(&result.unwrap_or_else(|error| panic!("{}", message(&error))))
}

/// The code and the sentence of what a call threw.
pub fn thrown<T>(result: Result<T, JsValue>) -> (String, String) {
    let error = result.err().expect("the call throws");
    assert!(error.is_instance_of::<js_sys::Error>());
    (js_sys::Reflect::get(&error, &"code".into()).unwrap().as_string().unwrap(), message(&error))
}

fn message(error: &JsValue) -> String {
    String::from(error.unchecked_ref::<js_sys::Error>().message())
}

pub fn view(lab: &mut Lab) -> Value {
    given(lab.view(0, 0))
}

pub fn run_id(lab: &mut Lab) -> String {
    view(lab)["run_id"].as_str().unwrap().to_string()
}

/// One tick; a question is approved by Maya.
pub fn tick(lab: &mut Lab) -> Value {
    let tick = given(lab.tick());
    if tick["type"] == "waiting_for_person" {
        lab.decide(tick["approval_key"].as_str().unwrap(), "approved", "maya", "").unwrap();
    }
    tick
}

/// To the end, over all crashes; the final status.
pub fn finish(lab: &mut Lab) -> String {
    for _ in 0..TICK_BOUND {
        let tick = tick(lab);
        match tick["type"].as_str().unwrap() {
            "stopped" => return tick["status"].as_str().unwrap().to_string(),
            "crashed" => lab.resume().unwrap(),
            "fenced" => panic!("another agent has the run"),
            _ => {}
        }
    }
    panic!("the run does not end");
}

/// Until a tick's effect is of a type and has a label that contains this, at this stage.
pub fn run_until(lab: &mut Lab, kind: &str, label: &str, stage: &str) {
    for _ in 0..TICK_BOUND {
        let effect = tick(lab)["effect"].clone();
        let fits = |field: &str, wanted: &str| effect[field].as_str().is_some_and(|text| text.contains(wanted));
        if effect["type"] == kind && effect["stage"] == stage && fits("label", label) {
            return;
        }
    }
    panic!("{kind} {label} {stage} is never met");
}

/// What stands in the world's books: refunds, questions, notes, mails.
pub fn books(lab: &mut Lab) -> [usize; 4] {
    let world = &view(lab)["world"];
    ["refunds", "inbox", "notes", "outbox"].map(|list| world[list].as_array().unwrap().len())
}

/// One refund, one question, one note, one mail.
pub const ONE_OF_EACH: [usize; 4] = [1, 1, 1, 1];

/// Invariants that are broken.
pub fn broken(lab: &mut Lab) -> Vec<String> {
    let invariants = view(lab)["invariants"].as_array().unwrap().clone();
    let broken = invariants.iter().filter(|one| one["verdict"] == "broken");
    broken.map(|one| one["explanation"].as_str().unwrap().to_string()).collect()
}

/// A new page: the agent is gone, and what is stored is opened.
pub fn reload(mut lab: Lab) -> Lab {
    let run_id = run_id(&mut lab);
    drop(lab);
    Lab::open(&run_id).unwrap_or_else(|error| panic!("{}", message(&error)))
}

/// What the log says of its resumes.
pub fn resumes(lab: &mut Lab) -> Vec<Value> {
    let records = given(lab.records(0));
    let lines = records.as_array().unwrap().iter().filter(|record| record["type"] == "resume");
    lines.map(|record| serde_json::from_str(record["line"].as_str().unwrap()).unwrap()).collect()
}

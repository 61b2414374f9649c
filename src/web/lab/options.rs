//! How a run of the lab is started.

use std::sync::Arc;

use wasm_bindgen::prelude::*;

use crate::agent::state::AgentState;
use crate::base::json::{parse, read};
use crate::lab::mechanisms::Mechanisms;
use crate::lab::session::Setup;
use crate::report::imported::read_checkpoint;
use crate::web::{draw, lab_error, scenario_of};

/// What `start` is given.
pub(super) struct Options {
    scenario: String,
    mechanisms: Option<Mechanisms>,
    seed: Option<String>,
    pub(super) is_local: bool,
    pub(super) branch: u32,
    pub(super) checkpoint: Option<String>,
}

impl Options {
    pub(super) fn of(value: &JsValue) -> Result<Options, JsValue> {
        let bad = |message: String| lab_error("bad_argument", &message);
        let field = |name: &str| js_sys::Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
        let storage = field("storage").as_string().unwrap_or_default();
        let given = field("mechanisms");
        let mechanisms = if given.is_undefined() || given.is_null() {
            None
        } else {
            let text = js_sys::JSON::stringify(&given)
                .map(String::from)
                .map_err(|_| bad("`mechanisms` is not plain data".to_string()))?;
            let given = parse(&text).and_then(|value| read(&value, "mechanisms", Mechanisms::from_json));
            Some(given.map_err(|error| bad(error.to_string()))?)
        };
        Ok(Options {
            scenario: field("scenario").as_string().ok_or_else(|| bad("`scenario` has to be JSON text".to_string()))?,
            mechanisms,
            seed: field("seed").as_string(),
            branch: field("branch").as_f64().map_or(0, |branch| branch as u32),
            checkpoint: field("checkpoint").as_string(),
            is_local: match storage.as_str() {
                "local" => true,
                "memory" => false,
                other => return Err(bad(format!("`storage` is local or memory, not `{other}`"))),
            },
        })
    }
}

impl Options {
    pub(super) fn setup(&self) -> Result<Setup, JsValue> {
        let scenario = scenario_of(&self.scenario)?;
        let seed = match &self.seed {
            Some(text) => text
                .parse()
                .map_err(|_| lab_error("bad_argument", &format!("a seed is a number from 0 to 2^64-1, not `{text}`")))?,
            None => drawn_seed()?,
        };
        let mechanisms = self.mechanisms.unwrap_or(scenario.mechanisms);
        Ok(Setup { mechanisms, scenario, seed, interactive: true, branch: self.branch })
    }
}

/// The checkpoint with which a run begins, from its JSON text.
pub(super) fn origin_of(checkpoint: Option<&str>) -> Result<Option<AgentState>, JsValue> {
    checkpoint.map(read_checkpoint).transpose().map_err(|error| lab_error("damaged", &error.to_string()))
}

pub(super) fn run_id_of(setup: &Setup, origin: Option<&AgentState>) -> Arc<str> {
    origin.map_or_else(|| setup.run_id(), |state| setup.run_id_from(state))
}

/// A fresh seed of 32 bits: short enough for a link.
fn drawn_seed() -> Result<u64, JsValue> {
    draw().map(u64::from).map_err(|message| lab_error("storage", &message))
}

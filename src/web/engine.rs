//! `Agent`: the core for other people's drivers, in a page or in Node.

use std::sync::Arc;

use wasm_bindgen::prelude::*;

use super::{lab_error, plain, to_js};
use crate::embed::{self, OpenError};
use crate::log::checkpoint;
use crate::log::store::SavedSnapshot;

/// The last moment of JavaScript's `Date`, in milliseconds since 1970.
const LATEST_MS: f64 = 8.64e15;

/// An agent at work on one run: `poll` says what it wants, `handle` takes what came of it.
#[wasm_bindgen]
pub struct Agent {
    agent: crate::agent::Agent,
    next_generation: u64,
    /// The snapshot that is out.
    saving: Option<SavedSnapshot>,
    is_torn: bool,
}

#[wasm_bindgen]
impl Agent {
    /// An agent at the start of a run, or, with what is stored of it, where its log ends. `now_ms`: milliseconds since 1970.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "AgentConfig")] config: JsValue,
        #[wasm_bindgen(unchecked_param_type = "number")] now_ms: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "Stored | null")] stored: Option<JsValue>,
    ) -> Result<Agent, JsValue> {
        let bad = |what: &str, error: &dyn std::fmt::Display| lab_error("bad_argument", &format!("{what}{error}"));
        let config = json_text("config", &config)?;
        let config = embed::read_config(&config).map_err(|error| bad("config ", &error))?;
        let is_time = |ms: &f64| (0.0..=LATEST_MS).contains(ms);
        let Some(now_ms) = now_ms.as_f64().filter(is_time) else {
            let found = plain::describe(&now_ms);
            return Err(bad("now_ms: ", &format!("expected milliseconds since 1970, from 0 to {LATEST_MS}, found {found}")));
        };
        let stored = stored.filter(|stored| !stored.is_null() && !stored.is_undefined());
        let stored = stored.map_or(Ok("{}".to_string()), |stored| json_text("stored", &stored))?;
        let opened = embed::open(Arc::new(config), &stored, now_ms as u64).map_err(|error| match &error {
            OpenError::Unreadable(error) => bad("stored ", error),
            OpenError::Recovery(error) => lab_error("damaged", &error.to_string()),
        })?;
        let embed::Opened { agent, next_generation, is_torn } = opened;
        Ok(Agent { agent, next_generation, saving: None, is_torn })
    }

    /// The next thing to do; nothing while an answer is awaited, and once the run is over.
    #[wasm_bindgen(unchecked_return_type = "Effect | undefined")]
    pub fn poll(&mut self) -> Result<JsValue, JsValue> {
        let Some(effect) = self.agent.poll() else {
            return Ok(JsValue::UNDEFINED);
        };
        let (json, saving) = embed::effect_json(&effect, self.next_generation);
        self.saving = saving;
        to_js(&json)
    }

    /// Takes the answer to the effect that is out. One that does not fit is an error, and changes nothing.
    #[wasm_bindgen]
    pub fn handle(&mut self, #[wasm_bindgen(unchecked_param_type = "AgentEvent")] event: JsValue) -> Result<(), JsValue> {
        let event = embed::read_event(&json_text("event", &event)?, self.saving);
        let event = event.map_err(|error| lab_error("bad_argument", &format!("event {error}")))?;
        self.agent.handle(event).map_err(|error| lab_error("refused", &error.to_string()))?;
        if self.saving.take().is_some() {
            // Also after a failed write: half of it may be there.
            self.next_generation += 1;
        }
        Ok(())
    }

    /// `running`, or why the run is over.
    #[wasm_bindgen(getter, unchecked_return_type = "'running' | FinalStatus")]
    pub fn status(&self) -> String {
        self.agent.run().state.status.as_str().to_string()
    }

    /// True once there is nothing more to do.
    #[wasm_bindgen(getter)]
    pub fn is_over(&self) -> bool {
        self.agent.is_over()
    }

    /// True once another agent has the run.
    #[wasm_bindgen(getter)]
    pub fn is_fenced(&self) -> bool {
        self.agent.is_fenced()
    }

    /// True: the last line of the stored log was cut in a write, and has to go before another is written behind it.
    #[wasm_bindgen(getter)]
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// What the agent knows, as JSON text of a `Checkpoint`.
    #[wasm_bindgen]
    pub fn state_json(&self) -> String {
        checkpoint::encode(&self.agent.run().state)
    }
}

/// JSON text of a value; text is taken as it is, so that its numbers stay exact.
fn json_text(name: &str, value: &JsValue) -> Result<String, JsValue> {
    plain::json_text(value).map_err(|message| lab_error("bad_argument", &format!("{name} {message}")))
}

//! The package's `Agent`: every effect, and every answer, crosses as `types.ts` says.

use std::collections::BTreeSet;

use crashlab::web::Agent;
use js_sys::JSON;
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{json_of, thrown};
use crate::typescript::Types;

fn js(value: &Value) -> JsValue {
    JSON::parse(&value.to_string()).unwrap()
}

fn config(change: impl FnOnce(&mut Value)) -> Value {
    let id = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let mut config = json!({
        "run_id": "r-1",
        "system": "You are brief.",
        "task": "Send it.",
        "retry": {"max_attempts": 20},
        "limits": {"max_repeats": 9},
        "tools": [
            {"name": "look", "description": "Looks.", "inputSchema": id, "annotations": {"readOnlyHint": true}},
            {
                "name": "send",
                "inputSchema": id,
                "annotations": {"idempotentHint": true},
                "intent": ["id"],
                "relies_on": {"tool": "look", "argument": "id", "version_field": "version"},
            },
        ],
    });
    change(&mut config);
    config
}

/// An agent, the declarations, and a clock.
struct Driver<'a> {
    types: &'a mut Types,
    agent: Agent,
    now_ms: u64,
}

impl<'a> Driver<'a> {
    fn new(types: &'a mut Types, config: &Value) -> Driver<'a> {
        types.check("AgentConfig", &js(config));
        let agent = Agent::new(js(config), 1_000.into(), None).unwrap_or_else(|error| panic!("{error:?}"));
        Driver { types, agent, now_ms: 1_000 }
    }

    fn poll(&mut self) -> Value {
        let effect = self.agent.poll().unwrap();
        self.types.check("Effect", &effect);
        json_of(&effect)
    }

    fn answer(&mut self, effect: &Value, answer: Value) {
        self.now_ms = effect["until_ms"].as_u64().unwrap_or(self.now_ms + 1);
        let event = js(&json!({"effect": effect["id"], "at_ms": self.now_ms, "answer": answer}));
        self.types.check("AgentEvent", &event);
        self.agent.handle(event).unwrap_or_else(|error| panic!("{error:?}"));
    }

    /// Answers everything but models, tools and persons, and gives the next effect of these, or the stop.
    fn outward(&mut self) -> Value {
        for _ in 0..200 {
            let effect = self.poll();
            match effect["type"].as_str().unwrap() {
                "append" => self.answer(&effect, json!({"type": "durable"})),
                "save_checkpoint" => self.answer(&effect, json!({"type": "saved"})),
                "wait" => self.answer(&effect, json!({"type": "time_has_come"})),
                _ => return effect,
            }
        }
        panic!("the agent wants nothing of anybody");
    }

    /// The next outward effect, which has to be of this type, and its answer.
    fn expect(&mut self, kind: &str, answer: Value) -> Value {
        let effect = self.outward();
        assert_eq!(effect["type"], kind, "{effect}");
        self.answer(&effect, answer);
        effect
    }
}

fn says(thought: &str) -> Value {
    json!({"type": "completion", "thought": thought})
}

fn calls(tool: &str, id: &str) -> Value {
    json!({"type": "completion", "thought": "", "tool_calls": [{"id": "c", "name": tool, "args": {"id": id}}], "latency_ms": 5})
}

#[wasm_bindgen_test]
fn every_effect_and_every_answer_crosses_as_its_type_says() {
    let mut types = Types::shipped();
    let traced = config(|config| {
        config["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        config["tracestate"] = json!("vendor=1");
    });
    let mut driver = Driver::new(&mut types, &traced);
    let mut first = says("I look.");
    first["plan"] = json!(["look", "send"]);
    first["usage"] = json!({"input_tokens": 9, "output_tokens": 3});
    first["tool_calls"] = json!([{"id": "c", "name": "look", "args_json": "{\"id\": \"a\"}"}]);
    driver.expect("call_model", first);
    for code in ["unavailable", "refused", "timeout", "reply_lost", "malformed"] {
        driver.expect("call_tool", json!({"type": "failed", "code": code, "message": "no"}));
    }
    driver.expect("call_tool", json!({"type": "failed", "code": "rate_limited", "message": "no", "retry_after": "2"}));
    driver.expect("call_tool", json!({"type": "failed", "code": "unavailable", "message": "no", "retry_after": null}));
    driver.expect("call_tool", json!({"type": "result", "result": {"version": "v7"}}));
    let mut second = calls("send", "a");
    second["usage"] = Value::Null;
    second["plan"] = Value::Null;
    driver.expect("call_model", second);
    driver.expect("ask_approval", json!({"type": "decided", "approved": true, "approver": "human:maya", "note": "ok"}));
    let sent = driver.expect("call_tool", json!({"type": "result", "result_json": "[9007199254740993]"}));
    assert_eq!((&sent["expected_version"], &sent["idempotency_key"]), (&json!("v7"), &json!("send:a")));
    assert_eq!(sent["tracestate"], "vendor=1");
    driver.expect("call_model", calls("send", "b"));
    driver.expect("ask_approval", json!({"type": "expired"}));
    driver.expect("call_model", calls("send", "d"));
    driver.expect("ask_approval", json!({"type": "decided", "approved": false, "approver": "human:maya", "note": null}));
    driver.expect("call_model", calls("look", "e"));
    driver.expect("call_tool", json!({"type": "failed", "code": "rejected", "message": "no"}));
    driver.expect("call_model", says("Done."));
    let stop = driver.outward();
    assert_eq!((&stop["status"], &stop["final"]), (&json!("done"), &json!("Done.")));
    assert!(driver.agent.poll().unwrap().is_undefined());

    // A call that may have been executed, of a tool whose service recognises no key.
    let forgetful = config(|config| config["tools"][1]["annotations"]["idempotentHint"] = json!(false));
    let mut driver = Driver::new(&mut types, &forgetful);
    driver.expect("call_model", calls("send", "a"));
    let first = driver.expect("ask_approval", json!({"type": "decided", "approved": true, "approver": "human:maya"}));
    driver.expect("call_tool", json!({"type": "failed", "code": "timeout", "message": "no"}));
    let second = driver.expect("ask_approval", json!({"type": "decided", "approved": false, "approver": "human:maya"}));
    assert_eq!((&first["kind"], &second["kind"]), (&json!("may_run"), &json!("send_again")));
    assert_eq!((&first["call_id"], &second["call_id"]), (&json!("c"), &json!("c")));

    // Without a caller; storage fails; another agent takes the run.
    let mut driver = Driver::new(&mut types, &config(|config| config["limits"]["max_steps"] = json!(1)));
    let start = driver.poll();
    driver.answer(&start, json!({"type": "storage_failed", "message": "full"}));
    driver.expect("call_model", calls("send", "a"));
    driver.expect("ask_approval", json!({"type": "decided", "approved": true, "approver": "human:maya"}));
    driver.expect("call_tool", json!({"type": "result", "result": null}));
    assert_eq!(driver.outward()["final"], Value::Null);
    for fenced in [json!({"type": "fenced"}), json!({"type": "fenced", "owner_epoch": 2})] {
        let mut driver = Driver::new(&mut types, &config(|_| ()));
        let start = driver.poll();
        driver.answer(&start, fenced);
        assert!(driver.agent.poll().unwrap().is_undefined() && driver.agent.is_fenced());
    }

    let ours = ["Effect", "AgentEvent", "Answer", "FailureCode", "ModelRequest"];
    let unmet = types.unmet(&["Effect", "AgentEvent"]);
    let is_ours = |part: &&String| ours.iter().any(|name| part.starts_with(name));
    let unmet: BTreeSet<&String> = unmet.iter().filter(is_ours).collect();
    assert!(unmet.is_empty(), "declared and never met: {unmet:?}");
    assert_eq!(types.words("Effect").len(), 7);
    assert_eq!(types.words("FailureCode").len(), 7);
}

#[wasm_bindgen_test]
fn an_agent_that_was_lost_goes_on_from_what_its_driver_has_stored() {
    let mut types = Types::shipped();
    let config = config(|_| ());
    let mut driver = Driver::new(&mut types, &config);
    let (mut log, mut checkpoints) = (String::new(), Vec::new());
    let mut store = |effect: &Value| match effect["type"].as_str().unwrap() {
        "append" => {
            log += &format!("{}\n", effect["line"].as_str().unwrap());
            Some(json!({"type": "durable"}))
        }
        "save_checkpoint" => {
            checkpoints.push(effect["text"].clone());
            Some(json!({"type": "saved"}))
        }
        _ => None,
    };
    let script = [calls("look", "a"), json!({"type": "result", "result": {"version": 1}}), calls("send", "a")];
    let mut script = script.into_iter();
    let asked = loop {
        let effect = driver.poll();
        match store(&effect).or_else(|| script.next()) {
            Some(answer) => driver.answer(&effect, answer),
            None => break effect,
        }
    };
    assert_eq!(asked["type"], "ask_approval");
    let stored = json!({"log": log, "checkpoints": checkpoints});
    types.check("Stored", &js(&stored));
    let mut next = Agent::new(js(&config), 90_000.into(), Some(js(&stored))).unwrap();
    let resume = json_of(&next.poll().unwrap());
    assert_eq!(resume["record"]["type"], "resume");
    assert_eq!(resume["record"]["checkpoint_generation"], 1);
    next.handle(js(&json!({"effect": resume["id"], "at_ms": 90_000, "answer": {"type": "durable"}}))).unwrap();
    let again = json_of(&next.poll().unwrap());
    assert_eq!(again["approval_key"], asked["approval_key"], "the same question");

    let other = crate::engine::config(|config| config["task"] = json!("Something else."));
    assert_eq!(thrown(Agent::new(js(&other), 90_000.into(), Some(js(&stored)))).0, "damaged");
}

//! Every effect, record and view crosses to JavaScript as `types.ts` says.
//!
//! Runs are made in which everything happens that can happen, each value on the way is compared with its declaration, and in the end
//! every part of the declarations has to have been met.

use std::collections::BTreeSet;

use crashlab::agent::protocol::EffectKind;
use crashlab::record::RecordBody;
use crashlab::web::{Lab, mechanisms, read_scenario, saved_runs};
use js_sys::{Array, JSON, Reflect};
use serde_json::{Value, json};
use wasm_bindgen::JsCast;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{
    Start, breathe, changed, clean, double_charge, entry, fill, json_of, local, make_room, put, run_id, stored,
};
use crate::typescript::Types;

/// What the declarations have and no run of the lab can show, with the reason.
const NEVER_MET: [(&str, &str); 8] = [
    ("FinalStatus: storage_failed", "it is in no record, as nothing could be written"),
    ("Place: memory", "no effect takes place in memory; the page uses the word for its panel"),
    ("Question.record: null", "an agent asks behind its intent"),
    ("RunStartRecord.traceparent: a string", "a run of the lab has no caller"),
    ("RunStartRecord.tracestate: present", "a run of the lab has no caller"),
    ("WorldView.notes[].record: null", "an agent writes behind its intent"),
    ("WorldView.outbox[].record: null", "an agent answers behind its intent"),
    ("WorldView.requests[].record: null", "an agent calls behind its intent"),
];

/// Logs of version 0.1.0, whose records lack what format 2 has added. Together they have every type of record that changed.
const LOGS_OF_FORMAT_1: [&str; 3] = [
    include_str!("../stored/v1/logs/budget.jsonl"),
    include_str!("../stored/v1/logs/crash-resume.jsonl"),
    include_str!("../stored/v1/logs/rate-limit.jsonl"),
];

/// A run under watch: everything that it gives is compared with the declarations.
struct Watch<'a> {
    types: &'a mut Types,
    lab: Lab,
    records: usize,
    /// What the person says.
    decision: &'static str,
    has_two_writers: bool,
}

impl<'a> Watch<'a> {
    fn start(types: &'a mut Types, start: &Start) -> Watch<'a> {
        Watch { types, lab: start.lab(), records: 0, decision: "approved", has_two_writers: false }
    }

    fn tick(&mut self) -> Value {
        let tick = self.lab.tick().unwrap();
        self.types.check("Tick", &tick);
        let tick = json_of(&tick);
        self.look();
        if tick["type"] == "waiting_for_person" {
            self.lab.decide(tick["approval_key"].as_str().unwrap(), self.decision, "maya", "as the policy says").unwrap();
        }
        tick
    }

    /// All that there is to see, from the record on that was not there before.
    fn look(&mut self) {
        self.types.check("LabView", &self.lab.view(0, 0).unwrap());
        let new: Array = self.lab.records(self.records).unwrap().unchecked_into();
        self.types.check_list("RecordView", &new);
        for view in new.iter() {
            let line = Reflect::get(&view, &"line".into()).unwrap().as_string().unwrap();
            self.types.check("LogRecord", &JSON::parse(&line).unwrap());
            self.records += 1;
        }
    }

    /// All records again, with what they did and caused, and the panels of then.
    async fn look_back(&mut self) {
        for record in 0..self.records {
            let detail = self.lab.record(record).unwrap();
            self.types.check("RecordDetail", &detail);
            let state = Reflect::get(&detail, &"state_json".into()).unwrap().as_string().unwrap();
            // Where two write into one log, no agent has lived through what stands in it.
            if !(self.has_two_writers && state == "null") {
                self.types.check("Checkpoint", &JSON::parse(&state).unwrap());
            }
            if record % 7 == 0 {
                breathe().await;
                self.types.check("LabView", &self.lab.view_at(record).unwrap());
            }
        }
        let checkpoint = self.lab.checkpoint_json();
        if !checkpoint.is_empty() {
            self.types.check("Checkpoint", &JSON::parse(&checkpoint).unwrap());
        }
    }

    /// Until it is over or dead.
    async fn run(&mut self) -> Value {
        breathe().await;
        for _ in 0..3_000 {
            let tick = self.tick();
            if matches!(tick["type"].as_str(), Some("stopped" | "crashed" | "fenced")) {
                self.look_back().await;
                return tick;
            }
        }
        panic!("the run does not end");
    }

    fn resume(&mut self) {
        self.lab.resume().unwrap();
        self.look();
    }
}

fn with(change: impl FnOnce(&mut Value)) -> Start {
    Start { scenario: changed(change), ..local() }
}

fn fault(on: &str, calls: Value, kind: &str) -> Value {
    json!({"on": on, "calls": calls, "kind": kind, "message": "no", "by_s": 1})
}

async fn run_to(types: &mut Types, start: &Start, status: &str) {
    let last = Watch::start(types, start).run().await;
    assert_eq!(last, json!({"type": "stopped", "status": status}));
}

#[wasm_bindgen_test]
async fn every_variant_crosses_as_its_type_says() {
    clean();
    let mut types = Types::shipped();
    types.check_list("MechanismInfo", &mechanisms().unwrap());
    types.check("ScenarioInfo", &read_scenario(&double_charge().to_string()).unwrap());

    // The run as it should be, with a look at what may come, and an armed crash that does not go off.
    let mut watch = Watch::start(&mut types, &local());
    watch.look();
    watch.types.check_list("Gap", &watch.lab.gaps().unwrap());
    watch.lab.arm(9_999, "before").unwrap();
    watch.look();
    watch.lab.arm(9_999, "after").unwrap();
    assert_eq!(watch.run().await["status"], "done");
    assert_eq!(watch.run().await["status"], "done");
    types.check_list("SavedRun", &saved_runs().unwrap());

    // Crashes: before and after, of the model and of a tool, from a checkpoint and from none.
    let crash = |effect: &str, nth: u32, when: &str| json!({"effect": effect, "nth": nth, "when": when});
    let crashes = [crash("call_model", 1, "after"), crash("call_tool", 3, "after"), crash("save_checkpoint", 4, "before")];
    let somebody = json!({"on": "downtime", "kind": "somebody_refunds", "charge_id": "CH-90118", "by": "Noor"});
    let mut watch = Watch::start(
        &mut types,
        &with(|document| {
            document["crashes"] = json!(crashes);
            document["faults"] = json!([somebody]);
        }),
    );
    for _ in 0..3 {
        assert_eq!(watch.run().await, json!({"type": "crashed", "armed": true}));
        assert_eq!(watch.run().await, json!({"type": "crashed", "armed": false}));
        watch.resume();
    }
    watch.lab.crash();
    watch.look();
    watch.resume();
    assert_eq!(watch.run().await["status"], "done");

    // An invariant that breaks.
    run_to(&mut types, &Start { mechanisms: json!({"approval_gate": false}), ..local() }, "done").await;

    // A question that is lost with its agent.
    let mut watch = Watch::start(&mut types, &Start { mechanisms: json!({"durable_approvals": false}), ..local() });
    while json_of(&watch.lab.tick().unwrap())["type"] != "waiting_for_person" {}
    watch.lab.crash();
    watch.look();

    // Another writer.
    let mut watch = Watch::start(&mut types, &local());
    for _ in 0..30 {
        watch.tick();
    }
    Lab::open(&run_id(&mut watch.lab)).unwrap().resume().unwrap();
    assert_eq!(watch.run().await["type"], "fenced");
    types.check_list("SavedRun", &saved_runs().unwrap());

    // A second tab: the first one is refused, or both go on to their ends.
    for single_writer in [true, false] {
        let mut watch = Watch::start(&mut types, &Start { mechanisms: json!({"single_writer": single_writer}), ..local() });
        for _ in 0..40 {
            watch.tick();
        }
        watch.lab.open_second_tab().unwrap();
        watch.has_two_writers = !single_writer;
        watch.look();
        assert_eq!(watch.run().await["type"], "stopped");
    }

    // Denied, expired, nobody there.
    let mut watch = Watch::start(&mut types, &local());
    watch.decision = "denied";
    assert_eq!(watch.run().await["status"], "done");
    run_to(
        &mut types,
        &with(|document| document["person"] = json!({"id": "x", "name": "X", "expires_after_s": 5, "answers": []})),
        "done",
    )
    .await;
    run_to(
        &mut types,
        &with(|document| {
            document.as_object_mut().unwrap().remove("person");
        }),
        "done",
    )
    .await;

    // A call that may have been executed, and the question whether to send it again.
    run_to(
        &mut types,
        &with(|document| {
            document["tools"] = json!({"issue_refund": {"idempotent": false}});
            document["faults"] = json!([fault("issue_refund", json!([1]), "timeout_after")]);
        }),
        "done",
    )
    .await;

    // What an earlier version wrote.
    for line in LOGS_OF_FORMAT_1.iter().flat_map(|log| log.lines()) {
        types.check("LogRecord", &JSON::parse(line).unwrap());
    }

    // The model: fails and is called again, is not to be had, gives no usage.
    run_to(&mut types, &with(|document| document["faults"] = json!([fault("model", json!([1, 3]), "unavailable")])), "done")
        .await;
    run_to(&mut types, &with(|document| document["faults"] = json!([fault("model", json!([1]), "rejected")])), "model_failed")
        .await;
    run_to(&mut types, &with(|document| document["script"][0]["usage"] = Value::Null), "done").await;

    // Guards.
    let limit = |name: &'static str, value: f64| with(move |document| document["limits"] = json!({name: value}));
    run_to(&mut types, &limit("max_steps", 3.0), "max_steps").await;
    run_to(&mut types, &limit("budget_usd", 0.0005), "budget_usd").await;
    run_to(&mut types, &limit("budget_tokens", 2_000.0), "budget_tokens").await;
    run_to(&mut types, &limit("deadline_s", 3.0), "deadline").await;
    run_to(&mut types, &limit("max_repeats", 1.0), "repeated_call").await;
    run_to(&mut types, &limit("max_stale_steps", 0.0), "stale").await;
    run_to(&mut types, &limit("max_replans", 0.0), "max_replans").await;
    let mut watch = Watch::start(&mut types, &limit("max_resumes", 0.0));
    watch.tick();
    watch.tick();
    watch.lab.crash();
    watch.resume();
    assert_eq!(watch.run().await["status"], "max_resumes");

    // Storage: full, and with a damaged checkpoint.
    let mut watch = Watch::start(&mut types, &local());
    for _ in 0..60 {
        watch.tick();
    }
    fill();
    assert_eq!(watch.run().await["status"], "storage_failed");
    make_room();
    let run = run_id(&mut watch.lab);
    let slot = stored(&entry(&run, "checkpoint/")).into_keys().next().unwrap();
    put(&slot, "gone");
    let mut lab = Lab::open(&run).unwrap();
    types.check("LabView", &lab.view(0, 0).unwrap());
    put(&entry(&run, "session"), "gone");
    types.check_list("SavedRun", &saved_runs().unwrap());

    let roots = [
        "ScenarioInfo",
        "Tick",
        "LabView",
        "RecordView",
        "RecordDetail",
        "Gap",
        "SavedRun",
        "MechanismInfo",
        "LogRecord",
        "Checkpoint",
    ];
    let unmet = types.unmet(&roots);
    let known: BTreeSet<String> = NEVER_MET.iter().map(|(part, _)| part.to_string()).collect();
    assert_eq!(unmet, known, "left: declared and never met; right: known never to be met");
    clean();
}

/// The compiler asks here for a variant that is new in Rust; the words have to be those of the declarations.
#[wasm_bindgen_test]
fn the_declarations_have_every_effect_and_record_that_rust_has() {
    let _ = |effect: &EffectKind| match effect {
        EffectKind::Append(_)
        | EffectKind::CallModel { .. }
        | EffectKind::CallTool { .. }
        | EffectKind::AskApproval { .. }
        | EffectKind::Wait { .. }
        | EffectKind::SaveCheckpoint { .. }
        | EffectKind::Stop { .. } => (),
    };
    let _ = |body: &RecordBody| match body {
        RecordBody::RunStart { .. }
        | RecordBody::LlmRequest { .. }
        | RecordBody::LlmCall(_)
        | RecordBody::LlmRetry(_)
        | RecordBody::ToolRetry { .. }
        | RecordBody::ApprovalRequest { .. }
        | RecordBody::Approval { .. }
        | RecordBody::ToolCall { .. }
        | RecordBody::ToolResult { .. }
        | RecordBody::Replan { .. }
        | RecordBody::Guard { .. }
        | RecordBody::Checkpoint { .. }
        | RecordBody::Resume { .. }
        | RecordBody::Stop { .. }
        | RecordBody::Crash { .. }
        | RecordBody::Unknown { .. } => (),
    };
    let types = Types::shipped();
    let words = |name: &str| types.words(name).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(types.words("LogRecord").len(), 15);
    assert_eq!(
        words("LogRecord"),
        "approval approval_request checkpoint crash guard llm_call llm_request llm_retry replan resume run_start stop tool_call \
         tool_result tool_retry"
    );
    assert_eq!(words("Tick"), "answered crashed fenced happened stopped waiting_for_person");
}

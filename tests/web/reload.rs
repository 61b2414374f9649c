//! Save, reload, resume.

use crashlab::web::{Lab, saved_runs};
use serde_json::Value;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{
    ONE_OF_EACH, books, breathe, broken, clean, finish, given, local, log_lines, reload, resumes, run_id, run_until, tick, view,
};

/// What a model call in doubt adds to a checkpoint: it is counted as spent.
fn without_spending(checkpoint: &str) -> Value {
    let mut value: Value = serde_json::from_str(checkpoint).unwrap();
    for field in ["input_tokens", "output_tokens", "cost_usd", "llm_calls", "cost_pico_usd"] {
        value.as_object_mut().unwrap().shift_remove(field).unwrap();
    }
    value
}

#[wasm_bindgen_test]
async fn a_reload_at_any_tick_ends_in_one_refund_one_question_and_the_same_checkpoint() {
    let start = local();
    let calm = start.calm().checkpoint_json();
    let mut in_doubt = 0;
    // Every fifth tick, so that each kind of effect is met before and after it happened.
    for ticks in (0..).step_by(5) {
        breathe().await;
        clean();
        let mut lab = start.lab();
        let mut is_over = false;
        for _ in 0..ticks {
            is_over |= tick(&mut lab)["type"] == "stopped";
        }
        if is_over {
            assert!(ticks > 100, "only {ticks} ticks");
            break;
        }
        let mut lab = reload(lab);
        assert_eq!(view(&mut lab)["phase"], "crashed", "after {ticks} ticks");
        lab.resume().unwrap();
        assert_eq!(finish(&mut lab), "done", "after {ticks} ticks");
        assert_eq!(books(&mut lab), ONE_OF_EACH, "after {ticks} ticks");
        assert_eq!(broken(&mut lab), [""; 0], "after {ticks} ticks");
        // Where nothing was durable, the run begins.
        let doubt = resumes(&mut lab).first().map_or(Value::Null, |resume| resume["in_doubt"]["type"].clone());
        if doubt == "llm_request" {
            in_doubt += 1;
            assert_eq!(without_spending(&lab.checkpoint_json()), without_spending(&calm), "after {ticks} ticks");
        } else {
            assert_eq!(lab.checkpoint_json(), calm, "after {ticks} ticks");
        }
    }
    assert!(in_doubt > 0);
    clean();
}

#[wasm_bindgen_test]
fn what_is_reloaded_is_what_was_there() {
    clean();
    let mut lab = local().lab();
    run_until(&mut lab, "call_tool", "issue_refund", "happened");
    let (before, log, checkpoint) = (view(&mut lab), lab.log_jsonl(), lab.checkpoint_json());
    let mut lab = reload(lab);
    let after = view(&mut lab);
    assert_eq!(lab.log_jsonl(), log);
    assert_eq!(lab.checkpoint_json(), checkpoint);
    assert_eq!(after["world"], before["world"]);
    assert_eq!(after["storage"], before["storage"]);
    assert_eq!(after["memory"], Value::Null);
    assert_eq!(after["in_flight"], Value::Null);
    for same in ["run_id", "scenario_id", "scenario_title", "task_id", "ticket", "seed", "mechanisms", "record_count", "crashes"]
    {
        assert_eq!(after[same], before[same], "{same}");
    }
    // The log as it is stored, line by line, is the log as it is exported.
    assert_eq!(log_lines(&run_id(&mut lab)).join("\n") + "\n", log);
    clean();
}

#[wasm_bindgen_test]
fn an_unfinished_run_is_offered_and_a_finished_one_says_so() {
    clean();
    let mut lab = local().lab();
    run_until(&mut lab, "ask_approval", "", "issued");
    lab.tick().unwrap();
    let run_id = run_id(&mut lab);
    let offer = &given(saved_runs())[0];
    assert_eq!(offer["run_id"], run_id.as_str());
    assert_eq!(offer["task_id"], "T-1001");
    assert_eq!(offer["scenario_title"], "Charged twice");
    assert_eq!(offer["step"], view(&mut lab)["memory"]["step"]);
    assert_eq!((&offer["status"], &offer["question_open"], &offer["damage"]), (&Value::Null, &Value::from(true), &Value::Null));
    finish(&mut lab);
    let over = &given(saved_runs())[0];
    assert_eq!((&over["status"], &over["question_open"]), (&Value::from("done"), &Value::from(false)));
    // What is over stays over.
    let mut lab = Lab::open(&run_id).unwrap();
    lab.resume().unwrap();
    assert_eq!(given(lab.tick())["status"], "done");
    assert_eq!(books(&mut lab), ONE_OF_EACH);
    clean();
}

#[wasm_bindgen_test]
fn a_decision_that_comes_while_the_agent_is_gone_is_not_lost() {
    clean();
    let mut lab = local().lab();
    run_until(&mut lab, "ask_approval", "", "issued");
    let asked = given(lab.tick());
    let mut lab = reload(lab);
    lab.decide(asked["approval_key"].as_str().unwrap(), "denied", "maya", "call her first").unwrap();
    let mut lab = reload(lab);
    lab.resume().unwrap();
    assert_eq!(finish(&mut lab), "done");
    let view = view(&mut lab);
    assert_eq!(view["world"]["refunds"].as_array().unwrap().len(), 0);
    assert_eq!(view["world"]["inbox"].as_array().unwrap().len(), 1);
    assert_eq!(view["world"]["inbox"][0]["note"], "call her first");
    clean();
}

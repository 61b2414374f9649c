//! Two agents on one run, as two tabs have them.

use std::collections::BTreeMap;

use crashlab::web::{Lab, forget_run};
use serde_json::{Value, json};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::support::{
    ONE_OF_EACH, Start, books, breathe, broken, clean, entry, finish, given, local, log_lines, run_id, run_until, stored, tick,
    view,
};

/// All of a run but the world's books: the world is not the agent's.
fn written(run_id: &str) -> BTreeMap<String, String> {
    let world = entry(run_id, "world/");
    stored(&entry(run_id, "")).into_iter().filter(|(key, _)| !key.starts_with(&world)).collect()
}

fn second(run_id: &str) -> Lab {
    let mut lab = Lab::open(run_id).unwrap();
    lab.resume().unwrap();
    lab
}

#[wasm_bindgen_test]
async fn the_older_agent_may_write_nothing_more() {
    let moments = [
        ("append", "write tool_call", "issued"),
        ("append", "write tool_result", "happened"),
        ("call_model", "", "issued"),
        ("call_model", "", "happened"),
        ("call_tool", "issue_refund", "issued"),
        ("call_tool", "issue_refund", "happened"),
        ("ask_approval", "", "issued"),
        ("save_checkpoint", "", "issued"),
        ("save_checkpoint", "", "happened"),
        ("wait", "", "issued"),
    ];
    for (kind, label, stage) in moments {
        breathe().await;
        clean();
        let mut first = local().lab();
        run_until(&mut first, kind, label, stage);
        let run_id = run_id(&mut first);
        let mut second = second(&run_id);
        assert_eq!(finish(&mut second), "done", "{kind} {stage}");
        let after = written(&run_id);
        let mut last = Value::Null;
        for _ in 0..12 {
            last = given(first.tick());
        }
        let message = "Another agent has taken this run over; this one may write nothing more.";
        assert_eq!(last, json!({"type": "fenced", "message": message}), "{kind} {stage}");
        assert_eq!(view(&mut first)["phase"], "fenced", "{kind} {stage}");
        first.crash();
        first.disarm();
        assert!(written(&run_id) == after, "{kind} {stage}: the older agent has written");
        // What the older one had already sent still reached the world, which recognised it.
        let mut opened = Lab::open(&run_id).unwrap();
        assert_eq!(books(&mut opened), ONE_OF_EACH, "{kind} {stage}");
        assert_eq!(broken(&mut opened), [""; 0], "{kind} {stage}");
        assert_eq!(opened.log_jsonl(), second.log_jsonl(), "{kind} {stage}");
    }
    clean();
}

#[wasm_bindgen_test]
fn the_older_agent_is_kept_out_while_the_newer_one_is_at_work() {
    clean();
    let calm = local().calm().checkpoint_json();
    let mut first = local().lab();
    run_until(&mut first, "call_tool", "get_account", "issued");
    let mut second = second(&run_id(&mut first));
    // Both are driven in turn to the newer one's end.
    for _ in 0..400 {
        given(first.tick());
        tick(&mut second);
    }
    assert_eq!(view(&mut second)["status"], "done");
    assert_eq!(given(first.tick())["type"], "fenced");
    assert_eq!((first.log_jsonl(), broken(&mut first)), (second.log_jsonl(), Vec::new()));
    assert_eq!(second.checkpoint_json(), calm);
    assert_eq!(books(&mut second), ONE_OF_EACH);
    assert_eq!(log_lines(&run_id(&mut second)).join("\n") + "\n", second.log_jsonl());
    // The one that was kept out may take the run over again; it is over.
    first.resume().unwrap();
    assert_eq!(finish(&mut first), "done");
    assert_eq!(books(&mut first), ONE_OF_EACH);
    clean();
}

#[wasm_bindgen_test]
fn the_run_can_be_taken_back_and_forth() {
    clean();
    let mut first = local().lab();
    for _ in 0..20 {
        tick(&mut first);
    }
    let mut second = Lab::open(&run_id(&mut first)).unwrap();
    for _ in 0..6 {
        second.resume().unwrap();
        for _ in 0..9 {
            tick(&mut second);
        }
        std::mem::swap(&mut first, &mut second);
    }
    first.resume().unwrap();
    assert_eq!(finish(&mut first), "done");
    assert_eq!(books(&mut first), ONE_OF_EACH);
    assert_eq!(broken(&mut first), [""; 0]);
    assert_eq!(view(&mut first)["storage"]["epoch"], 8);
    clean();
}

#[wasm_bindgen_test]
fn a_decision_in_one_tab_reaches_the_agent_in_another() {
    clean();
    let mut first = local().lab();
    run_until(&mut first, "ask_approval", "", "issued");
    let question = given(first.tick());
    let mut second = Lab::open(&run_id(&mut first)).unwrap();
    second.decide(question["approval_key"].as_str().unwrap(), "approved", "noor", "").unwrap();
    assert_eq!(given(first.tick())["type"], "happened");
    assert_eq!(finish(&mut first), "done");
    assert_eq!(view(&mut first)["world"]["inbox"][0]["approver"], "human:noor");
    assert_eq!(books(&mut first), ONE_OF_EACH);
    clean();
}

#[wasm_bindgen_test]
fn an_agent_of_a_run_that_was_started_again_does_not_get_into_the_new_one() {
    for is_forgotten_first in [false, true] {
        clean();
        let mut old = local().lab();
        run_until(&mut old, "call_tool", "issue_refund", "issued");
        let run_id = run_id(&mut old);
        if is_forgotten_first {
            forget_run(&run_id).unwrap();
        }
        let mut new = local().lab();
        for _ in 0..25 {
            tick(&mut new);
        }
        let before = stored("");
        for _ in 0..12 {
            given(old.tick());
        }
        old.crash();
        assert_eq!(given(old.tick())["type"], "crashed");
        assert!(stored("") == before, "the old agent has written");
        assert_eq!(finish(&mut new), "done");
        assert_eq!(new.log_jsonl(), local().calm().log_jsonl());
        assert_eq!(books(&mut new), ONE_OF_EACH);
    }
    clean();
}

#[wasm_bindgen_test]
fn an_agent_of_a_forgotten_run_leaves_nothing() {
    for mechanisms in [json!({}), json!({"single_writer": false})] {
        clean();
        let mut lab = Start { mechanisms, ..local() }.lab();
        run_until(&mut lab, "call_tool", "get_account", "issued");
        forget_run(&run_id(&mut lab)).unwrap();
        for _ in 0..12 {
            given(lab.tick());
        }
        assert_eq!(view(&mut lab)["phase"], "fenced");
        lab.crash();
        assert!(stored("").is_empty());
    }
    clean();
}

#[wasm_bindgen_test]
fn without_single_writer_both_go_on_and_everything_happens_twice() {
    clean();
    let start = Start { mechanisms: json!({"single_writer": false}), ..local() };
    let mut calm = start.calm();
    let calls = |lab: &mut Lab| view(lab)["world"]["meter"]["calls"].as_f64().unwrap() as u32;
    let mut first = start.lab();
    run_until(&mut first, "call_model", "", "issued");
    let run_id = run_id(&mut first);
    let mut second = second(&run_id);
    for _ in 0..400 {
        tick(&mut first);
        tick(&mut second);
    }
    let (first, second) = (view(&mut first), view(&mut second));
    assert_eq!((&first["status"], &second["status"]), (&Value::from("done"), &Value::from("done")));
    let lines = log_lines(&run_id);
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(count("\"type\":\"stop\""), 2);
    assert_eq!(count("\"type\":\"tool_result\",\"tool\":\"issue_refund\""), 2);
    // One world has heard both: the model was paid twice, and billing recognised the second request for what it was.
    let mut opened = Lab::open(&run_id).unwrap();
    assert_eq!(calls(&mut opened), 2 * calls(&mut calm));
    assert_eq!(books(&mut opened)[..2], [1, 1]);
    clean();
}

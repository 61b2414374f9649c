//! A step costs the same late as early.

use std::sync::Arc;

use crashlab::agent::Agent;
use crashlab::agent::protocol::{Answer, EffectKind, Event};
use crashlab::lab::scenario::Scenario;
use crashlab::log::recovery::recover;
use crashlab::log::store::{Store, Writer};
use serde_json::json;

use crate::support::{Site, TextStore, completion, first, scripted};

/// What a run of so many steps has written, record by record.
fn written_in(steps: usize, result_bytes: usize) -> TextStore {
    let site = Site::new(&endless());
    let mut store = TextStore::default();
    let writer = Writer { epoch: store.take_over().unwrap(), fenced: true };
    let mut agent = Agent::start(site.config, site.now_ms);
    let mut searches = 0;
    for now_ms in site.now_ms.. {
        let Some(effect) = agent.poll() else { break };
        let answer = match effect.kind {
            EffectKind::Append(record) => {
                store.append(writer, &record).unwrap();
                Answer::Durable
            }
            EffectKind::SaveCheckpoint { state } => {
                let saved = store.save(writer, &state).unwrap();
                Answer::Saved { bytes: saved.bytes, generation: saved.generation }
            }
            EffectKind::CallModel { .. } if searches < steps => {
                searches += 1;
                let call = [("call", "search_kb", json!({"query": format!("charge {searches}")}))];
                Answer::Completion(completion(&format!("Search number {searches}."), &call))
            }
            EffectKind::CallModel { .. } => Answer::Completion(completion("That is all.", &[])),
            EffectKind::CallTool { .. } => Answer::Result(json!({"n": searches, "hits": "x".repeat(result_bytes)})),
            EffectKind::Stop { .. } => break,
            other => panic!("{other:?}"),
        };
        agent.handle(Event { effect: effect.id, at_ms: now_ms, answer }).unwrap();
    }
    store
}

fn endless() -> Arc<Scenario> {
    scripted(&[first(json!([]))], |document| {
        document["limits"] = json!({
            "max_steps": 100_000, "budget_usd": 1_000_000, "budget_tokens": 1_000_000_000_000u64, "deadline_s": 1_000_000,
            "max_repeats": 100_000, "max_stale_steps": 100_000,
        });
    })
}

fn bytes(store: &TextStore) -> usize {
    store.written.iter().map(|(_, bytes)| bytes).sum()
}

/// How often a snapshot was written, and the bytes of each.
fn snapshots(store: &TextStore) -> Vec<usize> {
    store.written.iter().filter(|(kind, _)| kind == "snapshot").map(|(_, bytes)| *bytes).collect()
}

#[test]
fn all_bytes_written_grow_in_line_with_the_run() {
    let sizes: Vec<usize> = [200, 400, 800].map(|steps| bytes(&written_in(steps, 1_000))).into();
    for pair in sizes.windows(2) {
        let growth = pair[1] as f64 / pair[0] as f64;
        // Twice the steps: twice the bytes, or less while small checkpoints still weigh; the square would be 4.
        assert!(growth < 2.6, "{sizes:?}");
    }
    let long = written_in(800, 1_000);
    let log: usize = long.lines.iter().map(String::len).sum();
    assert!(bytes(&long) < 4 * log, "{} bytes written for a log of {log}", bytes(&long));
}

#[test]
fn a_record_of_a_late_step_is_as_long_as_one_of_an_early_step() {
    let store = written_in(400, 1_000);
    let of_step = |step: usize| -> usize {
        let wanted = format!("\"step\":{step},");
        store.lines.iter().filter(|line| line.contains(&wanted) && !line.contains("\"checkpoint\"")).map(String::len).sum()
    };
    let (early, late) = (of_step(10), of_step(390));
    assert!(late < early + 60, "{early} bytes in step 10, {late} in step 390");
}

#[test]
fn small_checkpoints_come_after_every_step() {
    let store = written_in(50, 100);
    assert_eq!(snapshots(&store).len(), 51);
    assert!(snapshots(&store).iter().all(|bytes| *bytes < 64 * 1024));
}

#[test]
fn a_large_checkpoint_is_due_only_when_the_log_has_outgrown_it() {
    for (steps, result_bytes) in [(400, 0), (300, 1_000), (60, 20_000)] {
        let store = written_in(steps, result_bytes);
        let mut since_last = 0;
        let mut last = 0;
        let mut large = 0;
        for (kind, bytes) in &store.written {
            if kind != "snapshot" {
                since_last += bytes;
                continue;
            }
            // With number and checksum in front.
            if last > 64 * 1024 + 30 {
                large += 1;
                assert!(
                    since_last * 10 >= last * 9,
                    "{since_last} bytes of log since a snapshot of {last} ({result_bytes} a result)"
                );
            }
            (last, since_last) = (*bytes, 0);
        }
        assert!(large >= 1, "{result_bytes}");
        assert!(large < 16, "{large} large snapshots with results of {result_bytes}");
    }
}

#[test]
fn what_no_checkpoint_holds_is_replayed_from_the_log() {
    let mut store = written_in(400, 1_000);
    let stop = store.lines.pop().unwrap();
    assert!(stop.contains("\"type\":\"stop\""));
    let config = Site::new(&endless()).config;
    let from_both = recover(config.clone(), &store.read(), 0).unwrap();
    store.slots.clear();
    let from_log = recover(config, &store.read(), 0).unwrap();
    assert_eq!(from_both.run().state, from_log.run().state);
    assert_eq!(from_both.run().history, from_log.run().history);
    assert_eq!(from_log.run().state.messages.len(), 2 + 2 * 400 + 1);
}

//! A run as one file: what is exported and opened again is the same run.

use std::sync::Arc;

use crashlab::lab::replay::{Command, CommandKind};
use crashlab::lab::run_file::{RunFile, RunFileError};
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::log::checkpoint;
use crashlab::log::store::{MemoryStore, Store};
use crashlab::report::file_kind::FileKind;
use crashlab::report::imported::read_checkpoint;
use serde_json::{Value, json};

use crate::support::{all_scenarios, document, read, scenario};
use crashlab::record::Decision;

fn log_text(session: &Session) -> String {
    session.log().iter().map(|record| record.to_line() + "\n").collect()
}

/// Drives a run as somebody does at the page: questions are decided as the scenario's person would, and whenever the agent dies it
/// is resumed. It is killed at some moments besides.
fn driven(mut session: Session, store: &mut MemoryStore, kills: &[u64]) -> (Session, Vec<Command>) {
    let mut commands = Vec::new();
    let mut asked = 0;
    for _ in 0..20_000 {
        let half_step = session.half_step();
        let command = |kind| Command { half_step, kind };
        if kills.contains(&half_step) && session.agent().is_some() && !commands.contains(&command(CommandKind::Crash)) {
            session.crash(store);
            commands.push(command(CommandKind::Crash));
        }
        match session.tick(store) {
            Tick::WaitingForPerson { .. } => {
                let half_step = session.half_step();
                let person = session.scenario().person.clone();
                let approved = person.as_ref().and_then(|person| person.answer(asked)).is_none_or(|answer| answer.approved);
                asked += 1;
                let note: Option<Arc<str>> = Some("👍🏽 \u{202e}ok\u{202c} \"yes\"".into());
                let kind = CommandKind::Decide { approved, approver: "maya".into(), note };
                let question = session.world().inbox().into_iter().find(|question| question.decided.is_none()).unwrap();
                let key = question.key.clone();
                let CommandKind::Decide { approver, note, .. } = &kind else { unreachable!() };
                let decision = Decision::new(approved, format!("human:{approver}"), note.clone());
                session.decide(&key, decision).unwrap();
                commands.push(Command { half_step, kind });
            }
            Tick::Crashed { .. } => {
                let half_step = session.half_step();
                session.resume(store).unwrap();
                commands.push(Command { half_step, kind: CommandKind::Resume });
            }
            Tick::Stopped { .. } | Tick::Fenced => return (session, commands),
            Tick::Happened { .. } | Tick::Answered => {}
        }
    }
    panic!("the run did not end");
}

fn file_of(setup: &Setup, checkpoint: Option<&str>, kills: &[u64]) -> (RunFile, String) {
    let mut store = MemoryStore::default();
    let session = match checkpoint {
        Some(text) => Session::start_from(setup.clone(), &read_checkpoint(text).unwrap(), &mut store),
        None => Session::start(setup.clone(), &mut store),
    };
    let (session, commands) = driven(session.unwrap(), &mut store, kills);
    (RunFile::of(setup, checkpoint, (&commands, session.half_step()), session.log()), log_text(&session))
}

fn interactive(scenario: &Arc<Scenario>) -> Setup {
    Setup { interactive: true, seed: u64::MAX, ..Setup::of(scenario) }
}

fn exported(file: &RunFile) -> String {
    serde_json::to_string_pretty(&file.to_json()).unwrap()
}

#[test]
fn export_import_export_is_the_same_run_for_every_shipped_scenario() {
    for scenario in all_scenarios() {
        for kills in [&[][..], &[13, 40, 41]] {
            let (file, log) = file_of(&interactive(&scenario), None, kills);
            let text = exported(&file);
            assert_eq!(FileKind::of(text.as_bytes()), FileKind::Run);
            let again = RunFile::from_json(&text).unwrap();
            assert_eq!(again, file, "{}", scenario.id);
            let (session, _) = again.run().unwrap_or_else(|error| panic!("{}: {error}", scenario.id));
            assert_eq!(log_text(&session), log, "{}", scenario.id);
            assert_eq!(exported(&again), text);
        }
    }
}

#[test]
fn odd_texts_and_long_numbers_of_ones_own_scenario_come_back() {
    let text = document("double-charge").to_string();
    let odd = r#"half \ud83d, 👍🏽, \u202eback\u202c, 123456789012345678901234567890"#;
    let text = text.replacen("\"title\":\"", &format!("\"title\":\"{odd} "), 1);
    let text = text.replace("\"amount\":288.00", "\"amount\":288.00,\"memo\":123456789012345678901234567890");
    let own = read(&text.replace("\"id\":\"double-charge\"", "\"id\":\"my-own\""));
    let (file, log) = file_of(&interactive(&own), None, &[31]);
    let text = exported(&file);
    let again = RunFile::from_json(&text).unwrap();
    assert_eq!(again.document, &*own.json, "the scenario as it was typed");
    assert_eq!(log_text(&again.run().unwrap().0), log);
    assert_eq!(exported(&again), text);
}

#[test]
fn a_run_from_a_checkpoint_brings_the_checkpoint_along() {
    let scenario = scenario("double-charge");
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(&scenario), &mut store).unwrap();
    while session.log().len() < 30 {
        let _ = session.tick(&mut store);
    }
    let snapshots = store.snapshots();
    let text = checkpoint::encode(snapshots[0].state.as_ref().unwrap());
    let (file, log) = file_of(&interactive(&scenario), Some(&text), &[9]);
    let again = RunFile::from_json(&exported(&file)).unwrap();
    let (session, _) = again.run().unwrap();
    assert_eq!(log_text(&session), log);
    // Also its past can be looked at.
    let run = session.run_at(3).unwrap();
    assert_eq!(run.state.messages.len(), read_checkpoint(&text).unwrap().messages.len());
    assert!(session.run_at(session.log().len()).is_ok());
}

#[test]
fn a_file_that_does_not_fit_names_the_path_and_what_differs() {
    let (file, _) = file_of(&interactive(&scenario("happy-path")), None, &[]);
    let good = file.to_json();
    let refused = |edit: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        edit(&mut value);
        match RunFile::from_json(&value.to_string()).and_then(|file| file.run().map(|_| ())) {
            Ok(()) => "it was taken".to_string(),
            Err(error) => error.to_string(),
        }
    };
    type Edit<'a> = &'a dyn Fn(&mut Value);
    let cases: [(Edit, &str); 14] = [
        (&|value| value["version"] = json!(2), "$.version: this is version 2; this program reads version 1"),
        (&|value| value["format"] = json!("x"), "$.format: expected \"crashlab run\""),
        (&|value| value["seed"] = json!(7), "$.seed: expected a string"),
        (&|value| value["off"] = json!(["brakes"]), "$.off: expected ids of mechanisms"),
        (
            &|value| value["seed"] = json!("18446744073709551616"),
            "$.seed: expected the digits of a number from 0 to 18446744073709551615, found a string (\"18446744073709551616\")",
        ),
        (&|value| value["deeds"] = json!([[1]]), "$.deeds[0]: expected a moment, a word"),
        (
            &|value| value["deeds"].as_array_mut().unwrap().push(json!([1_000_000_000, "crash"])),
            "$.deeds[1]: its moment 1000000000 is after the end of the run, which is moment ",
        ),
        (
            &|value| value["deeds"] = json!([[3, "resume"]]),
            "$.deeds[0]: this cannot be done to the run: its agent is alive and cannot be resumed; the file has been edited, or",
        ),
        (
            &|value| value["deeds"] = json!([]),
            "$.moment: this run does not come to the place that is told of: it waits for a person",
        ),
        (&|value| value["document"] = json!("{}"), "$.document: the scenario in this file cannot be read: $.task: missing"),
        (&|value| value["checkpoint"] = json!("{}"), "$.checkpoint: the checkpoint in this file cannot be read: $.task_id"),
        (&|value| value["moment"] = json!(20), "$.deeds[0]: its moment 66 is after the end of the run, which is moment 20"),
        (&|value| (value["moment"], value["deeds"]) = (json!(20), json!([])), "$.records: the log had "),
        (&|value| value["log_digest"] = json!("00000000000000ff"), "$.log_digest: the log has as many records as it had"),
    ];
    for (edit, said) in cases {
        let error = refused(edit);
        assert!(error.starts_with(said), "{error}");
    }
    let error = refused(&|value| value["records"] = json!(7));
    assert!(error.ends_with("; the file has been edited, or the program has changed since"), "{error}");
    assert!(matches!(RunFile::from_json("null"), Err(RunFileError::Unreadable(_))));
    let text = exported(&file);
    for end in (1..text.len()).step_by(211).filter(|&end| text.is_char_boundary(end)) {
        let error = RunFile::from_json(&text[..end]).unwrap_err().to_string();
        assert!(error.contains("not valid JSON at line "), "{error}");
    }
}

#[test]
fn a_run_that_was_just_killed_comes_back_as_it_stood() {
    let setup = interactive(&scenario("happy-path"));
    for half_step in 1..60 {
        let mut store = MemoryStore::default();
        let mut session = Session::start(setup.clone(), &mut store).unwrap();
        while session.half_step() < half_step {
            let _ = session.tick(&mut store);
        }
        let commands = [Command { half_step: session.half_step(), kind: CommandKind::Crash }];
        session.crash(&mut store);
        let file = RunFile::of(&setup, None, (&commands, session.half_step()), session.log());
        let (again, _) = file.run().unwrap_or_else(|error| panic!("moment {half_step}: {error}"));
        assert_eq!((log_text(&again), again.agent().is_none()), (log_text(&session), true), "moment {half_step}");
    }
}

#[test]
fn a_file_is_known_for_what_it_is_also_if_it_was_cut() {
    let (file, log) = file_of(&interactive(&scenario("happy-path")), None, &[]);
    let run = exported(&file);
    let scenario = document("happy-path").to_string();
    let checkpoint = r#"{"task_id": "T-1", "messages": [], "step": 1}"#;
    let otlp = r#"{"resourceSpans": []}"#;
    for (text, kind) in [
        (log.as_str(), FileKind::Trace),
        (run.as_str(), FileKind::Run),
        (scenario.as_str(), FileKind::Scenario),
        (checkpoint, FileKind::Checkpoint),
        (otlp, FileKind::Otlp),
        ("null", FileKind::Trace),
        ("", FileKind::Trace),
        ("{\"format\": \"crashlab replay\"}", FileKind::Replay),
        // Without what marks them, as somebody may have edited them.
        (r#"{"task_id": "T-1", "seen_calls": [], "step": 1}"#, FileKind::Checkpoint),
        (r#"{"deeds": [], "moment": 3}"#, FileKind::Run),
        (r#"{"scenario": "denied", "choices": []}"#, FileKind::Replay),
    ] {
        assert_eq!(FileKind::of(text.as_bytes()), kind, "{text}");
        assert_eq!(FileKind::of(format!("\u{feff}{text}").as_bytes()), kind);
    }
    for (text, kind) in [(log.as_str(), FileKind::Trace), (run.as_str(), FileKind::Run), (checkpoint, FileKind::Checkpoint)] {
        for end in (40..text.len()).step_by(97) {
            assert_eq!(FileKind::of(&text.as_bytes()[..end]), kind, "cut at {end}");
        }
    }
}

//! A run is a function of its setup and of what was done to it.

use std::sync::Arc;

use crashlab::lab::replay::{Command, CommandKind, Misfit, Until, replay};
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::lab::shipped::SHIPPED;
use crashlab::log::store::MemoryStore;
use crashlab::record::Decision;

fn setup() -> Setup {
    let (_, json) = SHIPPED.iter().find(|(id, _)| *id == "double-charge").unwrap();
    let scenario = Arc::new(Scenario::from_json(json).unwrap());
    Setup { interactive: true, ..Setup::of(&scenario) }
}

fn started() -> (Session, MemoryStore) {
    let mut store = MemoryStore::default();
    (Session::start(setup(), &mut store).unwrap(), store)
}

fn lines(session: &Session) -> Vec<String> {
    session.log().iter().map(|record| record.to_line()).collect()
}

/// Runs to the end; at a moment the agent dies in one of the two ways, and the question is approved with a note.
fn drive(dies_at: u64, how: &CommandKind) -> (Session, Vec<Command>) {
    let (mut session, mut store) = started();
    let mut commands = Vec::new();
    let mut has_died = false;
    loop {
        let half_step = session.half_step();
        if half_step >= dies_at && !has_died {
            has_died = true;
            match how {
                CommandKind::Crash => session.crash(&mut store),
                _ => session.kill_unrecorded(),
            }
            commands.push(Command { half_step, kind: how.clone() });
            commands.push(Command { half_step: session.half_step(), kind: CommandKind::Resume });
            session.resume(&mut store).unwrap();
        }
        match session.tick(&mut store) {
            Tick::WaitingForPerson { approval_key } => {
                let note: Option<Arc<str>> = Some("as the policy says".into());
                let half_step = session.half_step();
                let decision = Decision::new(true, "human:maya", note.clone());
                session.decide(&approval_key, decision).unwrap();
                commands.push(Command { half_step, kind: CommandKind::Decide { approved: true, approver: "maya".into(), note } });
            }
            Tick::Stopped { .. } => return (session, commands),
            _ => {}
        }
    }
}

#[test]
fn what_was_done_gives_the_same_run_again_wherever_the_agent_died() {
    for how in [CommandKind::Crash, CommandKind::KillUnrecorded] {
        for dies_at in 2..110 {
            let (run, commands) = drive(dies_at, &how);
            let (mut again, mut store) = started();
            let until = Until::HalfStep(run.half_step());
            assert_eq!(replay(&mut again, &mut store, &commands, until).unwrap(), commands, "{how:?} at {dies_at}");
            assert_eq!(lines(&again), lines(&run), "{how:?} at {dies_at}");
        }
    }
}

#[test]
fn a_replay_stops_behind_any_record_and_leaves_out_what_came_later() {
    let (run, commands) = drive(71, &CommandKind::Crash);
    for records in 1..=run.log().len() {
        let (mut part, mut store) = started();
        let done = replay(&mut part, &mut store, &commands, Until::Records(records)).unwrap();
        assert_eq!(lines(&part), lines(&run)[..records], "{records}");
        assert_eq!(done, commands[..done.len()], "{records}");
    }
}

#[test]
fn deeds_that_do_not_fit_are_named() {
    let (mut session, mut store) = started();
    let decide = CommandKind::Decide { approved: true, approver: "maya".into(), note: None };
    let commands = [Command { half_step: 12, kind: decide }];
    let misfit = replay(&mut session, &mut store, &commands, Until::HalfStep(20)).unwrap_err();
    assert_eq!(misfit, Misfit::Command { index: 0, message: "no question is open".to_string() });

    let (mut session, mut store) = started();
    let misfit = replay(&mut session, &mut store, &[], Until::HalfStep(100_000)).unwrap_err();
    assert_eq!(misfit.to_string(), "this run does not come to the place that is told of: it waits for a person by then");
}

#[test]
fn a_branch_has_a_name_of_its_own() {
    let branch = Setup { branch: 1, ..setup() };
    assert_ne!(branch.run_id(), setup().run_id());
}

#[test]
fn what_cannot_be_done_to_a_run_is_refused_with_its_place() {
    let at = |half_step: u64, kind: CommandKind| Command { half_step, kind };
    let decide = || CommandKind::Decide { approved: true, approver: "maya".into(), note: None };
    let told = |commands: &[Command]| {
        let (mut session, mut store) = started();
        replay(&mut session, &mut store, commands, Until::HalfStep(40)).map(|done| done.len())
    };
    let place = |commands: &[Command]| match told(commands) {
        Err(Misfit::Command { index, .. }) => index,
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&[]), Ok(0));
    for dies in [CommandKind::Crash, CommandKind::KillUnrecorded] {
        assert_eq!(told(&[at(9, dies.clone()), at(10, CommandKind::Resume)]), Ok(2));
        for again in [CommandKind::Crash, CommandKind::KillUnrecorded] {
            assert_eq!(place(&[at(9, dies.clone()), at(10, again)]), 1, "nobody is there to be killed");
        }
        assert_eq!(place(&[at(9, dies.clone()), at(12, CommandKind::Resume)]), 1, "time stands still without an agent");
    }
    assert_eq!(place(&[at(9, CommandKind::Resume)]), 0, "the agent lives");
    assert_eq!(place(&[at(9, decide())]), 0, "nothing was asked");
    assert_eq!(
        place(&[at(9, CommandKind::Crash), at(10, CommandKind::Resume), at(8, CommandKind::Crash)]),
        2,
        "its time is over"
    );
}

#[test]
fn a_run_that_is_over_cannot_be_killed_any_more() {
    for kill in
        [(|session, store| session.crash(store)) as fn(&mut Session, &mut MemoryStore), |session, _| session.kill_unrecorded()]
    {
        let (mut session, mut store) = started();
        session.answer_by_script();
        session.run_to_end(&mut store).unwrap();
        let (status, length, now_ms) = (session.status(), session.log().len(), session.now_ms());
        assert!(status.is_some());
        kill(&mut session, &mut store);
        assert_eq!((session.status(), session.log().len(), session.now_ms()), (status, length, now_ms));
        assert_eq!(Some(session.tick(&mut store)), status.map(|status| Tick::Stopped { status }));
    }
}

#[test]
fn an_agent_that_vanished_cannot_vanish_again() {
    let (mut session, mut store) = started();
    for _ in 0..9 {
        session.tick(&mut store);
    }
    session.arm(40, crashlab::lab::scenario::When::Before);
    session.crash(&mut store);
    let (armed, now_ms) = (session.armed(), session.now_ms());
    assert!(armed.is_some());
    session.kill_unrecorded();
    assert_eq!((session.armed(), session.now_ms()), (armed, now_ms), "nobody was there");
}

//! A crash at every instant, one writer, and what is done with damaged storage.

use std::sync::Arc;

use crashlab::agent::protocol::EffectKind;
use crashlab::agent::state::AgentState;
use crashlab::lab::crash_points::RunProgress;
use crashlab::lab::scenario::When;
use crashlab::lab::session::{Session, SessionError, Setup};
use crashlab::log::checkpoint;
use crashlab::log::recovery::RecoveryError;
use crashlab::log::store::{Durable, MemoryStore, SavedSnapshot, Store, StoreError, Writer, seal};
use crashlab::record::{InDoubt, LlmCall, Record, RecordBody, Status};

use crate::support::{
    Site, Tab, TextStore, assert_same, assert_unbroken, books, crash_points, finished, is_at_tool, newest_checkpoint,
    one_of_each, ran_with_crash, requests, run_until, scenario,
};

fn setup() -> Setup {
    Setup::of(&scenario("double-charge"))
}

fn newest_state(store: &MemoryStore) -> AgentState {
    (**store.read().snapshots[0].state.as_ref().unwrap()).clone()
}

/// True if a crash here leaves a model call in doubt: its intent is durable, its result is not.
fn leaves_model_in_doubt(effect: &EffectKind, when: When) -> bool {
    match effect {
        EffectKind::Append(record) => match record.body {
            RecordBody::LlmRequest { .. } => when == When::After,
            RecordBody::LlmCall(_) => when == When::Before,
            _ => false,
        },
        EffectKind::CallModel { .. } => true,
        _ => false,
    }
}

/// What the final checkpoint has to be if the model call of this step was in doubt once.
fn with_projection(mut state: AgentState, session: &Session, step: u32) -> AgentState {
    let input_tokens = session
        .log()
        .iter()
        .find_map(|record| match &record.body {
            RecordBody::LlmCall(LlmCall { input_tokens, .. }) if record.step == step => Some(*input_tokens),
            _ => None,
        })
        .unwrap();
    let reserve = session.config().limits.output_reserve;
    state.input_tokens += input_tokens;
    state.output_tokens += reserve;
    state.llm_calls += 1;
    state.cost = state.cost.plus(session.config().prices.cost(input_tokens, reserve));
    state
}

#[test]
fn a_crash_at_each_of_all_effects_leads_to_the_same_end() {
    let scenario = scenario("double-charge");
    let (calm, calm_store) = finished(Setup::of(&scenario));
    let calm_state = newest_state(&calm_store);
    let points = crash_points(&scenario);
    let (mut equal, mut in_doubt) = (0, 0);
    for (effect, when, kind) in &points {
        let place = format!("{when:?} effect {effect}: {}", kind.as_str());
        let (session, store) = ran_with_crash(&scenario, *effect, *when);
        assert_unbroken(&session, &place);
        assert_eq!(session.status(), Some(Status::Done), "{place}");
        assert_eq!(books(session.world()), one_of_each(), "{place}");
        let stops = matches!(kind, EffectKind::Stop { .. });
        // The end of a run is no effect that can be half done: the driver has it from the log.
        assert_eq!(session.progress().crashes, u32::from(!(stops && *when == When::After)), "{place}");
        let expected = if leaves_model_in_doubt(kind, *when) {
            in_doubt += 1;
            let resumes: Vec<_> = session
                .log()
                .iter()
                .filter_map(|record| match &record.body {
                    RecordBody::Resume { in_doubt, .. } => Some((record.step, in_doubt.clone())),
                    _ => None,
                })
                .collect();
            let [(step, Some(InDoubt::Model { attempt: 1, projected }))] = resumes.as_slice() else {
                panic!("{place}: the trace does not show the doubt: {resumes:?}");
            };
            let expected = with_projection(calm_state.clone(), &calm, *step);
            assert_eq!(calm_state.cost.plus(*projected), expected.cost, "{place}");
            expected
        } else {
            equal += 1;
            calm_state.clone()
        };
        assert_same(&newest_checkpoint(&store), &checkpoint::encode(&expected), &place);
    }
    // Golden counts: a change of them is a change of what the run does.
    assert_eq!((points.len() / 2, points.len(), equal, in_doubt), (76, 152, 120, 32));
}

/// Runs once, and at every instant at which what survives a crash has changed, calls `at` with it.
fn at_each_survivor(mut site: Site, mut tab: Tab, mut at: impl FnMut(Site, &Tab)) {
    let survivor = |site: &Site| (site.store.clone(), site.world.rows().len(), site.now_ms);
    let mut last = None;
    loop {
        let now = Some(survivor(&site));
        if now != last {
            last = now;
            at(site.clone(), &tab);
        }
        if !tab.step(&mut site) {
            return;
        }
    }
}

#[test]
fn a_real_crash_that_writes_nothing_leads_to_the_same_end() {
    let mut site = Site::new(&scenario("double-charge"));
    let tab = site.open();
    let mut points = 0;
    at_each_survivor(site, tab, |mut site, dead| {
        let mut next = site.open();
        next.finish(&mut site);
        points += 1;
        assert_eq!(books(&site.world), one_of_each(), "{:?}", dead.in_flight());
        assert_eq!(site.breaches(&next), [], "{:?}", dead.in_flight());
    });
    // Nothing yet, and what each of the 76 effects leaves.
    assert_eq!(points, 77);
}

#[test]
fn all_pairs_of_crashes_keep_every_invariant() {
    let mut site = Site::new(&scenario("double-charge"));
    let tab = site.open();
    let mut pairs = 0;
    at_each_survivor(site, tab, |mut site, first| {
        let second = site.open();
        at_each_survivor(site, second, |mut site, second| {
            let mut third = site.open();
            third.finish(&mut site);
            pairs += 1;
            let place = || format!("{:?}, then {:?}", first.in_flight(), second.in_flight());
            assert_eq!(books(&site.world), one_of_each(), "{}", place());
            assert_eq!(site.breaches(&third), [], "{}", place());
        });
    });
    assert_eq!(pairs, PAIRS);
}

/// How many pairs of crashes leave something different behind.
const PAIRS: u32 = 3_128;

#[test]
fn an_agent_goes_on_from_every_prefix_of_the_log() {
    let scenario = scenario("double-charge");
    let (calm, store) = finished(Setup::of(&scenario));
    let durable = store.read();
    for count in 0..=durable.records.len() {
        for last_intent_was_carried_out in [true, false] {
            let place = format!("{count} records, the last intent carried out: {last_intent_was_carried_out}");
            let known = if last_intent_was_carried_out { count } else { count.saturating_sub(1) };
            // The world as the agent with this log left it: what was caused by the records that are there.
            let rows = calm.world().rows().iter().take_while(|row| row.record.is_none_or(|record| record < known as u64));
            let rows: Vec<_> = rows.cloned().collect();
            let prefix = Durable { records: durable.records[..count].to_vec(), ..Durable::default() };
            let mut store = MemoryStore::copy_of(&prefix, 1);
            let mut session = Session::reopen(Setup::of(&scenario), rows, RunProgress::default(), &store);
            match session.resume(&mut store) {
                Ok(()) => {}
                Err(SessionError::Recovery(RecoveryError::Nothing)) if count == 0 => continue,
                Err(error) => panic!("{place}: {error}"),
            }
            assert_eq!(session.run_to_end(&mut store), Ok(Status::Done), "{place}");
            assert_eq!(books(session.world()), one_of_each(), "{place}");
            assert_unbroken(&session, &place);
        }
    }
}

#[test]
fn a_log_that_was_finished_is_only_read() {
    let scenario = scenario("double-charge");
    let mut site = Site::new(&scenario);
    site.open().finish(&mut site);
    let (records, rows) = (site.store.records().len(), site.world.rows().len());
    let mut late = site.open();
    late.finish(&mut site);
    assert_eq!((site.store.records().len(), site.world.rows().len()), (records, rows));
    assert!(late.agent.is_over());
    assert_eq!(late.agent.run().state.status, Status::Done);
}

/// A run that was stopped by a crash behind the refund, in storage of text that a test may damage.
fn crashed_behind_the_refund() -> (Session, TextStore) {
    let mut store = TextStore::default();
    let mut session = Session::start(setup(), &mut store).unwrap();
    run_until(&mut session, &mut store, |session| is_at_tool(session, "issue_refund", When::After));
    session.crash(&mut store);
    (session, store)
}

fn resumed_generation(store: &TextStore) -> Option<u64> {
    let durable = store.read();
    let generation = durable.records.iter().rev().find_map(|record| match &record.body {
        RecordBody::Resume { checkpoint_generation, .. } => Some(*checkpoint_generation),
        _ => None,
    });
    generation.expect("a resume")
}

/// Damages storage, resumes, and says which checkpoint was used.
fn recovers_after(damage: impl FnOnce(&mut TextStore)) -> Option<u64> {
    let (mut session, mut store) = crashed_behind_the_refund();
    damage(&mut store);
    assert_eq!(session.run_to_end(&mut store), Ok(Status::Done));
    assert_eq!(books(session.world()), one_of_each());
    assert_unbroken(&session, "after the damage");
    let (_, calm) = finished(setup());
    assert_same(&newest_checkpoint(&store), &newest_checkpoint(&calm), "after the damage");
    resumed_generation(&store)
}

#[test]
fn the_newest_checkpoint_is_used_if_nothing_is_damaged() {
    assert_eq!(recovers_after(|_| {}), Some(5));
}

#[test]
fn a_damaged_checkpoint_falls_back_to_the_one_before() {
    assert_eq!(recovers_after(|store| store.slots[0] = store.slots[0].replace("T-1001", "T-1002")), Some(4));
    assert_eq!(recovers_after(|store| store.slots[0].truncate(900)), Some(4));
    assert_eq!(recovers_after(|store| store.slots[0] = String::new()), Some(4));
    assert_eq!(recovers_after(|store| store.slots[0] = "not a checkpoint at all".to_string()), Some(4));
}

#[test]
fn with_both_checkpoints_damaged_the_log_alone_is_enough() {
    let damage = |store: &mut TextStore| store.slots.iter_mut().for_each(|slot| slot.truncate(400));
    assert_eq!(recovers_after(damage), None);
    assert_eq!(recovers_after(|store| store.slots.clear()), None);
}

#[test]
fn a_checkpoint_of_a_later_version_is_not_misread() {
    let of_version_two = |store: &mut TextStore| {
        let json = checkpoint::encode(store.read().snapshots[0].state.as_ref().unwrap());
        let later = json.replace("\"version\":1,\"log_position\"", "\"version\":2,\"log_position\"");
        assert_ne!(json, later);
        store.slots[0] = seal(5, &later);
        let found = &store.read().snapshots[0];
        assert_eq!(found.state.clone().unwrap_err(), "$.version: this is version 2; this program reads version 1");
    };
    assert_eq!(recovers_after(of_version_two), Some(4));
}

#[test]
fn a_torn_last_record_is_left_out_and_nothing_is_lost() {
    // The crash comes while `tool_result` is being written.
    let cut_last = |store: &mut TextStore, keep: usize| {
        assert!(store.lines.pop().unwrap().contains("\"type\":\"crash\""));
        let intent = store.lines.last().unwrap().clone();
        let torn = intent.replace("tool_call", "tool_result");
        store.lines.push(torn[..keep].to_string());
    };
    for keep in [1, 2, 40, 200] {
        assert_eq!(recovers_after(|store| cut_last(store, keep)), Some(5), "{keep} bytes");
    }
}

#[test]
fn a_broken_record_in_the_middle_is_named_and_not_skipped() {
    let (mut session, mut store) = crashed_behind_the_refund();
    store.lines[7].truncate(50);
    let error = session.resume(&mut store).unwrap_err().to_string();
    assert!(
        error.starts_with("the log is damaged: line 8: $") && error.contains("not valid JSON at line 1, column 5"),
        "{error}"
    );
}

#[test]
fn a_record_that_does_not_follow_is_named() {
    let (mut session, mut store) = crashed_behind_the_refund();
    store.slots.clear();
    let place = store.lines.iter().position(|line| line.contains("\"type\":\"tool_result\"")).unwrap();
    store.lines[place] = store.lines[place].replace("call_1", "call_9");
    let error = session.resume(&mut store).unwrap_err().to_string();
    let expected = "record 4 does not fit: the log holds a tool_result of search_kb for call call_9, \
                    but the run stood in step 0 at call call_1 (search_kb)";
    assert_eq!(error, expected);
}

#[test]
fn an_agent_whose_run_was_taken_over_writes_nothing_more() {
    let scenario = scenario("double-charge");
    let mut site = Site::new(&scenario);
    let mut tab = site.open();
    let mut takeovers = 0;
    let mut running = true;
    while running {
        running = tab.step(&mut site);
        let (mut site, mut old) = (site.clone(), tab.clone());
        let mut new = site.open();
        let written = site.store.clone();
        // The old agent goes on as far as it gets.
        old.finish(&mut site);
        assert_eq!(site.store, written, "{:?}", tab.in_flight());
        new.finish(&mut site);
        assert_eq!(books(&site.world), one_of_each(), "{:?}", tab.in_flight());
        takeovers += 1;
    }
    assert_eq!(takeovers, 3 * 76);
}

#[test]
fn two_agents_that_take_turns_do_everything_once() {
    let scenario = scenario("double-charge");
    let mut site = Site::new(&scenario);
    let mut tab = site.open();
    while tab.step(&mut site) {
        let (mut site, mut old) = (site.clone(), tab.clone());
        let mut new = site.open();
        while old.step(&mut site) | new.step(&mut site) {}
        assert_eq!(books(&site.world), one_of_each(), "{:?}", tab.in_flight());
        assert!(new.agent.is_over());
    }
}

/// Storage in which the old agent gets one more record in at the last moment before it is taken over.
struct Racing {
    store: TextStore,
    last_word: Option<Arc<Record>>,
}

impl Store for Racing {
    fn append(&mut self, writer: Writer, record: &Arc<Record>) -> Result<(), StoreError> {
        self.store.append(writer, record)
    }

    fn save(&mut self, writer: Writer, state: &Arc<AgentState>) -> Result<SavedSnapshot, StoreError> {
        self.store.save(writer, state)
    }

    fn take_over(&mut self) -> Result<u32, StoreError> {
        if let Some(record) = self.last_word.take() {
            self.store.append(Writer { epoch: self.store.epoch, fenced: true }, &record)?;
        }
        self.store.take_over()
    }

    fn epoch(&self) -> u32 {
        self.store.epoch()
    }

    fn read(&self) -> Durable {
        self.store.read()
    }
}

#[test]
fn a_resume_takes_the_run_over_before_it_reads_the_log() {
    let mut store = TextStore::default();
    let mut session = Session::start(setup(), &mut store).unwrap();
    let is_writing_the_result = |session: &Session| match session.in_flight().map(|(effect, when)| (&effect.kind, when)) {
        Some((EffectKind::Append(record), When::Before)) => matches!(record.body, RecordBody::ToolResult { .. }),
        _ => false,
    };
    run_until(&mut session, &mut store, is_writing_the_result);
    let EffectKind::Append(result) = session.in_flight().unwrap().0.kind.clone() else { panic!() };
    let rows = session.world().rows().to_vec();
    let mut store = Racing { store, last_word: Some(result) };
    let mut second = Session::reopen(setup(), rows, session.progress().clone(), &store);
    assert_eq!(second.run_to_end(&mut store), Ok(Status::Done));
    let records = store.read().records;
    let is_result =
        |record: &&Arc<Record>| matches!(&record.body, RecordBody::ToolResult { call_id, .. } if **call_id == *"call_1");
    assert_eq!(records.iter().filter(is_result).count(), 1, "the result that was written last is read, not bought again");
    assert_eq!(requests(second.world(), "search_kb"), 1);
}

/// Its agent died when the refund had happened.
fn dead_behind_the_refund() -> (Session, MemoryStore) {
    let mut store = MemoryStore::default();
    let mut session = Session::start(setup(), &mut store).unwrap();
    run_until(&mut session, &mut store, |session| is_at_tool(session, "issue_refund", When::After));
    session.crash(&mut store);
    (session, store)
}

#[test]
fn a_log_that_is_shorter_than_its_checkpoint_is_damaged_and_is_taken_from_nobody() {
    let (session, store) = dead_behind_the_refund();
    for lost in 1..=session.log().len() {
        let mut text = TextStore::of(&store);
        text.lines.truncate(text.lines.len() - lost);
        let covered = text.read().snapshots[0].state.as_ref().unwrap().log_position;
        let left = text.read().records.iter().filter(|record| record.body.is_settled()).count() as u64;
        let mut again = session.clone();
        let epoch = text.epoch;
        match again.resume(&mut text) {
            Err(SessionError::Recovery(RecoveryError::Damaged(message))) => {
                assert!(left < covered, "{lost}: {message}");
                assert_eq!(message, format!("the checkpoint covers {covered} settled records, and {left} are left of the log"));
                assert_eq!(text.epoch, epoch, "the agent that has the run keeps it");
            }
            Ok(()) => assert!(left >= covered, "{lost} lost: {left} of {covered}"),
            Err(error) => panic!("{lost}: {error}"),
        }
    }
}

#[test]
fn what_was_asked_decided_and_sent_has_to_be_what_the_model_planned() {
    let (session, store) = dead_behind_the_refund();
    let whole = TextStore::of(&store);
    let mut changed = 0;
    let is_of_the_call = |line: &&str| line.contains("\"amount\":288.00") && !line.contains("\"tool_result\"");
    for (index, line) in whole.lines.iter().map(String::as_str).enumerate().filter(|(_, line)| is_of_the_call(line)) {
        let mut text = TextStore { lines: whole.lines.clone(), slots: whole.slots.clone(), ..TextStore::default() };
        text.lines[index] = line.replace("\"amount\":288.00", "\"amount\":100.00");
        let error = session.clone().resume(&mut text).unwrap_err();
        assert!(matches!(error, SessionError::Recovery(RecoveryError::Diverged { .. })), "{line}: {error}");
        changed += 1;
    }
    // The model's plan, the question, the decision, the call.
    assert_eq!(changed, 4);
}

//! The driver: carries out the agent's effects in the world and in storage, and kills the agent when asked.
//!
//! One effect takes two ticks. The first lets it happen, the second brings its answer to the agent, which at once says what it
//! wants next. Between the two, and before the first, are the instants at which a crash makes a difference.

use std::fmt;
use std::sync::Arc;

use super::faults::FaultKind;
use super::inbox::DecisionRefused;
use super::invariants::{Breach, Evidence, INVARIANTS, Kind};
use super::mechanisms::{Mechanism, Mechanisms};
use super::scenario::{Scenario, When};
use super::spots::{Progress, gap_label};
use super::world::{Reply, ToolRequest, World};
use crate::agent::Agent;
use crate::agent::config::Config;
use crate::agent::identity::hash64;
use crate::agent::protocol::{Answer, Decision, Effect, EffectKind, Event};
use crate::agent::state::Status;
use crate::log::record::{Record, RecordBody};
use crate::log::recovery::{RecoveryError, recover};
use crate::log::store::{Store, StoreError, Writer};

/// A run in the lab: agent, world, clock, and where the driver stands. Its storage is handed in with each call.
#[derive(Clone, Debug)]
pub struct Session {
    scenario: Arc<Scenario>,
    mechanisms: Mechanisms,
    config: Arc<Config>,
    /// True: questions wait for [`Session::decide`]. False: the scenario's person answers.
    interactive: bool,
    agent: Option<Agent>,
    world: World,
    /// Shared with the session's copies until one of them goes on.
    log: Arc<Vec<Arc<Record>>>,
    epoch: u32,
    /// Another agent has the run, and this session's has not noticed.
    is_overtaken: bool,
    /// The record that stood last when the effect that is out was asked for: its intent.
    cause: Option<u64>,
    now_ms: u64,
    stage: Stage,
    progress: Progress,
    armed: Option<(u64, When)>,
    injected: Option<FaultKind>,
    breaches: Vec<Breach>,
    /// Changes what the agent wants on its way to the driver.
    tamper: Option<fn(&mut EffectKind)>,
    /// False: the caller says when to judge, and what.
    judges: bool,
}

/// Where the driver stands.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// There is no agent.
    Dead,
    /// The agent has not been asked for its first effect.
    Fresh,
    /// The agent wants this, and it has not happened.
    Issued(Effect),
    /// A person has the question.
    Asked(Effect),
    /// It has happened, and the answer is under way.
    Happened { effect: Effect, reply: Reply },
    /// The run is over.
    Stopped(Status),
    /// Another writer owns the run.
    Fenced,
}

/// What a tick did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tick {
    /// The effect has happened; its answer takes this many milliseconds.
    Happened {
        /// Virtual time.
        takes_ms: u64,
    },
    /// The answer has arrived, and the agent has said what it wants next, if anything.
    Answered,
    /// A person has to decide.
    WaitingForPerson {
        /// The question.
        approval_key: Arc<str>,
    },
    /// There is no agent. `armed`: it died in this tick.
    Crashed {
        /// Whether it died in this tick.
        armed: bool,
    },
    /// The run is over.
    Stopped {
        /// Why.
        status: Status,
    },
    /// Another writer owns the run.
    Fenced,
}

/// Why a session call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// Storage said no.
    Store(StoreError),
    /// What is stored cannot be resumed.
    Recovery(RecoveryError),
    /// The decision was not taken.
    Decision(DecisionRefused),
    /// The run did not end within the bound of ticks.
    Endless(u64),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::Store(error) => error.fmt(f),
            SessionError::Recovery(error) => error.fmt(f),
            SessionError::Decision(error) => error.fmt(f),
            SessionError::Endless(ticks) => write!(f, "the run did not end within {ticks} ticks"),
        }
    }
}

impl std::error::Error for SessionError {}

/// How a session is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What is run.
    pub scenario: Arc<Scenario>,
    /// With which mechanisms.
    pub mechanisms: Mechanisms,
    /// What jitter is drawn from.
    pub seed: u64,
    /// True: questions wait for a decision from outside.
    pub interactive: bool,
}

impl Setup {
    /// The scenario as it stands, with its own mechanisms and its own person, seed 1.
    pub fn of(scenario: &Arc<Scenario>) -> Setup {
        Setup { scenario: scenario.clone(), mechanisms: scenario.mechanisms, seed: 1, interactive: false }
    }

    /// The same input gives the same name, and another input another: runs do not share anything by accident.
    pub fn run_id(&self) -> Arc<str> {
        let off: Vec<&str> = Mechanism::ALL.iter().filter(|one| !self.mechanisms.has(**one)).map(|one| one.text().id).collect();
        let digest = hash64(format!("{}\n{:016x}\n{off:?}\n{}", self.scenario.id, self.scenario.digest, self.seed).as_bytes());
        format!("{}-{:08x}", self.scenario.task_id, digest >> 32).into()
    }
}

/// A run that takes longer than this many ticks is not going to end.
const TICK_BOUND: u64 = 200_000;

impl Session {
    /// A session at the start of a run. The store has to be empty.
    pub fn start(setup: Setup, store: &mut dyn Store) -> Result<Session, SessionError> {
        let mut session = Session::reopen(setup, Vec::new(), Progress::default(), store);
        session.epoch = store.take_over().map_err(SessionError::Store)?;
        session.agent = Some(Agent::start(session.config.clone(), session.now_ms));
        session.stage = Stage::Fresh;
        Ok(session)
    }

    /// A session on a run that is in storage. There is no agent in it: `resume` makes one.
    pub fn reopen(setup: Setup, rows: Vec<Arc<super::ledger::Row>>, progress: Progress, store: &dyn Store) -> Session {
        let Setup { scenario, mechanisms, seed, interactive } = &setup;
        let config = Arc::new(scenario.config(*mechanisms, *seed, setup.run_id()));
        let log = store.read().records;
        let newest = rows.iter().map(|row| row.at_ms).chain(log.iter().map(|record| record.ts_ms)).max();
        let recognises_keys = mechanisms.has(Mechanism::Idempotency);
        let world = World::with_rows(scenario.clone(), recognises_keys, rows);
        // Not the log: the world says whether anybody has been told. A run that only lacked storage may go on.
        let stage = world.closed_as().filter(|_| world.is_settled()).map_or(Stage::Dead, Stage::Stopped);
        let mut session = Session {
            mechanisms: *mechanisms,
            config,
            interactive: *interactive,
            agent: None,
            world,
            log: Arc::new(log),
            epoch: store.epoch(),
            is_overtaken: false,
            cause: None,
            now_ms: newest.unwrap_or(scenario.start_ms),
            stage,
            progress,
            armed: None,
            injected: None,
            breaches: Vec::new(),
            tamper: None,
            judges: true,
            scenario: setup.scenario,
        };
        session.judge();
        session
    }

    // --- Driving -------------------------------------------------------------------------------------------------------------

    /// Goes half an effect further.
    pub fn tick(&mut self, store: &mut dyn Store) -> Tick {
        let tick = match std::mem::replace(&mut self.stage, Stage::Dead) {
            Stage::Dead => Tick::Crashed { armed: false },
            Stage::Stopped(status) => {
                self.stage = Stage::Stopped(status);
                Tick::Stopped { status }
            }
            Stage::Fenced => {
                self.stage = Stage::Fenced;
                Tick::Fenced
            }
            Stage::Fresh => self.ask_agent(store),
            Stage::Issued(effect) => self.happen(effect, store),
            Stage::Asked(effect) => self.look_into_inbox(effect),
            Stage::Happened { effect, reply } => self.deliver(&effect, reply, store),
        };
        self.judge();
        tick
    }

    /// Asks the agent for its next effect.
    fn ask_agent(&mut self, store: &mut dyn Store) -> Tick {
        let Some(agent) = &mut self.agent else {
            self.stage = Stage::Dead;
            return Tick::Crashed { armed: false };
        };
        match agent.poll() {
            Some(mut effect) => {
                self.progress.effects += 1;
                if let Some(tamper) = self.tamper {
                    tamper(&mut effect.kind);
                }
                self.cause = self.log.len().checked_sub(1).map(|place| place as u64);
                self.stage = Stage::Issued(effect.clone());
                if self.dies_here(&effect, When::Before) {
                    self.crash(store);
                    return Tick::Crashed { armed: true };
                }
                Tick::Answered
            }
            None if agent.is_fenced() => {
                self.stage = Stage::Fenced;
                Tick::Fenced
            }
            // `stop` is the last effect, and after it the stage is `Stopped`; an agent without one is over by a driver's mistake.
            None => {
                let status = agent.run().state.status;
                self.stage = Stage::Stopped(status);
                Tick::Stopped { status }
            }
        }
    }

    /// Lets an effect happen outside the agent.
    fn happen(&mut self, effect: Effect, store: &mut dyn Store) -> Tick {
        let (now_ms, cause) = (self.now_ms, self.cause);
        let injected = self.injected.take();
        let reply = match &effect.kind {
            EffectKind::Append(record) => instant(self.append(record, store)),
            EffectKind::SaveCheckpoint { state } => instant(match store.save(self.writer(), state) {
                Ok(saved) => Answer::Saved { bytes: saved.bytes, generation: saved.generation },
                Err(error) => store_answer(error),
            }),
            EffectKind::CallModel { request, .. } => self.world.call_model(request, now_ms, cause, injected.as_ref()),
            EffectKind::CallTool { call, idempotency_key, expected_version, .. } => {
                let request =
                    ToolRequest { call: call.clone(), key: idempotency_key.clone(), expected_version: expected_version.clone() };
                self.world.call_tool(&request, now_ms, cause, injected.as_ref())
            }
            EffectKind::AskApproval { tool, args, approval_key } => {
                self.world.ask(approval_key, tool, args, now_ms, cause);
                self.stage = Stage::Asked(effect.clone());
                if self.dies_here(&effect, When::After) {
                    self.crash(store);
                    return Tick::Crashed { armed: true };
                }
                return self.look_into_inbox(effect);
            }
            EffectKind::Wait { until_ms } => Reply { answer: Answer::TimeHasCome, takes_ms: until_ms.saturating_sub(now_ms) },
            EffectKind::Stop { status, final_text } => {
                self.world.run_ended(*status, final_text.as_ref(), now_ms, cause);
                self.stage = Stage::Stopped(*status);
                return Tick::Stopped { status: *status };
            }
        };
        let takes_ms = reply.takes_ms;
        self.stage = Stage::Happened { effect: effect.clone(), reply };
        if self.dies_here(&effect, When::After) {
            self.crash(store);
            return Tick::Crashed { armed: true };
        }
        Tick::Happened { takes_ms }
    }

    fn append(&mut self, record: &Arc<Record>, store: &mut dyn Store) -> Answer {
        match store.append(self.writer(), record) {
            Ok(()) => {
                Arc::make_mut(&mut self.log).push(record.clone());
                Answer::Durable
            }
            Err(error) => store_answer(error),
        }
    }

    fn writer(&self) -> Writer {
        Writer { epoch: self.epoch, fenced: self.mechanisms.has(Mechanism::SingleWriter) }
    }

    /// Is the question decided? In a session that is not interactive the scenario's person decides.
    fn look_into_inbox(&mut self, effect: Effect) -> Tick {
        let EffectKind::AskApproval { approval_key, .. } = &effect.kind else {
            return Tick::Answered;
        };
        if self.world.decision(approval_key).is_none() {
            self.world.person_sees(approval_key, !self.interactive);
        }
        match self.world.decision(approval_key) {
            Some((answer, decided_ms)) => {
                let takes_ms = decided_ms.saturating_sub(self.now_ms);
                self.stage = Stage::Happened { effect, reply: Reply { answer, takes_ms } };
                Tick::Happened { takes_ms }
            }
            None => {
                let approval_key = approval_key.clone();
                self.stage = Stage::Asked(effect);
                Tick::WaitingForPerson { approval_key }
            }
        }
    }

    /// Brings the answer to the agent and asks what it wants next.
    fn deliver(&mut self, effect: &Effect, reply: Reply, store: &mut dyn Store) -> Tick {
        self.now_ms += reply.takes_ms;
        if let Some(agent) = &mut self.agent {
            let event = Event { effect: effect.id, at_ms: self.now_ms, answer: reply.answer };
            let taken = agent.handle(event);
            debug_assert!(taken.is_ok(), "{taken:?}");
        }
        self.ask_agent(store)
    }

    fn dies_here(&mut self, effect: &Effect, when: When) -> bool {
        if self.armed == Some((self.progress.effects - 1, when)) {
            self.armed = None;
            return true;
        }
        self.progress.meets_spot(&self.scenario, &effect.kind, when)
    }

    /// Kills the agent at once. Storage and world stay.
    pub fn crash(&mut self, store: &mut dyn Store) {
        if self.agent.is_none() || matches!(self.stage, Stage::Stopped(_)) {
            return;
        }
        let at: Arc<str> = self.place().into();
        let step = self.agent.as_ref().map_or(0, |agent| agent.run().state.step);
        self.agent = None;
        self.stage = Stage::Dead;
        self.progress.crashes += 1;
        let record =
            Arc::new(Record { ts_ms: self.now_ms, run_id: self.config.run_id.clone(), step, body: RecordBody::Crash { at } });
        // The mark is the lab's, for the reader; where it cannot be written, nothing depends on it.
        if store.append(Writer { epoch: self.epoch, fenced: true }, &record).is_ok() {
            Arc::make_mut(&mut self.log).push(record);
        }
        let inbox_is_durable = self.mechanisms.has(Mechanism::DurableApprovals);
        self.world.agent_died(self.progress.crashes, self.now_ms, inbox_is_durable);
        self.judge();
    }

    /// Where the agent stands, for a crash's record.
    fn place(&self) -> String {
        match &self.stage {
            Stage::Issued(effect) => gap_label(&effect.kind, When::Before),
            Stage::Happened { effect, .. } | Stage::Asked(effect) => gap_label(&effect.kind, When::After),
            Stage::Dead | Stage::Fresh | Stage::Stopped(_) | Stage::Fenced => "between two effects".to_string(),
        }
    }

    /// A new agent takes the run over, from what is in storage.
    pub fn resume(&mut self, store: &mut dyn Store) -> Result<(), SessionError> {
        // Storage may have room again; every other status is final.
        if matches!(self.stage, Stage::Stopped(status) if status != Status::StorageFailed) {
            return Ok(());
        }
        // First the storage is taken over, then it is read: what the old agent writes until then counts, and nothing after.
        self.epoch = store.take_over().map_err(SessionError::Store)?;
        let durable = store.read();
        let now_ms = self.now_ms + self.scenario.downtime_ms;
        let agent = match recover(self.config.clone(), &durable, now_ms) {
            // Nothing is durable, and nothing was done: the run has not begun.
            Err(RecoveryError::Nothing) if self.world.is_untouched() => Agent::start(self.config.clone(), now_ms),
            recovered => recovered.map_err(SessionError::Recovery)?,
        };
        self.is_overtaken = false;
        self.log = Arc::new(durable.records);
        self.now_ms = now_ms;
        self.agent = Some(agent);
        self.stage = Stage::Fresh;
        self.progress.resumes += 1;
        self.judge();
        Ok(())
    }

    /// A person decides about an open question, whether the agent is alive or not.
    pub fn decide(&mut self, key: &str, decision: Decision) -> Result<(), SessionError> {
        let at_ms = self.world.answer_due_ms(key).unwrap_or(self.now_ms);
        self.world.decide(key, decision, at_ms).map_err(SessionError::Decision)?;
        self.judge();
        Ok(())
    }

    /// Nobody decides about an open question in time.
    pub fn expire(&mut self, key: &str) -> Result<(), SessionError> {
        let at_ms = self.world.expiry_due_ms(key).unwrap_or(self.now_ms);
        self.world.expire(key, at_ms).map_err(SessionError::Decision)?;
        self.judge();
        Ok(())
    }

    /// The agent will die at the effect with this running number. One place at a time.
    pub fn arm(&mut self, effect: u64, when: When) {
        self.armed = Some((effect, when));
    }

    /// The agent will not die by itself after all.
    pub fn disarm(&mut self) {
        self.armed = None;
    }

    /// Another agent has been at work on the run: this is all that stands in the world's books and in the log now.
    /// `is_overtaken`: what the agent of this session remembers is no longer what the run stands on.
    pub fn take_up(&mut self, rows: Vec<Arc<super::ledger::Row>>, log: Vec<Arc<Record>>, is_overtaken: bool) {
        self.is_overtaken = is_overtaken;
        let recognises_keys = self.mechanisms.has(Mechanism::Idempotency);
        self.world = World::with_rows(self.scenario.clone(), recognises_keys, rows);
        self.log = Arc::new(log);
        self.judge();
    }

    /// From here on the scenario's person answers.
    pub fn answer_by_script(&mut self) {
        self.interactive = false;
    }

    /// The next model or tool call is hit by this fault.
    pub fn inject(&mut self, fault: FaultKind) {
        self.injected = Some(fault);
    }

    /// Runs to the end: the scenario's person answers, and after each crash a new agent takes over.
    pub fn run_to_end(&mut self, store: &mut dyn Store) -> Result<Status, SessionError> {
        for _ in 0..TICK_BOUND {
            match self.tick(store) {
                Tick::Stopped { status } => return Ok(status),
                Tick::Crashed { .. } => self.resume(store)?,
                Tick::Fenced => return Err(SessionError::Store(StoreError::Fenced { owner_epoch: store.epoch() })),
                Tick::WaitingForPerson { .. } => self.answer_by_script(),
                Tick::Happened { .. } | Tick::Answered => {}
            }
        }
        Err(SessionError::Endless(TICK_BOUND))
    }

    // --- What is to be seen --------------------------------------------------------------------------------------------------

    fn judge(&mut self) {
        if self.judges {
            self.judge_those(|_| true);
        }
    }

    /// From here on the caller judges, who knows what has changed.
    pub fn leave_judging_to_me(&mut self) {
        self.judges = false;
    }

    /// Puts a bug into the agent: each of its effects goes through this function. For tests of the search.
    #[doc(hidden)]
    pub fn tamper_with(&mut self, tamper: fn(&mut EffectKind)) {
        self.tamper = Some(tamper);
    }

    /// Takes note of those of the `Always` invariants that are broken now. They are named by their place in [`INVARIANTS`].
    pub fn judge_those(&mut self, which: impl Fn(usize) -> bool) {
        let record = self.log.len().checked_sub(1);
        for (place, invariant) in INVARIANTS.iter().enumerate() {
            if invariant.kind != Kind::Always || !which(place) || self.breach(invariant.id).is_some() {
                continue;
            }
            if let Err(explanation) = (invariant.judge)(&self.evidence()) {
                self.breaches.push(Breach { id: invariant.id, explanation, record });
            }
        }
    }

    /// All that invariants are judged from.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            scenario: &self.scenario,
            config: &self.config,
            world: &self.world,
            log: &self.log,
            run: self.agent.as_ref().filter(|_| !self.is_overtaken).map(Agent::run),
        }
    }

    /// Invariants that broke, in the order in which they did, with the record at which it was seen.
    pub fn breaches(&self) -> &[Breach] {
        &self.breaches
    }

    /// How an invariant broke, if it did.
    pub fn breach(&self, id: &str) -> Option<&Breach> {
        self.breaches.iter().find(|breach| breach.id == id)
    }

    /// The agent; `None` after a crash.
    pub fn agent(&self) -> Option<&Agent> {
        self.agent.as_ref()
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The log as far as this session knows it.
    pub fn log(&self) -> &[Arc<Record>] {
        &self.log
    }

    /// What the agent was given.
    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// What is run.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// With which mechanisms.
    pub fn mechanisms(&self) -> Mechanisms {
        self.mechanisms
    }

    /// Virtual time, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// What has to survive a closed page.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Where the agent will die.
    pub fn armed(&self) -> Option<(u64, When)> {
        self.armed
    }

    /// The effect that is out, and whether it has happened.
    pub fn in_flight(&self) -> Option<(&Effect, When)> {
        match &self.stage {
            Stage::Issued(effect) => Some((effect, When::Before)),
            Stage::Asked(effect) | Stage::Happened { effect, .. } => Some((effect, When::After)),
            Stage::Dead | Stage::Fresh | Stage::Stopped(_) | Stage::Fenced => None,
        }
    }

    /// The answer that is under way to the agent.
    pub fn reply(&self) -> Option<&Reply> {
        match &self.stage {
            Stage::Happened { reply, .. } => Some(reply),
            Stage::Dead | Stage::Fresh | Stage::Issued(_) | Stage::Asked(_) | Stage::Stopped(_) | Stage::Fenced => None,
        }
    }

    /// The final status, once the run is over.
    pub fn status(&self) -> Option<Status> {
        match &self.stage {
            Stage::Stopped(status) => Some(*status),
            _ => None,
        }
    }

    /// True if another writer owns the run.
    pub fn is_fenced(&self) -> bool {
        self.stage == Stage::Fenced
    }

    /// True if a person has the question and has not decided.
    pub fn is_waiting_for_person(&self) -> bool {
        matches!(&self.stage, Stage::Asked(_))
    }
}

fn instant(answer: Answer) -> Reply {
    Reply { answer, takes_ms: 0 }
}

fn store_answer(error: StoreError) -> Answer {
    match error {
        StoreError::Failed(message) => Answer::StorageFailed { message },
        StoreError::Fenced { owner_epoch } => Answer::Fenced { owner_epoch },
    }
}

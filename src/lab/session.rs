//! The driver: carries out the agent's effects in the world and in storage, and kills the agent when asked.
//!
//! One effect takes two ticks. The first lets it happen, the second brings its answer to the agent, which at once says what it
//! wants next. Between the two, and before the first, are the instants at which a crash makes a difference.

mod queries;
mod second_writer;

use std::fmt;
use std::sync::Arc;

use super::faults::FaultKind;
use super::inbox::DecisionRefused;
use super::invariants::Breach;
use super::mechanisms::{Mechanism, Mechanisms};
use super::scenario::{Scenario, When};
pub use super::setup::Setup;
use super::world::{Reply, ToolRequest, World};
use crate::agent::Agent;
use crate::agent::config::Config;
use crate::agent::protocol::{Answer, Effect, EffectKind, Event};
use crate::agent::state::AgentState;
use crate::lab::crash_points::{RunProgress, gap_id, gap_label};
use crate::lab::driver_state::{DriverStage, DriverState};
use crate::lab::fleet::Fleet;
use crate::log::recovery::{RecoveryError, recover};
use crate::log::store::{Durable, Store, StoreError, Writer};
use crate::record::{Decision, Record, RecordBody, Status};

/// A run in the lab: agent, world, clock, and where the driver stands. Its storage is handed in with each call.
#[derive(Clone, Debug)]
pub struct Session {
    scenario: Arc<Scenario>,
    mechanisms: Mechanisms,
    config: Arc<Config>,
    /// True: questions wait for [`Session::decide`]. False: the scenario's person answers.
    interactive: bool,
    /// The agent that this session follows.
    driver_state: DriverState,
    /// One from which the run was taken while it lived.
    second_writer: Option<DriverState>,
    is_second_writers_turn: bool,
    world: World,
    /// Shared with the session's copies until one of them continues.
    log: Arc<Vec<Arc<Record>>>,
    now_ms: u64,
    progress: RunProgress,
    armed: Option<(u64, When)>,
    injected: Option<FaultKind>,
    breaches: Vec<Breach>,
    /// Changes what the agent wants on its way to the driver.
    tamper: Option<fn(&mut EffectKind)>,
    /// False: the caller says when to judge, and what.
    judges: bool,
    /// What the run began with, if it continues from another run's checkpoint.
    origin: Option<Arc<AgentState>>,
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

/// A run that takes longer than this many ticks is not going to end.
const TICK_BOUND: u64 = 200_000;

impl Session {
    /// A session at the start of a run. The store has to be empty.
    pub fn start(setup: Setup, store: &mut dyn Store) -> Result<Session, SessionError> {
        Session::reopen(setup, Vec::new(), RunProgress::default(), store).begin(store)
    }

    /// A session for a member of a fleet, which has no fleet of its own.
    pub(super) fn start_in_fleet(setup: Setup, store: &mut dyn Store) -> Result<Session, SessionError> {
        Session::set_up(setup, Vec::new(), RunProgress::default(), store, None).begin(store)
    }

    fn begin(mut self, store: &mut dyn Store) -> Result<Session, SessionError> {
        self.driver_state.epoch = store.take_over().map_err(SessionError::Store)?;
        self.driver_state.agent = Some(Agent::start(self.config.clone(), self.now_ms));
        self.driver_state.stage = DriverStage::Fresh;
        Ok(self)
    }

    /// A session that continues from a checkpoint of another run, in a new run: [`Setup::run_id_from`] is its name. The store has to
    /// be empty, and the world is as the scenario has it: what the other run did outside is not in its books.
    ///
    /// What people approved there was approved for that run. It is asked again here.
    pub fn start_from(setup: Setup, state: &AgentState, store: &mut dyn Store) -> Result<Session, SessionError> {
        let origin = Arc::new(AgentState { log_position: 0, approvals: Vec::new(), ..state.clone() });
        let epoch = store.take_over().map_err(SessionError::Store)?;
        let writer = Writer { epoch, fenced: setup.mechanisms.has(Mechanism::SingleWriter) };
        store.save(writer, &origin).map_err(SessionError::Store)?;
        let mut session = Session::reopen_from(setup, state, Vec::new(), RunProgress::default(), store);
        session.resume(store)?;
        Ok(session)
    }

    /// A session on a run that is in storage and that began with a checkpoint of another run. There is no agent in it.
    pub fn reopen_from(
        setup: Setup,
        state: &AgentState,
        rows: Vec<Arc<super::ledger::Row>>,
        progress: RunProgress,
        store: &dyn Store,
    ) -> Session {
        let run_id = setup.run_id_from(state);
        let config = Arc::new(setup.scenario.config(setup.mechanisms, setup.seed, run_id));
        let origin = Arc::new(AgentState { log_position: 0, approvals: Vec::new(), ..state.clone() });
        Session { config, origin: Some(origin), ..Session::reopen(setup, rows, progress, store) }
    }

    /// A session on a run that is in storage. There is no agent in it: `resume` makes one.
    pub fn reopen(setup: Setup, rows: Vec<Arc<super::ledger::Row>>, progress: RunProgress, store: &dyn Store) -> Session {
        let fleet = Fleet::of(&setup).map(Arc::new);
        Session::set_up(setup, rows, progress, store, fleet)
    }

    fn set_up(
        setup: Setup,
        rows: Vec<Arc<super::ledger::Row>>,
        progress: RunProgress,
        store: &dyn Store,
        fleet: Option<Arc<Fleet>>,
    ) -> Session {
        let Setup { scenario, mechanisms, seed, interactive, branch: _ } = &setup;
        let log = store.read().records;
        // A run that continues from another run's checkpoint has a name of its own.
        let run_id = log.first().map_or_else(|| setup.run_id(), |record| record.run_id.clone());
        let config = Arc::new(scenario.config(*mechanisms, *seed, run_id));
        let newest = rows.iter().map(|row| row.at_ms).chain(log.iter().map(|record| record.ts_ms)).max();
        let recognises_keys = mechanisms.has(Mechanism::Idempotency);
        let world = World::with_rows(scenario.clone(), recognises_keys, rows).beside(fleet);
        // Not the log: the world says whether anybody has been told. A run that only lacked storage may continue.
        let stage = world.closed_as().filter(|_| world.is_settled()).map_or(DriverStage::Dead, DriverStage::Stopped);
        let mut session = Session {
            mechanisms: *mechanisms,
            config,
            interactive: *interactive,
            driver_state: DriverState { agent: None, epoch: store.epoch(), stage, cause: None },
            second_writer: None,
            is_second_writers_turn: false,
            world,
            log: Arc::new(log),
            now_ms: newest.unwrap_or(scenario.start_ms),
            progress,
            armed: None,
            injected: None,
            breaches: Vec::new(),
            tamper: None,
            judges: true,
            origin: None,
            scenario: setup.scenario,
        };
        session.judge();
        session
    }

    // --- Driving -------------------------------------------------------------------------------------------------------------

    /// Goes half an effect further. A second writer that lives goes half an effect further too.
    pub fn tick(&mut self, store: &mut dyn Store) -> Tick {
        let met_before = self.progress.second_writer_point_met(&self.scenario);
        let tick = self.tick_agent(store);
        let tick = self.second_tab_opens(met_before, store).unwrap_or(tick);
        self.step_second_writer(store);
        self.judge();
        tick
    }

    fn tick_agent(&mut self, store: &mut dyn Store) -> Tick {
        match std::mem::replace(&mut self.driver_state.stage, DriverStage::Dead) {
            DriverStage::Dead => Tick::Crashed { armed: false },
            DriverStage::Stopped(status) => {
                self.driver_state.stage = DriverStage::Stopped(status);
                Tick::Stopped { status }
            }
            DriverStage::Fenced => {
                self.driver_state.stage = DriverStage::Fenced;
                Tick::Fenced
            }
            DriverStage::Fresh => self.ask_agent(store),
            DriverStage::Issued(effect) => self.happen(effect, store),
            DriverStage::Asked(effect) => self.look_into_inbox(effect),
            DriverStage::Happened { effect, reply, due_ms } => self.deliver(&effect, reply, due_ms, store),
        }
    }

    /// Asks the agent for its next effect.
    fn ask_agent(&mut self, store: &mut dyn Store) -> Tick {
        let Some(agent) = &mut self.driver_state.agent else {
            self.driver_state.stage = DriverStage::Dead;
            return Tick::Crashed { armed: false };
        };
        match agent.poll() {
            Some(mut effect) => {
                // Effects are counted so that the agent can be killed at one; nobody kills the second writer.
                self.progress.effects += u64::from(!self.is_second_writers_turn);
                if let Some(tamper) = self.tamper {
                    tamper(&mut effect.kind);
                }
                self.driver_state.stage = DriverStage::Issued(effect.clone());
                if self.dies_here(&effect, When::Before) {
                    self.crash(store);
                    return Tick::Crashed { armed: true };
                }
                Tick::Answered
            }
            None if agent.is_fenced() => {
                self.driver_state.stage = DriverStage::Fenced;
                Tick::Fenced
            }
            // `stop` is the last effect, and after it the stage is `Stopped`; an agent without one is over by a driver's mistake.
            None => {
                let status = agent.run().state.status;
                self.driver_state.stage = DriverStage::Stopped(status);
                Tick::Stopped { status }
            }
        }
    }

    /// Lets an effect happen outside the agent.
    fn happen(&mut self, effect: Effect, store: &mut dyn Store) -> Tick {
        let (now_ms, cause) = (self.now_ms, self.driver_state.cause);
        let reply = match &effect.kind {
            EffectKind::Append(record) => Reply::at_once(self.append(record, store)),
            EffectKind::SaveCheckpoint { state } => Reply::at_once(match store.save(self.writer(), state) {
                Ok(saved) => Answer::Saved { bytes: saved.bytes, generation: saved.generation },
                Err(error) => store_answer(error),
            }),
            EffectKind::CallModel { request, .. } => {
                let injected = self.injected_fault();
                self.world.call_model(request, now_ms, cause, injected.as_ref())
            }
            EffectKind::CallTool { call, idempotency_key, expected_version, .. } => {
                let (key, expected_version) = (idempotency_key.clone(), expected_version.clone());
                let injected = self.injected_fault();
                self.world.call_tool(&ToolRequest { call: call.clone(), key, expected_version }, now_ms, cause, injected.as_ref())
            }
            EffectKind::AskApproval { tool, args, approval_key, .. } => {
                self.world.ask(approval_key, tool, args, now_ms, cause);
                self.driver_state.stage = DriverStage::Asked(effect.clone());
                if self.dies_here(&effect, When::After) {
                    self.crash(store);
                    return Tick::Crashed { armed: true };
                }
                return self.look_into_inbox(effect);
            }
            EffectKind::Wait { until_ms } => Reply { answer: Answer::TimeHasCome, takes_ms: until_ms.saturating_sub(now_ms) },
            EffectKind::Stop { status, final_text } => {
                self.world.run_ended(*status, final_text.as_ref(), now_ms, cause);
                self.driver_state.stage = DriverStage::Stopped(*status);
                return Tick::Stopped { status: *status };
            }
        };
        let takes_ms = reply.takes_ms;
        self.driver_state.stage = DriverStage::Happened { effect: effect.clone(), due_ms: now_ms + takes_ms, reply };
        if self.dies_here(&effect, When::After) {
            self.crash(store);
            return Tick::Crashed { armed: true };
        }
        Tick::Happened { takes_ms }
    }

    /// The fault that was put in from outside, for the session's own agent.
    fn injected_fault(&mut self) -> Option<FaultKind> {
        if self.is_second_writers_turn { None } else { self.injected.take() }
    }

    fn append(&mut self, record: &Arc<Record>, store: &mut dyn Store) -> Answer {
        match store.append(self.writer(), record) {
            Ok(()) => {
                Arc::make_mut(&mut self.log).push(record.clone());
                self.driver_state.cause = Some(self.log.len() as u64 - 1);
                Answer::Durable
            }
            Err(error) => store_answer(error),
        }
    }

    fn writer(&self) -> Writer {
        Writer { epoch: self.driver_state.epoch, fenced: self.mechanisms.has(Mechanism::SingleWriter) }
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
                self.driver_state.stage =
                    DriverStage::Happened { effect, due_ms: self.now_ms + takes_ms, reply: Reply { answer, takes_ms } };
                Tick::Happened { takes_ms }
            }
            None => {
                let approval_key = approval_key.clone();
                self.driver_state.stage = DriverStage::Asked(effect);
                Tick::WaitingForPerson { approval_key }
            }
        }
    }

    /// Brings the answer to the agent and asks what it wants next.
    fn deliver(&mut self, effect: &Effect, reply: Reply, due_ms: u64, store: &mut dyn Store) -> Tick {
        // The second writer may have been at work meanwhile.
        self.now_ms = self.now_ms.max(due_ms);
        if let Some(agent) = &mut self.driver_state.agent {
            let event = Event { effect: effect.id, at_ms: self.now_ms, answer: reply.answer };
            if let Err(error) = agent.handle(event) {
                // It can only be replaced, and its log says by what.
                self.crash_at(format!("it failed: {error}"), None, store);
                return Tick::Crashed { armed: false };
            }
        }
        self.ask_agent(store)
    }

    fn dies_here(&mut self, effect: &Effect, when: When) -> bool {
        if self.is_second_writers_turn {
            return false;
        }
        if self.armed == Some((self.progress.effects - 1, when)) {
            self.armed = None;
            return true;
        }
        self.progress.meets_point(&self.scenario, &effect.kind, when)
    }

    /// Kills the agent at once. Storage and world stay.
    pub fn crash(&mut self, store: &mut dyn Store) {
        if self.driver_state.agent.is_none() || matches!(self.driver_state.stage, DriverStage::Stopped(_)) {
            return;
        }
        let (at, point) = self.place();
        self.crash_at(at, point, store);
    }

    fn crash_at(&mut self, at: String, point: Option<String>, store: &mut dyn Store) {
        let step = self.driver_state.agent.as_ref().map_or(0, |agent| agent.run().state.step);
        self.driver_state.agent = None;
        self.driver_state.stage = DriverStage::Dead;
        self.progress.crashes += 1;
        let record = Arc::new(Record {
            ts_ms: self.now_ms,
            run_id: self.config.run_id.clone(),
            step,
            body: RecordBody::Crash { at: at.into(), point: point.map(Arc::from) },
        });
        // The mark is the lab's, for the reader; where it cannot be written, nothing depends on it.
        if store.append(Writer { epoch: self.driver_state.epoch, fenced: true }, &record).is_ok() {
            Arc::make_mut(&mut self.log).push(record);
        }
        let inbox_is_durable = self.mechanisms.has(Mechanism::DurableApprovals);
        self.world.agent_died(self.progress.crashes, self.now_ms, inbox_is_durable);
        self.judge();
    }

    /// The agent is gone with its page: nothing is written, and time is what storage and the world's books say.
    pub fn kill_unrecorded(&mut self) {
        if self.driver_state.agent.take().is_none() || matches!(self.driver_state.stage, DriverStage::Stopped(_)) {
            return;
        }
        self.driver_state.stage = DriverStage::Dead;
        self.second_writer = None;
        self.armed = None;
        let known = self.world.rows().iter().map(|row| row.at_ms).chain(self.log.iter().map(|record| record.ts_ms));
        self.now_ms = known.max().unwrap_or(self.scenario.start_ms);
    }

    /// Where the agent stands, for a crash's record: in words, and as a crash point's id.
    fn place(&self) -> (String, Option<String>) {
        let tools = &self.scenario.tools;
        let gap = |effect: &Effect, when| (gap_label(tools, &effect.kind, when), Some(gap_id(&effect.kind, when)));
        match &self.driver_state.stage {
            DriverStage::Issued(effect) => gap(effect, When::Before),
            DriverStage::Happened { effect, .. } | DriverStage::Asked(effect) => gap(effect, When::After),
            DriverStage::Dead | DriverStage::Fresh | DriverStage::Stopped(_) | DriverStage::Fenced => {
                ("between two effects".to_string(), None)
            }
        }
    }

    /// A new agent takes the run over, from what is in storage.
    pub fn resume(&mut self, store: &mut dyn Store) -> Result<(), SessionError> {
        // Storage may have room again; every other status is final.
        if matches!(self.driver_state.stage, DriverStage::Stopped(status) if status != Status::StorageFailed) {
            return Ok(());
        }
        self.take_over(store, self.now_ms + self.scenario.downtime_ms)
    }

    fn take_over(&mut self, store: &mut dyn Store, now_ms: u64) -> Result<(), SessionError> {
        let recovered = |durable: &Durable| match recover(self.config.clone(), durable, now_ms) {
            // Nothing is durable, and nothing was done: the run has not begun.
            Err(RecoveryError::Nothing) if self.world.is_untouched() => Ok(Agent::start(self.config.clone(), now_ms)),
            recovered => recovered.map_err(SessionError::Recovery),
        };
        // A run that cannot be recovered is taken from nobody.
        recovered(&store.read())?;
        // First the storage is taken over, then it is read: what the old agent writes until then counts, and nothing after.
        self.driver_state.epoch = store.take_over().map_err(SessionError::Store)?;
        let durable = store.read();
        let agent = recovered(&durable)?;
        self.log = Arc::new(durable.records);
        self.driver_state.cause = self.log.len().checked_sub(1).map(|index| index as u64);
        self.now_ms = now_ms;
        self.driver_state.agent = Some(agent);
        self.driver_state.stage = DriverStage::Fresh;
        self.progress.resumes += 1;
        self.judge();
        Ok(())
    }

    /// A person decides about an open question, whether the agent is alive or not.
    ///
    /// A living agent waits while they look at it, as long as the scenario says. While none lives, no time passes, and what is
    /// decided is decided: the answer waits for the next agent, not the other way round.
    pub fn decide(&mut self, key: &str, decision: Decision) -> Result<(), SessionError> {
        let looks_until_ms = self.driver_state.agent.is_some().then(|| self.world.answer_due_ms(key)).flatten();
        let at_ms = looks_until_ms.unwrap_or(self.now_ms);
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
    pub fn take_up(&mut self, rows: Vec<Arc<super::ledger::Row>>, log: Vec<Arc<Record>>) {
        self.world = self.world.with_books(rows);
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
}

fn store_answer(error: StoreError) -> Answer {
    match error {
        StoreError::Failed(message) => Answer::StorageFailed { message },
        StoreError::Fenced { owner_epoch } => Answer::Fenced { owner_epoch },
    }
}

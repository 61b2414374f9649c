//! What all native tests share: scenarios, runs, the world's books, and three ways to drive an agent.
//!
//! [`Session`] is the product's own driver. [`Site`] with its [`Tab`]s lets several agents work on one storage and one world, as two
//! browser tabs would. [`Bench`] has an agent alone: the test plays everybody else, and says what it expects in order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crashlab::agent::Agent;
use crashlab::agent::config::Config;
use crashlab::agent::protocol::{Answer, Completion, Effect, EffectKind, Event};
use crashlab::agent::run::{ModelStage, Turn};
use crashlab::lab::invariants::{Breach, Evidence, breaches};
use crashlab::lab::ledger::Entry;
use crashlab::lab::scenario::{Scenario, When};
use crashlab::lab::session::{Session, Setup, Tick};
use crashlab::lab::shipped::{SHIPPED, shipped};
use crashlab::lab::world::{ToolRequest, World};
use crashlab::log::checkpoint;
use crashlab::log::recovery::recover;
use crashlab::log::store::{
    Durable, FoundSnapshot, LogDamage, MemoryStore, SavedSnapshot, Store, StoreError, Writer, seal, unseal,
};
use crashlab::record::{Decision, Failure, FailureCode, Record, RecordBody, Status, ToolCall, read_log};
use serde_json::{Value, json};

// --- Scenarios -----------------------------------------------------------------------------------------------------------------

/// A shipped scenario.
pub fn scenario(id: &str) -> Arc<Scenario> {
    read(&document(id).to_string())
}

/// All shipped scenarios.
pub fn all_scenarios() -> Vec<Arc<Scenario>> {
    SHIPPED.iter().map(|(id, _)| scenario(id)).collect()
}

/// The document of a shipped scenario, to be changed.
pub fn document(id: &str) -> Value {
    serde_json::from_str(shipped(id).unwrap_or_else(|| panic!("no scenario {id}"))).unwrap()
}

/// A scenario from its document.
pub fn read(document: &str) -> Arc<Scenario> {
    Arc::new(Scenario::from_json(document).unwrap_or_else(|error| panic!("{error}")))
}

/// The world and the person of `double-charge` with another script and no faults; `edit` changes the rest.
pub fn scripted(turns: &[Value], edit: impl FnOnce(&mut Value)) -> Arc<Scenario> {
    let mut document = document("double-charge");
    document["script"] = turns.into();
    document["faults"] = json!([]);
    edit(&mut document);
    read(&document.to_string())
}

/// What the model says first.
pub fn first(calls: Value) -> Value {
    json!({"when": {"start": true}, "say": "To begin with:", "calls": calls})
}

/// What the model says after a tool.
pub fn after(tool: &str, outcome: &str, calls: Value) -> Value {
    json!({"when": {"after": tool, "outcome": outcome}, "say": format!("After {tool}:"), "calls": calls})
}

/// What the model says after the n-th result of a tool.
pub fn after_nth(tool: &str, nth: u32, calls: Value) -> Value {
    json!({"when": {"after": tool, "nth": nth}, "say": format!("After {tool} {nth}:"), "calls": calls})
}

/// The refund of `double-charge`, in one step, for this amount.
pub fn refund_of(amount: u64) -> Value {
    json!({"tool": "issue_refund", "args": {
        "invoice_id": "INV-2026-004512", "charge_id": "CH-90121", "amount": amount, "currency": "USD", "reason": "twice",
    }})
}

/// A voucher: irreversible, and not idempotent.
pub fn voucher_of(amount: u64) -> Value {
    json!({"tool": "send_voucher", "args": {"customer_id": "C-48213", "amount": amount, "currency": "USD"}})
}

/// A note.
pub fn note_of(text: &str) -> Value {
    json!({"tool": "add_internal_note", "args": {"text": text}})
}

/// A search.
pub fn search_for(query: &str) -> Value {
    json!({"tool": "search_kb", "args": {"query": query}})
}

// --- Runs through the product's driver -----------------------------------------------------------------------------------------

/// A run that went to its end.
pub fn finished(setup: Setup) -> (Session, MemoryStore) {
    let mut store = MemoryStore::default();
    let mut session = Session::start(setup, &mut store).unwrap();
    session.run_to_end(&mut store).unwrap();
    (session, store)
}

/// A run of this scenario that went to its end.
pub fn ran(scenario: &Arc<Scenario>) -> (Session, MemoryStore) {
    finished(Setup::of(scenario))
}

/// A run in which the agent dies at one place and is resumed.
pub fn ran_with_crash(scenario: &Arc<Scenario>, effect: u64, when: When) -> (Session, MemoryStore) {
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(scenario), &mut store).unwrap();
    session.arm(effect, when);
    session.run_to_end(&mut store).unwrap();
    (session, store)
}

/// The effects of a run without a crash, in order. Their places are what a crash is armed for.
pub fn effects_of(scenario: &Arc<Scenario>) -> Vec<EffectKind> {
    let mut store = MemoryStore::default();
    let mut session = Session::start(Setup::of(scenario), &mut store).unwrap();
    let mut effects = Vec::new();
    loop {
        let tick = session.tick(&mut store);
        if let Some((effect, When::Before)) = session.in_flight() {
            effects.push(effect.kind.clone());
        }
        if let Tick::Stopped { .. } = tick {
            return effects;
        }
    }
}

/// Every place at which a crash makes a difference.
pub fn crash_points(scenario: &Arc<Scenario>) -> Vec<(u64, When, EffectKind)> {
    let effects = effects_of(scenario).into_iter().enumerate();
    effects.flat_map(|(place, kind)| [When::Before, When::After].map(|when| (place as u64, when, kind.clone()))).collect()
}

/// Ticks until a condition holds.
pub fn run_until(session: &mut Session, store: &mut dyn Store, holds: impl Fn(&Session) -> bool) {
    for _ in 0..10_000 {
        if holds(session) {
            return;
        }
        session.tick(store);
    }
    panic!("it never came to that; the log ends with {:?}", session.log().last().map(|record| record.to_line()));
}

/// True if the effect that is out is a call of this tool, at this instant of it.
pub fn is_at_tool(session: &Session, tool: &str, when: When) -> bool {
    session.in_flight().is_some_and(
        |(effect, now)| matches!(&effect.kind, EffectKind::CallTool { call, .. } if *call.name == *tool && now == when),
    )
}

/// The log as text, as it is exported.
pub fn log_text(store: &MemoryStore) -> String {
    store.records().iter().map(|record| record.to_line() + "\n").collect()
}

/// The log as JSON.
pub fn log_json(store: &MemoryStore) -> Vec<Value> {
    store.records().iter().map(|record| record.to_json()).collect()
}

/// The records of one type, as JSON.
pub fn of_type(session: &Session, kind: &str) -> Vec<Value> {
    session.log().iter().filter(|record| record.body.kind() == kind).map(|record| record.to_json()).collect()
}

/// What the model was shown of each call, in order.
pub fn observations(session: &Session) -> Vec<String> {
    let messages = &session.agent().expect("a living agent").run().state.messages;
    messages.iter().filter(|message| message.role() == "tool").map(|message| message.content().to_string()).collect()
}

/// The newest checkpoint as text.
pub fn newest_checkpoint(store: &dyn Store) -> String {
    let durable = store.read();
    checkpoint::encode(durable.snapshots.first().expect("a checkpoint").state.as_ref().expect("a good one"))
}

// --- The world's books ---------------------------------------------------------------------------------------------------------

/// What the world's books hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    pub refunds: usize,
    pub vouchers: usize,
    pub notes: usize,
    pub escalations: usize,
    pub questions: usize,
    pub decisions: usize,
    pub mails: usize,
    pub hand_overs: usize,
}

/// Counts the rows of each kind.
pub fn books(world: &World) -> Books {
    let mut books = Books { questions: world.questions().len(), ..Books::default() };
    for row in world.rows() {
        match &row.entry {
            Entry::Refund { .. } => books.refunds += 1,
            Entry::Effect { name, .. } => match &**name {
                "voucher" => books.vouchers += 1,
                "note" => books.notes += 1,
                "escalation" => books.escalations += 1,
                // A tool of the scenario's own: see `effects`.
                _ => {}
            },
            Entry::Decision { .. } => books.decisions += 1,
            Entry::Mail { .. } => books.mails += 1,
            Entry::HandOver { .. } => books.hand_overs += 1,
            Entry::ModelCall { .. } | Entry::Request { .. } | Entry::Question { .. } | Entry::InboxLost => {}
        }
    }
    books
}

/// What the books say of the effects of a name, in order.
pub fn effects(world: &World, wanted: &str) -> Vec<String> {
    let rows = world.rows().iter().filter_map(|row| match &row.entry {
        Entry::Effect { name, text, .. } if **name == *wanted => Some(text.to_string()),
        _ => None,
    });
    rows.collect()
}

/// What `double-charge` leaves behind.
pub fn one_of_each() -> Books {
    Books { refunds: 1, notes: 1, questions: 1, decisions: 1, mails: 1, ..Books::default() }
}

/// How often a service was called.
pub fn requests(world: &World, wanted: &str) -> usize {
    world.rows().iter().filter(|row| matches!(&row.entry, Entry::Request { tool, .. } if **tool == *wanted)).count()
}

/// How often the provider was called.
pub fn model_calls(world: &World) -> usize {
    world.rows().iter().filter(|row| matches!(row.entry, Entry::ModelCall { .. })).count()
}

/// Fails if an invariant broke at any time of the run, or if the agent believes that it has spent less than it has.
pub fn assert_unbroken(session: &Session, place: &str) {
    assert!(session.breaches().is_empty(), "{place}: {:?}", session.breaches());
    if let Some(agent) = session.agent() {
        assert_counts_its_spending(agent, session.world(), place);
    }
}

/// Fails if the provider's meter is above what the agent has counted, with the projection of a call that is out.
pub fn assert_counts_its_spending(agent: &Agent, world: &World, place: &str) {
    let (run, billed) = (agent.run(), world.meter().3);
    let is_out = matches!(&run.turn, Turn::Model(turn) if turn.stage == ModelStage::InFlight);
    let open = if is_out { run.projection(agent.config()).cost } else { Default::default() };
    let counted = run.state.cost.plus(open);
    assert!(counted >= billed, "{place}: the agent has counted {} USD of {}", counted.usd(), billed.usd());
}

// --- Storage as text, with what can go wrong there -----------------------------------------------------------------------------

/// Storage that keeps text, as a browser does: lines, and two slots for snapshots.
#[derive(Clone, Debug, Default)]
pub struct TextStore {
    pub lines: Vec<String>,
    /// The newest first.
    pub slots: Vec<String>,
    pub epoch: u32,
    /// The bytes that fit.
    pub quota: Option<usize>,
    /// Writes that fail, by number from 0, snapshots included.
    pub failing: BTreeSet<usize>,
    /// Writes so far, failed ones included.
    pub writes: usize,
    /// What was written: a record's type or `snapshot`, and its bytes.
    pub written: Vec<(String, usize)>,
}

impl TextStore {
    /// What a store in memory holds, as text.
    pub fn of(store: &MemoryStore) -> TextStore {
        let durable = store.read();
        let sealed = |found: &FoundSnapshot| seal(found.generation, &checkpoint::encode(found.state.as_ref().unwrap()));
        TextStore {
            lines: durable.records.iter().map(|record| record.to_line()).collect(),
            slots: durable.snapshots.iter().map(sealed).collect(),
            epoch: store.epoch(),
            ..TextStore::default()
        }
    }

    fn write(&mut self, writer: Writer, kind: &str, text: &str, frees: usize) -> Result<(), StoreError> {
        if writer.fenced && writer.epoch != self.epoch {
            return Err(StoreError::Fenced { owner_epoch: self.epoch });
        }
        self.writes += 1;
        if self.failing.contains(&(self.writes - 1)) {
            return Err(StoreError::Failed("it could not be written".to_string()));
        }
        let used = |store: &TextStore| store.lines.iter().chain(&store.slots).map(String::len).sum::<usize>();
        if self.quota.is_some_and(|quota| used(self) - frees + text.len() > quota) {
            return Err(StoreError::Failed("the quota has been exceeded".to_string()));
        }
        self.written.push((kind.to_string(), text.len()));
        Ok(())
    }
}

impl Store for TextStore {
    fn append(&mut self, writer: Writer, record: &Arc<Record>) -> Result<(), StoreError> {
        let line = record.to_line();
        self.write(writer, record.body.kind(), &line, 0)?;
        self.lines.push(line);
        Ok(())
    }

    fn save(&mut self, writer: Writer, state: &Arc<crashlab::agent::state::AgentState>) -> Result<SavedSnapshot, StoreError> {
        let generation = self.slots.first().map_or(1, |slot| slot.split(' ').next().unwrap().parse::<u64>().unwrap_or(0) + 1);
        let json = checkpoint::encode(state);
        let sealed = seal(generation, &json);
        let frees = self.slots.get(1).map_or(0, String::len);
        self.write(writer, "snapshot", &sealed, frees)?;
        self.slots.insert(0, sealed);
        self.slots.truncate(2);
        Ok(SavedSnapshot { bytes: json.len() as u64, generation })
    }

    fn take_over(&mut self) -> Result<u32, StoreError> {
        // A torn record was never durable: the next one takes its place.
        if self.read().log_damage.is_some_and(|damage| damage.is_torn_end) {
            self.lines.pop();
        }
        self.epoch += 1;
        Ok(self.epoch)
    }

    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn read(&self) -> Durable {
        let snapshots = self.slots.iter().map(|slot| unseal(slot)).collect();
        match read_log(&self.lines.join("\n")) {
            Ok((records, torn)) => Durable {
                records: records.into_iter().map(Arc::new).collect(),
                snapshots,
                log_damage: torn.map(|message| LogDamage { message, is_torn_end: true }),
            },
            Err(error) => Durable {
                records: Vec::new(),
                snapshots,
                log_damage: Some(LogDamage { message: error.to_string(), is_torn_end: false }),
            },
        }
    }
}

// --- Several agents on one storage and one world -------------------------------------------------------------------------------

/// Storage, world and clock that several agents share.
#[derive(Clone)]
pub struct Site {
    pub scenario: Arc<Scenario>,
    pub config: Arc<Config>,
    pub world: World,
    pub store: MemoryStore,
    pub now_ms: u64,
}

/// An agent with its driver. A crash of it is that the test drops it: nothing is written.
#[derive(Clone)]
pub struct Tab {
    pub agent: Agent,
    writer: Writer,
    /// The place of the newest record that this agent knows to be its own.
    cause: Option<u64>,
    out: Option<Effect>,
    answer: Option<Answer>,
}

impl Site {
    pub fn new(scenario: &Arc<Scenario>) -> Site {
        let setup = Setup::of(scenario);
        let config = Arc::new(scenario.config(setup.mechanisms, setup.seed, setup.run_id()));
        Site {
            scenario: scenario.clone(),
            config,
            world: World::new(scenario.clone(), true),
            store: MemoryStore::default(),
            now_ms: scenario.start_ms,
        }
    }

    /// The agent that starts the run, or the one that goes on with it.
    pub fn open(&mut self) -> Tab {
        let epoch = self.store.take_over().unwrap();
        let durable = self.store.read();
        let agent = if durable.records.is_empty() {
            Agent::start(self.config.clone(), self.now_ms)
        } else {
            recover(self.config.clone(), &durable, self.now_ms).unwrap()
        };
        Tab { agent, writer: Writer { epoch, fenced: true }, cause: None, out: None, answer: None }
    }

    /// The `Always` invariants that do not hold now.
    pub fn breaches(&self, tab: &Tab) -> Vec<Breach> {
        assert_counts_its_spending(&tab.agent, &self.world, "at the end");
        breaches(&Evidence { scenario: &self.scenario, config: &self.config, world: &self.world, log: self.store.records() })
    }
}

impl Tab {
    /// A third of an effect: it is asked for, it happens, its answer arrives. False: there is nothing more to do.
    pub fn step(&mut self, site: &mut Site) -> bool {
        match (self.out.clone(), self.answer.take()) {
            (None, _) => {
                self.out = self.agent.poll();
                return self.out.is_some();
            }
            (Some(effect), None) => match self.perform(&effect.kind, site) {
                Some(answer) => self.answer = Some(answer),
                None => self.out = None,
            },
            (Some(effect), Some(answer)) => {
                self.agent.handle(Event { effect: effect.id, at_ms: site.now_ms, answer }).unwrap();
                self.out = None;
            }
        }
        true
    }

    /// To the end; at most so many effects.
    pub fn finish(&mut self, site: &mut Site) {
        for _ in 0..3_000 {
            if !self.step(site) {
                return;
            }
        }
        panic!("the run does not end");
    }

    /// The effect that is out, and whether it has happened.
    pub fn in_flight(&self) -> Option<(&EffectKind, When)> {
        let when = if self.answer.is_some() { When::After } else { When::Before };
        self.out.as_ref().map(|effect| (&effect.kind, when))
    }

    fn perform(&mut self, kind: &EffectKind, site: &mut Site) -> Option<Answer> {
        let refused = |error| match error {
            StoreError::Failed(message) => Answer::StorageFailed { message },
            StoreError::Fenced { owner_epoch } => Answer::Fenced { owner_epoch },
        };
        let reply = match kind {
            EffectKind::Append(record) => {
                return Some(match site.store.append(self.writer, record) {
                    Ok(()) => {
                        self.cause = Some(site.store.records().len() as u64 - 1);
                        Answer::Durable
                    }
                    Err(error) => refused(error),
                });
            }
            EffectKind::SaveCheckpoint { state } => {
                return Some(match site.store.save(self.writer, state) {
                    Ok(saved) => Answer::Saved { bytes: saved.bytes, generation: saved.generation },
                    Err(error) => refused(error),
                });
            }
            EffectKind::CallModel { request, .. } => site.world.call_model(request, site.now_ms, self.cause, None),
            EffectKind::CallTool { call, idempotency_key, expected_version, .. } => {
                let request =
                    ToolRequest { call: call.clone(), key: idempotency_key.clone(), expected_version: expected_version.clone() };
                site.world.call_tool(&request, site.now_ms, self.cause, None)
            }
            EffectKind::AskApproval { tool, args, approval_key, .. } => {
                site.world.ask(approval_key, tool, args, site.now_ms, self.cause);
                if site.world.decision(approval_key).is_none() {
                    site.world.decide(approval_key, yes(), site.now_ms + 42_000).unwrap();
                }
                let (answer, decided_ms) = site.world.decision(approval_key).unwrap();
                site.now_ms = site.now_ms.max(decided_ms);
                return Some(answer);
            }
            EffectKind::Wait { until_ms } => {
                site.now_ms = site.now_ms.max(*until_ms);
                return Some(Answer::TimeHasCome);
            }
            EffectKind::Stop { status, final_text } => {
                site.world.run_ended(*status, final_text.as_ref(), site.now_ms, self.cause);
                return None;
            }
        };
        site.now_ms += reply.takes_ms;
        Some(reply.answer)
    }
}

// --- An agent alone ------------------------------------------------------------------------------------------------------------

/// An agent alone. Each method says what the agent is expected to want, or plays the other side; [`Bench::nothing_more`] ends it.
#[derive(Clone)]
pub struct Bench {
    pub agent: Agent,
    pub config: Arc<Config>,
    pub store: MemoryStore,
    pub now_ms: u64,
    out: Option<Effect>,
    writer: Writer,
}

impl Bench {
    pub fn new(scenario: &Arc<Scenario>) -> Bench {
        let site = Site::new(scenario);
        let mut store = site.store;
        let writer = Writer { epoch: store.take_over().unwrap(), fenced: true };
        let agent = Agent::start(site.config.clone(), site.now_ms);
        Bench { agent, config: site.config, store, now_ms: site.now_ms, out: None, writer }
    }

    /// The agent's next effect, which stays out.
    pub fn wants(&mut self) -> Effect {
        assert!(self.out.is_none(), "still out: {:?}", self.out);
        let effect =
            self.agent.poll().unwrap_or_else(|| panic!("the agent wants nothing; its log ends {:?}", self.last_record()));
        self.out = Some(effect.clone());
        effect
    }

    fn last_record(&self) -> Option<String> {
        self.store.records().last().map(|record| record.to_line())
    }

    /// The id of the effect that is out.
    pub fn awaited(&self) -> Option<u64> {
        self.out.as_ref().map(|effect| effect.id)
    }

    /// Answers the effect that is out.
    pub fn answer(&mut self, answer: Answer) -> &mut Bench {
        let effect = self.out.take().expect("an effect that is out");
        self.now_ms += 1;
        self.agent.handle(Event { effect: effect.id, at_ms: self.now_ms, answer }).unwrap();
        self
    }

    /// It writes records of these types, and each becomes durable.
    pub fn writes(&mut self, kinds: &[&str]) -> &mut Bench {
        for kind in kinds {
            match self.wants().kind {
                EffectKind::Append(record) if record.body.kind() == *kind => {
                    self.store.append(self.writer, &record).unwrap();
                    self.answer(Answer::Durable);
                }
                other => panic!("expected to write {kind}, found {other:?}"),
            }
        }
        self
    }

    /// It saves a snapshot and writes its record.
    pub fn saves(&mut self) -> &mut Bench {
        match self.wants().kind {
            EffectKind::SaveCheckpoint { state } => {
                let saved = self.store.save(self.writer, &state).unwrap();
                self.answer(Answer::Saved { bytes: saved.bytes, generation: saved.generation }).writes(&["checkpoint"])
            }
            other => panic!("expected a snapshot, found {other:?}"),
        }
    }

    /// It calls the model.
    pub fn calls_model(&mut self) -> &mut Bench {
        match self.wants().kind {
            EffectKind::CallModel { .. } => self,
            other => panic!("expected a model call, found {other:?}"),
        }
    }

    /// The model says this; `(id, tool, args)` are its calls.
    pub fn says(&mut self, thought: &str, calls: &[(&str, &str, Value)]) -> &mut Bench {
        self.answer(Answer::Completion(completion(thought, calls)))
    }

    /// It calls this tool.
    pub fn calls_tool(&mut self, tool: &str) -> &mut Bench {
        match self.wants().kind {
            EffectKind::CallTool { call, .. } if *call.name == *tool => self,
            other => panic!("expected a call of {tool}, found {other:?}"),
        }
    }

    /// The tool gives this.
    pub fn gives(&mut self, result: Value) -> &mut Bench {
        self.answer(Answer::Result(result))
    }

    /// Model or tool fails.
    pub fn fails(&mut self, code: FailureCode) -> &mut Bench {
        self.answer(Answer::Failed(Failure::new(code, "as the test wants it")))
    }

    /// It asks a person.
    pub fn asks(&mut self) -> &mut Bench {
        match self.wants().kind {
            EffectKind::AskApproval { .. } => self,
            other => panic!("expected a question, found {other:?}"),
        }
    }

    /// It waits.
    pub fn waits(&mut self) -> u64 {
        match self.wants().kind {
            EffectKind::Wait { until_ms } => until_ms,
            other => panic!("expected a wait, found {other:?}"),
        }
    }

    /// It stops.
    pub fn stops(&mut self, status: Status) -> &mut Bench {
        match self.wants().kind {
            EffectKind::Stop { status: found, .. } => assert_eq!(found, status),
            other => panic!("expected the end, found {other:?}"),
        }
        self.out = None;
        self
    }

    /// Nothing else was emitted, and nothing will be.
    pub fn nothing_more(&mut self) {
        assert_eq!(self.out, None);
        assert_eq!(self.agent.poll(), None);
        assert!(self.agent.is_over());
    }

    /// The agent dies here, and a new one stands where it stood.
    pub fn dies(&mut self) -> &mut Bench {
        self.writer.epoch = self.store.take_over().unwrap();
        self.agent = recover(self.config.clone(), &self.store.read(), self.now_ms).unwrap();
        self.out = None;
        self
    }

    /// The agent dies here, and a new one takes over.
    pub fn dies_and_resumes(&mut self) -> &mut Bench {
        self.dies().writes(&["resume"])
    }

    /// The newest record.
    pub fn newest(&self) -> &RecordBody {
        &self.store.records().last().expect("a record").body
    }
}

/// A completion with these calls.
pub fn completion(thought: &str, calls: &[(&str, &str, Value)]) -> Completion {
    let tool_calls = calls.iter().map(|(id, tool, args)| ToolCall::new(*id, *tool, args.clone())).collect();
    let usage = json!({"input_tokens": 100, "output_tokens": 10});
    Completion { thought: thought.into(), plan: None, tool_calls, usage, latency_ms: 500 }
}

/// Maya says yes.
pub fn yes() -> Decision {
    Decision::new(true, "human:maya", None)
}

/// Maya says no.
pub fn no() -> Decision {
    Decision::new(false, "human:maya", None)
}

/// Fails with the neighbourhood of the first difference, as the texts are long.
pub fn assert_same(found: &str, expected: &str, place: &str) {
    if found != expected {
        let at = found.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
        let near =
            |text: &str| String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(40)..(at + 60).min(text.len())]).to_string();
        panic!("{place}:\n  expected … {} …\n  found    … {} …", near(expected), near(found));
    }
}

// --- Golden files --------------------------------------------------------------------------------------------------------------

/// Compares with `tests/golden/<name>`; `UPDATE_EXPECT=1` rewrites the file instead.
pub fn assert_golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == actual {
        return;
    }
    let differs = expected.lines().zip(actual.lines()).position(|(a, b)| a != b);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("<end>").to_string();
    panic!("{name}, line {}:\n  expected {}\n  found    {}\nUPDATE_EXPECT=1 rewrites it", line + 1, at(&expected), at(actual));
}

/// How often each thing is in a list.
pub fn tally<T: Ord>(things: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    for thing in things {
        *counts.entry(thing).or_default() += 1;
    }
    counts
}

//! A scenario: the task, the script of the model, the world, the faults, and who approves. A JSON document.
//!
//! `scenarios/README.md` is the reference of the format. Two of its keys bring further agents:
//!
//! - `"rival": {"effect": "call_tool", "tool": "get_invoice", "nth": 1, "when": "after"}` (an instant, as in `crashes`): there a second
//!   tab resumes the run, although the first agent lives. The first one continues until storage refuses it.
//! - `"herd": {"agents": 50, "tool": "get_invoice", "capacity_per_s": 10, "down_until_s": 4.5}`: so many agents (2 to 200, with the one
//!   that is shown) start the same scenario at the same time, each with its own seed and its own world. The tool's service answers 503
//!   until that time, and then to all calls but the first 10 of each second.
//!
//! An entry of `person.answers` is `"approved"`, `"denied"` or `{"decision": …, "note": …, "answers_after_s": …}`, where the last says
//! how long the person looks at this question.

use std::sync::Arc;

use serde_json::Value;

use super::faults::Fault;
use super::invariants::INVARIANTS;
use super::mechanisms::Mechanisms;
use super::model::{Turn, read_script};
use super::tool_definition::{ToolDefinition, effects_of, read_tools};
use super::world::WorldData;
use crate::agent::config::{Config, Limits};
use crate::agent::retry::RetryPolicy;
use crate::agent::tools::{ToolSpec, one_of};
use crate::base::hash::hash64;
use crate::base::json::{Fields, ReadError, compact, parse_handwritten, read, wrong};
use crate::base::money::{PicoUsd, Prices};
use crate::base::text::list;
use crate::lab::fleet::FleetSpec;
use crate::record::{ApprovalStatus, Status};

/// A scenario that has been read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name in links and records: lower-case letters, digits, hyphens.
    pub id: String,
    /// A title for people.
    pub title: String,
    /// One or two sentences: what happens.
    pub summary: String,
    /// What one may try or look at.
    pub watch: Vec<String>,
    /// The ticket's number.
    pub task_id: Arc<str>,
    /// The customer's words, also the agent's task.
    pub ticket: Arc<str>,
    /// The W3C trace context of who hands the ticket over: `traceparent` and `tracestate`. What is invalid is ignored.
    pub trace_context: [Option<Arc<str>>; 2],
    /// Who the agent is.
    pub system: Arc<str>,
    /// Where the answer goes.
    pub customer: Arc<str>,
    /// When the run starts, in milliseconds since 1970.
    pub start_ms: u64,
    /// How long the agent is dead between a crash and the resume.
    pub downtime_ms: u64,
    /// What tokens cost.
    pub prices: Prices,
    /// What the guards compare with.
    pub limits: Limits,
    /// How failures are repeated.
    pub retry: RetryPolicy,
    /// Who approves; `None`: nobody is set up.
    pub person: Option<Person>,
    /// The lab's tools with the scenario's flags, and the scenario's own tools.
    pub tools: Arc<[ToolDefinition]>,
    /// What the agent is told of them.
    specs: Arc<[ToolSpec]>,
    /// What the world holds when the run starts.
    pub world: Arc<WorldData>,
    /// What the model says.
    pub script: Vec<Turn>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Where the agent dies by itself.
    pub crashes: Vec<CrashPoint>,
    /// Where a second tab resumes the run although the first agent lives.
    pub second_writer: Option<CrashPoint>,
    /// Agents that work at the same time and need the same service.
    pub fleet: Option<FleetSpec>,
    /// Mechanisms that the scenario takes away.
    pub mechanisms: Mechanisms,
    /// What is to be observed with these mechanisms.
    pub expect: Expect,
    /// The document.
    pub json: Arc<str>,
    /// A digest of the document's meaning: white space does not count.
    pub digest: u64,
}

/// The person who decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Such as `maya`; an approver is `human:maya`.
    pub id: String,
    /// For people.
    pub name: String,
    /// How long they think.
    pub answers_after_ms: u64,
    /// When a question expires.
    pub expires_after_ms: Option<u64>,
    /// What they say to the n-th question; the last one counts for all further ones. Empty: they never answer.
    pub answers: Vec<PersonAnswer>,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonAnswer {
    /// Yes or no.
    pub approved: bool,
    /// What they write beside it.
    pub note: Option<Arc<str>>,
    /// How long they look at this question, if not as long as at the others.
    pub after_ms: Option<u64>,
}

impl Person {
    /// What they say to the n-th question, from 0; `None` if they never answer.
    pub fn answer(&self, question: usize) -> Option<&PersonAnswer> {
        self.answers.get(question).or(self.answers.last())
    }
}

/// A place where the agent dies by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    /// The kind of effect, such as `call_tool`.
    pub effect: String,
    /// Only of this tool.
    pub tool: Option<String>,
    /// Only of this type of record.
    pub record: Option<String>,
    /// Which of those, from 1.
    pub nth: u32,
    /// Before it happened, or after it happened but before its answer.
    pub when: When,
}

/// The two instants of an effect at which a crash makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum When {
    /// It has been asked for and has not happened.
    Before,
    /// It has happened, and its answer has not arrived.
    After,
}

impl When {
    /// The word in scenarios and links.
    pub fn as_str(self) -> &'static str {
        match self {
            When::Before => "before",
            When::After => "after",
        }
    }

    /// The instant of a word.
    pub fn from_name(word: &str) -> Option<When> {
        [When::Before, When::After].into_iter().find(|when| when.as_str() == word)
    }
}

/// What a run of the scenario has to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The final status.
    pub status: Option<String>,
    /// Refunds in the ledger.
    pub refunds: Option<u64>,
    /// Questions put to a person.
    pub questions: Option<u64>,
    /// Notes in the ledger.
    pub notes: Option<u64>,
    /// Effects in the ledger, by name.
    pub effects: Vec<(String, u64)>,
    /// Model calls billed.
    pub model_calls: Option<u64>,
    /// Invariants that break, by id.
    pub broken: Vec<String>,
}

/// The types of records that an agent writes.
const RECORDS: [&str; 14] = [
    "run_start",
    "llm_request",
    "llm_call",
    "llm_retry",
    "tool_retry",
    "approval_request",
    "approval",
    "tool_call",
    "tool_result",
    "replan",
    "guard",
    "checkpoint",
    "resume",
    "stop",
];

const KEYS: [&str; 21] = [
    "id",
    "title",
    "summary",
    "watch",
    "task",
    "start",
    "downtime_s",
    "prices",
    "limits",
    "retry",
    "person",
    "tools",
    "world",
    "script",
    "faults",
    "crashes",
    "rival",
    "herd",
    "mechanisms",
    "expect",
    "about",
];

impl Scenario {
    /// Reads and checks a document. The error names the JSON path, what stands there, and what was expected.
    pub fn from_json(text: &str) -> Result<Scenario, ReadError> {
        let value = parse_handwritten(text)?;
        read(&value, "$", |from| Scenario::read(from, text.into(), hash64(compact(&value).as_bytes())))
    }

    fn read(from: &Fields, json: Arc<str>, digest: u64) -> Scenario {
        from.only(&KEYS);
        let task = from.object("task");
        task.only(&["id", "ticket", "system", "customer", "traceparent", "tracestate"]);
        let context = |key: &str| task.optional(key, Fields::arc_str);
        let tools = read_tools(from);
        let specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec.clone()).collect();
        let world = WorldData::from_json(&from.object("world"));
        let faults = from.optional_objects("faults");
        let crashes = from.optional_objects("crashes");
        Scenario {
            id: read_id(from),
            title: from.non_empty_str("title").to_string(),
            summary: from.non_empty_str("summary").to_string(),
            watch: strings(from, "watch"),
            task_id: task.non_empty_str("id").into(),
            ticket: task.non_empty_str("ticket").into(),
            trace_context: [context("traceparent"), context("tracestate")],
            system: task.non_empty_str("system").into(),
            customer: task.non_empty_str("customer").into(),
            start_ms: read_start(from),
            downtime_ms: from.optional("downtime_s", Fields::duration_ms).unwrap_or(60_000),
            prices: read_prices(&from.object("prices")),
            limits: from.optional("limits", Fields::object).map_or_else(Limits::default, |limits| read_limits(&limits)),
            retry: from.optional("retry", Fields::object).map_or_else(RetryPolicy::default, |retry| read_retry(&retry)),
            person: from.optional("person", Fields::object).map(|person| read_person(&person)),
            script: read_script(from, &specs),
            faults: faults.iter().map(|fault| Fault::from_json(fault, &specs, &world)).collect(),
            crashes: crashes.iter().map(|point| CrashPoint::from_json(point, &specs)).collect(),
            second_writer: from.optional("rival", Fields::object).map(|point| CrashPoint::from_json(&point, &specs)),
            fleet: from.optional("herd", Fields::object).map(|fleet| FleetSpec::from_json(&fleet, &specs)),
            specs: specs.into(),
            world: Arc::new(world),
            mechanisms: from
                .optional("mechanisms", Fields::object)
                .map_or(Mechanisms::ALL_ON, |given| Mechanisms::from_json(&given)),
            expect: from.optional("expect", Fields::object).map_or_else(Expect::default, |expect| read_expect(&expect, &tools)),
            tools: tools.into(),
            json,
            digest,
        }
    }

    /// What the agent is given. `run_id` names the run, `seed` decides its lots.
    pub fn config(&self, mechanisms: Mechanisms, seed: u64, run_id: Arc<str>) -> Config {
        let [traceparent, tracestate] = self.trace_context.clone();
        Config {
            run_id,
            task_id: self.task_id.clone(),
            scenario: format!("{}#{:08x}", self.id, self.digest >> 32).into(),
            seed,
            system: self.system.clone(),
            task: self.ticket.clone(),
            limits: self.limits.clone(),
            prices: self.prices,
            retry: mechanisms.retry(&self.retry),
            tools: self.specs.clone(),
            has_approver: self.person.is_some(),
            policies: mechanisms.policies(),
            mechanisms: Arc::new(mechanisms.to_json()),
            traceparent,
            tracestate,
        }
    }
}

/// An array of strings that may be absent.
fn strings(from: &Fields, key: &str) -> Vec<String> {
    from.optional(key, Fields::strs).unwrap_or_default().into_iter().map(str::to_string).collect()
}

fn read_id(from: &Fields) -> String {
    let id = from.str("id");
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if id.is_empty() || id.len() > 60 || !id.bytes().all(fits) {
        from.note_wrong("id", "1 to 60 lower-case letters, digits and hyphens");
    }
    id.to_string()
}

/// The year 9999 is the last that a date has room for.
fn read_start(from: &Fields) -> u64 {
    let start_ms = from.scaled("start", 3);
    if start_ms >= 253_402_300_800_000 {
        from.note_wrong("start", "seconds since 1970, before the year 10000");
    }
    start_ms
}

/// Reads what tokens cost.
pub(crate) fn read_prices(from: &Fields) -> Prices {
    from.only(&["input_usd_per_million", "output_usd_per_million"]);
    // USD per million tokens times 10⁶ is 10⁻¹² USD per token.
    let price = |key: &str| PicoUsd(from.scaled(key, 6));
    Prices { input: price("input_usd_per_million"), output: price("output_usd_per_million") }
}

/// Reads limits; what is not given has its default.
pub(crate) fn read_limits(from: &Fields) -> Limits {
    from.only(&[
        "max_steps",
        "budget_usd",
        "budget_tokens",
        "deadline_s",
        "max_repeats",
        "max_stale_steps",
        "max_replans",
        "max_resumes",
        "output_reserve",
    ]);
    let default = Limits::default();
    let small = |key: &str, default: u32| from.optional(key, Fields::u32).unwrap_or(default);
    let count = |key: &str, default: u64| from.optional(key, Fields::u64).unwrap_or(default);
    Limits {
        max_steps: small("max_steps", default.max_steps),
        max_repeats: small("max_repeats", default.max_repeats),
        max_stale_steps: small("max_stale_steps", default.max_stale_steps),
        max_replans: small("max_replans", default.max_replans),
        max_resumes: small("max_resumes", default.max_resumes),
        budget: from.optional("budget_usd", |from, key| from.scaled(key, 12)).map_or(default.budget, PicoUsd),
        budget_tokens: count("budget_tokens", default.budget_tokens),
        deadline_ms: from.optional("deadline_s", Fields::duration_ms).unwrap_or(default.deadline_ms),
        output_reserve: count("output_reserve", default.output_reserve),
    }
}

/// Reads how failures are repeated; what is not given has its default.
pub(crate) fn read_retry(from: &Fields) -> RetryPolicy {
    from.only(&["max_attempts", "base_s", "cap_s", "patience_s"]);
    let default = RetryPolicy::default();
    let duration = |key: &str, default: u64| from.optional(key, Fields::duration_ms).unwrap_or(default);
    RetryPolicy {
        max_attempts: from.optional("max_attempts", Fields::ordinal).unwrap_or(default.max_attempts),
        base_ms: duration("base_s", default.base_ms),
        cap_ms: duration("cap_s", default.cap_ms),
        patience_ms: duration("patience_s", default.patience_ms),
        ..default
    }
}

fn read_person(from: &Fields) -> Person {
    from.only(&["id", "name", "answers_after_s", "expires_after_s", "answers"]);
    let person = Person {
        id: from.non_empty_str("id").to_string(),
        name: from.non_empty_str("name").to_string(),
        answers_after_ms: from.optional("answers_after_s", Fields::duration_ms).unwrap_or(40_000),
        expires_after_ms: from.optional("expires_after_s", Fields::duration_ms),
        answers: from.array("answers").iter().enumerate().map(|(index, answer)| read_answer(from, index, answer)).collect(),
    };
    if person.answers.is_empty() && person.expires_after_ms.is_none() {
        from.note_wrong("answers", "at least one answer, or `expires_after_s` for questions that nobody answers");
    }
    person
}

fn read_answer<'a>(person: &Fields<'a>, index: usize, value: &'a Value) -> PersonAnswer {
    let path = format!("{}[{index}]", person.path("answers"));
    let (word, note, after_ms) = match value {
        Value::Object(_) => {
            let from = person.item(value, &path);
            from.only(&["decision", "note", "answers_after_s"]);
            (from.str("decision"), from.optional("note", Fields::arc_str), from.optional("answers_after_s", Fields::duration_ms))
        }
        word => (word.as_str().unwrap_or_default(), None, None),
    };
    let approved = word == ApprovalStatus::Approved.as_str();
    if !approved && word != ApprovalStatus::Denied.as_str() {
        let expected = "\"approved\", \"denied\", or {\"decision\": …, \"note\": …, \"answers_after_s\": …}";
        person.note(wrong(&path, expected, value));
    }
    PersonAnswer { approved, note, after_ms }
}

fn read_expect(from: &Fields, tools: &[ToolDefinition]) -> Expect {
    from.only(&["status", "refunds", "questions", "notes", "effects", "model_calls", "broken"]);
    let status = from.optional("status", Fields::str);
    if status.is_some_and(|word| word.parse::<Status>().is_err()) {
        from.note_wrong("status", "a status, such as done or max_steps");
    }
    let broken = from.optional("broken", Fields::strs).unwrap_or_default();
    if let Some(index) = broken.iter().position(|id| INVARIANTS.iter().all(|invariant| invariant.id != *id)) {
        let path = format!("{}[{index}]", from.path("broken"));
        from.note(wrong(&path, "the id of an invariant", &Value::from(broken[index])));
    }
    let effects = from.optional("effects", Fields::object).map(|given| {
        let known: Vec<&str> = effects_of(tools).map(|effect| &*effect.name).collect();
        given.only(&known);
        given.keys().map(|name| (name.to_string(), given.u64(name))).collect()
    });
    let count = |key: &str| from.optional(key, Fields::u64);
    Expect {
        status: status.map(str::to_string),
        refunds: count("refunds"),
        questions: count("questions"),
        notes: count("notes"),
        effects: effects.unwrap_or_default(),
        model_calls: count("model_calls"),
        broken: broken.into_iter().map(str::to_string).collect(),
    }
}

impl CrashPoint {
    fn from_json(from: &Fields, tools: &[ToolSpec]) -> CrashPoint {
        from.only(&["effect", "tool", "record", "nth", "when"]);
        let effects = ["append", "call_model", "call_tool", "ask_approval", "wait", "save_checkpoint"];
        let effect = from.str("effect");
        if !effects.contains(&effect) {
            from.note_wrong("effect", &list(&effects));
        }
        let when = When::from_name(from.str("when"));
        if when.is_none() {
            from.note_wrong("when", "before or after");
        }
        let tool = from.optional("tool", Fields::str);
        if tool.is_some_and(|tool| tools.iter().all(|known| known.name != tool)) {
            from.note_wrong("tool", &one_of(tools));
        }
        let record = from.optional("record", Fields::str);
        if record.is_some_and(|record| !RECORDS.contains(&record)) {
            from.note_wrong("record", &list(&RECORDS));
        }
        CrashPoint {
            effect: effect.to_string(),
            tool: tool.map(str::to_string),
            record: record.map(str::to_string),
            nth: from.optional("nth", Fields::ordinal).unwrap_or(1),
            when: when.unwrap_or(When::Before),
        }
    }
}

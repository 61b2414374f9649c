//! The outside world: it continues without the agent and keeps its own books.

use std::sync::Arc;

use serde_json::Value;

use super::faults::{Fault, FaultKind, FaultTarget};
use super::ledger::{Entry, Row};
use super::scenario::Scenario;
use super::tool_definition::ToolDefinition;
use super::{model, services};
use crate::agent::protocol::{Answer, ModelRequest};
use crate::base::canonical::canonical;
use crate::base::json::{Fields, ReadError, count, decimal, parse};
use crate::base::money::PicoUsd;
use crate::lab::fleet::Fleet;
use crate::record::{Failure, FailureCode, Status, ToolCall};

/// What the world holds when the run starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorldData {
    /// `{article_id, title, body}`.
    pub articles: Vec<Value>,
    /// `{customer_id, …}`.
    pub accounts: Vec<Value>,
    /// `{invoice_id, charges: [{charge_id, amount, currency, …}], …}`.
    pub invoices: Vec<Value>,
}

impl WorldData {
    /// Reads and checks the `world` of a scenario.
    pub fn from_json(from: &Fields) -> WorldData {
        from.only(&["articles", "accounts", "invoices"]);
        let list = |key: &str, texts: &[&str]| -> Vec<Value> {
            let mut ids = Ids::default();
            for entry in from.optional_objects(key) {
                ids.add(&entry, texts[0]);
                for text in texts {
                    entry.str(text);
                }
            }
            from.optional(key, Fields::array).unwrap_or_default().to_vec()
        };
        let data = WorldData {
            articles: list("articles", &["article_id", "title", "body"]),
            accounts: list("accounts", &["customer_id"]),
            invoices: list("invoices", &["invoice_id"]),
        };
        let mut charges = Ids::default();
        for invoice in from.optional_objects("invoices") {
            for charge in invoice.objects("charges") {
                charges.add(&charge, "charge_id");
                charge.str("currency");
                let amount = charge.maybe("amount").and_then(decimal).filter(|amount| amount.has_at_most_places(2));
                if amount.and_then(|amount| amount.scaled(2)).is_none() {
                    charge.note_wrong("amount", "an amount with at most 2 decimals");
                }
            }
        }
        data
    }

    /// True if one of the invoices has this charge.
    pub fn has_charge(&self, charge_id: &str) -> bool {
        let is_it = |charge: &Value| charge["charge_id"] == charge_id;
        self.invoices.iter().filter_map(|invoice| invoice["charges"].as_array()).flatten().any(is_it)
    }
}

/// The ids of one kind, each used once, and where.
#[derive(Default)]
struct Ids<'a>(Vec<(&'a str, String)>);

impl<'a> Ids<'a> {
    fn add(&mut self, from: &Fields<'a>, key: &str) {
        let (id, path) = (from.non_empty_str(key), from.path(key));
        match self.0.iter().find(|(known, _)| *known == id) {
            Some((_, first)) => from.note(ReadError::new(&path, format!("expected another id than `{id}`, which {first} has"))),
            None => self.0.push((id, path)),
        }
    }
}

/// The world of one run: what it was at the start, and all that happened since.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) scenario: Arc<Scenario>,
    /// False: no service recognises a repeated request.
    recognises_keys: bool,
    /// Shared with the world's copies until something happens in one of them.
    rows: Arc<Vec<Arc<Row>>>,
    /// The agents that work at the same time.
    fleet: Option<Arc<Fleet>>,
}

/// An answer on its way to the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What it says.
    pub answer: Answer,
    /// How long it takes, in milliseconds.
    pub takes_ms: u64,
}

impl Reply {
    /// An answer that takes no time.
    pub fn at_once(answer: Answer) -> Reply {
        Reply { answer, takes_ms: 0 }
    }
}

impl World {
    /// A world in which nothing has happened yet.
    pub fn new(scenario: Arc<Scenario>, recognises_keys: bool) -> World {
        World::with_rows(scenario, recognises_keys, Vec::new())
    }

    /// A world with books.
    pub fn with_rows(scenario: Arc<Scenario>, recognises_keys: bool, rows: Vec<Arc<Row>>) -> World {
        World { scenario, recognises_keys, rows: Arc::new(rows), fleet: None }
    }

    /// The same world, in which a fleet of other agents needs the services too.
    #[must_use]
    pub fn beside(self, fleet: Option<Arc<Fleet>>) -> World {
        World { fleet, ..self }
    }

    /// The agents that work at the same time.
    pub fn fleet(&self) -> Option<&Fleet> {
        self.fleet.as_deref()
    }

    /// The same world with other books.
    #[must_use]
    pub fn with_books(&self, rows: Vec<Arc<Row>>) -> World {
        World { rows: Arc::new(rows), ..self.clone() }
    }

    /// The world when its books had this many rows.
    #[must_use]
    pub fn as_of(&self, rows: usize) -> World {
        self.with_books(self.rows[..rows.min(self.rows.len())].to_vec())
    }

    /// The books.
    pub fn rows(&self) -> &[Arc<Row>] {
        &self.rows
    }

    /// The tools whose services it has.
    pub fn tools(&self) -> &[ToolDefinition] {
        &self.scenario.tools
    }

    /// The tool of a name.
    pub fn tool(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools().iter().find(|tool| tool.spec.name == name)
    }

    /// True if a tool's service answers a repeated request with its first result.
    pub fn recognises_key_of(&self, tool: &str) -> bool {
        self.recognises_keys && self.tool(tool).is_some_and(|tool| tool.recognises_keys)
    }

    /// What it held at the start.
    pub fn data(&self) -> &WorldData {
        &self.scenario.world
    }

    pub(super) fn enter(&mut self, at_ms: u64, record: Option<u64>, entry: Entry) {
        Arc::make_mut(&mut self.rows).push(Arc::new(Row { at_ms, record, entry }));
    }

    /// The model is called. `injected`: a fault that is not in the scenario.
    pub fn call_model(&mut self, request: &ModelRequest, at_ms: u64, record: Option<u64>, injected: Option<&FaultKind>) -> Reply {
        let calls = self.rows.iter().filter(|row| matches!(row.entry, Entry::ModelCall { .. })).count() as u32;
        let planned =
            self.scenario.faults.iter().find(|fault| fault.on == FaultTarget::Model && fault.calls.contains(&(calls + 1)));
        let fault = injected.cloned().or_else(|| planned.map(|fault| fault.kind.clone()));
        let fault = fault.as_ref();
        let is_executed = fault.is_none_or(FaultKind::is_executed);
        let completion = if is_executed { model::complete(&self.scenario.script, request) } else { Err(unexecuted()) };
        let (billed_input, billed_output) = match &completion {
            Ok(completion) => {
                let usage = |field: &str, projected: u64| completion.usage.get(field).and_then(count).unwrap_or(projected);
                let input_projected = request.messages.iter().map(|message| message.tokens()).sum();
                (usage("input_tokens", input_projected), usage("output_tokens", request.max_output_tokens))
            }
            Err(_) => (0, 0),
        };
        let failure = fault.and_then(FaultKind::failure);
        let answer = match (failure, completion) {
            (Some(failure), _) | (None, Err(failure)) => Answer::Failed(failure),
            (None, Ok(completion)) => Answer::Completion(completion),
        };
        let cost = self.scenario.prices.cost(billed_input, billed_output);
        let outcome = outcome_word(&answer);
        self.enter(at_ms, record, Entry::ModelCall { outcome, input_tokens: billed_input, output_tokens: billed_output, cost });
        let latency_ms = match &answer {
            Answer::Completion(completion) => completion.latency_ms,
            _ => 200,
        };
        Reply { answer, takes_ms: latency_ms + fault.map_or(0, FaultKind::delay_ms) }
    }

    /// A tool is called.
    pub fn call_tool(&mut self, request: &ToolRequest, at_ms: u64, record: Option<u64>, injected: Option<&FaultKind>) -> Reply {
        let ToolRequest { call, key, .. } = request;
        let planned = self.fault_for(call);
        let is_busy = self.fleet.as_ref().is_some_and(|fleet| fleet.is_busy(&call.name, at_ms));
        let fault = injected.cloned().or(planned).or(is_busy.then_some(FaultKind::Unavailable));
        if let Some(FaultKind::SomebodyRefunds { charge_id, by }) = &fault {
            self.somebody_refunds(charge_id, by, at_ms);
        }
        let is_executed = fault.as_ref().is_none_or(FaultKind::is_executed);
        let args: Arc<str> = canonical(&call.args).into();
        let first = self.executed(&call.name, key).filter(|_| self.recognises_key_of(&call.name));
        let repeated = first.map(|(args, result)| (args.clone(), result.clone()));
        let tool = self.tool(&call.name);
        let mut entry = None;
        let done: Result<(Arc<str>, Value), String> = match repeated {
            _ if !is_executed => Err(String::new()),
            Some((first_args, _)) if first_args != args => {
                Err(format!("409 the key {key} was used for other arguments ({first_args})"))
            }
            Some((_, result)) => Ok(("repeated".into(), (*result).clone())),
            None => match tool.map(|tool| services::perform(self, tool, request)) {
                Some(Ok((result, effect))) => {
                    entry = effect;
                    Ok(("ok".into(), result))
                }
                Some(Err(message)) => Err(message),
                None => Err(format!("there is no service behind `{}`", call.name)),
            },
        };
        let (answer, outcome, result) = match (fault.as_ref().and_then(FaultKind::failure), done) {
            (Some(failure), Ok((_, result))) => {
                let answer = Answer::Failed(failure);
                let outcome = outcome_word(&answer);
                (answer, outcome, Some(result))
            }
            (Some(failure), Err(_)) => {
                let answer = Answer::Failed(failure);
                let outcome = outcome_word(&answer);
                (answer, outcome, None)
            }
            (None, Ok((outcome, result))) => (Answer::Result(result.clone()), outcome, Some(result)),
            (None, Err(message)) => (Answer::Failed(Failure::new(FailureCode::Rejected, message)), "rejected".into(), None),
        };
        let result = result.map(Arc::new);
        let latency_ms = tool.map_or(0, |tool| tool.latency_ms) + fault.as_ref().map_or(0, FaultKind::delay_ms);
        self.enter(at_ms, record, Entry::Request { tool: call.name.clone(), args, key: key.clone(), outcome, result });
        if let Some(entry) = entry {
            self.enter(at_ms, record, entry);
        }
        Reply { answer, takes_ms: latency_ms }
    }

    /// The fault that the scenario has for this call.
    fn fault_for(&self, call: &ToolCall) -> Option<FaultKind> {
        let hits = |fault: &&Fault| {
            let of_tool = matches!(&fault.on, FaultTarget::Tool(tool) if **tool == *call.name);
            if !of_tool || !fault.args.as_ref().is_none_or(|wanted| contains(&call.args, wanted)) {
                return false;
            }
            let earlier = self.rows.iter().filter(|row| match &row.entry {
                Entry::Request { tool, args, .. } => {
                    *tool == call.name && fault.args.as_ref().is_none_or(|wanted| contains_text(args, wanted))
                }
                _ => false,
            });
            fault.calls.contains(&(earlier.count() as u32 + 1))
        };
        self.scenario.faults.iter().find(hits).map(|fault| fault.kind.clone())
    }

    /// The agent has died: what happens while it is dead. `crashes`: how often, with this one.
    pub fn agent_died(&mut self, crashes: u32, at_ms: u64, inbox_is_durable: bool) {
        if !inbox_is_durable && self.inbox_count() > 0 {
            self.enter(at_ms, None, Entry::InboxLost);
        }
        self.changes(&FaultTarget::Downtime, crashes, at_ms);
    }

    /// The run is over: the customer gets the answer, or a person takes over. Told twice, it happens once.
    pub fn run_ended(&mut self, status: Status, final_text: Option<&Arc<str>>, at_ms: u64, record: Option<u64>) {
        if self.is_settled() || (self.is_closed() && status == Status::StorageFailed) {
            return;
        }
        let entry = match final_text {
            Some(text) => Entry::Mail { to: self.scenario.customer.clone(), text: text.clone() },
            None => Entry::HandOver { status: status.as_str().into() },
        };
        self.enter(at_ms, record, entry);
    }

    /// True once the customer has the answer or a person has taken over.
    pub fn is_closed(&self) -> bool {
        self.closed_as().is_some()
    }

    /// How the run ended, as the world was told last.
    pub fn closed_as(&self) -> Option<Status> {
        self.rows.iter().rev().find_map(|row| match &row.entry {
            Entry::Mail { .. } => Some(Status::Done),
            Entry::HandOver { status } => status.parse().ok(),
            _ => None,
        })
    }

    /// True once it is closed for good. A run that only lacked storage may continue when there is room, and ask, and end.
    pub(super) fn is_settled(&self) -> bool {
        self.closed_as().is_some_and(|status| status != Status::StorageFailed)
    }

    /// True if no agent has done anything here.
    pub fn is_untouched(&self) -> bool {
        self.rows.iter().all(|row| matches!(row.entry, Entry::HandOver { .. }))
    }

    pub(super) fn changes(&mut self, target: &FaultTarget, number: u32, at_ms: u64) {
        let due: Vec<FaultKind> = self
            .scenario
            .faults
            .iter()
            .filter(|fault| fault.on == *target && fault.calls.contains(&number))
            .map(|fault| fault.kind.clone())
            .collect();
        for kind in due {
            if let FaultKind::SomebodyRefunds { charge_id, by } = kind {
                self.somebody_refunds(&charge_id, &by, at_ms);
            }
        }
    }

    /// Somebody refunds a charge by hand, unless it is refunded already: people look first.
    fn somebody_refunds(&mut self, charge_id: &str, by: &str, at_ms: u64) {
        let Some((_, charge)) = self.charge(charge_id) else {
            return;
        };
        if self.refunds_of(charge_id).next().is_some() {
            return;
        }
        let cents = decimal(&charge["amount"]).and_then(|amount| amount.scaled(2)).unwrap_or(0);
        let refund_id = format!("RF-{:05}", self.refund_count() + 1).into();
        let entry = Entry::Refund { refund_id, charge_id: charge_id.into(), cents, key: "by hand".into(), by: by.into() };
        self.enter(at_ms, None, entry);
    }

    /// A charge and its invoice.
    pub fn charge(&self, charge_id: &str) -> Option<(String, &Value)> {
        self.data().invoices.iter().find_map(|invoice| {
            let charge = invoice["charges"].as_array()?.iter().find(|charge| charge["charge_id"] == charge_id)?;
            Some((invoice["invoice_id"].as_str()?.to_string(), charge))
        })
    }

    /// The refunds of a charge: cents, and by whom.
    pub fn refunds_of<'a>(&'a self, charge: &'a str) -> impl Iterator<Item = (u64, &'a Arc<str>)> {
        self.rows.iter().filter_map(move |row| match &row.entry {
            Entry::Refund { charge_id, cents, by, .. } if **charge_id == *charge => Some((*cents, by)),
            _ => None,
        })
    }

    /// The numbers of a charge's refunds.
    pub fn refund_ids_of<'a>(&'a self, charge: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        self.rows.iter().filter_map(move |row| match &row.entry {
            Entry::Refund { refund_id, charge_id, .. } if **charge_id == *charge => Some(refund_id),
            _ => None,
        })
    }

    /// How many refunds there are.
    pub fn refund_count(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.entry, Entry::Refund { .. })).count()
    }

    /// The effects of this name, by their business keys.
    pub fn effects<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a Option<Arc<str>>> {
        self.rows.iter().filter_map(move |row| match &row.entry {
            Entry::Effect { name, business_key, .. } if **name == *wanted => Some(business_key),
            _ => None,
        })
    }

    /// Changes with each refund of one of the invoice's charges.
    pub fn invoice_version(&self, invoice_id: &str) -> String {
        let is_of_invoice = |charge: &str| self.charge(charge).is_some_and(|(invoice, _)| invoice == invoice_id);
        let refunds =
            self.rows.iter().filter(|row| matches!(&row.entry, Entry::Refund { charge_id, .. } if is_of_invoice(charge_id)));
        format!("v{}", refunds.count() + 1)
    }

    /// Arguments and result of the request with this key that was carried out.
    pub fn executed(&self, wanted: &str, wanted_key: &str) -> Option<(&Arc<str>, &Arc<Value>)> {
        self.rows.iter().find_map(|row| match &row.entry {
            Entry::Request { tool, args, key, result: Some(result), .. } if **tool == *wanted && **key == *wanted_key => {
                Some((args, result))
            }
            _ => None,
        })
    }

    /// What the provider has billed: calls, tokens in and out, cost.
    pub fn meter(&self) -> (u64, u64, u64, PicoUsd) {
        let mut meter = (0, 0_u64, 0_u64, PicoUsd(0));
        for row in self.rows.iter() {
            if let Entry::ModelCall { input_tokens, output_tokens, cost, .. } = &row.entry {
                let is_billed = u64::from(cost.0 > 0 || *input_tokens > 0);
                let (input, output) = (meter.1.saturating_add(*input_tokens), meter.2.saturating_add(*output_tokens));
                meter = (meter.0 + is_billed, input, output, meter.3.plus(*cost));
            }
        }
        meter
    }
}

/// A tool call as it reaches the service.
pub struct ToolRequest {
    /// Tool and arguments.
    pub call: ToolCall,
    /// The idempotency key.
    pub key: Arc<str>,
    /// What the caller has read of the thing it changes.
    pub expected_version: Option<Arc<str>>,
}

fn unexecuted() -> Failure {
    Failure::new(FailureCode::Unavailable, "not executed")
}

fn outcome_word(answer: &Answer) -> Arc<str> {
    match answer {
        Answer::Failed(failure) => failure.code.as_str().into(),
        _ => "ok".into(),
    }
}

/// True if a request is one of those that a fault of the scenario counts.
pub(crate) fn is_counted(fault: &Fault, tool: &str, args: &str) -> bool {
    let of_tool = matches!(&fault.on, FaultTarget::Tool(name) if **name == *tool);
    of_tool && fault.args.as_ref().is_none_or(|wanted| contains_text(args, wanted))
}

/// True if an object holds all the fields of another, with the same values.
fn contains(args: &Value, wanted: &Value) -> bool {
    let fields = wanted.as_object().into_iter().flatten();
    fields.into_iter().all(|(key, value)| args.get(key).is_some_and(|found| canonical(found) == canonical(value)))
}

fn contains_text(args: &str, wanted: &Value) -> bool {
    parse(args).is_ok_and(|args| contains(&args, wanted))
}

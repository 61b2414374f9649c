//! The outside world, from its own books.

use serde::Serialize;
use serde_json::Value;

use super::{pretty, seconds};
use crate::agent::money::{PicoUsd, cents_text};
use crate::json::decimal;
use crate::lab::ledger::Entry;
use crate::lab::session::Session;
use crate::lab::world::World;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct WorldView {
    /// How long the books are, with what is not shown.
    rows: usize,
    meter: MeterView,
    charges: Vec<ChargeView>,
    refunds: Vec<RefundView>,
    refunded_total: String,
    notes: Vec<TextRow>,
    outbox: Vec<MailView>,
    inbox: Vec<QuestionView>,
    requests: Vec<RequestView>,
    person: Option<PersonView>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MeterView {
    calls: f64,
    input_tokens: f64,
    output_tokens: f64,
    cost_usd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ChargeView {
    charge_id: String,
    invoice_id: String,
    amount: String,
    refunded: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RefundView {
    seq: usize,
    record: Option<f64>,
    refund_id: String,
    charge_id: String,
    amount: String,
    by: String,
    key: String,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct TextRow {
    seq: usize,
    record: Option<f64>,
    text: String,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct MailView {
    seq: usize,
    record: Option<f64>,
    to: String,
    text: String,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct QuestionView {
    seq: usize,
    record: Option<f64>,
    approval_key: String,
    tool: String,
    args_json: String,
    args: Vec<ArgumentView>,
    status: &'static str,
    approver: Option<String>,
    note: Option<String>,
    asked_s: f64,
    decided_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ArgumentView {
    name: String,
    value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct RequestView {
    seq: usize,
    record: Option<f64>,
    tool: String,
    outcome: String,
    ok: bool,
    at_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PersonView {
    id: String,
    name: String,
}

/// The books. `known_rows`: how many rows are left out at the start, except questions, which may have been decided since.
pub(super) fn world_view(session: &Session, world: &World, start: u64, known_rows: usize) -> WorldView {
    let at_s = |ms: u64| seconds(ms.saturating_sub(start));
    let cause = |record: Option<u64>| record.map(|record| record as f64);
    let (calls, input_tokens, output_tokens, cost) = world.meter();
    let mut lists = Lists::default();
    for (seq, row) in world.rows().iter().enumerate().skip(known_rows) {
        lists.enter(seq, &row.entry, cause(row.record), at_s(row.at_ms), world);
    }
    let Lists { refunds, notes, outbox, requests } = lists;
    WorldView {
        rows: world.rows().len(),
        meter: MeterView {
            calls: calls as f64,
            input_tokens: input_tokens as f64,
            output_tokens: output_tokens as f64,
            cost_usd: PicoUsd::usd(cost),
        },
        charges: charge_views(world),
        refunds,
        refunded_total: refunded_total(world),
        notes,
        outbox,
        inbox: inbox_views(world, at_s, known_rows),
        requests,
        person: session.scenario().person.as_ref().map(|person| PersonView { id: person.id.clone(), name: person.name.clone() }),
    }
}

/// The rows that are shown, by kind.
#[derive(Default)]
struct Lists {
    refunds: Vec<RefundView>,
    notes: Vec<TextRow>,
    outbox: Vec<MailView>,
    requests: Vec<RequestView>,
}

impl Lists {
    fn enter(&mut self, seq: usize, entry: &Entry, record: Option<f64>, at_s: f64, world: &World) {
        let note = match entry {
            Entry::Refund { refund_id, charge_id, cents, key, by } => {
                return self.refunds.push(RefundView {
                    seq,
                    record,
                    refund_id: refund_id.to_string(),
                    charge_id: charge_id.to_string(),
                    amount: money(*cents, currency_of(world, charge_id)),
                    by: by.to_string(),
                    key: key.to_string(),
                    at_s,
                });
            }
            Entry::Mail { to, text } => {
                let (to, text) = (to.to_string(), text.to_string());
                return self.outbox.push(MailView { seq, record, to, text, at_s });
            }
            Entry::Request { tool, outcome, .. } => {
                let ok = **outcome == *"ok" || **outcome == *"repeated";
                let (tool, outcome) = (tool.to_string(), outcome.to_string());
                return self.requests.push(RequestView { seq, record, tool, outcome, ok, at_s });
            }
            Entry::Voucher { voucher_id, customer_id, cents } => {
                format!("Voucher {voucher_id} of {} for {customer_id}", money(*cents, DOLLARS))
            }
            Entry::Note { text } => text.to_string(),
            Entry::Escalation { text } => format!("Handed over: {text}"),
            Entry::HandOver { status } => format!("The run was stopped by {status}. A colleague takes the ticket over."),
            Entry::ModelCall { .. } | Entry::Question { .. } | Entry::Decision { .. } | Entry::InboxLost => return,
        };
        self.notes.push(TextRow { seq, record, text: note, at_s });
    }
}

/// Where no charge says its currency.
const DOLLARS: &str = "USD";

fn money(cents: u64, currency: &str) -> String {
    format!("{} {currency}", cents_text(cents))
}

fn currency_of<'a>(world: &'a World, charge_id: &str) -> &'a str {
    let found = world.charge(charge_id).and_then(|(_, charge)| charge["currency"].as_str());
    found.unwrap_or(DOLLARS)
}

fn refunded_total(world: &World) -> String {
    let mut total = 0;
    let mut currency = DOLLARS;
    for row in world.rows() {
        if let Entry::Refund { charge_id, cents, .. } = &row.entry {
            total += cents;
            currency = currency_of(world, charge_id);
        }
    }
    money(total, currency)
}

fn charge_views(world: &World) -> Vec<ChargeView> {
    let mut charges = Vec::new();
    for invoice in &world.data().invoices {
        for charge in invoice["charges"].as_array().into_iter().flatten() {
            let charge_id = charge["charge_id"].as_str().unwrap_or_default();
            let amount = decimal(&charge["amount"]).and_then(|amount| amount.scaled(2)).unwrap_or(0);
            let refunded = world.refunds_of(charge_id).fold(0, |sum: u64, (cents, _)| sum.saturating_add(cents));
            let currency = charge["currency"].as_str().unwrap_or(DOLLARS);
            charges.push(ChargeView {
                charge_id: charge_id.to_string(),
                invoice_id: invoice["invoice_id"].as_str().unwrap_or_default().to_string(),
                amount: money(amount, currency),
                refunded: money(refunded, currency),
            });
        }
    }
    charges
}

/// The questions that were put or decided behind the known rows.
fn inbox_views(world: &World, at_s: impl Fn(u64) -> f64, known_rows: usize) -> Vec<QuestionView> {
    let decided_anew = |wanted: &str| {
        let mut news = world.rows().iter().skip(known_rows);
        news.any(|row| matches!(&row.entry, Entry::Decision { key, .. } if **key == *wanted))
    };
    let mut views = Vec::new();
    for question in world.questions() {
        if question.seq < known_rows && !decided_anew(question.key) {
            continue;
        }
        let (status, approver, note) = match question.decided.map(|row| &row.entry) {
            Some(Entry::Decision { status, approver, note, .. }) => (status.word(), Some(approver), note.as_ref()),
            _ => ("open", None, None),
        };
        let args = match question.args.as_ref() {
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| ArgumentView { name: name.clone(), value: value.to_string() }).collect()
            }
            other => vec![ArgumentView { name: "value".to_string(), value: other.to_string() }],
        };
        views.push(QuestionView {
            seq: question.seq,
            record: question.asked.record.map(|record| record as f64),
            approval_key: question.key.to_string(),
            tool: question.tool.to_string(),
            args_json: pretty(question.args),
            args,
            status,
            approver: approver.map(|approver| approver.to_string()),
            note: note.map(|note| note.to_string()),
            asked_s: at_s(question.asked.at_ms),
            decided_s: question.decided.map(|row| at_s(row.at_ms)),
        });
    }
    views
}

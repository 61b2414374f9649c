//! The outside world, from its own books.

use std::sync::Arc;

use serde_json::Value;

use crate::base::json::{compact, decimal, pretty};
use crate::base::money::{PicoUsd, cents_text};
use crate::lab::ledger::Entry;
use crate::lab::session::Session;
use crate::lab::world::World;
use crate::record::{object, seconds};

/// The books. `known_rows`: how many rows are left out at the start, except questions, which may have been decided since.
pub(super) fn world_view(session: &Session, world: &World, start: u64, known_rows: usize) -> Value {
    let at_s = |ms: u64| seconds(ms.saturating_sub(start));
    let (calls, input_tokens, output_tokens, cost) = world.meter();
    let meter = object([
        ("calls", calls.into()),
        ("input_tokens", input_tokens.into()),
        ("output_tokens", output_tokens.into()),
        ("cost_usd", PicoUsd::usd(cost).into()),
    ]);
    let mut lists = Lists::default();
    for (seq, row) in world.rows().iter().enumerate().skip(known_rows) {
        lists.enter(&row.entry, [("seq", seq.into()), ("record", row.record.into()), ("at_s", at_s(row.at_ms))], world);
    }
    let Lists { refunds, notes, outbox, requests } = lists;
    let person = session.scenario().person.as_ref();
    let person = person.map(|person| object([("id", person.id.as_str().into()), ("name", person.name.as_str().into())]));
    object([
        // How long the books are, with what is not shown.
        ("rows", world.rows().len().into()),
        ("meter", meter),
        ("charges", charge_views(world)),
        ("refunds", refunds.into()),
        ("refunded_total", refunded_total(world).into()),
        ("notes", notes.into()),
        ("outbox", outbox.into()),
        ("inbox", inbox_views(world, at_s, known_rows)),
        ("requests", requests.into()),
        ("person", person.into()),
    ])
}

/// The rows that are shown, by kind.
#[derive(Default)]
struct Lists {
    refunds: Vec<Value>,
    notes: Vec<Value>,
    outbox: Vec<Value>,
    requests: Vec<Value>,
}

impl Lists {
    /// `place`: what every row says of itself, which is where and when.
    fn enter(&mut self, entry: &Entry, place: [(&str, Value); 3], world: &World) {
        let text = |text: &Arc<str>| Value::from(&**text);
        let [seq, record, at_s] = place;
        let note = match entry {
            Entry::Refund { refund_id, charge_id, cents, key, by } => {
                let amount = money(*cents, currency_of(world, charge_id));
                let refund = object([
                    seq,
                    record,
                    ("refund_id", text(refund_id)),
                    ("charge_id", text(charge_id)),
                    ("amount", amount.into()),
                    ("by", text(by)),
                    ("key", text(key)),
                    at_s,
                ]);
                return self.refunds.push(refund);
            }
            Entry::Mail { to, text: said } => {
                return self.outbox.push(object([seq, record, ("to", text(to)), ("text", text(said)), at_s]));
            }
            Entry::Request { tool, outcome, .. } => {
                let ok = **outcome == *"ok" || **outcome == *"repeated";
                let request = object([seq, record, ("tool", text(tool)), ("outcome", text(outcome)), ("ok", ok.into()), at_s]);
                return self.requests.push(request);
            }
            Entry::Effect { text, .. } => text.to_string(),
            Entry::HandOver { status } => format!("The run was stopped by {status}. A colleague takes the ticket over."),
            Entry::ModelCall { .. } | Entry::Question { .. } | Entry::Decision { .. } | Entry::InboxLost => return,
        };
        self.notes.push(object([seq, record, ("text", note.into()), at_s]));
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

fn charge_views(world: &World) -> Value {
    let mut charges = Vec::new();
    for invoice in &world.data().invoices {
        for charge in invoice["charges"].as_array().into_iter().flatten() {
            let charge_id = charge["charge_id"].as_str().unwrap_or_default();
            let amount = decimal(&charge["amount"]).and_then(|amount| amount.scaled(2)).unwrap_or(0);
            let refunded = world.refunds_of(charge_id).fold(0, |sum: u64, (cents, _)| sum.saturating_add(cents));
            let currency = charge["currency"].as_str().unwrap_or(DOLLARS);
            charges.push(object([
                ("charge_id", charge_id.into()),
                ("invoice_id", invoice["invoice_id"].as_str().unwrap_or_default().into()),
                ("amount", money(amount, currency).into()),
                ("refunded", money(refunded, currency).into()),
            ]));
        }
    }
    charges.into()
}

/// The questions that were put or decided after the known rows.
fn inbox_views(world: &World, at_s: impl Fn(u64) -> Value, known_rows: usize) -> Value {
    let decided_anew = |wanted: &str| {
        let mut news = world.rows().iter().skip(known_rows);
        news.any(|row| matches!(&row.entry, Entry::Decision { key, .. } if **key == *wanted))
    };
    let argument = |name: &str, value: &Value| object([("name", name.into()), ("value", compact(value).into())]);
    // An inbox that was kept in memory was lost with its agent, and with it the questions that were open.
    let lost = world.rows().iter().rposition(|row| row.entry == Entry::InboxLost);
    let mut views = Vec::new();
    for question in world.questions() {
        let lost = lost.filter(|place| question.decided.is_none() && *place > question.seq);
        let is_news = question.seq >= known_rows || lost.is_some_and(|place| place >= known_rows);
        if !is_news && !decided_anew(question.key) {
            continue;
        }
        let (status, approver, note) = match question.decided.map(|row| &row.entry) {
            Some(Entry::Decision { status, approver, note, .. }) => (status.as_str(), Some(approver), note.as_ref()),
            _ if lost.is_some() => ("lost", None, None),
            _ => ("open", None, None),
        };
        let args = match question.args.as_ref() {
            Value::Object(fields) => fields.iter().map(|(name, value)| argument(name, value)).collect(),
            other => vec![argument("value", other)],
        };
        views.push(object([
            ("seq", question.seq.into()),
            ("record", question.asked.record.into()),
            ("approval_key", Value::from(&**question.key)),
            ("tool", Value::from(&**question.tool)),
            ("args_json", pretty(question.args).into()),
            ("args", args.into()),
            ("status", status.into()),
            ("approver", approver.map(|approver| &**approver).into()),
            ("note", note.map(|note| &**note).into()),
            ("asked_s", at_s(question.asked.at_ms)),
            ("decided_s", question.decided.map(|row| at_s(row.at_ms)).into()),
        ]));
    }
    views.into()
}

//! The services behind the tools: knowledge base, accounts, invoices, billing, vouchers, notes, colleagues.
//!
//! Each does what its kind does in a real company. Billing trusts its caller's amount, as many do: that is what the gate is for.

use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::ledger::Entry;
use super::world::World;
use crate::agent::tools::{Parameter, ParameterKind, Reliance, ToolSpec};
use crate::base::json::{compact, decimal};
use crate::base::money::{cents_text, number};
use crate::base::text::list;
use crate::record::object;

/// What a service does: what it answers, and what it enters in its books; or why it refuses.
pub type Done = Result<(Value, Option<Entry>), String>;

/// The tools of the lab.
pub fn tools() -> Vec<ToolSpec> {
    let text = ParameterKind::Text;
    let amount = ParameterKind::Number;
    let mut refund = ToolSpec::new("issue_refund", "Sends money back to the card that was charged.");
    refund.parameters =
        parameters(&[("invoice_id", text), ("charge_id", text), ("amount", amount), ("currency", text), ("reason", text)]);
    refund.idempotent = true;
    refund.intent = vec!["charge_id".to_string()];
    refund.relies_on = Some(Reliance {
        tool: "get_invoice".to_string(),
        argument: "invoice_id".to_string(),
        version_field: "version".to_string(),
    });
    let mut voucher = ToolSpec::new("send_voucher", "Sends a voucher to a customer.");
    voucher.parameters = parameters(&[("customer_id", text), ("amount", amount), ("currency", text)]);
    voucher.lookup = Some("find_voucher".to_string());
    vec![
        reader("search_kb", "Searches the help desk’s articles.", &[("query", text)]),
        reader("read_article", "Shows one article.", &[("article_id", text)]),
        reader("get_account", "Shows a customer’s account.", &[("customer_id", text)]),
        reader("get_invoice", "Shows an invoice with its charges.", &[("invoice_id", text)]),
        refund,
        voucher,
        reader("find_voucher", "Tells whether a voucher request was carried out.", &[("idempotency_key", text)]),
        writer("add_internal_note", "Adds a note that only colleagues see.", &[("text", text)]),
        writer("escalate", "Hands the ticket to a colleague.", &[("summary", text)]),
    ]
}

fn parameters(list: &[(&str, ParameterKind)]) -> Vec<Parameter> {
    list.iter().map(|(name, kind)| Parameter { name: name.to_string(), kind: *kind, required: true }).collect()
}

fn reader(name: &str, description: &str, list: &[(&str, ParameterKind)]) -> ToolSpec {
    let base = ToolSpec::new(name, description);
    ToolSpec { parameters: parameters(list), irreversible: false, idempotent: true, read_only: true, ..base }
}

fn writer(name: &str, description: &str, list: &[(&str, ParameterKind)]) -> ToolSpec {
    let base = ToolSpec::new(name, description);
    ToolSpec { parameters: parameters(list), irreversible: false, idempotent: true, ..base }
}

/// How long a service takes, in milliseconds.
pub fn latency_ms(tool: &str) -> u64 {
    match tool {
        "search_kb" => 140,
        "read_article" => 60,
        "get_account" | "find_voucher" => 90,
        "get_invoice" => 180,
        "issue_refund" => 620,
        "send_voucher" => 310,
        _ => 75,
    }
}

/// Carries a call out.
pub fn perform(world: &World, tool: &str, args: &Value, key: &Arc<str>, expected_version: Option<&str>) -> Done {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    match tool {
        "search_kb" => Ok((search(world, text("query")), None)),
        "read_article" => found(&world.data().articles, "article_id", text("article_id"), "article"),
        "get_account" => found(&world.data().accounts, "customer_id", text("customer_id"), "account"),
        "get_invoice" => invoice(world, text("invoice_id")),
        "issue_refund" => refund(world, args, key, expected_version),
        "send_voucher" => voucher(world, args),
        "find_voucher" => Ok((find_executed(world, "send_voucher", text("idempotency_key")), None)),
        "add_internal_note" => {
            let count = world.rows().iter().filter(|row| matches!(row.entry, Entry::Note { .. })).count() + 1;
            let answer = object([("saved", true.into()), ("note_count", count.into())]);
            Ok((answer, Some(Entry::Note { text: text("text").into() })))
        }
        "escalate" => {
            let count = world.rows().iter().filter(|row| matches!(row.entry, Entry::Escalation { .. })).count() + 1;
            let answer = object([("escalation_id", format!("ESC-{count:04}").into()), ("queue", "billing team leads".into())]);
            Ok((answer, Some(Entry::Escalation { text: text("summary").into() })))
        }
        other => Err(format!("there is no service behind `{other}`")),
    }
}

/// Articles by how many of the query's words they contain.
fn search(world: &World, query: &str) -> Value {
    let articles = &world.data().articles;
    let words: Vec<String> = query.split_whitespace().map(str::to_ascii_lowercase).collect();
    let score = |article: &Value| {
        let content = compact(article).to_ascii_lowercase();
        words.iter().filter(|word| content.contains(word.as_str())).count()
    };
    let mut ranked: Vec<(usize, &Value)> = articles.iter().map(|article| (score(article), article)).collect();
    ranked.retain(|(score, _)| *score > 0);
    // A stable sort: of equals, the one that comes first in the world is first.
    ranked.sort_by_key(|(score, _)| Reverse(*score));
    let hit = |(_, article): &(usize, &Value)| {
        object([("article_id", article["article_id"].clone()), ("title", article["title"].clone())])
    };
    object([("hits", ranked.iter().take(5).map(hit).collect())])
}

fn found(list: &[Value], id_field: &str, id: &str, what: &str) -> Done {
    let entry = list.iter().find(|entry| entry[id_field] == id);
    entry.map(|entry| (entry.clone(), None)).ok_or_else(|| format!("404 there is no {what} `{id}`"))
}

/// The invoice with what has been refunded, and a version that changes with each refund.
fn invoice(world: &World, invoice_id: &str) -> Done {
    let (mut invoice, _) = found(&world.data().invoices, "invoice_id", invoice_id, "invoice")?;
    let version = world.invoice_version(invoice_id);
    if let Some(charges) = invoice.get_mut("charges").and_then(Value::as_array_mut) {
        for charge in charges {
            let charge_id = charge["charge_id"].as_str().unwrap_or_default();
            let refunded = world.refunds_of(charge_id).fold(0, |sum: u64, (cents, _)| sum.saturating_add(cents));
            let refunds: Vec<Value> = world.refund_ids_of(charge_id).map(|id| Value::from(&**id)).collect();
            if let Some(fields) = charge.as_object_mut() {
                fields.insert("refunded".to_string(), cents_number(refunded));
                if !refunds.is_empty() {
                    fields.insert("refunds".to_string(), refunds.into());
                }
            }
        }
    }
    if let Some(fields) = invoice.as_object_mut() {
        fields.insert("version".to_string(), version.into());
    }
    Ok((invoice, None))
}

fn refund(world: &World, args: &Value, key: &Arc<str>, expected_version: Option<&str>) -> Done {
    let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let (charge_id, currency) = (text("charge_id"), text("currency"));
    let Some((invoice_id, charge)) = world.charge(charge_id) else {
        return Err(format!("404 there is no charge `{charge_id}`"));
    };
    if invoice_id != text("invoice_id") {
        return Err(format!("422 charge {charge_id} belongs to invoice {invoice_id}, not {}", text("invoice_id")));
    }
    let version = world.invoice_version(&invoice_id);
    if let Some(expected) = expected_version.filter(|expected| *expected != version) {
        let others: Vec<String> =
            world.refunds_of(charge_id).map(|(cents, by)| format!("{} by {by}", cents_text(cents))).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let refunds = if others.is_empty() { "none of this charge".to_string() } else { list(&others) };
        return Err(format!(
            "412 invoice {invoice_id} has changed since it was read ({expected}, now {version}); refunds: {refunds}"
        ));
    }
    if currency != charge["currency"] {
        return Err(format!("422 charge {charge_id} was in {}, not {currency}", charge["currency"].as_str().unwrap_or_default()));
    }
    let cents = cents_of(args)?;
    if cents_of(charge).is_ok_and(|charged| cents > charged) {
        let (charged, wanted) = (compact(&charge["amount"]), cents_text(cents));
        return Err(format!("422 charge {charge_id} was {charged}, and {wanted} is more"));
    }
    let refund_id = format!("RF-{:05}", world.refund_count() + 1);
    let answer = object([
        ("refund_id", refund_id.as_str().into()),
        ("charge_id", charge_id.into()),
        ("amount", cents_number(cents)),
        ("currency", currency.into()),
        ("status", "succeeded".into()),
    ]);
    let entry =
        Entry::Refund { refund_id: refund_id.into(), charge_id: charge_id.into(), cents, key: key.clone(), by: "agent".into() };
    Ok((answer, Some(entry)))
}

fn voucher(world: &World, args: &Value) -> Done {
    let customer_id = args.get("customer_id").and_then(Value::as_str).unwrap_or_default();
    found(&world.data().accounts, "customer_id", customer_id, "account")?;
    let cents = cents_of(args)?;
    let count = world.rows().iter().filter(|row| matches!(row.entry, Entry::Voucher { .. })).count() + 1;
    let voucher_id: Arc<str> = format!("VC-{count:05}").into();
    let answer = object([("voucher_id", Value::from(&*voucher_id)), ("amount", cents_number(cents))]);
    Ok((answer, Some(Entry::Voucher { voucher_id, customer_id: customer_id.into(), cents })))
}

/// `{"found": true, "result": …}` if a request with this key was carried out.
fn find_executed(world: &World, tool: &str, key: &str) -> Value {
    match world.executed(tool, key) {
        Some((_, result)) => object([("found", true.into()), ("result", (**result).clone())]),
        None => object([("found", false.into())]),
    }
}

fn cents_of(args: &Value) -> Result<u64, String> {
    let amount = args.get("amount").and_then(decimal);
    let cents =
        amount.filter(|amount| amount.has_at_most_places(2)).and_then(|amount| amount.scaled(2)).filter(|&cents| cents > 0);
    cents.ok_or_else(|| {
        let found = compact(args.get("amount").unwrap_or(&Value::Null));
        format!("422 {found} is not an amount: more than 0, at most 2 decimals")
    })
}

/// An amount of cents as a JSON number with two decimals.
pub fn cents_number(cents: u64) -> Value {
    number(&format!("{}.{:02}", cents / 100, cents % 100))
}

/// The fields of a JSON object; none for anything else.
pub fn fields_of(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

//! The services that do the work of the tools, each as its kind does in a real company.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::Value;

use super::ledger::Entry;
use super::template::{fill, fill_text};
use super::tool_definition::{DefinedWork, ToolDefinition, Work, effects_of};
use super::world::{ToolRequest, World};
use crate::base::canonical::canonical;
use crate::base::json::{compact, decimal, parse};
use crate::base::money::{cents_text, number};
use crate::base::text::list;
use crate::record::{ToolCall, object};

/// What a service does: what it answers, and what it enters in its books; or why it refuses.
pub type Done = Result<(Value, Option<Entry>), String>;

/// A service that is written in Rust.
pub type Coded = fn(&World, &ToolRequest) -> Done;

/// The services that do more than a definition can say: a search that ranks, invoices that show what has been refunded, and billing,
/// which compares versions and charges.
pub fn coded(tool: &str) -> Option<Coded> {
    match tool {
        "search_kb" => Some(search),
        "get_invoice" => Some(invoice),
        "issue_refund" => Some(refund),
        _ => None,
    }
}

/// Carries a request out.
pub fn perform(world: &World, tool: &ToolDefinition, request: &ToolRequest) -> Done {
    match &tool.work {
        Work::Coded(service) => service(world, request),
        Work::LookUp(of) => Ok((find_executed(world, of, text(request, "idempotency_key")), None)),
        Work::Defined(work) => {
            refuse_if_changed(world, tool, request)?;
            carry_out(world, tool, work, request)
        }
    }
}

/// Does what a definition says.
fn carry_out(world: &World, tool: &ToolDefinition, work: &DefinedWork, request: &ToolRequest) -> Done {
    let found = work.finds.as_ref().map(|finds| find(world, &finds.list, &finds.by, text(request, &finds.by))).transpose()?;
    let given = |root: &str| match root {
        "args" => Some(Cow::Borrowed(&*request.call.args)),
        "found" => found.map(Cow::Borrowed),
        "count" => Some(Cow::Owned(effect_counts(world))),
        _ => None,
    };
    let Some(effect) = &work.effect else {
        return Ok((fill(&work.result, &given), None));
    };
    let cents = effect.amount.as_ref().map(|amount| cents_of(&fill(amount, &given))).transpose()?;
    let number = world.effects(&effect.name).count() + 1;
    let with_effect = |root: &str, amount: fn(u64) -> Value| match (root, root.strip_prefix("number:")) {
        ("number", _) => Some(Cow::Owned(number.into())),
        ("amount", _) => cents.map(|cents| Cow::Owned(amount(cents))),
        (_, Some(digits)) => digits.parse().ok().map(|digits: usize| Cow::Owned(format!("{number:0digits$}").into())),
        _ => given(root),
    };
    let result = fill(&work.result, &|root| with_effect(root, cents_number));
    let text = match &effect.text {
        Some(template) => fill_text(template, &|root| with_effect(root, |cents| cents_text(cents).into())),
        None => format!("{} {}", effect.name, compact(&result)),
    };
    // However a number was written, it is the same key.
    let args = parse(&canonical(&request.call.args)).unwrap_or_default();
    let key =
        |template: &String| fill_text(template, &|root| if root == "args" { Some(Cow::Borrowed(&args)) } else { given(root) });
    let entry = Entry::Effect {
        name: effect.name.clone(),
        tool: tool.spec.name.as_str().into(),
        business_key: effect.business_key.as_ref().map(|template| key(template).into()),
        cents,
        text: text.into(),
    };
    Ok((result, Some(entry)))
}

/// How often each effect that the scenario's tools have has happened.
fn effect_counts(world: &World) -> Value {
    let count = |name: &Arc<str>| (name.to_string(), world.effects(name).count().into());
    Value::Object(effects_of(world.tools()).map(|effect| count(&effect.name)).collect())
}

/// An optimistic lock: what the caller has read must be what it would read now.
fn refuse_if_changed(world: &World, tool: &ToolDefinition, request: &ToolRequest) -> Result<(), String> {
    let (Some(reliance), Some(expected)) = (&tool.spec.relies_on, &request.expected_version) else {
        return Ok(());
    };
    let Some(reader) = world.tool(&reliance.tool) else {
        return Ok(());
    };
    let shared = request.call.args.get(&reliance.argument).cloned().unwrap_or_default();
    let args = object([(&reliance.argument, shared)]);
    let call = ToolCall::new(request.call.id.clone(), reliance.tool.as_str(), args);
    let (read, _) = perform(world, reader, &ToolRequest { call, key: request.key.clone(), expected_version: None })?;
    let version = read.get(&reliance.version_field).and_then(Value::as_str).unwrap_or_default();
    if version == &**expected {
        return Ok(());
    }
    Err(format!("412 what {} showed has changed since it was read ({expected}, now {version})", reliance.tool))
}

/// An argument that is a string.
fn text<'a>(request: &'a ToolRequest, name: &str) -> &'a str {
    request.call.args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The entry of one of the world's lists in which the field `by` is this id.
fn find<'a>(world: &'a World, list: &str, by: &str, id: &str) -> Result<&'a Value, String> {
    let (entries, what) = match list {
        "articles" => (&world.data().articles, "article"),
        "accounts" => (&world.data().accounts, "account"),
        _ => (&world.data().invoices, "invoice"),
    };
    entries.iter().find(|entry| entry[by] == id).ok_or_else(|| format!("404 there is no {what} `{id}`"))
}

/// `{"found": true, "result": …}` if a request with this key was carried out.
fn find_executed(world: &World, tool: &str, key: &str) -> Value {
    match world.executed(tool, key) {
        Some((_, result)) => object([("found", true.into()), ("result", (**result).clone())]),
        None => object([("found", false.into())]),
    }
}

/// Articles by how many of the query's words they contain.
fn search(world: &World, request: &ToolRequest) -> Done {
    let articles = &world.data().articles;
    let words: Vec<String> = text(request, "query").split_whitespace().map(str::to_ascii_lowercase).collect();
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
    Ok((object([("hits", ranked.iter().take(5).map(hit).collect())]), None))
}

/// The invoice with what has been refunded, and a version that changes with each refund.
fn invoice(world: &World, request: &ToolRequest) -> Done {
    let invoice_id = text(request, "invoice_id");
    let mut invoice = find(world, "invoices", "invoice_id", invoice_id)?.clone();
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

/// Billing trusts its caller's amount up to the charge, as many do: that is what the gate is for.
fn refund(world: &World, request: &ToolRequest) -> Done {
    let (charge_id, currency) = (text(request, "charge_id"), text(request, "currency"));
    let Some((invoice_id, charge)) = world.charge(charge_id) else {
        return Err(format!("404 there is no charge `{charge_id}`"));
    };
    let named = text(request, "invoice_id");
    if invoice_id != named {
        return Err(format!("422 charge {charge_id} belongs to invoice {invoice_id}, not {named}"));
    }
    let version = world.invoice_version(&invoice_id);
    if let Some(expected) = request.expected_version.as_deref().filter(|expected| *expected != version) {
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
    let cents = cents_of(request.call.args.get("amount").unwrap_or(&Value::Null))?;
    if cents_of(&charge["amount"]).is_ok_and(|charged| cents > charged) {
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
    let (key, by) = (request.key.clone(), "agent".into());
    let entry = Entry::Refund { refund_id: refund_id.into(), charge_id: charge_id.into(), cents, key, by };
    Ok((answer, Some(entry)))
}

/// An amount of money in cents; the error is for the caller.
pub fn cents_of(amount: &Value) -> Result<u64, String> {
    let cents = decimal(amount).filter(|amount| amount.has_at_most_places(2)).and_then(|amount| amount.scaled(2));
    cents
        .filter(|&cents| cents > 0)
        .ok_or_else(|| format!("422 {} is not an amount: more than 0, at most 2 decimals", compact(amount)))
}

/// An amount of cents as a JSON number with two decimals.
fn cents_number(cents: u64) -> Value {
    number(&format!("{}.{:02}", cents / 100, cents % 100))
}

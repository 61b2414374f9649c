//! What the services refuse, one by one: the status, and that nothing was done.

use std::sync::Arc;

use crashlab::agent::protocol::{Answer, ModelRequest};
use crashlab::agent::state::Message;
use crashlab::lab::ledger::Entry;
use crashlab::lab::scenario::Scenario;
use crashlab::lab::tool_definition::ToolDefinition;
use crashlab::lab::world::{ToolRequest, World};
use crashlab::record::{FailureCode, ToolCall};
use serde_json::{Value, json};

use crate::support::{Books, books, document, first, read, scripted, search_for};

const INVOICE: &str = "INV-2026-004512";
const CHARGE: &str = "CH-90121";

/// The world of `double-charge`, in which nothing goes wrong.
fn calm() -> Arc<Scenario> {
    scripted(&[first(json!([]))], |_| {})
}

fn world() -> World {
    World::new(calm(), true)
}

fn request(tool: &str, args: Value, key: &str, expected_version: Option<&str>) -> ToolRequest {
    let expected_version = expected_version.map(Arc::from);
    ToolRequest { call: ToolCall::new("c", tool, args), key: key.into(), expected_version }
}

fn call(world: &mut World, request: &ToolRequest) -> Answer {
    world.call_tool(request, 1_000, Some(0), None).answer
}

/// What a service gives.
fn given(world: &mut World, tool: &str, args: Value, key: &str) -> Value {
    match call(world, &request(tool, args, key, None)) {
        Answer::Result(result) => result,
        other => panic!("{tool}: {other:?}"),
    }
}

/// Fails unless the service refuses with this status, and has done nothing.
fn assert_refused(world: &mut World, status: u32, request: &ToolRequest) {
    let (before, rows) = (books(world), world.rows().len());
    let place = format!("{} {}", request.call.name, request.call.args);
    match call(world, request) {
        Answer::Failed(failure) => {
            assert_eq!(failure.code, FailureCode::Rejected, "{place}: {failure}");
            assert_eq!(failure.message.split(' ').next(), Some(&*status.to_string()), "{place}: {failure}");
            assert_eq!(failure.retry_after, None);
        }
        other => panic!("{place}: {other:?}"),
    }
    assert_eq!(books(world), before, "{place}");
    assert_eq!(world.rows().len(), rows + 1, "{place}: only the request itself is in the books");
    match &world.rows()[rows].entry {
        Entry::Request { tool, key, outcome, result, .. } => {
            assert_eq!((tool, key, &**outcome, result), (&request.call.name, &request.key, "rejected", &None), "{place}");
        }
        other => panic!("{place}: {other:?}"),
    }
}

/// A refund with one argument changed.
fn refund_with(name: &str, value: Value) -> Value {
    let mut args = json!({"invoice_id": INVOICE, "charge_id": CHARGE, "amount": 288, "currency": "USD", "reason": "twice"});
    args[name] = value;
    args
}

#[test]
fn what_is_not_there_is_not_found() {
    for (tool, argument) in [("read_article", "article_id"), ("get_account", "customer_id"), ("get_invoice", "invoice_id")] {
        for id in [json!("X-1"), json!(""), json!(7)] {
            assert_refused(&mut world(), 404, &request(tool, json!({argument: id}), "k", None));
        }
    }
    assert_eq!(given(&mut world(), "read_article", json!({"article_id": "KB-207"}), "k")["article_id"], "KB-207");
    assert_eq!(given(&mut world(), "get_account", json!({"customer_id": "C-48213"}), "k")["customer_id"], "C-48213");
    assert_eq!(given(&mut world(), "get_invoice", json!({"invoice_id": INVOICE}), "k")["invoice_id"], INVOICE);
}

#[test]
fn a_tool_without_a_service_is_refused() {
    let mut world = world();
    let answer = call(&mut world, &request("send_money", json!({}), "k", None));
    assert!(matches!(answer, Answer::Failed(failure) if failure.code == FailureCode::Rejected));
    assert_eq!(books(&world), Books::default());
}

#[test]
fn billing_refunds_no_charge_that_it_does_not_have() {
    assert_refused(&mut world(), 404, &request("issue_refund", refund_with("charge_id", json!("CH-1")), "k", None));
}

#[test]
fn billing_refunds_no_charge_under_another_invoice() {
    // The invoice exists, and so does the charge; they do not belong together.
    for invoice in ["INV-2025-003987", "INV-1", ""] {
        assert_refused(&mut world(), 422, &request("issue_refund", refund_with("invoice_id", json!(invoice)), "k", None));
    }
    let other =
        json!({"invoice_id": "INV-2025-003987", "charge_id": "CH-71340", "amount": 264, "currency": "USD", "reason": "r"});
    assert_eq!(given(&mut world(), "issue_refund", other, "k")["charge_id"], "CH-71340");
}

#[test]
fn billing_refunds_in_no_other_currency() {
    for currency in ["EUR", "usd", ""] {
        assert_refused(&mut world(), 422, &request("issue_refund", refund_with("currency", json!(currency)), "k", None));
    }
}

#[test]
fn billing_takes_no_amount_that_is_none() {
    for amount in ["0", "0.00", "-1", "0.001", "288.005", "1e-3", "1e30", "\"288\"", "null", "[]"] {
        let amount: Value = serde_json::from_str(amount).unwrap();
        assert_refused(&mut world(), 422, &request("issue_refund", refund_with("amount", amount.clone()), "k", None));
        let voucher = json!({"customer_id": "C-48213", "amount": amount, "currency": "USD"});
        assert_refused(&mut world(), 422, &request("send_voucher", voucher, "k", None));
    }
}

#[test]
fn billing_refunds_the_whole_charge_and_not_a_cent_more() {
    for (amount, cents) in [("287.99", 28_799), ("288", 28_800), ("288.00", 28_800), ("2.88e2", 28_800), ("0.01", 1)] {
        let mut world = world();
        let refund = given(&mut world, "issue_refund", refund_with("amount", serde_json::from_str(amount).unwrap()), "k");
        assert_eq!(world.refunds_of(CHARGE).map(|(cents, _)| cents).collect::<Vec<_>>(), [cents]);
        assert_eq!(refund["amount"].to_string(), format!("{}.{:02}", cents / 100, cents % 100));
        assert_eq!((&refund["currency"], &refund["charge_id"]), (&json!("USD"), &json!(CHARGE)));
    }
    for amount in [json!(288.01), json!(2_880)] {
        assert_refused(&mut world(), 422, &request("issue_refund", refund_with("amount", amount), "k", None));
    }
}

#[test]
fn billing_refunds_nothing_of_an_invoice_that_has_changed_since_it_was_read() {
    let mut world = world();
    // A service answers the same key the same, so each read has its own.
    let read = |world: &mut World, key: &str| given(world, "get_invoice", json!({"invoice_id": INVOICE}), key);
    let first = read(&mut world, "read 1");
    assert_eq!(first["charges"][1]["refunded"].to_string(), "0.00");
    let version = first["version"].as_str().unwrap().to_string();
    assert_refused(&mut world, 412, &request("issue_refund", refund_with("amount", json!(1)), "r0", Some("v0")));
    let refund = request("issue_refund", refund_with("amount", json!(100)), "r1", Some(&version));
    assert!(matches!(call(&mut world, &refund), Answer::Result(_)));
    let second = read(&mut world, "read 2");
    assert_ne!(second["version"], first["version"]);
    assert_eq!(second["charges"][1]["refunded"].to_string(), "100.00");
    assert_eq!(second["charges"][1]["refunds"], json!(["RF-00001"]));
    assert_eq!(second["charges"][0]["refunded"].to_string(), "0.00");
    assert_refused(&mut world, 412, &request("issue_refund", refund_with("amount", json!(1)), "r2", Some(&version)));
    // Another invoice has not changed.
    let other =
        json!({"invoice_id": "INV-2025-003987", "charge_id": "CH-71340", "amount": 264, "currency": "USD", "reason": "r"});
    assert!(matches!(call(&mut world, &request("issue_refund", other, "r3", Some(&version))), Answer::Result(_)));
    // Who does not say what they read is not held to it.
    assert!(matches!(call(&mut world, &request("issue_refund", refund_with("amount", json!(1)), "r4", None)), Answer::Result(_)));
}

#[test]
fn a_key_stands_for_one_request_and_other_arguments_under_it_are_a_conflict() {
    let mut world = world();
    let first = given(&mut world, "issue_refund", refund_with("amount", json!(100)), "key");
    for (argument, value) in [("amount", json!(101)), ("charge_id", json!("CH-90118")), ("reason", json!("another"))] {
        let args = match argument {
            "amount" => refund_with(argument, value),
            _ => {
                let mut args = refund_with("amount", json!(100));
                args[argument] = value;
                args
            }
        };
        assert_refused(&mut world, 409, &request("issue_refund", args, "key", None));
    }
    // The same again gets the first answer, however it is written, and nothing more is done.
    let before = books(&world);
    let again = given(&mut world, "issue_refund", refund_with("amount", serde_json::from_str("100.00").unwrap()), "key");
    assert_eq!((again, books(&world)), (first, before));
    match &world.rows().last().unwrap().entry {
        Entry::Request { outcome, .. } => assert_eq!(&**outcome, "repeated"),
        other => panic!("{other:?}"),
    }
    // A key belongs to its tool, and another key is another request.
    given(&mut world, "add_internal_note", json!({"text": "n"}), "key");
    assert_eq!(given(&mut world, "issue_refund", refund_with("amount", json!(101)), "key 2")["refund_id"], "RF-00002");
}

#[test]
fn a_request_that_was_refused_does_not_use_up_its_key() {
    let mut world = world();
    assert_refused(&mut world, 422, &request("issue_refund", refund_with("currency", json!("EUR")), "key", None));
    assert_eq!(given(&mut world, "issue_refund", refund_with("amount", json!(288)), "key")["refund_id"], "RF-00001");
}

#[test]
fn without_idempotency_the_same_key_is_another_request() {
    let mut world = World::new(calm(), false);
    for nth in 1..3 {
        let refund = given(&mut world, "issue_refund", refund_with("amount", json!(100)), "key");
        assert_eq!(refund["refund_id"], format!("RF-0000{nth}"));
    }
}

#[test]
fn a_voucher_goes_to_a_customer_who_is_there() {
    let voucher = |customer: &str| json!({"customer_id": customer, "amount": 20.5, "currency": "USD"});
    assert_refused(&mut world(), 404, &request("send_voucher", voucher("C-1"), "k", None));
    let mut world = world();
    for nth in 1..3 {
        let sent = given(&mut world, "send_voucher", voucher("C-48213"), &format!("k{nth}"));
        assert_eq!((&sent["voucher_id"], sent["amount"].to_string()), (&json!(format!("VC-0000{nth}")), "20.50".to_string()));
        match &world.rows().last().unwrap().entry {
            Entry::Effect { name, cents, text, .. } => {
                assert_eq!((&**name, *cents), ("voucher", Some(2_050)));
                assert!(text.contains("C-48213"), "{text}");
            }
            other => panic!("{other:?}"),
        }
        let found = given(&mut world, "find_voucher", json!({"idempotency_key": format!("k{nth}")}), "look-up");
        // Under one key a look-up would be answered once and for all.
        let found = if nth == 1 { found } else { given(&mut world, "find_voucher", json!({"idempotency_key": "k2"}), "other") };
        assert_eq!(found, json!({"found": true, "result": sent}));
        if nth == 1 {
            world = World::with_rows(calm(), true, world.rows()[..2].to_vec());
        }
    }
    let none = given(&mut world, "find_voucher", json!({"idempotency_key": "k9"}), "look-up 9");
    assert_eq!(none, json!({"found": false}));
}

#[test]
fn notes_and_escalations_are_numbered_each_for_itself() {
    let mut world = world();
    for nth in 1..4 {
        let note = given(&mut world, "add_internal_note", json!({"text": format!("note {nth}")}), &format!("n{nth}"));
        assert_eq!(note, json!({"saved": true, "note_count": nth}));
        let escalation = given(&mut world, "escalate", json!({"summary": format!("sum {nth}")}), &format!("e{nth}"));
        assert_eq!(escalation["escalation_id"], format!("ESC-000{nth}"));
    }
    let texts: Vec<(&str, &str)> = world
        .rows()
        .iter()
        .filter_map(|row| match &row.entry {
            Entry::Effect { name, text, .. } => Some((&**name, &**text)),
            _ => None,
        })
        .collect();
    assert_eq!(texts.len(), 6);
    for (place, (name, text)) in texts.iter().enumerate() {
        let (expected, word) = if place % 2 == 0 { ("note", "note") } else { ("escalation", "sum") };
        assert_eq!(*name, expected);
        assert!(text.ends_with(&format!("{word} {}", place / 2 + 1)), "{text}");
    }
}

#[test]
fn a_search_ranks_by_the_words_that_are_found_and_gives_five_at_most() {
    let mut document = document("double-charge");
    document["faults"] = json!([]);
    let article = |nth: u32, body: &str| json!({"article_id": format!("A{nth}"), "title": format!("t{nth}"), "body": body});
    let bodies = ["red", "red green", "RED green blue", "none", "blue", "green", "red", "blue"];
    document["world"]["articles"] = (0..).zip(bodies).map(|(nth, body)| article(nth, body)).collect();
    let mut world = World::new(read(&document.to_string()), true);
    let mut ids = |query: &str| -> Vec<String> {
        let hits = given(&mut world, "search_kb", json!({"query": query}), query);
        let hits = hits["hits"].as_array().unwrap().clone();
        hits.iter().map(|hit| hit["article_id"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(ids("red green Blue"), ["A2", "A1", "A0", "A4", "A5"]);
    assert_eq!(ids("green"), ["A1", "A2", "A5"]);
    assert_eq!(ids("green missing"), ["A1", "A2", "A5"]);
    assert_eq!(ids("missing"), Vec::<String>::new());
    assert_eq!(ids(""), Vec::<String>::new());
    assert_eq!(ids("t3"), ["A3"]);
}

#[test]
fn each_tool_has_its_flags_and_takes_its_time() {
    let shown: Vec<(String, [bool; 3], u64)> = calm()
        .tools
        .iter()
        .map(|ToolDefinition { spec, latency_ms, .. }| {
            (spec.name.clone(), [spec.irreversible, spec.idempotent, spec.read_only], *latency_ms)
        })
        .collect();
    let (reader, writer) = ([false, true, true], [false, true, false]);
    let expected = [
        ("search_kb", reader, 140),
        ("read_article", reader, 60),
        ("get_account", reader, 90),
        ("get_invoice", reader, 180),
        ("issue_refund", [true, true, false], 620),
        ("send_voucher", [true, false, false], 310),
        ("find_voucher", reader, 90),
        ("add_internal_note", writer, 75),
        ("escalate", writer, 75),
    ];
    assert_eq!(shown, expected.map(|(name, flags, ms)| (name.to_string(), flags, ms)));
    assert!(calm().tools.iter().flat_map(|tool| &tool.spec.parameters).all(|parameter| parameter.required));
}

#[test]
fn the_model_says_and_bills_no_more_than_its_output_limit() {
    let scenario = scripted(&[first(json!([search_for("charge")]))], |_| {});
    let ask = |max_output_tokens: u64| {
        let mut world = World::new(scenario.clone(), true);
        let messages = [Message::System { content: "s".into() }, Message::User { content: "t".into() }];
        let messages = Arc::new(messages.map(Arc::new).to_vec());
        let request = ModelRequest { messages, tools: Vec::new().into(), max_output_tokens };
        let reply = world.call_model(&request, 1_000, Some(0), None);
        let Answer::Completion(completion) = reply.answer else { panic!("{:?}", reply.answer) };
        let (calls, input, output, cost) = world.meter();
        assert_eq!((calls, input, completion.usage["input_tokens"].as_u64()), (1, 10, Some(10)));
        assert_eq!(completion.usage["output_tokens"].as_u64(), Some(output));
        assert_eq!(cost, scenario.prices.cost(input, output));
        output
    };
    let whole = ask(u64::MAX);
    assert!(whole > 10, "{whole}");
    for limit in [0, 1, whole - 1, whole, whole + 1] {
        assert_eq!(ask(limit), limit.min(whole));
    }
}

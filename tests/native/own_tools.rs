//! Tools that a scenario brings along as data: their effects, their keys, and what is said of them when the agent dies.

use std::path::Path;
use std::sync::Arc;

use crashlab::agent::protocol::Answer;
use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::explore::{Explorer, SearchVerdict};
use crashlab::lab::invariants::INVARIANTS;
use crashlab::lab::ledger::{Entry, Row};
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup};
use crashlab::lab::world::{ToolRequest, World};
use crashlab::record::ToolCall;
use serde_json::{Value, json};

use crate::support::{
    all_scenarios, assert_unbroken, books, crash_points, effects, observations, of_type, ran, ran_with_crash, read, requests,
};

/// A scenario of `tests/scenarios/` without its crash.
fn edited(id: &str, edit: impl FnOnce(&mut Value)) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios").join(format!("{id}.json"));
    let mut document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    document["crashes"] = json!([]);
    edit(&mut document);
    document
}

/// Its service recognises keys.
fn extension(edit: impl FnOnce(&mut Value)) -> Arc<Scenario> {
    read(&edited("own-tool", edit).to_string())
}

/// Its service does not recognise keys.
fn shipment(edit: impl FnOnce(&mut Value)) -> Arc<Scenario> {
    read(&edited("own-tool-looked-up", edit).to_string())
}

fn dies_after(tool: &str) -> Value {
    json!([{"effect": "call_tool", "tool": tool, "when": "after"}])
}

fn broken(session: &Session) -> Vec<&'static str> {
    session.breaches().iter().map(|breach| breach.id).collect()
}

// --- Crashes -------------------------------------------------------------------------------------------------------------------

#[test]
fn a_recognised_key_has_one_effect_wherever_the_agent_dies() {
    let scenario = extension(|_| {});
    for (effect, when, _) in crash_points(&scenario) {
        let place = format!("{when:?} effect {effect}");
        let (session, _) = ran_with_crash(&scenario, effect, when);
        assert_eq!(effects(session.world(), "extension"), ["Extension EX-0001: 31 days for Robin’s school"], "{place}");
        assert_eq!(books(session.world()).questions, 1, "{place}");
        assert_unbroken(&session, &place);
    }
}

#[test]
fn a_call_in_doubt_is_looked_up_and_found_wherever_the_agent_dies() {
    let scenario = shipment(|_| {});
    for (effect, when, _) in crash_points(&scenario) {
        let place = format!("{when:?} effect {effect}");
        let (session, _) = ran_with_crash(&scenario, effect, when);
        assert_eq!(effects(session.world(), "shipment").len(), 1, "{place}");
        assert_eq!(books(session.world()).questions, 1, "{place}");
        assert_unbroken(&session, &place);
    }
    let (session, _) = ran(&shipment(|document| document["crashes"] = dies_after("ship_part")));
    assert_eq!((requests(session.world(), "ship_part"), requests(session.world(), "find_shipment")), (1, 1));
}

/// Each look-up reads anew: the first one finds nothing, the second one what was sent in between.
#[test]
fn a_second_look_up_sees_what_happened_after_the_first() {
    let (session, _) = ran(&shipment(|document| {
        let lost = |call: u32, kind: &str| json!({"on": "ship_part", "calls": [call], "kind": kind});
        document["faults"] = json!([lost(1, "timeout_before"), lost(2, "timeout_after")]);
    }));
    assert_eq!((requests(session.world(), "ship_part"), requests(session.world(), "find_shipment")), (2, 2));
    assert_eq!(effects(session.world(), "shipment").len(), 1);
    assert_unbroken(&session, "two look-ups");
}

#[test]
fn a_call_that_cannot_be_looked_up_is_put_to_a_person() {
    for (second_answer, shipments) in [("denied", 1), ("approved", 2)] {
        let (session, _) = ran(&shipment(|document| {
            document["crashes"] = dies_after("ship_part");
            document["tools"]["ship_part"]["lookup"] = Value::Null;
            document["person"]["answers"] = json!(["approved", second_answer]);
        }));
        assert_eq!(books(session.world()).questions, 2, "{second_answer}");
        assert_eq!(effects(session.world(), "shipment").len(), shipments, "{second_answer}");
        assert_eq!(observations(&session)[0].contains("in_doubt"), second_answer == "denied");
        assert_eq!(broken(&session), if shipments == 2 { vec!["effect_at_most_once"] } else { vec![] });
    }
}

#[test]
fn a_crash_is_told_in_the_tools_own_words() {
    let (session, _) = ran(&shipment(|document| document["crashes"] = dies_after("ship_part")));
    assert_eq!(of_type(&session, "crash")[0]["at"], "after the part was sent, before its answer");
    let (session, _) = ran(&shipment(|document| {
        document["crashes"] = dies_after("ship_part");
        document["tools"]["ship_part"].as_object_mut().unwrap().shift_remove("labels");
    }));
    assert_eq!(of_type(&session, "crash")[0]["at"], "after ship_part ran, before its answer");
}

/// The person of `own-tool-looked-up` does not want a part sent again of which nobody knows whether it was sent.
#[test]
fn a_search_finds_the_tool_that_says_of_itself_what_is_not_true_and_no_other() {
    let setups = [
        (extension(|_| {}), None),
        (shipment(|_| {}), None),
        (shipment(|document| document["tools"]["ship_part"]["idempotent"] = true.into()), Some("effect_at_most_once")),
    ];
    for (scenario, expected) in setups {
        let bounds = Bounds { crashes: 1, faults: 1, decisions: 0, ..Bounds::default() };
        let mut explorer = Explorer::new(Setup::of(&scenario), bounds).unwrap();
        assert!(!explorer.run().hit_limit, "{}", scenario.id);
        let is_broken = |index: &usize| matches!(explorer.verdict(*index), SearchVerdict::Broken(_));
        let broken = (0..INVARIANTS.len()).find(is_broken).map(|index| INVARIANTS[index].id);
        assert_eq!(broken, expected, "{}", scenario.id);
    }
}

// --- The invariant -------------------------------------------------------------------------------------------------------------

#[test]
fn the_invariant_breaks_when_a_key_is_not_recognised_and_the_call_is_sent_again() {
    let (session, _) = ran(&extension(|document| {
        document["crashes"] = dies_after("extend_licence");
        document["mechanisms"] = json!({"idempotency": false});
    }));
    assert_eq!(broken(&session), ["effect_at_most_once"]);
    assert_eq!(session.breach("effect_at_most_once").unwrap().explanation, "there is a second extension for C-1");
    // A tool that says of itself what is not true.
    let (session, _) = ran(&shipment(|document| {
        document["crashes"] = dies_after("ship_part");
        document["tools"]["ship_part"]["idempotent"] = true.into();
    }));
    assert_eq!(broken(&session), ["effect_at_most_once"]);
}

#[test]
fn effects_under_two_keys_or_without_one_break_nothing() {
    let two = |order: &str| json!({"tool": "ship_part", "args": {"order_id": order, "part": "hinge", "value": 4.5}});
    let (session, _) = ran(&shipment(|document| {
        document["script"][0]["calls"] = json!([two("O-7"), two("O-8")]);
        document["person"]["answers"] = json!(["approved"]);
    }));
    assert_eq!(effects(session.world(), "shipment").len(), 2);
    assert_unbroken(&session, "two orders");
    let (session, _) = ran(&extension(|document| {
        document["mechanisms"] = json!({"idempotency": false});
        document["crashes"] = dies_after("extend_licence");
        document["tools"]["extend_licence"]["effect"].as_object_mut().unwrap().shift_remove("business_key");
    }));
    assert_eq!(effects(session.world(), "extension").len(), 2);
    assert_unbroken(&session, "no business key");
}

#[test]
fn the_invariant_is_shown_only_where_an_effect_has_a_business_key() {
    let invariant = INVARIANTS.iter().find(|invariant| invariant.id == "effect_at_most_once").unwrap();
    for scenario in all_scenarios() {
        assert!(!(invariant.concerns)(&scenario), "{}", scenario.id);
    }
    assert!((invariant.concerns)(&extension(|_| {})));
}

// --- The service ---------------------------------------------------------------------------------------------------------------

/// What a service says to a call.
fn said(world: &mut World, tool: &str, args: Value, key: &str) -> Result<Value, String> {
    said_to(world, tool, args, key, None)
}

fn said_to(world: &mut World, tool: &str, args: Value, key: &str, version: Option<&str>) -> Result<Value, String> {
    let call = ToolCall::new("call", tool, args);
    let request = ToolRequest { call, key: key.into(), expected_version: version.map(Arc::from) };
    match world.call_tool(&request, 0, None, None).answer {
        Answer::Result(result) => Ok(result),
        Answer::Failed(failure) => Err(failure.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_is_answered_with_the_first_result_and_refused_with_other_arguments() {
    let mut world = World::new(extension(|_| {}), true);
    let first = said(&mut world, "extend_licence", json!({"customer_id": "C-1", "days": 31}), "k");
    assert_eq!(first, Ok(json!({"extension_id": "EX-0001", "days": 31, "plan": "Classroom"})));
    assert_eq!(said(&mut world, "extend_licence", json!({"days": 31, "customer_id": "C-1"}), "k"), first);
    let refused = said(&mut world, "extend_licence", json!({"customer_id": "C-1", "days": 62}), "k").unwrap_err();
    assert_eq!(refused, r#"409 the key k was used for other arguments ({"customer_id":"C-1","days":31})"#);
    assert_eq!(effects(&world, "extension").len(), 1);
}

#[test]
fn a_service_that_recognises_no_key_does_its_work_each_time() {
    let mut world = World::new(shipment(|_| {}), true);
    let part = json!({"order_id": "O-7", "part": "hinge", "value": 4.50});
    let sent: Vec<Value> = (0..2).map(|_| said(&mut world, "ship_part", part.clone(), "k").unwrap()).collect();
    assert_eq!([&sent[0]["shipment_id"], &sent[1]["shipment_id"]], ["SH-00001", "SH-00002"]);
    assert_eq!(effects(&world, "shipment")[0], r#"shipment {"shipment_id":"SH-00001","part":"hinge","value":4.50}"#);
    let found = said(&mut world, "find_shipment", json!({"idempotency_key": "k"}), "other").unwrap();
    assert_eq!(found, json!({"found": true, "result": sent[0]}));
    let missing = said(&mut world, "find_shipment", json!({"idempotency_key": "nobody’s"}), "other").unwrap();
    assert_eq!(missing, json!({"found": false}));
}

#[test]
fn calls_about_nothing_and_amounts_that_are_none_are_refused_and_have_no_effect() {
    let mut world = World::new(extension(|_| {}), true);
    let unknown = said(&mut world, "extend_licence", json!({"customer_id": "C-9", "days": 31}), "k");
    assert_eq!(unknown, Err("404 there is no account `C-9`".to_string()));
    assert_eq!(effects(&world, "extension").len(), 0);
    let mut world = World::new(shipment(|_| {}), true);
    for (value, shown) in [("0", "0"), ("-1", "-1"), ("4.505", "4.505"), ("1e400", "1e+400")] {
        let part = serde_json::from_str(&format!(r#"{{"order_id": "O-7", "part": "hinge", "value": {value}}}"#)).unwrap();
        let refused = said(&mut world, "ship_part", part, "k");
        assert_eq!(refused, Err(format!("422 {shown} is not an amount: more than 0, at most 2 decimals")));
    }
    assert_eq!(effects(&world, "shipment").len(), 0);
}

#[test]
fn arguments_that_do_not_fit_the_schema_never_leave_the_agent() {
    for (args, error) in [
        (json!({"order_id": "O-7", "part": "hinge"}), "ship_part needs `value` (a number)"),
        (json!({"order_id": "O-7", "part": 7, "value": 4.5}), "`part` of ship_part must be a string, found a number"),
        (
            json!({"order_id": "O-7", "part": "hinge", "value": 4.5, "to": "Kim"}),
            "ship_part takes no `to`; it takes `order_id`, `part`, `value`",
        ),
    ] {
        let (session, _) = ran(&shipment(|document| document["script"][0]["calls"][0]["args"] = args));
        assert!(observations(&session)[0].contains(error), "{}", observations(&session)[0]);
        assert_eq!(requests(session.world(), "ship_part"), 0);
    }
}

/// A reader of one's own shows a version, and an effect changes it.
#[test]
fn a_call_that_relies_on_what_has_changed_is_refused() {
    let mut world = World::new(
        shipment(|document| {
            document["tools"]["ship_part"]["relies_on"] =
                json!({"tool": "get_order", "argument": "order_id", "version_field": "version"});
            document["tools"]["get_order"] = json!({
                "description": "Shows an order.",
                "parameters": {"properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
                "result": {"order_id": "{{args.order_id}}", "version": "v{{count.shipment}}"}
            });
        }),
        true,
    );
    let part = json!({"order_id": "O-7", "part": "hinge", "value": 4.5});
    assert_eq!(said(&mut world, "get_order", json!({"order_id": "O-7"}), "a").unwrap()["version"], "v0");
    assert!(said_to(&mut world, "ship_part", part.clone(), "b", Some("v0")).is_ok());
    let refused = said_to(&mut world, "ship_part", part, "c", Some("v0"));
    assert_eq!(refused, Err("412 what get_order showed has changed since it was read (v0, now v1)".to_string()));
    assert_eq!(effects(&world, "shipment").len(), 1);
}

#[test]
fn however_a_number_is_written_it_makes_the_same_business_key() {
    let mut world =
        World::new(shipment(|document| document["tools"]["ship_part"]["effect"]["business_key"] = "{{args.value}}".into()), true);
    for value in ["4.5", "4.50", "45e-1"] {
        let part = serde_json::from_str(&format!(r#"{{"order_id": "O-7", "part": "hinge", "value": {value}}}"#)).unwrap();
        said(&mut world, "ship_part", part, value).unwrap();
    }
    assert!(world.effects("shipment").all(|key| key.as_deref() == Some("4.5")));
}

// --- The books and the document ------------------------------------------------------------------------------------------------

#[test]
fn an_effect_comes_back_from_its_line_and_so_do_the_rows_of_version_0_1_0() {
    let (session, _) = ran(&shipment(|_| {}));
    let rows = session.world().rows();
    let effect = rows.iter().find(|row| matches!(row.entry, Entry::Effect { .. })).unwrap();
    assert_eq!(Row::from_line(&effect.to_line()).as_ref(), Ok(&**effect));
    for (kind, entry, name, text) in [
        ("note", json!({"text": "Hello"}), "note", "Hello"),
        ("escalation", json!({"text": "Please"}), "escalation", "Handed over: Please"),
        (
            "voucher",
            json!({"voucher_id": "VC-00001", "customer_id": "C-1", "cents": 123_456}),
            "voucher",
            "Voucher VC-00001 of 1,234.56 USD for C-1",
        ),
    ] {
        let line = json!({"at_ms": 1, "record": 2, "type": kind, "entry": entry}).to_string();
        let row = Arc::new(Row::from_line(&line).unwrap());
        let world = World::with_rows(shipment(|_| {}), true, vec![row]);
        assert_eq!(effects(&world, name), [text]);
    }
}

#[test]
fn a_definition_that_names_what_there_is_not_is_refused_with_its_path() {
    let part = |key: &str, value: Value| edited("own-tool-looked-up", |document| document["tools"]["ship_part"][key] = value);
    let with = |name: &str, tool: Value| edited("own-tool-looked-up", |document| document["tools"][name] = tool);
    let reader = json!({"description": "Reads.", "result": {}});
    for (document, error) in [
        (with("ship_prat", json!({"idempotent": true})), "$.tools.ship_prat: expected a tool of the lab (search_kb, "),
        (with("model", reader.clone()), "$.tools.model: expected a name of 1 to 64 letters, digits, `_` and `-`"),
        (with("get order", reader), "$.tools.get order: expected a name"),
        (with("read", json!({"description": "Reads."})), "$.tools.read.result: missing, expected a value"),
        (part("lookup", "find_voucher".into()), "$.tools.ship_part.lookup: expected a tool with `look_up`: \"ship_part\""),
        (part("intent", json!(["order"])), "$.tools.ship_part.intent[0]: expected an argument of ship_part"),
        (part("result", json!({"a": ["{{args.price}}"]})), "$.tools.ship_part.result.a[0]: expected quotations of args.order_id"),
        (part("result", "{{number:0}}".into()), "$.tools.ship_part.result: expected quotations of args.order_id"),
        (part("effect", json!({"name": "x", "amount": 0})), "$.tools.ship_part.effect.amount: expected an amount above 0"),
        (part("effect", json!({"name": "x", "business_key": "{{number}}"})), "$.tools.ship_part.effect.business_key: expected"),
        (part("finds", json!({"in": "orders", "by": "order_id"})), "$.tools.ship_part.finds.in: expected articles, accounts"),
        (part("finds", json!({"in": "accounts", "by": "value"})), "$.tools.ship_part.finds.by: expected a required argument"),
        (
            part("relies_on", json!({"tool": "ship_part", "argument": "order_id", "version_field": "v"})),
            "$.tools.ship_part.relies_on.tool: expected a tool that only reads",
        ),
        (
            part("relies_on", json!({"tool": "get_invoice", "argument": "order_id", "version_field": "v"})),
            "$.tools.ship_part.relies_on.argument: expected an argument of both ship_part and get_invoice",
        ),
        (
            part("parameters", json!({"properties": {"order_id": {"type": "text"}}})),
            "$.tools.ship_part.parameters.properties.order_id.type: expected string, number",
        ),
        (
            part("parameters", json!({"properties": {}, "required": ["part"]})),
            "$.tools.ship_part.parameters.required[0]: expected one of the properties",
        ),
        (
            with("find_hits", json!({"description": "Tells.", "look_up": "search_kb"})),
            "$.tools.find_hits.look_up: expected another tool, which has an effect",
        ),
    ] {
        let found = Scenario::from_json(&document.to_string()).unwrap_err().to_string();
        assert!(found.starts_with(error), "{found}\ninstead of {error}");
    }
}

//! The outside world's own books. Invariants are judged from them, never from what the agent believes.

use std::sync::Arc;

use serde_json::Value;

use crate::base::json::{Fields, ReadError, compact, parse, read};
use crate::base::money::{PicoUsd, cents_text};
use crate::record::{ApprovalStatus, object};

/// One row: something that happened outside the agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The record of the log that stood last when it happened: the intent that caused it.
    pub record: Option<u64>,
    /// What.
    pub entry: Entry,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// The model's provider was called.
    ModelCall {
        /// `ok` or a failure's code.
        outcome: Arc<str>,
        /// Billed.
        input_tokens: u64,
        /// Billed.
        output_tokens: u64,
        /// Billed.
        cost: PicoUsd,
    },
    /// A service was called.
    Request {
        /// The tool.
        tool: Arc<str>,
        /// Canonical arguments.
        args: Arc<str>,
        /// The idempotency key that came along.
        key: Arc<str>,
        /// `ok`, `repeated` (recognised by its key), or a failure's code.
        outcome: Arc<str>,
        /// What the service did and would answer; nothing if it did nothing.
        result: Option<Arc<Value>>,
    },
    /// Money went back to a customer.
    Refund {
        /// Such as `RF-00001`.
        refund_id: Arc<str>,
        /// The charge.
        charge_id: Arc<str>,
        /// In cents.
        cents: u64,
        /// The request's key, or why somebody did it by hand.
        key: Arc<str>,
        /// `agent`, or who did it by hand.
        by: Arc<str>,
    },
    /// A tool had an effect.
    Effect {
        /// What happened, such as `voucher`.
        name: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// What it may happen once for, if the tool says so.
        business_key: Option<Arc<str>>,
        /// The amount, if it has one.
        cents: Option<u64>,
        /// What the service's books say.
        text: Arc<str>,
    },
    /// A question reached the inbox.
    Question {
        /// Its key.
        key: Arc<str>,
        /// The tool that wants to run.
        tool: Arc<str>,
        /// Its exact arguments.
        args: Arc<Value>,
    },
    /// A question was decided.
    Decision {
        /// Its key.
        key: Arc<str>,
        /// How.
        status: ApprovalStatus,
        /// Who.
        approver: Arc<str>,
        /// What they wrote.
        note: Option<Arc<str>>,
    },
    /// The inbox lost its questions (`durable_approvals` is off and the agent died).
    InboxLost,
    /// The customer got an answer.
    Mail {
        /// To whom.
        to: Arc<str>,
        /// What it says.
        text: Arc<str>,
    },
    /// The run stopped without an answer, and a person takes over.
    HandOver {
        /// Why.
        status: Arc<str>,
    },
}

impl Row {
    /// The row as JSON text.
    pub fn to_line(&self) -> String {
        let text = |text: &Arc<str>| Value::from(&**text);
        let maybe = |text: &Option<Arc<str>>| text.as_ref().map_or(Value::Null, |text| Value::from(&**text));
        let (kind, entry) = match &self.entry {
            Entry::ModelCall { outcome, input_tokens, output_tokens, cost } => (
                "model_call",
                object([
                    ("outcome", text(outcome)),
                    ("input_tokens", (*input_tokens).into()),
                    ("output_tokens", (*output_tokens).into()),
                    ("cost_pico_usd", cost.0.into()),
                ]),
            ),
            Entry::Request { tool, args, key, outcome, result } => (
                "request",
                object([
                    ("tool", text(tool)),
                    ("args", text(args)),
                    ("key", text(key)),
                    ("outcome", text(outcome)),
                    // An array, as `null` is a result too.
                    ("result", result.iter().map(|result| (**result).clone()).collect()),
                ]),
            ),
            Entry::Refund { refund_id, charge_id, cents, key, by } => (
                "refund",
                object([
                    ("refund_id", text(refund_id)),
                    ("charge_id", text(charge_id)),
                    ("cents", (*cents).into()),
                    ("key", text(key)),
                    ("by", text(by)),
                ]),
            ),
            Entry::Effect { name, tool, business_key, cents, text: said } => (
                "effect",
                object([
                    ("name", text(name)),
                    ("tool", text(tool)),
                    ("business_key", maybe(business_key)),
                    ("cents", cents.map_or(Value::Null, Value::from)),
                    ("text", text(said)),
                ]),
            ),
            Entry::Question { key, tool, args } => {
                ("question", object([("key", text(key)), ("tool", text(tool)), ("args", (**args).clone())]))
            }
            Entry::Decision { key, status, approver, note } => (
                "decision",
                object([
                    ("key", text(key)),
                    ("decision", status.as_str().into()),
                    ("approver", text(approver)),
                    ("note", maybe(note)),
                ]),
            ),
            Entry::InboxLost => ("inbox_lost", object([])),
            Entry::Mail { to, text: mail } => ("mail", object([("to", text(to)), ("text", text(mail))])),
            Entry::HandOver { status } => ("hand_over", object([("status", text(status))])),
        };
        compact(&object([
            ("at_ms", self.at_ms.into()),
            ("record", self.record.map_or(Value::Null, Value::from)),
            ("type", kind.into()),
            ("entry", entry),
        ]))
    }

    /// Reads what [`Row::to_line`] wrote.
    pub fn from_line(line: &str) -> Result<Row, ReadError> {
        read(&parse(line)?, "$", |from| Row {
            at_ms: from.u64("at_ms"),
            record: from.optional("record", Fields::u64),
            entry: Entry::read(from, &from.object("entry")),
        })
    }
}

impl Entry {
    fn read(row: &Fields, from: &Fields) -> Entry {
        match row.str("type") {
            "model_call" => Entry::ModelCall {
                outcome: from.arc_str("outcome"),
                input_tokens: from.u64("input_tokens"),
                output_tokens: from.u64("output_tokens"),
                cost: PicoUsd(from.u64("cost_pico_usd")),
            },
            "request" => Entry::Request {
                tool: from.arc_str("tool"),
                args: from.arc_str("args"),
                key: from.arc_str("key"),
                outcome: from.arc_str("outcome"),
                result: from.array("result").first().cloned().map(Arc::new),
            },
            "refund" => Entry::Refund {
                refund_id: from.arc_str("refund_id"),
                charge_id: from.arc_str("charge_id"),
                cents: from.u64("cents"),
                key: from.arc_str("key"),
                by: from.arc_str("by"),
            },
            "effect" => Entry::Effect {
                name: from.arc_str("name"),
                tool: from.arc_str("tool"),
                business_key: from.optional("business_key", Fields::arc_str),
                cents: from.optional("cents", Fields::u64),
                text: from.arc_str("text"),
            },
            // Up to version 0.1.0 three effects had rows of their own.
            "voucher" => {
                let cents = from.u64("cents");
                let (id, customer) = (from.str("voucher_id"), from.str("customer_id"));
                let text = format!("Voucher {id} of {} USD for {customer}", cents_text(cents));
                old_effect("voucher", "send_voucher", Some(cents), text)
            }
            "note" => old_effect("note", "add_internal_note", None, from.str("text").to_string()),
            "escalation" => old_effect("escalation", "escalate", None, format!("Handed over: {}", from.str("text"))),
            "question" => Entry::Question {
                key: from.arc_str("key"),
                tool: from.arc_str("tool"),
                args: Arc::new(from.value("args").clone()),
            },
            "decision" => Entry::Decision {
                key: from.arc_str("key"),
                status: ApprovalStatus::read(from, "decision"),
                approver: from.arc_str("approver"),
                note: from.optional("note", Fields::arc_str),
            },
            "inbox_lost" => Entry::InboxLost,
            "mail" => Entry::Mail { to: from.arc_str("to"), text: from.arc_str("text") },
            "hand_over" => Entry::HandOver { status: from.arc_str("status") },
            _ => {
                row.note_wrong("type", "a kind of ledger row");
                Entry::InboxLost
            }
        }
    }
}

fn old_effect(name: &str, tool: &str, cents: Option<u64>, text: String) -> Entry {
    Entry::Effect { name: name.into(), tool: tool.into(), business_key: None, cents, text: text.into() }
}

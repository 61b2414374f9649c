//! The tools that come with the lab, defined as a scenario defines tools of its own.

use super::services::coded;
use super::tool_definition::ToolDefinition;
use crate::base::json::{parse, read};

/// Name and definition of each, in the order in which the model is told of them. The reference of the form is `scenarios/README.md`,
/// under `tools`. A tool without a `result` does what [`coded`] says.
const SHIPPED_TOOLS: [(&str, &str); 9] = [
    (
        "search_kb",
        r#"{
            "description": "Searches the help desk’s articles.",
            "parameters": {"properties": {"query": {"type": "string"}}, "required": ["query"]},
            "recognises_keys": true,
            "latency_s": 0.14,
            "labels": {"subject": "the knowledge base", "before": "is searched", "after": "was searched"}
        }"#,
    ),
    (
        "read_article",
        r#"{
            "description": "Shows one article.",
            "parameters": {"properties": {"article_id": {"type": "string"}}, "required": ["article_id"]},
            "recognises_keys": true,
            "latency_s": 0.06,
            "finds": {"in": "articles", "by": "article_id"},
            "result": "{{found}}",
            "labels": {"subject": "the article", "before": "is read", "after": "was read"}
        }"#,
    ),
    (
        "get_account",
        r#"{
            "description": "Shows a customer’s account.",
            "parameters": {"properties": {"customer_id": {"type": "string"}}, "required": ["customer_id"]},
            "recognises_keys": true,
            "latency_s": 0.09,
            "finds": {"in": "accounts", "by": "customer_id"},
            "result": "{{found}}",
            "labels": {"subject": "the account", "before": "is looked up", "after": "was looked up"}
        }"#,
    ),
    (
        "get_invoice",
        r#"{
            "description": "Shows an invoice with its charges.",
            "parameters": {"properties": {"invoice_id": {"type": "string"}}, "required": ["invoice_id"]},
            "recognises_keys": true,
            "latency_s": 0.18,
            "labels": {"subject": "the invoice", "before": "is looked up", "after": "was looked up"}
        }"#,
    ),
    (
        "issue_refund",
        r#"{
            "description": "Sends money back to the card that was charged.",
            "parameters": {
                "properties": {
                    "invoice_id": {"type": "string"},
                    "charge_id": {"type": "string"},
                    "amount": {"type": "number"},
                    "currency": {"type": "string"},
                    "reason": {"type": "string"}
                },
                "required": ["invoice_id", "charge_id", "amount", "currency", "reason"]
            },
            "read_only": false,
            "intent": ["charge_id"],
            "relies_on": {"tool": "get_invoice", "argument": "invoice_id", "version_field": "version"},
            "recognises_keys": true,
            "latency_s": 0.62,
            "labels": {"subject": "the refund", "before": "happens", "after": "happened"}
        }"#,
    ),
    (
        "send_voucher",
        r#"{
            "description": "Sends a voucher to a customer.",
            "parameters": {
                "properties": {
                    "customer_id": {"type": "string"},
                    "amount": {"type": "number"},
                    "currency": {"type": "string"}
                },
                "required": ["customer_id", "amount", "currency"]
            },
            "idempotent": false,
            "lookup": "find_voucher",
            "recognises_keys": true,
            "latency_s": 0.31,
            "finds": {"in": "accounts", "by": "customer_id"},
            "effect": {
                "name": "voucher",
                "amount": "{{args.amount}}",
                "text": "Voucher VC-{{number:5}} of {{amount}} USD for {{args.customer_id}}"
            },
            "result": {"voucher_id": "VC-{{number:5}}", "amount": "{{amount}}"},
            "labels": {"subject": "the voucher", "before": "is sent", "after": "was sent"}
        }"#,
    ),
    (
        "find_voucher",
        r#"{
            "description": "Tells whether a voucher request was carried out.",
            "look_up": "send_voucher",
            "recognises_keys": true,
            "latency_s": 0.09,
            "labels": {"subject": "the voucher", "before": "is looked for", "after": "was looked for"}
        }"#,
    ),
    (
        "add_internal_note",
        r#"{
            "description": "Adds a note that only colleagues see.",
            "parameters": {"properties": {"text": {"type": "string"}}, "required": ["text"]},
            "irreversible": false,
            "recognises_keys": true,
            "effect": {"name": "note", "text": "{{args.text}}"},
            "result": {"saved": true, "note_count": "{{number}}"},
            "labels": {"subject": "the note", "before": "is saved", "after": "was saved"}
        }"#,
    ),
    (
        "escalate",
        r#"{
            "description": "Hands the ticket to a colleague.",
            "parameters": {"properties": {"summary": {"type": "string"}}, "required": ["summary"]},
            "irreversible": false,
            "recognises_keys": true,
            "effect": {"name": "escalation", "text": "Handed over: {{args.summary}}"},
            "result": {"escalation_id": "ESC-{{number:4}}", "queue": "billing team leads"},
            "labels": {"subject": "the ticket", "before": "is handed over", "after": "was handed over"}
        }"#,
    ),
];

/// All of them.
pub fn shipped_tools() -> Vec<ToolDefinition> {
    SHIPPED_TOOLS.iter().filter_map(|(name, _)| shipped_tool(name)).collect()
}

/// The tool of a name. A definition that cannot be read would be missing; a test reads all of them.
pub fn shipped_tool(name: &str) -> Option<ToolDefinition> {
    let (name, json) = SHIPPED_TOOLS.iter().find(|(known, _)| *known == name)?;
    read(&parse(json).ok()?, "$", |from| ToolDefinition::read(name, from, coded(name))).ok()
}

/// True if the lab has a tool of this name.
pub fn is_shipped(name: &str) -> bool {
    SHIPPED_TOOLS.iter().any(|(known, _)| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_definition_can_be_read_and_quotes_what_there_is() {
        let tools = shipped_tools();
        assert_eq!(tools.len(), SHIPPED_TOOLS.len());
        for (tool, (name, json)) in tools.iter().zip(SHIPPED_TOOLS) {
            let checked = read(&parse(json).unwrap(), "$", |from| tool.check_names(from, &tools));
            assert_eq!(checked, Ok(()), "{name}");
        }
    }
}

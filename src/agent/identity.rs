//! Who is who: one identity of a call serves approval, idempotency, loop guard and replay.
//!
//! The identity is the tool and the canonical arguments. Keys are readable on purpose: a learner sees in the billing ledger why two
//! requests were taken for one. The hashes here tell values apart and find damage; where equality decides something (an approval
//! covers *these* arguments) the full text is compared.

use std::sync::Arc;

use serde_json::Value;

use super::tools::ToolSpec;
use crate::base::canonical::canonical;
use crate::base::hash::hash64;

// ANCHOR: idempotency-key
/// The key under which a service recognises a repeated request.
///
/// With `intent_keys` and a tool that names the fields of its business intent, the key is made from those: the same charge refunded
/// under another call id is the same refund. Otherwise it is made from the run and the call's position in it (step and call id), which
/// survives a retry and a crash, but not a model that plans the same thing again.
pub fn idempotency_key(spec: &ToolSpec, args: &Value, run_id: &str, position: &str, intent_keys: bool) -> Arc<str> {
    if !intent_keys || spec.intent.is_empty() {
        return format!("{run_id}:{position}").into();
    }
    let mut key = spec.name.clone();
    for field in &spec.intent {
        key.push(':');
        match &args[field.as_str()] {
            Value::String(text) if is_plain(text) => key.push_str(text),
            other => key.push_str(&canonical(other)),
        }
    }
    key.into()
}
// ANCHOR_END: idempotency-key

/// True for a text that cannot be taken for anything else where it stands between colons without quotes.
fn is_plain(text: &str) -> bool {
    let starts_well = text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    starts_well && !text.as_bytes().contains(&b':') && !matches!(text, "true" | "false" | "null")
}

/// The key of one approval: run, tool, canonical arguments, and how many approvals of exactly these were used up before.
pub fn approval_key(run_id: &str, tool: &str, args: &Value, used_before: usize) -> Arc<str> {
    let digest = hash64(canonical(args).as_bytes());
    format!("{run_id}:{tool}:{digest:016x}:{used_before}").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn intents_that_differ_have_keys_that_differ() {
        let spec = ToolSpec { intent: vec!["a".to_string(), "b".to_string()], ..ToolSpec::new("pay", "Pays.") };
        let key = |a: Value, b: Value| idempotency_key(&spec, &json!({"a": a, "b": b}), "run", "0/c", true);
        assert_eq!(&*key(json!("INV-1"), json!("CH-2")), "pay:INV-1:CH-2", "readable where nothing stands against it");
        let odd = ["a", "a:b", "b", "b:c", "c", "\"a\":b", "", "5", "true", "null", ":", "\"", "{}"];
        let mut values: Vec<Value> = odd.iter().map(|text| json!(text)).collect();
        values.extend([json!(5), json!(true), json!(null), json!({}), json!(["a", "b"])]);
        let mut keys: Vec<_> = values.iter().flat_map(|a| values.iter().map(|b| key(a.clone(), b.clone()))).collect();
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn other_arguments_and_earlier_approvals_give_other_keys() {
        let key = |amount: u64, used| approval_key("r", "issue_refund", &json!({"amount": amount}), used);
        assert_ne!(key(288, 0), key(2_880, 0));
        assert_ne!(key(288, 0), key(288, 1));
        assert_eq!(key(288, 0), key(288, 0));
    }
}

//! Who is who: one identity of a call serves approval, idempotency, loop guard and replay.
//!
//! The identity is the tool and the canonical arguments. Keys are readable on purpose: a learner sees in the billing ledger why two
//! requests were taken for one. The hashes here tell values apart and find damage; where equality decides something (an approval
//! covers *these* arguments) the full text is compared.

use std::sync::Arc;

use serde_json::Value;

use super::canonical::canonical;
use super::tools::ToolSpec;

/// FNV-1a with 64 bits, finished with SplitMix64's mixer so that short texts spread over all bits.
pub fn hash64(bytes: &[u8]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(hash)
}

/// SplitMix64's output function: a bijection on 64 bits.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Tool and canonical arguments, for example `get_invoice {"invoice_id":"INV-1"}`.
pub fn call_identity(tool: &str, args: &Value) -> Arc<str> {
    format!("{tool} {}", canonical(args)).into()
}

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

/// A W3C `traceparent` (version 00, sampled) for one request of a run.
///
/// The trace id is the caller's if the run was started with a valid one, else derived from the run id; the span id is derived from
/// the request's position in the run, so the same run gives the same ids.
pub fn traceparent(parent: Option<&str>, run_id: &str, position: &str) -> Arc<str> {
    format!("00-{}-{}-01", run_trace_id(parent, run_id), span_id(run_id, position)).into()
}

/// The trace that a run belongs to: the caller's if its `traceparent` is valid, else one derived from the run id.
pub fn run_trace_id(parent: Option<&str>, run_id: &str) -> String {
    parent
        .filter(|text| is_traceparent(text))
        .map_or_else(|| trace_id(run_id), |text| text.get(3..35).unwrap_or_default().to_string())
}

/// 16 bytes, as lower-case hex, never all zero.
pub fn trace_id(run_id: &str) -> String {
    let high = hash64(run_id.as_bytes());
    format!("{high:016x}{:016x}", mix(high).max(1))
}

/// 8 bytes, as lower-case hex, never all zero.
pub fn span_id(run_id: &str, position: &str) -> String {
    format!("{:016x}", hash64(format!("{run_id}\n{position}").as_bytes()).max(1))
}

/// True for a `traceparent` as W3C Trace Context, section 3.2, wants it: lower-case hex, no all-zero id, not version ff. Of a
/// version after 00 the known part counts, whatever follows it behind a hyphen.
pub fn is_traceparent(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 55 {
        return false;
    }
    let fits = |(place, byte): (usize, &u8)| match place {
        2 | 35 | 52 => *byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
    };
    let not_zero = |part: &[u8]| part.iter().any(|byte| *byte != b'0');
    let version = &bytes[..2];
    let ends_well = bytes.len() == 55 || (version != b"00" && bytes[55] == b'-');
    bytes[..55].iter().enumerate().all(fits)
        && version != b"ff"
        && ends_well
        && not_zero(&bytes[3..35])
        && not_zero(&bytes[36..52])
}

/// True for a `tracestate` as W3C Trace Context, section 3.3, wants it: at most 32 members `key=value`, no key twice.
pub fn is_tracestate(text: &str) -> bool {
    let members: Vec<&str> =
        text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty()).collect();
    let keys: Vec<Option<&str>> = members.iter().map(|member| tracestate_key(member)).collect();
    let is_first = |(place, key): (usize, &Option<&str>)| key.is_some() && !keys[..place].contains(key);
    !members.is_empty() && members.len() <= 32 && keys.iter().enumerate().all(is_first)
}

/// The key of a well-formed member of a `tracestate`: `key`, or `tenant@system`.
fn tracestate_key(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    let fits = |part: &str, longest: usize, may_begin_with_digit: bool| {
        let begins = |byte: &u8| byte.is_ascii_lowercase() || (may_begin_with_digit && byte.is_ascii_digit());
        let follows = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(&byte);
        part.len() <= longest && part.as_bytes().first().is_some_and(begins) && part.bytes().all(follows)
    };
    let key_fits = match key.split_once('@') {
        Some((tenant, system)) => fits(tenant, 241, true) && fits(system, 14, false),
        None => fits(key, 256, false),
    };
    let is_printable = value.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    (key_fits && !value.is_empty() && value.len() <= 256 && is_printable).then_some(key)
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
    fn only_a_valid_traceparent_is_taken_up() {
        let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(is_traceparent(valid));
        for broken in [
            "",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319cb7ad6b7169203331--01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-é",
            "00-éaf7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
        ] {
            assert!(!is_traceparent(broken), "{broken}");
        }
        for later in [
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        ] {
            assert!(is_traceparent(later), "{later}");
            assert!(traceparent(Some(later), "r", "c").starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
        }
        assert!(traceparent(Some(valid), "r", "c").starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
        assert!(is_traceparent(&traceparent(Some("nonsense"), "r", "c")));
    }

    #[test]
    fn a_tracestate_keeps_to_its_limits() {
        let members = |count: usize| (0..count).map(|place| format!("k{place}=v")).collect::<Vec<_>>().join(",");
        let long_key = "k".repeat(256);
        for valid in [
            "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
            "a=b , ,c=d",
            "fw529a3039@dt=FfffffC0lor",
            "0tenant@system=1",
            "a= b",
            &members(32),
            &format!("{long_key}={}", "v".repeat(256)),
        ] {
            assert!(is_tracestate(valid), "{valid}");
        }
        for broken in [
            "",
            ",",
            "a",
            "a=",
            "=b",
            "A=b",
            "0a=b",
            "a@0=b",
            "a=b=c",
            "a=é",
            "a=b,a=c",
            &members(33),
            &format!("{long_key}k=v"),
            &format!("k={}", "v".repeat(257)),
        ] {
            assert!(!is_tracestate(broken), "{broken}");
        }
    }

    #[test]
    fn other_arguments_and_earlier_approvals_give_other_keys() {
        let key = |amount: u64, used| approval_key("r", "issue_refund", &json!({"amount": amount}), used);
        assert_ne!(key(288, 0), key(2_880, 0));
        assert_ne!(key(288, 0), key(288, 1));
        assert_eq!(key(288, 0), key(288, 0));
    }
}

//! Canonical JSON: one text for one value, whoever wrote it (RFC 8785, "JCS").
//!
//! It is the identity of a tool call: approval, idempotency, loop guard and replay all compare it. One deviation, on purpose:
//! RFC 8785 rounds numbers to a double, which would make 9007199254740993 and 9007199254740992 the same refund. Here numbers keep
//! their exact value and only their layout is ECMAScript's.

use serde_json::Value;

use crate::base::decimal::Decimal;
use crate::base::json::write_string;

/// The canonical text of a value: keys in the order of their UTF-16 code units, no white space, shortest escapes, exact numbers.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => {
            let written = number.as_str();
            match Decimal::parse(written) {
                Some(decimal) => out.push_str(&decimal.canonical()),
                // Only an exponent beyond 32 bits gets here; as written it is at least equal to itself.
                None => out.push_str(written),
            }
        }
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        canonical(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn reordered_keys_and_other_layouts_are_one_text() {
        assert_eq!(of(r#"{ "b": [1.0, 2e0], "a": {"d": null, "c": true} }"#), r#"{"a":{"c":true,"d":null},"b":[1,2]}"#);
        assert_eq!(of(r#"{"amount": 288.00, "charge": "CH-2"}"#), of(r#"{"charge":"CH-2","amount":288}"#));
    }

    #[test]
    fn keys_sort_by_utf16_code_units() {
        // RFC 8785, section 3.2.3: the emoji's surrogates (d83d…) sort before U+FB33.
        let sorted = of("{\"\u{fb33}\":1,\"\u{1f600}\":2,\"\u{20ac}\":3,\"\\r\":4,\"1\":5}");
        assert_eq!(sorted, "{\"\\r\":4,\"1\":5,\"\u{20ac}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}");
    }

    #[test]
    fn strings_escape_only_what_they_must() {
        assert_eq!(of(r#""\u0000\u001f\/\u20ac\b\"\\""#), "\"\\u0000\\u001f/\u{20ac}\\b\\\"\\\\\"");
    }

    #[test]
    fn big_integers_stay_apart() {
        assert_ne!(of("9007199254740993"), of("9007199254740992"));
    }
}

//! JSON as text. It is the counterpart of the parser: what is written here reads as the same value, with the same digits.

use serde_json::Value;

/// The text of a value, without white space.
pub fn compact(value: &Value) -> String {
    let mut text = String::new();
    write(value, None, &mut text);
    text
}

/// The text of a value on many lines, indented.
pub fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(value, Some(0), &mut text);
    text
}

/// `depth`: how deep the value stands, or `None` to write all of it on one line.
fn write(value: &Value, depth: Option<usize>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(number.as_str()),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                begin_item(place, depth, out);
                write(item, depth.map(|depth| depth + 1), out);
            }
            end_items(items.is_empty(), depth, out);
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (place, (key, field)) in fields.iter().enumerate() {
                begin_item(place, depth, out);
                write_string(key, out);
                out.push_str(if depth.is_some() { ": " } else { ":" });
                write(field, depth.map(|depth| depth + 1), out);
            }
            end_items(fields.is_empty(), depth, out);
            out.push('}');
        }
    }
}

fn begin_item(place: usize, depth: Option<usize>, out: &mut String) {
    if place > 0 {
        out.push(',');
    }
    if let Some(depth) = depth {
        new_line(depth + 1, out);
    }
}

fn end_items(is_empty: bool, depth: Option<usize>, out: &mut String) {
    if let Some(depth) = depth.filter(|_| !is_empty) {
        new_line(depth, out);
    }
}

fn new_line(depth: usize, out: &mut String) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// A text in quotation marks, with the shortest escapes.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut written = 0;
    let is_special = |(_, byte): &(usize, u8)| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    for (at, byte) in text.bytes().enumerate().filter(is_special) {
        out.push_str(text.get(written..at).unwrap_or_default());
        written = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\x08' => out.push_str("\\b"),
            b'\x0c' => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
    }
    out.push_str(text.get(written..).unwrap_or_default());
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_text_is_what_serde_json_writes() {
        let every_character: String = ('\0'..='\u{17f}').chain(['\u{2028}', '\u{fffd}', '🦀']).collect();
        let values = [
            json!(null),
            json!([true, false, 0, -1, 1.5, u64::MAX, every_character]),
            json!({"empty": [{}, [], ""], "deep": [[1, [2]], {"a": {"b": null}}], "\"quoted\"\n": "\\"}),
            crate::base::json::parse(r#"{"exact": [1.50, 9007199254740993, 1e400, -0]}"#).unwrap(),
        ];
        for value in &values {
            assert_eq!(compact(value), serde_json::to_string(value).unwrap());
            assert_eq!(pretty(value), serde_json::to_string_pretty(value).unwrap());
        }
    }
}

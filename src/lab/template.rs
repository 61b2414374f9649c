//! Templates: `{{path}}` in a string quotes a value. The script of the model and the tools of a scenario are written with them.

use std::borrow::Cow;

use serde_json::Value;

use crate::base::json::compact;

/// Finds what the first name of a path stands for; `None`: nothing has that name.
pub type Source<'a> = &'a dyn Fn(&str) -> Option<Cow<'a, Value>>;

/// Fills the quotations in every string of a value. A string that is nothing but one quotation becomes the quoted value itself.
pub fn fill(template: &Value, source: Source) -> Value {
    match template {
        Value::String(text) => {
            let whole = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).filter(|inner| !inner.contains("}}"));
            whole.and_then(|path| quoted(path, source)).unwrap_or_else(|| fill_text(text, source).into())
        }
        Value::Array(items) => items.iter().map(|item| fill(item, source)).collect(),
        Value::Object(fields) => Value::Object(fields.iter().map(|(key, field)| (key.clone(), fill(field, source))).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    }
}

/// Fills the quotations in a text.
pub fn fill_text(template: &str, source: Source) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, path, after)) = next_quotation(rest) {
        text.push_str(before);
        match quoted(path, source) {
            Some(Value::String(found)) => text.push_str(&found),
            Some(found) => text.push_str(&compact(&found)),
            // What cannot be quoted stays as it was written, so that it is seen.
            None => text.push_str(&format!("{{{{{path}}}}}")),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// The paths that a text quotes.
pub fn quotations(template: &str) -> Vec<&str> {
    let mut paths = Vec::new();
    let mut rest = template;
    while let Some((_, path, after)) = next_quotation(rest) {
        paths.push(path.trim());
        rest = after;
    }
    paths
}

/// What stands before the first quotation, its path, and what stands after it.
fn next_quotation(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (path, after) = rest.split_once("}}")?;
    Some((before, path, after))
}

/// The value at a path such as `get_invoice.charges[1].charge_id`.
fn quoted(path: &str, source: Source) -> Option<Value> {
    let (root, rest) = path.trim().split_once('.').unwrap_or((path.trim(), ""));
    let root = source(root)?;
    let mut value = &*root;
    for part in rest.split(['.', '[']).filter(|part| !part.is_empty()) {
        value = match part.strip_suffix(']') {
            Some(index) => value.get(index.parse::<usize>().ok()?)?,
            None => value.get(part)?,
        };
    }
    Some(value.clone())
}

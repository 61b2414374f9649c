//! Values from JavaScript as JSON text, without a loss: what `JSON.stringify` would leave out or make `null` is refused.

use js_sys::{Array, JSON, Map, Object, Reflect, Set};
use wasm_bindgen::{JsCast, JsValue};

/// JSON text of a value; a text is taken as it is, as JSON. An error names the path of what JSON cannot hold.
pub fn json_text(value: &JsValue) -> Result<String, String> {
    if let Some(text) = value.as_string() {
        return Ok(text);
    }
    check(value, "$", &mut Vec::new())?;
    let text = JSON::stringify(value).ok().and_then(|text| text.as_string());
    text.ok_or_else(|| "$: this is not plain data that JSON can hold".to_string())
}

/// Deeper than anything that the reader takes.
const DEEPEST: usize = 200;

/// `holders`: what the value stands in, from the outside.
fn check(value: &JsValue, path: &str, holders: &mut Vec<JsValue>) -> Result<(), String> {
    let is_strange =
        value.is_bigint() || value.is_symbol() || value.is_function() || value.as_f64().is_some_and(|n| !n.is_finite());
    if is_strange || value.has_type::<Map>() || value.has_type::<Set>() {
        return Err(format!("{path}: {} cannot stand in JSON", describe(value)));
    }
    if !value.is_object() {
        return Ok(());
    }
    if holders.iter().any(|holder| Object::is(holder, value)) {
        return Err(format!("{path}: it stands in itself, which cannot stand in JSON"));
    }
    if holders.len() == DEEPEST {
        return Err(format!("{}…: it is nested too deeply", crate::base::text::preview(path, 60)));
    }
    let get = |key: &JsValue| Reflect::get(value, key).map_err(|_| format!("{path}: it cannot be read"));
    // It says itself what stands for it, as a `Date` does.
    if get(&"toJSON".into())?.is_function() {
        return Ok(());
    }
    holders.push(value.clone());
    for (place, key) in Object::keys(value.unchecked_ref::<Object>()).iter().enumerate() {
        let path = match Array::is_array(value) {
            true => format!("{path}[{place}]"),
            false => format!("{path}.{}", key.as_string().unwrap_or_default()),
        };
        check(&get(&key)?, &path, holders)?;
    }
    holders.pop();
    Ok(())
}

/// A value in a few words, such as `NaN` or `a function`.
pub fn describe(value: &JsValue) -> String {
    let word = match value {
        _ if value.is_undefined() => "nothing",
        _ if value.is_null() => "null",
        _ if value.is_bigint() => "a bigint",
        _ if value.is_symbol() => "a symbol",
        _ if value.is_function() => "a function",
        _ if value.is_string() => "a string",
        _ if value.has_type::<Map>() => "a Map",
        _ if value.has_type::<Set>() => "a Set",
        _ => return value.as_f64().map_or_else(|| "a value of another kind".to_string(), number_text),
    };
    word.to_string()
}

fn number_text(number: f64) -> String {
    match number {
        f64::INFINITY => "Infinity".to_string(),
        f64::NEG_INFINITY => "-Infinity".to_string(),
        _ => number.to_string(),
    }
}

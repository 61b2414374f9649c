//! Reading JSON with errors that name the path, what stands there, and what was expected.
//!
//! Logs, checkpoints and scenarios come from storage, from files and from people's keyboards: each of them is read through here.

mod parser;

use std::fmt;

use serde_json::{Map, Value};

use crate::agent::canonical::canonical;
use crate::agent::decimal::Decimal;
use crate::agent::text::preview;
use crate::agent::tools::describe;

pub use parser::parse;

/// What could not be read, and where.
///
/// It is one pointer, as every field that is read may give one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(Box<(String, String)>);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path(), self.message())
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    /// An error at a path.
    pub fn new(path: &str, message: impl Into<String>) -> ReadError {
        ReadError(Box::new((path.to_string(), message.into())))
    }

    /// A JSON path such as `$.turns[3].calls[0].tool`.
    pub fn path(&self) -> &str {
        &self.0.0
    }

    /// What was expected and what stands there, as half a sentence.
    pub fn message(&self) -> &str {
        &self.0.1
    }
}

/// Over 30 years.
const LONGEST_MS: u64 = 1_000_000_000_000;

/// The fields of a JSON object, with the path at which it stands.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    /// Takes a value that has to be an object.
    pub fn of(value: &'a Value, path: &str) -> Result<Fields<'a>, ReadError> {
        match value {
            Value::Object(map) => Ok(Fields { map, path: path.to_string() }),
            other => Err(wrong(path, "an object", other)),
        }
    }

    /// The path of a field.
    pub fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// The keys, as they are written.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.map.keys().map(String::as_str)
    }

    /// An error unless every key is one of these.
    pub fn only(&self, known: &[&str]) -> Result<(), ReadError> {
        match self.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(unknown) => Err(ReadError::new(&self.path(unknown), format!("unknown key; known are {}", known.join(", ")))),
            None => Ok(()),
        }
    }

    /// A field that may be absent; `null` counts as absent.
    pub fn maybe(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A field that has to be there; it may be `null`.
    pub fn value(&self, key: &str) -> Result<&'a Value, ReadError> {
        self.map.get(key).ok_or_else(|| ReadError::new(&self.path(key), "missing, expected a value"))
    }

    fn typed<T>(&self, key: &str, expected: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, ReadError> {
        match self.map.get(key) {
            Some(value) => read(value).ok_or_else(|| wrong(&self.path(key), expected, value)),
            None => Err(ReadError::new(&self.path(key), format!("missing, expected {expected}"))),
        }
    }

    /// A string.
    pub fn text(&self, key: &str) -> Result<&'a str, ReadError> {
        self.typed(key, "a string", Value::as_str)
    }

    /// A string with something in it.
    pub fn filled(&self, key: &str) -> Result<&'a str, ReadError> {
        self.typed(key, "a string that is not empty", |value| value.as_str().filter(|text| !text.trim().is_empty()))
    }

    /// `true` or `false`.
    pub fn boolean(&self, key: &str) -> Result<bool, ReadError> {
        self.typed(key, "true or false", Value::as_bool)
    }

    /// A whole number that is not negative and fits 64 bits; `12.0` is one.
    pub fn count(&self, key: &str) -> Result<u64, ReadError> {
        self.typed(key, "a whole number from 0 to 18446744073709551615", count)
    }

    /// A whole number that fits 32 bits.
    pub fn small_count(&self, key: &str) -> Result<u32, ReadError> {
        self.typed(key, "a whole number from 0 to 4294967295", |value| count(value)?.try_into().ok())
    }

    /// A place in a series, from 1.
    pub fn ordinal(&self, key: &str) -> Result<u32, ReadError> {
        self.typed(key, "a whole number from 1 to 4294967295", |value| {
            u32::try_from(count(value)?).ok().filter(|&number| number > 0)
        })
    }

    /// Seconds as milliseconds. Bounded, so that no sum of them wraps round.
    pub fn duration_ms(&self, key: &str) -> Result<u64, ReadError> {
        let read = |value: &Value| decimal(value)?.scaled(3).filter(|&duration_ms| duration_ms <= LONGEST_MS);
        self.typed(key, "seconds, from 0 to 1000000000", read)
    }

    /// A number that is not negative, times `10^places`, rounded half up.
    pub fn scaled(&self, key: &str, places: u32) -> Result<u64, ReadError> {
        let read = |value: &Value| decimal(value)?.scaled(places);
        match self.map.get(key).and_then(read) {
            Some(scaled) => Ok(scaled),
            None => {
                let largest = u64::MAX / 10_u64.saturating_pow(places);
                self.typed(key, &format!("a number from 0 to {largest}"), read)
            }
        }
    }

    /// An array.
    pub fn array(&self, key: &str) -> Result<&'a Vec<Value>, ReadError> {
        self.typed(key, "an array", Value::as_array)
    }

    /// An object.
    pub fn object(&self, key: &str) -> Result<Fields<'a>, ReadError> {
        match self.map.get(key) {
            Some(value) => Fields::of(value, &self.path(key)),
            None => Err(ReadError::new(&self.path(key), "missing, expected an object")),
        }
    }

    /// An array of strings.
    pub fn texts(&self, key: &str) -> Result<Vec<&'a str>, ReadError> {
        let read = |(index, item): (usize, &'a Value)| {
            item.as_str().ok_or_else(|| wrong(&format!("{}[{index}]", self.path(key)), "a string", item))
        };
        self.array(key)?.iter().enumerate().map(read).collect()
    }

    /// An array of objects, each with its path.
    pub fn objects(&self, key: &str) -> Result<Vec<Fields<'a>>, ReadError> {
        let path = self.path(key);
        self.array(key)?.iter().enumerate().map(|(index, item)| Fields::of(item, &format!("{path}[{index}]"))).collect()
    }

    /// `read` if the field is there, else `None`.
    pub fn optional<T>(&self, key: &str, read: impl Fn(&Self, &str) -> Result<T, ReadError>) -> Result<Option<T>, ReadError> {
        self.maybe(key).map(|_| read(self, key)).transpose()
    }
}

/// The error for a value of the wrong kind.
pub fn wrong(path: &str, expected: &str, found: &Value) -> ReadError {
    let text = canonical(found);
    let shown = preview(&text, 60);
    let dots = if shown.len() < text.len() { "…" } else { "" };
    ReadError::new(path, format!("expected {expected}, found {} ({shown}{dots})", describe(found)))
}

/// A JSON number as a decimal.
pub fn decimal(value: &Value) -> Option<Decimal> {
    value.as_number().and_then(|number| Decimal::parse(&number.to_string()))
}

/// A JSON number as a whole number.
pub fn count(value: &Value) -> Option<u64> {
    decimal(value).filter(|number| number.has_at_most_places(0)).and_then(|number| number.scaled(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_path_expectation_and_finding() {
        let value = parse(r#"{"limits": {"max_steps": "three"}}"#).unwrap();
        let limits = Fields::of(&value, "$").unwrap().object("limits").unwrap();
        let error = limits.small_count("max_steps").unwrap_err().to_string();
        assert_eq!(error, r#"$.limits.max_steps: expected a whole number from 0 to 4294967295, found a string ("three")"#);
        assert_eq!(limits.text("gone").unwrap_err().to_string(), "$.limits.gone: missing, expected a string");
    }

    #[test]
    fn counts_are_whole_and_fit() {
        let number = |text: &str| count(&parse(text).unwrap());
        assert_eq!(number("12"), Some(12));
        assert_eq!(number("12.0"), Some(12));
        for none in ["12.5", "-1", "1e999", "\"12\"", "null", "18446744073709551616"] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}

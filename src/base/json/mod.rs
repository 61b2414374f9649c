//! Reading JSON with errors that name the path, what stands there, and what was expected.
//!
//! Logs, checkpoints and scenarios come from storage, from files and from people's keyboards: each of them is read through here.

mod parser;
mod writer;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::base::canonical::canonical;
use crate::base::decimal::Decimal;
use crate::base::text::{list, preview};

pub use parser::{parse, parse_handwritten};
pub(crate) use writer::write_string;
pub use writer::{compact, pretty};

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

/// Reads a value that has to be an object. The first mistake that was noted while reading is the error.
pub fn read<T>(value: &Value, path: &str, take: impl for<'a> FnOnce(&Fields<'a>) -> T) -> Result<T, ReadError> {
    let first_mistake = Cell::new(None);
    let taken = take(&Fields::of(value, path, &first_mistake));
    match first_mistake.into_inner() {
        None => Ok(taken),
        Some(mistake) => Err(mistake),
    }
}

/// The fields of a JSON object, with the path at which it stands.
///
/// Reading goes on after a mistake: what is missing or of the wrong kind reads as empty, 0, false or `null`, and the mistake is noted
/// for [`read`], which then gives nothing else. So a reader is one plain expression, without a way out at every field.
pub struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    path: String,
    first_mistake: &'a Cell<Option<ReadError>>,
}

static NULL: Value = Value::Null;

impl<'a> Fields<'a> {
    fn of(value: &'a Value, path: &str, first_mistake: &'a Cell<Option<ReadError>>) -> Fields<'a> {
        let fields = Fields { map: value.as_object(), path: path.to_string(), first_mistake };
        if fields.map.is_none() {
            fields.note(wrong(path, "an object", value));
        }
        fields
    }

    /// Notes a mistake, if it is the first.
    pub fn note(&self, mistake: ReadError) {
        let first = self.first_mistake.take().unwrap_or(mistake);
        self.first_mistake.set(Some(first));
    }

    /// Notes that a field is not what was expected.
    pub fn note_wrong(&self, key: &str, expected: &str) {
        self.note(wrong(&self.path(key), expected, self.get(key).unwrap_or(&NULL)));
    }

    /// The path of a field.
    pub fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// The keys, as they are written.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.map.into_iter().flat_map(|map| map.keys().map(String::as_str))
    }

    /// An item of one of its arrays as an object.
    pub fn item(&self, value: &'a Value, path: &str) -> Fields<'a> {
        Fields::of(value, path, self.first_mistake)
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map?.get(key)
    }

    /// Notes a key that is none of these.
    pub fn only(&self, known: &[&str]) {
        if let Some(unknown) = self.keys().find(|key| !known.contains(key)) {
            self.note(ReadError::new(&self.path(unknown), format!("unknown key; known are {}", list(known))));
        }
    }

    /// A field that may be absent; `null` counts as absent.
    pub fn maybe(&self, key: &str) -> Option<&'a Value> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// A field that has to be there; it may be `null`.
    pub fn value(&self, key: &str) -> &'a Value {
        self.get(key).unwrap_or_else(|| {
            self.note_missing(key, "a value");
            &NULL
        })
    }

    fn typed<T: Default>(&self, key: &str, expected: &str, read: impl Fn(&'a Value) -> Option<T>) -> T {
        let value = self.get(key);
        value.and_then(read).unwrap_or_else(|| {
            match value {
                Some(_) => self.note_wrong(key, expected),
                None => self.note_missing(key, expected),
            }
            T::default()
        })
    }

    fn note_missing(&self, key: &str, expected: &str) {
        self.note(ReadError::new(&self.path(key), format!("missing, expected {expected}")));
    }

    /// A string.
    pub fn str(&self, key: &str) -> &'a str {
        self.typed(key, "a string", Value::as_str)
    }

    /// A string with something in it.
    pub fn non_empty_str(&self, key: &str) -> &'a str {
        self.typed(key, "a string that is not empty", |value| value.as_str().filter(|text| !text.trim().is_empty()))
    }

    /// A string, shared.
    pub fn arc_str(&self, key: &str) -> Arc<str> {
        self.str(key).into()
    }

    /// `true` or `false`.
    pub fn bool(&self, key: &str) -> bool {
        self.typed(key, "true or false", Value::as_bool)
    }

    /// A whole number that is not negative and fits 64 bits; `12.0` is one.
    pub fn u64(&self, key: &str) -> u64 {
        self.typed(key, "a whole number from 0 to 18446744073709551615", count)
    }

    /// A whole number that fits 32 bits.
    pub fn u32(&self, key: &str) -> u32 {
        self.typed(key, "a whole number from 0 to 4294967295", |value| count(value)?.try_into().ok())
    }

    /// A number that is not negative, times `10^places`, rounded half up.
    pub fn scaled(&self, key: &str, places: u32) -> u64 {
        let largest = u64::MAX / 10_u64.saturating_pow(places);
        self.typed(key, &format!("a number from 0 to {largest}"), |value| decimal(value)?.scaled(places))
    }

    /// Seconds as milliseconds. Bounded, so that no sum of them wraps round.
    pub fn duration_ms(&self, key: &str) -> u64 {
        let read = |value: &Value| decimal(value)?.scaled(3).filter(|&duration_ms| duration_ms <= LONGEST_MS);
        self.typed(key, "seconds, from 0 to 1000000000", read)
    }

    /// A place in a series, from 1.
    pub fn ordinal(&self, key: &str) -> u32 {
        self.typed(key, "a whole number from 1 to 4294967295", |value| {
            u32::try_from(count(value)?).ok().filter(|&place| place > 0)
        })
    }

    /// An array.
    pub fn array(&self, key: &str) -> &'a [Value] {
        self.typed(key, "an array", |value| value.as_array().map(Vec::as_slice))
    }

    /// An object.
    pub fn object(&self, key: &str) -> Fields<'a> {
        match self.get(key) {
            Some(value) => Fields::of(value, &self.path(key), self.first_mistake),
            None => {
                self.note_missing(key, "an object");
                Fields { map: None, path: self.path(key), first_mistake: self.first_mistake }
            }
        }
    }

    /// An array of strings.
    pub fn strs(&self, key: &str) -> Vec<&'a str> {
        let read = |(index, item): (usize, &'a Value)| {
            item.as_str().unwrap_or_else(|| {
                self.note(wrong(&format!("{}[{index}]", self.path(key)), "a string", item));
                ""
            })
        };
        self.array(key).iter().enumerate().map(read).collect()
    }

    /// An array of objects, each with its path.
    pub fn objects(&self, key: &str) -> Vec<Fields<'a>> {
        let path = self.path(key);
        let read = |(index, item)| Fields::of(item, &format!("{path}[{index}]"), self.first_mistake);
        self.array(key).iter().enumerate().map(read).collect()
    }

    /// `read` if the field is there, else `None`.
    pub fn optional<T>(&self, key: &str, read: impl Fn(&Self, &str) -> T) -> Option<T> {
        self.maybe(key).map(|_| read(self, key))
    }

    /// The objects of an array that may be absent.
    pub fn optional_objects(&self, key: &str) -> Vec<Fields<'a>> {
        self.optional(key, Fields::objects).unwrap_or_default()
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
    value.as_number().and_then(|number| Decimal::parse(number.as_str()))
}

/// A JSON number as a whole number.
pub fn count(value: &Value) -> Option<u64> {
    decimal(value).filter(|number| number.has_at_most_places(0)).and_then(|number| number.scaled(0))
}

/// The JSON type of a value, with its article.
pub fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_path_expectation_and_finding() {
        let value = parse(r#"{"limits": {"max_steps": "three"}}"#).unwrap();
        let error = |value: &Value, take: fn(&Fields) -> u64| read(value, "$", take).unwrap_err().to_string();
        let expected = r#"$.limits.max_steps: expected a whole number from 0 to 4294967295, found a string ("three")"#;
        assert_eq!(error(&value, |from| from.object("limits").u32("max_steps").into()), expected);
        assert_eq!(
            error(&value, |from| from.object("limits").str("gone").len() as u64),
            "$.limits.gone: missing, expected a string"
        );
    }

    #[test]
    fn the_first_mistake_is_the_one_that_is_named() {
        let value = parse(r#"{"a": 1, "b": 2}"#).unwrap();
        let error = read(&value, "$", |from| (from.str("b").len(), from.bool("a"), from.object("c").str("d").len()));
        assert_eq!(error.unwrap_err().path(), "$.b");
        assert_eq!(read(&value, "$", |from| from.u64("a") + from.u64("b")), Ok(3));
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

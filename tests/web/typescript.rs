//! Compares JavaScript values with the declarations of `src/web/types.ts`, and notes which parts of them were met.
//!
//! The declarations are read from the very file that is shipped, so a field that one side adds, drops or renames fails the tests.

use std::collections::{BTreeMap, BTreeSet};

use js_sys::{Array, Object, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

/// A type of the declarations.
#[derive(Clone, Debug, PartialEq)]
enum Type {
    Text,
    Number,
    Boolean,
    Null,
    True,
    /// One string.
    Literal(String),
    Named(String),
    List(Box<Type>),
    Record(Vec<Field>),
    /// Any key, one type.
    Dictionary(Box<Type>),
    Union(Vec<Type>),
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    optional: bool,
    of: Type,
}

/// The declarations, and what of them was met in values.
pub struct Types {
    declared: BTreeMap<String, Type>,
    met: BTreeSet<String>,
}

impl Types {
    /// The declarations of the package.
    pub fn shipped() -> Types {
        Types::read(include_str!("../../src/web/types.ts"))
    }

    fn read(source: &str) -> Types {
        let mut reader = Reader { tokens: tokens(source), at: 0 };
        let mut declared = BTreeMap::new();
        while reader.at < reader.tokens.len() {
            reader.expect("export");
            let (name, of) = reader.declaration(&declared);
            assert!(declared.insert(name.clone(), of).is_none(), "{name} is declared twice");
        }
        Types { declared, met: BTreeSet::new() }
    }

    /// Panics unless the value is exactly of the type: no field missing, none too many.
    pub fn check(&mut self, name: &str, value: &JsValue) {
        let mut met = BTreeSet::new();
        let of = Type::Named(name.to_string());
        if let Err(message) = self.compare(value, &of, name, name, &mut met) {
            panic!("{message}\nin {}", text(value));
        }
        self.met.append(&mut met);
    }

    /// The same for a list of values.
    pub fn check_list(&mut self, name: &str, values: &JsValue) {
        assert!(Array::is_array(values), "not an array of {name}: {}", text(values));
        for value in values.unchecked_ref::<Array>().iter() {
            self.check(name, &value);
        }
    }

    /// Every part that the types of these names have and no value has shown.
    pub fn unmet(&self, names: &[&str]) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for name in names {
            self.parts(&Type::Named(name.to_string()), name, &mut all, &mut seen);
        }
        all.difference(&self.met).cloned().collect()
    }

    /// The words of a union of strings or of objects with a `type`.
    pub fn words(&self, name: &str) -> BTreeSet<String> {
        let Some(Type::Union(options)) = self.declared.get(name) else { panic!("{name} is no union") };
        options.iter().map(|option| self.as_str(option)).collect()
    }

    fn compare(&self, value: &JsValue, of: &Type, place: &str, path: &str, met: &mut BTreeSet<String>) -> Result<(), String> {
        let wrong = |expected: &str| Err(format!("{path}: expected {expected}, found {}", text(value)));
        match of {
            Type::Text if value.is_string() => Ok(()),
            Type::Text => wrong("a string"),
            Type::Number if value.as_f64().is_some_and(f64::is_finite) => Ok(()),
            Type::Number => wrong("a finite number"),
            Type::Boolean if value.as_bool().is_some() => Ok(()),
            Type::Boolean => wrong("true or false"),
            Type::True if value.as_bool() == Some(true) => Ok(()),
            Type::True => wrong("true"),
            Type::Null if value.is_null() => Ok(()),
            Type::Null => wrong("null"),
            Type::Literal(word) if value.as_string().as_ref() == Some(word) => Ok(()),
            Type::Literal(word) => wrong(word),
            Type::Named(name) if name == "Json" => compare_json(value, path),
            Type::Named(name) => {
                let declared = self.declared.get(name).unwrap_or_else(|| panic!("{name} is not declared"));
                self.compare(value, declared, name, path, met)
            }
            Type::List(items) => {
                if !Array::is_array(value) {
                    return wrong("an array");
                }
                for (index, item) in value.unchecked_ref::<Array>().iter().enumerate() {
                    met.insert(format!("{place}: an item"));
                    self.compare(&item, items, &format!("{place}[]"), &format!("{path}[{index}]"), met)?;
                }
                Ok(())
            }
            Type::Record(fields) => {
                let names = keys(value, path)?;
                if let Some(unknown) = names.iter().find(|name| fields.iter().all(|field| &field.name != *name)) {
                    return Err(format!("{path}: the declaration has no `{unknown}`"));
                }
                for field in fields {
                    let (place, path) = (format!("{place}.{}", field.name), format!("{path}.{}", field.name));
                    let is_there = names.contains(&field.name);
                    if field.optional {
                        met.insert(format!("{place}: {}", if is_there { "present" } else { "absent" }));
                    }
                    match is_there {
                        true => self.compare(&get(value, &field.name), &field.of, &place, &path, met)?,
                        false if field.optional => {}
                        false => return Err(format!("{path}: missing")),
                    }
                }
                Ok(())
            }
            Type::Dictionary(values) => {
                for name in keys(value, path)? {
                    met.insert(format!("{place}: an item"));
                    self.compare(&get(value, &name), values, &format!("{place}[]"), &format!("{path}.{name}"), met)?;
                }
                Ok(())
            }
            Type::Union(options) => {
                let mut nearest = None;
                for option in options {
                    let word = self.as_str(option);
                    let mut parts = BTreeSet::new();
                    match self.compare(value, option, &format!("{place}|{word}"), path, &mut parts) {
                        Ok(()) => {
                            met.append(&mut parts);
                            met.insert(format!("{place}: {word}"));
                            return Ok(());
                        }
                        // The option that names the same kind says best what is wrong.
                        Err(message) if value.is_object() && kind(value).as_ref() == Some(&word) => nearest = Some(message),
                        Err(_) => {}
                    }
                }
                nearest.map_or_else(|| wrong(&format!("one of {place}")), Err)
            }
        }
    }

    /// A name for one option of a union.
    fn as_str(&self, of: &Type) -> String {
        match of {
            Type::Text => "a string".to_string(),
            Type::Number => "a number".to_string(),
            Type::Boolean => "a boolean".to_string(),
            Type::True => "true".to_string(),
            Type::Null => "null".to_string(),
            Type::Literal(word) => word.clone(),
            Type::Named(name) => match self.declared.get(name) {
                Some(Type::Record(fields)) => kind_of(fields).unwrap_or_else(|| name.clone()),
                _ => name.clone(),
            },
            Type::List(_) => "an array".to_string(),
            Type::Record(fields) => kind_of(fields).unwrap_or_else(|| "an object".to_string()),
            Type::Dictionary(_) | Type::Union(_) => "an object".to_string(),
        }
    }

    fn parts(&self, of: &Type, place: &str, all: &mut BTreeSet<String>, seen: &mut BTreeSet<String>) {
        match of {
            Type::Text | Type::Number | Type::Boolean | Type::True | Type::Null | Type::Literal(_) => {}
            Type::Named(name) if name == "Json" => {}
            Type::Named(name) => {
                if seen.insert(name.clone()) {
                    let declared = self.declared.get(name).unwrap_or_else(|| panic!("{name} is not declared"));
                    self.parts(declared, name, all, seen);
                }
            }
            Type::List(items) | Type::Dictionary(items) => {
                all.insert(format!("{place}: an item"));
                self.parts(items, &format!("{place}[]"), all, seen);
            }
            Type::Record(fields) => {
                for field in fields {
                    let place = format!("{place}.{}", field.name);
                    if field.optional {
                        all.extend([format!("{place}: present"), format!("{place}: absent")]);
                    }
                    self.parts(&field.of, &place, all, seen);
                }
            }
            Type::Union(options) => {
                for option in options {
                    let word = self.as_str(option);
                    all.insert(format!("{place}: {word}"));
                    self.parts(option, &format!("{place}|{word}"), all, seen);
                }
            }
        }
    }
}

/// What tells the objects of a union apart.
fn kind_of(fields: &[Field]) -> Option<String> {
    fields.iter().find_map(|field| match (&field.of, field.name.as_str()) {
        (Type::Literal(word), "type" | "role") => Some(word.clone()),
        _ => None,
    })
}

fn kind(value: &JsValue) -> Option<String> {
    get(value, "type").as_string().or_else(|| get(value, "role").as_string())
}

fn get(value: &JsValue, name: &str) -> JsValue {
    Reflect::get(value, &name.into()).unwrap()
}

/// The keys of a plain object. A `Map`, a class instance and a `bigint` are none.
fn keys(value: &JsValue, path: &str) -> Result<Vec<String>, String> {
    let is_plain = value.is_object()
        && !Array::is_array(value)
        && Object::get_prototype_of(value) == Object::get_prototype_of(&Object::new());
    if !is_plain {
        return Err(format!("{path}: expected a plain object, found {}", text(value)));
    }
    Ok(Object::keys(value.unchecked_ref::<Object>()).iter().map(|key| key.as_string().unwrap()).collect())
}

fn compare_json(value: &JsValue, path: &str) -> Result<(), String> {
    if value.is_null() || value.is_string() || value.as_bool().is_some() || value.as_f64().is_some_and(f64::is_finite) {
        return Ok(());
    }
    if Array::is_array(value) {
        return value.unchecked_ref::<Array>().iter().try_for_each(|item| compare_json(&item, path));
    }
    keys(value, path)?.iter().try_for_each(|name| compare_json(&get(value, name), &format!("{path}.{name}")))
}

fn text(value: &JsValue) -> String {
    let json = js_sys::JSON::stringify(value).ok().and_then(|json| json.as_string());
    json.unwrap_or_else(|| format!("{value:?}")).chars().take(600).collect()
}

// --- Reading the declarations -----------------------------------------------------------------------------------------------------

/// Words, quoted words, and single characters; comments are left out.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while !rest.is_empty() {
        let length = if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").expect("a comment ends") + 4
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(quoted) = rest.strip_prefix('\'') {
            let length = quoted.find('\'').expect("a string ends") + 2;
            tokens.push(rest[..length].to_string());
            length
        } else {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = if word == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { word };
            tokens.push(rest[..length].to_string());
            length
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Reader {
    tokens: Vec<String>,
    at: usize,
}

impl Reader {
    fn next(&mut self) -> String {
        let token = self.tokens.get(self.at).cloned().expect("the file ends in the middle of a declaration");
        self.at += 1;
        token
    }

    fn expect(&mut self, wanted: &str) {
        let around = self.tokens[self.at.saturating_sub(8)..].iter().take(16).cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(self.next(), wanted, "in: {around}");
    }

    fn takes(&mut self, wanted: &str) -> bool {
        let takes = self.tokens.get(self.at).is_some_and(|token| token == wanted);
        self.at += usize::from(takes);
        takes
    }

    fn declaration(&mut self, declared: &BTreeMap<String, Type>) -> (String, Type) {
        match self.next().as_str() {
            "type" => {
                let name = self.next();
                self.expect("=");
                let of = self.union();
                self.expect(";");
                (name, of)
            }
            "interface" => {
                let name = self.next();
                let mut fields = Vec::new();
                if self.takes("extends") {
                    match declared.get(&self.next()) {
                        Some(Type::Record(base)) => fields.clone_from(base),
                        // `Error` is the browser's.
                        _ => fields.extend(["name", "message", "stack"].map(|name| Field {
                            name: name.to_string(),
                            optional: false,
                            of: Type::Text,
                        })),
                    }
                }
                self.expect("{");
                match self.object() {
                    Type::Record(own) => fields.extend(own),
                    other => return (name, other),
                }
                (name, Type::Record(fields))
            }
            other => panic!("`export {other}` is not read by the tests: use a type or an interface"),
        }
    }

    /// Behind the opening brace.
    fn object(&mut self) -> Type {
        let mut fields = Vec::new();
        while !self.takes("}") {
            if self.takes("[") {
                self.next();
                self.expect(":");
                self.expect("string");
                self.expect("]");
                self.expect(":");
                let values = self.union();
                self.takes(";");
                self.expect("}");
                return Type::Dictionary(Box::new(values));
            }
            let name = self.next();
            let optional = self.takes("?");
            self.expect(":");
            let of = self.union();
            fields.push(Field { name, optional, of });
            // Between fields stands a semicolon or a comma, and none is needed behind the last.
            let _ = self.takes(";") || self.takes(",");
        }
        Type::Record(fields)
    }

    fn union(&mut self) -> Type {
        self.takes("|");
        let mut options = vec![self.list()];
        while self.takes("|") {
            options.push(self.list());
        }
        if options.len() == 1 { options.remove(0) } else { Type::Union(options) }
    }

    fn list(&mut self) -> Type {
        let mut of = self.single();
        while self.takes("[") {
            self.expect("]");
            of = Type::List(Box::new(of));
        }
        of
    }

    fn single(&mut self) -> Type {
        let token = self.next();
        match token.as_str() {
            "string" => Type::Text,
            "number" => Type::Number,
            "boolean" => Type::Boolean,
            "true" => Type::True,
            "null" => Type::Null,
            "{" => self.object(),
            "(" => {
                let of = self.union();
                self.expect(")");
                of
            }
            "Record" => {
                self.expect("<");
                self.expect("string");
                self.expect(",");
                let values = self.union();
                self.expect(">");
                Type::Dictionary(Box::new(values))
            }
            _ if token.starts_with('\'') => Type::Literal(token.trim_matches('\'').to_string()),
            _ if token.starts_with(char::is_alphabetic) => Type::Named(token),
            _ => panic!("`{token}` is not read by the tests"),
        }
    }
}

// --- That the comparison can fail ---------------------------------------------------------------------------------------------------

const SAMPLE: &str = "
/** A comment with { braces } and it's quotes. */
export interface Base { id: string; }
export interface Thing extends Base {
  count?: number; // of what?
  state: 'on' | 'off';
  parts: { name: string | null }[];
  by: Record<string, boolean>;
}
export type Either = | { type: 'a'; n: number } | { type: 'b' };
";

fn problem(name: &str, json: &str) -> Option<String> {
    let value = js_sys::JSON::parse(json).unwrap();
    Types::read(SAMPLE).compare(&value, &Type::Named(name.to_string()), name, name, &mut BTreeSet::new()).err()
}

#[wasm_bindgen_test]
fn a_value_of_another_shape_is_found_out() {
    let thing = r#"{"id": "x", "state": "on", "parts": [{"name": null}], "by": {"k": true}}"#;
    assert_eq!(problem("Thing", thing), None);
    assert_eq!(problem("Thing", &thing.replace("\"state\"", "\"count\": 1, \"state\"")), None);
    for (from, to, message) in [
        ("\"id\": \"x\", ", "", "Thing.id: missing"),
        ("\"id\": \"x\"", "\"id\": \"x\", \"extra\": 1", "Thing: the declaration has no `extra`"),
        ("\"on\"", "\"maybe\"", "Thing.state: expected one of Thing.state, found \"maybe\""),
        ("null", "5", "Thing.parts[0].name: expected one of Thing.parts[].name, found 5"),
        ("[{\"name\": null}]", "{}", "Thing.parts: expected an array, found {}"),
        ("true", "\"true\"", "Thing.by.k: expected true or false, found \"true\""),
        ("\"x\"", "null", "Thing.id: expected a string, found null"),
    ] {
        assert_eq!(problem("Thing", &thing.replacen(from, to, 1)).as_deref(), Some(message));
    }
    assert_eq!(problem("Either", r#"{"type": "b"}"#), None);
    assert_eq!(problem("Either", r#"{"type": "a"}"#).as_deref(), Some("Either.n: missing"));
    let map = js_sys::Map::new();
    assert!(keys(&map, "map").is_err());
    assert!(Types::read(SAMPLE).compare(&JsValue::bigint_from_str("7"), &Type::Number, "", "", &mut BTreeSet::new()).is_err());
}

#[wasm_bindgen_test]
fn what_no_value_has_shown_is_named() {
    let mut types = Types::read(SAMPLE);
    types.check("Either", &js_sys::JSON::parse(r#"{"type": "b"}"#).unwrap());
    types.check("Thing", &js_sys::JSON::parse(r#"{"id": "x", "state": "on", "parts": [], "by": {"k": true}}"#).unwrap());
    let unmet: Vec<String> = types.unmet(&["Either", "Thing"]).into_iter().collect();
    let expected = [
        "Either: a",
        "Thing.count: present",
        "Thing.parts: an item",
        "Thing.parts[].name: a string",
        "Thing.parts[].name: null",
        "Thing.state: off",
    ];
    assert_eq!(unmet, expected);
    assert_eq!(types.words("Either").into_iter().collect::<Vec<_>>(), ["a", "b"]);
}

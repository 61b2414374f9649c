//! What the agent knows of its tools: parameters to check, and flags that decide about gates and retries.

use serde_json::{Map, Value};

use crate::base::json::{Fields, describe, parse};
use crate::base::text::list;

/// A tool as the agent sees it. The flags are read by the code of the loop, never left to the model.
///
/// They are MCP's tool annotations under the loop's own names: `irreversible` is `destructiveHint`, `idempotent` is
/// `idempotentHint`, `read_only` is `readOnlyHint`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// One sentence for the model.
    pub description: String,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// What it does cannot be taken back: a person has to approve each execution.
    pub irreversible: bool,
    /// A repeated request with the same idempotency key has no further effect.
    pub idempotent: bool,
    /// It changes nothing outside.
    pub read_only: bool,
    /// The arguments that make the business intent (for a refund: the charge). Empty: every call is an intent of its own.
    pub intent: Vec<String>,
    /// A read-only tool that tells by idempotency key whether a call was executed; for tools that are not idempotent.
    pub lookup: Option<String>,
    /// The read on which this call relies: if what it showed has changed since, the call is refused by the service.
    pub relies_on: Option<Reliance>,
}

/// A call relies on what an earlier read has shown (an optimistic lock, as an HTTP `If-Match`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reliance {
    /// The tool that reads.
    pub tool: String,
    /// The argument that both calls share.
    pub argument: String,
    /// The field of the read's result that names its version.
    pub version_field: String,
}

/// One argument of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its JSON type.
    pub kind: ParameterKind,
    /// Whether a call without it is wrong.
    pub required: bool,
}

/// The JSON types that arguments have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// A string.
    Text,
    /// A number, of any size, exact.
    Number,
    /// `true` or `false`.
    Boolean,
    /// An array.
    List,
    /// An object.
    Object,
    /// Whatever the tool takes.
    Any,
}

impl ParameterKind {
    /// The word used in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            ParameterKind::Text => "a string",
            ParameterKind::Number => "a number",
            ParameterKind::Boolean => "true or false",
            ParameterKind::List => "an array",
            ParameterKind::Object => "an object",
            ParameterKind::Any => "any value",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            ParameterKind::Text => value.is_string(),
            ParameterKind::Number => value.is_number(),
            ParameterKind::Boolean => value.is_boolean(),
            ParameterKind::List => value.is_array(),
            ParameterKind::Object => value.is_object(),
            ParameterKind::Any => true,
        }
    }
}

impl Parameter {
    /// Reads the properties of a JSON Schema. What it leaves open, or says in a way that is not read here, is left to the tool.
    pub fn read_all(schema: &Fields) -> Vec<Parameter> {
        let required = schema.optional("required", Fields::strs).unwrap_or_default();
        let Some(properties) = schema.optional("properties", Fields::object) else {
            return Vec::new();
        };
        let kind_of = |name: &str| match properties.object(name).maybe("type").and_then(Value::as_str) {
            Some("string") => ParameterKind::Text,
            Some("number" | "integer") => ParameterKind::Number,
            Some("boolean") => ParameterKind::Boolean,
            Some("array") => ParameterKind::List,
            Some("object") => ParameterKind::Object,
            _ => ParameterKind::Any,
        };
        let parameter =
            |name: &str| Parameter { name: name.to_string(), kind: kind_of(name), required: required.contains(&name) };
        properties.keys().map(parameter).collect()
    }
}

impl Reliance {
    /// Reads `{"tool": …, "argument": …, "version_field": …}`.
    pub fn read(from: &Fields) -> Reliance {
        from.only(&["tool", "argument", "version_field"]);
        let text = |key: &str| from.non_empty_str(key).to_string();
        Reliance { tool: text("tool"), argument: text("argument"), version_field: text("version_field") }
    }
}

impl ToolSpec {
    /// A tool without annotations is taken to be destructive and not idempotent (MCP's defaults).
    pub fn new(name: &str, description: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_string(),
            description: description.to_string(),
            parameters: Vec::new(),
            irreversible: true,
            idempotent: false,
            read_only: false,
            intent: Vec::new(),
            lookup: None,
            relies_on: None,
        }
    }

    /// Checks what a model sent as arguments. The error is a sentence for the model: what is wrong and what was expected.
    pub fn check<'a>(&self, args: &'a Value) -> Result<&'a Map<String, Value>, String> {
        let fields = match args {
            Value::Object(fields) => fields,
            // A text that is no JSON reaches the record as a string, so that the trace shows what the model sent.
            Value::String(text) => return Err(not_an_object(&self.name, text)),
            other => return Err(format!("the arguments of {} must be a JSON object, found {}", self.name, describe(other))),
        };
        for parameter in &self.parameters {
            match fields.get(&parameter.name) {
                None if parameter.required => {
                    return Err(format!("{} needs `{}` ({})", self.name, parameter.name, parameter.kind.as_str()));
                }
                Some(value) if !parameter.kind.fits(value) => {
                    let (name, expected) = (&parameter.name, parameter.kind.as_str());
                    return Err(format!("`{name}` of {} must be {expected}, found {}", self.name, describe(value)));
                }
                _ => {}
            }
        }
        match fields.keys().find(|key| self.parameters.iter().all(|parameter| &parameter.name != *key)) {
            Some(unknown) => Err(format!("{} takes no `{unknown}`; it takes {}", self.name, self.parameter_names())),
            None => Ok(fields),
        }
    }

    fn parameter_names(&self) -> String {
        let names: Vec<String> = self.parameters.iter().map(|parameter| format!("`{}`", parameter.name)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.is_empty() { "nothing".to_string() } else { list(&names) }
    }
}

/// The names of tools, for an error: `a tool (get_invoice, …)`.
pub fn one_of(tools: &[ToolSpec]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    format!("a tool ({})", list(&names))
}

fn not_an_object(tool: &str, text: &str) -> String {
    match parse(text) {
        Err(error) => format!("the arguments of {tool} are {}", error.message()),
        Ok(_) => format!("the arguments of {tool} must be a JSON object, found a string"),
    }
}

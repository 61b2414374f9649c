//! A tool as a JSON document defines it: what the agent is told of it, and what its service does.
//!
//! `scenarios/README.md` is the reference of the form, under `tools`.

use std::sync::Arc;

use serde_json::Value;

use super::services::{Coded, cents_of};
use super::shipped_tools::{is_shipped, shipped_tools};
use super::template::quotations;
use crate::agent::tools::{Parameter, ParameterKind, Reliance, ToolSpec};
use crate::base::json::{Fields, ReadError, wrong};
use crate::base::text::list;

/// A tool and the service that does its work.
#[derive(Clone, Debug)]
pub struct ToolDefinition {
    /// What the agent is told of it.
    pub spec: ToolSpec,
    /// How people call an execution of it.
    pub labels: Labels,
    /// How long the service takes, in milliseconds.
    pub latency_ms: u64,
    /// The service answers a request whose key it has seen with the first result, and does nothing a second time.
    pub recognises_keys: bool,
    /// What the service does.
    pub work: Work,
}

/// A sentence about an execution: `before {subject} {before}`, `after {subject} {after}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Such as `the refund`.
    pub subject: String,
    /// Such as `happens`.
    pub before: String,
    /// Such as `happened`.
    pub after: String,
}

/// What a service does.
#[derive(Clone, Debug)]
pub enum Work {
    /// What its code says.
    Coded(Coded),
    /// It tells by idempotency key whether a request to this tool was carried out.
    LookUp(String),
    /// What its definition says.
    Defined(Box<DefinedWork>),
}

/// Work that needs no code.
#[derive(Clone, Debug)]
pub struct DefinedWork {
    /// What it finds in the world first; if that is not there, the request is refused.
    pub finds: Option<Finds>,
    /// What happens. Without an effect the tool only reads.
    pub effect: Option<EffectDefinition>,
    /// A template of the result.
    pub result: Value,
}

/// An entry of the world that a call names by its id.
#[derive(Clone, Debug)]
pub struct Finds {
    /// The list of the world, such as `accounts`.
    pub list: String,
    /// The argument with the id, which has the same name in the entry.
    pub by: String,
}

/// What a tool does to the world, as its service enters it into the books.
#[derive(Clone, Debug)]
pub struct EffectDefinition {
    /// Such as `shipment`.
    pub name: Arc<str>,
    /// A template of what this effect may happen once for, such as the order.
    pub business_key: Option<String>,
    /// An amount, or a template of one.
    pub amount: Option<Value>,
    /// A template of what the books say.
    pub text: Option<String>,
}

const LOOK_UP_KEYS: [&str; 5] = ["description", "look_up", "recognises_keys", "latency_s", "labels"];

const KEYS: [&str; 14] = [
    "description",
    "parameters",
    "irreversible",
    "idempotent",
    "read_only",
    "intent",
    "lookup",
    "relies_on",
    "recognises_keys",
    "latency_s",
    "finds",
    "effect",
    "result",
    "labels",
];

/// The targets of faults that are no tools.
const RESERVED: [&str; 3] = ["model", "downtime", "question"];

/// The lab's tools with the flags that the scenario sets, and after them the scenario's own.
pub fn read_tools(scenario: &Fields) -> Vec<ToolDefinition> {
    let mut tools = shipped_tools();
    let Some(given) = scenario.optional("tools", Fields::object) else {
        return tools;
    };
    for tool in &mut tools {
        if let Some(flags) = given.optional(&tool.spec.name, Fields::object) {
            tool.read_flags(&flags);
        }
    }
    let shipped = tools.len();
    for name in given.keys().filter(|name| !is_shipped(name)) {
        if given.maybe(name).and_then(|tool| tool.get("description")).is_none() {
            let names: Vec<&str> = tools[..shipped].iter().map(|tool| tool.spec.name.as_str()).collect();
            let expected = format!("expected a tool of the lab ({}), or one of your own with a `description`", list(&names));
            given.note(ReadError::new(&given.path(name), expected));
            continue;
        }
        if !is_name(name) || RESERVED.contains(&name) {
            let rule = format!("expected a name of 1 to 64 letters, digits, `_` and `-`, and none of {}", list(&RESERVED));
            given.note(ReadError::new(&given.path(name), rule));
        }
        tools.push(ToolDefinition::read(name, &given.object(name), None));
    }
    for tool in &tools {
        if let Some(from) = given.optional(&tool.spec.name, Fields::object) {
            tool.check_look_up(&from, &tools);
            if !is_shipped(&tool.spec.name) {
                tool.check_names(&from, &tools);
            }
        }
    }
    tools
}

impl ToolDefinition {
    /// Reads a definition. `code`: what the service does, if that is not in the definition.
    pub fn read(name: &str, from: &Fields, code: Option<Coded>) -> ToolDefinition {
        let look_up = from.optional("look_up", Fields::non_empty_str);
        let is_look_up = look_up.is_some();
        from.only(if is_look_up { &LOOK_UP_KEYS } else { &KEYS });
        let work = match (code, look_up) {
            (Some(code), _) => Work::Coded(code),
            (None, Some(tool)) => Work::LookUp(tool.to_string()),
            (None, None) => Work::Defined(Box::new(DefinedWork::read(from))),
        };
        let has_effect = matches!(&work, Work::Defined(work) if work.effect.is_some());
        let recognises_keys = from.optional("recognises_keys", Fields::bool).unwrap_or(false);
        let read_only = from.optional("read_only", Fields::bool).unwrap_or(!has_effect);
        let mut spec = ToolSpec::new(name, from.non_empty_str("description"));
        spec.parameters = if is_look_up { vec![idempotency_key()] } else { read_parameters(from) };
        spec.irreversible = !read_only;
        spec.idempotent = recognises_keys || read_only;
        spec.read_only = read_only;
        spec.relies_on = from.optional("relies_on", Fields::object).map(|given| Reliance::read(&given));
        let mut tool = ToolDefinition {
            labels: from.optional("labels", Fields::object).map_or_else(|| Labels::of(name), |given| Labels::read(&given)),
            latency_ms: from.optional("latency_s", Fields::duration_ms).unwrap_or(75),
            recognises_keys,
            work,
            spec,
        };
        tool.read_agents_flags(from);
        tool
    }

    /// Reads the flags that a scenario sets for one of the lab's tools.
    fn read_flags(&mut self, from: &Fields) {
        from.only(&["irreversible", "idempotent", "intent", "lookup"]);
        self.read_agents_flags(from);
    }

    /// Reads what the agent is told, where that is not the default.
    fn read_agents_flags(&mut self, from: &Fields) {
        let spec = &mut self.spec;
        spec.irreversible = from.optional("irreversible", Fields::bool).unwrap_or(spec.irreversible);
        spec.idempotent = from.optional("idempotent", Fields::bool).unwrap_or(spec.idempotent);
        if let Some(intent) = from.optional("intent", Fields::strs) {
            let stray = intent.iter().position(|field| spec.parameters.iter().all(|parameter| parameter.name != *field));
            if let Some(index) = stray {
                let path = format!("{}[{index}]", from.path("intent"));
                from.note(wrong(&path, &format!("an argument of {}", spec.name), &Value::from(intent[index])));
            }
            spec.intent = intent.into_iter().map(str::to_string).collect();
        }
        // `"lookup": null` takes the look-up away.
        if from.keys().any(|key| key == "lookup") {
            spec.lookup = from.optional("lookup", Fields::str).map(str::to_string);
        }
    }

    /// Is the look-up a tool that tells of this one?
    fn check_look_up(&self, from: &Fields, tools: &[ToolDefinition]) {
        let Some(lookup) = &self.spec.lookup else {
            return;
        };
        // The look-up of the lab may be given to any of its tools.
        let is_own = !is_shipped(&self.spec.name);
        let tells = |tool: &ToolDefinition| matches!(&tool.work, Work::LookUp(of) if !is_own || *of == self.spec.name);
        if !tools.iter().any(|tool| tool.spec.name == *lookup && tells(tool)) {
            let own = format!("a tool with `look_up`: \"{}\"", self.spec.name);
            from.note_wrong("lookup", if is_own { &own } else { "find_voucher or null" });
        }
    }

    /// Do the other tools, the arguments and the values exist that a whole definition names?
    pub fn check_names(&self, from: &Fields, tools: &[ToolDefinition]) {
        let spec = &self.spec;
        let find = |name: &str| tools.iter().find(|tool| tool.spec.name == name);
        if let Work::LookUp(of) = &self.work
            && find(of).is_none_or(|tool| tool.spec.read_only)
        {
            from.note_wrong("look_up", "another tool, which has an effect");
        }
        if let (Some(reliance), Some(given)) = (&spec.relies_on, from.optional("relies_on", Fields::object)) {
            let takes = |spec: &ToolSpec| spec.parameters.iter().any(|parameter| parameter.name == reliance.argument);
            match find(&reliance.tool).filter(|tool| tool.spec.read_only) {
                None => given.note_wrong("tool", "a tool that only reads"),
                Some(reader) if !takes(spec) || !takes(&reader.spec) => {
                    given.note_wrong("argument", &format!("an argument of both {} and {}", spec.name, reliance.tool));
                }
                Some(_) => {}
            }
        }
        if let Work::Defined(work) = &self.work {
            work.check_templates(from, &spec.parameters, tools);
        }
    }
}

impl Labels {
    /// Of a tool that says nothing of them.
    pub fn of(tool: &str) -> Labels {
        Labels { subject: tool.to_string(), before: "runs".to_string(), after: "ran".to_string() }
    }

    fn read(from: &Fields) -> Labels {
        from.only(&["subject", "before", "after"]);
        let text = |key: &str| from.non_empty_str(key).to_string();
        Labels { subject: text("subject"), before: text("before"), after: text("after") }
    }
}

impl DefinedWork {
    fn read(from: &Fields) -> DefinedWork {
        let finds = from.optional("finds", Fields::object).map(|given| {
            given.only(&["in", "by"]);
            Finds { list: given.str("in").to_string(), by: given.str("by").to_string() }
        });
        let effect = from.optional("effect", Fields::object).map(|given| {
            given.only(&["name", "business_key", "amount", "text"]);
            if !is_name(given.str("name")) {
                given.note_wrong("name", "1 to 64 letters, digits, `_` and `-`");
            }
            let text = |key: &str| given.optional(key, Fields::non_empty_str).map(str::to_string);
            EffectDefinition {
                name: given.arc_str("name"),
                business_key: text("business_key"),
                amount: given.maybe("amount").cloned(),
                text: text("text"),
            }
        });
        DefinedWork { finds, effect, result: from.value("result").clone() }
    }

    /// Does each template quote what there is?
    fn check_templates(&self, from: &Fields, parameters: &[Parameter], tools: &[ToolDefinition]) {
        let args = |of: &dyn Fn(&Parameter) -> bool| -> Vec<String> {
            parameters.iter().filter(|parameter| of(parameter)).map(|parameter| format!("args.{}", parameter.name)).collect()
        };
        let found = self.finds.iter().map(|_| "found".to_string());
        if let (Some(finds), Some(given)) = (&self.finds, from.optional("finds", Fields::object)) {
            if !["articles", "accounts", "invoices"].contains(&finds.list.as_str()) {
                given.note_wrong("in", "articles, accounts or invoices");
            }
            let is_id = |parameter: &Parameter| parameter.required && parameter.kind == ParameterKind::Text;
            if !parameters.iter().any(|parameter| is_id(parameter) && parameter.name == finds.by) {
                given.note_wrong("by", "a required argument that is a string");
            }
        }
        let mut known: Vec<String> = args(&|_| true).into_iter().chain(found.clone()).collect();
        known.extend(effects_of(tools).map(|effect| format!("count.{}", effect.name)));
        if let (Some(effect), Some(given)) = (&self.effect, from.optional("effect", Fields::object)) {
            let given_for_certain: Vec<String> = args(&|parameter| parameter.required).into_iter().chain(found).collect();
            let amount = effect.amount.as_ref();
            let is_template = |amount: &Value| amount.as_str().is_some_and(|text| !quotations(text).is_empty());
            if amount.is_some_and(|amount| !is_template(amount) && cents_of(amount).is_err()) {
                given.note_wrong("amount", "an amount above 0 with at most 2 decimals, or a quotation of one");
            }
            let business_key = effect.business_key.as_deref().map(Value::from);
            check_quotations(&given, "business_key", business_key.as_ref(), &given_for_certain);
            check_quotations(&given, "amount", amount, &given_for_certain);
            known.push("number".to_string());
            known.extend(amount.map(|_| "amount".to_string()));
            check_quotations(&given, "text", effect.text.as_deref().map(Value::from).as_ref(), &known);
        }
        check_quotations(from, "result", Some(&self.result), &known);
    }
}

/// A name can be quoted and is a word for people.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The effects that tools have.
pub fn effects_of(tools: &[ToolDefinition]) -> impl Iterator<Item = &EffectDefinition> {
    tools.iter().filter_map(|tool| match &tool.work {
        Work::Defined(work) => work.effect.as_ref(),
        Work::Coded(_) | Work::LookUp(_) => None,
    })
}

/// What every look-up takes: the key of the request that is in doubt.
fn idempotency_key() -> Parameter {
    Parameter { name: "idempotency_key".to_string(), kind: ParameterKind::Text, required: true }
}

/// Reads the JSON Schema of the arguments. A key that nothing would check is a mistake.
fn read_parameters(from: &Fields) -> Vec<Parameter> {
    let Some(schema) = from.optional("parameters", Fields::object) else {
        return Vec::new();
    };
    schema.only(&["type", "properties", "required", "additionalProperties"]);
    if schema.optional("type", Fields::str).is_some_and(|word| word != "object") {
        schema.note_wrong("type", "object");
    }
    if schema.optional("additionalProperties", Fields::bool) == Some(true) {
        schema.note_wrong("additionalProperties", "false, as a call with another argument is refused");
    }
    let properties = schema.object("properties");
    for name in properties.keys() {
        let property = properties.object(name);
        property.only(&["type", "description"]);
        property.optional("description", Fields::str);
        let types = ["string", "number", "integer", "boolean", "array", "object"];
        if property.optional("type", Fields::str).is_some_and(|word| !types.contains(&word)) {
            property.note_wrong("type", &list(&types));
        }
    }
    for (index, name) in schema.optional("required", Fields::strs).unwrap_or_default().into_iter().enumerate() {
        if properties.keys().all(|known| known != name) {
            schema.note(wrong(&format!("{}[{index}]", schema.path("required")), "one of the properties", &Value::from(name)));
        }
    }
    Parameter::read_all(&schema)
}

/// Notes a quotation of something that is not known.
fn check_quotations(from: &Fields, key: &str, template: Option<&Value>, known: &[String]) {
    let mut texts = Vec::new();
    if let Some(template) = template {
        collect_texts(template, from.path(key), &mut texts);
    }
    for (path, text) in texts {
        if quotations(text).into_iter().any(|quoted| !known.iter().any(|known| is_part_of(quoted, known))) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let expected = if known.is_empty() { "no quotation".into() } else { format!("quotations of {}", list(&known)) };
            from.note(wrong(&path, &expected, &Value::from(text)));
        }
    }
}

/// True for the known path itself, for what stands in it, and for a number with its count of digits (`number:5`).
fn is_part_of(quoted: &str, known: &str) -> bool {
    match quoted.strip_prefix(known) {
        Some("") => true,
        Some(rest) if known == "number" => matches!(rest.as_bytes(), [b':', b'1'..=b'9']),
        Some(rest) => rest.starts_with(['.', '[']),
        None => false,
    }
}

/// The strings of a value, each with its path.
fn collect_texts<'a>(value: &'a Value, path: String, into: &mut Vec<(String, &'a str)>) {
    match value {
        Value::String(text) => into.push((path, text)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| collect_texts(item, format!("{path}[{index}]"), into));
        }
        Value::Object(fields) => fields.iter().for_each(|(key, field)| collect_texts(field, format!("{path}.{key}"), into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

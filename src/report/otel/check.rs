//! What is wrong with an export, for receivers let much of it pass: a short or zero id, a span without its parent, an end before the
//! start, an event outside its span, a second root, no `schemaUrl`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::write::REMOTE_PARENT;
use crate::base::json::parse;

/// A span, as far as it is checked against others.
struct Seen<'a> {
    name: &'a str,
    /// None for a root; a parent in another process counts as none.
    parent: Option<&'a str>,
    start: u64,
    end: u64,
}

/// Everything that is wrong with an OTLP/JSON document of traces, a sentence each; empty for a good one.
pub fn problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.trim_end_matches('\n').contains('\n') {
        problems.push("it has more than one line, so it cannot be read as JSON Lines".to_string());
    }
    match parse(text) {
        Ok(document) => check_document(&document, &mut problems),
        Err(error) => problems.push(error.to_string()),
    }
    problems
}

fn check_document(document: &Value, problems: &mut Vec<String>) {
    let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
    let mut traces: BTreeSet<&str> = BTreeSet::new();
    for (path, resource) in objects(document, "", "resourceSpans", problems) {
        for (path, scope) in objects(resource, &path, "scopeSpans", problems) {
            if [scope, resource].iter().all(|of| text_of(of, "schemaUrl").is_empty()) {
                problems.push(format!("{path} has no schemaUrl, so nobody knows which conventions its spans follow"));
            }
            for (_, span) in objects(scope, &path, "spans", problems) {
                let id = text_of(span, "spanId");
                check_span(span, problems);
                traces.insert(text_of(span, "traceId"));
                if seen.insert(id, seen_of(span)).is_some() {
                    problems.push(format!("two spans have the id `{id}`"));
                }
            }
        }
    }
    if traces.len() > 1 {
        problems.push(format!("its spans belong to {} traces", traces.len()));
    }
    check_tree(&seen, problems);
}

/// The objects of a list that has to be there, each with its path.
fn objects<'a>(of: &'a Value, path: &str, key: &str, problems: &mut Vec<String>) -> Vec<(String, &'a Value)> {
    let Some(items) = of.get(key).and_then(Value::as_array) else {
        problems.push(format!("{} has no list `{key}`", if path.is_empty() { "it" } else { path }));
        return Vec::new();
    };
    let prefix = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    let mut objects = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let path = format!("{prefix}[{place}]");
        match item.is_object() {
            true => objects.push((path, item)),
            false => problems.push(format!("{path} is no object")),
        }
    }
    objects
}

fn seen_of(span: &Value) -> Seen<'_> {
    let parent = span.get("parentSpanId").and_then(Value::as_str);
    let is_remote = span.get("flags").and_then(Value::as_u64).is_some_and(|flags| flags & REMOTE_PARENT == REMOTE_PARENT);
    Seen {
        name: text_of(span, "name"),
        parent: parent.filter(|_| !is_remote),
        start: nanoseconds(span, "startTimeUnixNano").unwrap_or(0),
        end: nanoseconds(span, "endTimeUnixNano").unwrap_or(0),
    }
}

/// What one span can be judged by alone.
fn check_span(span: &Value, problems: &mut Vec<String>) {
    let name = text_of(span, "name");
    let mut wrong = |what: String| problems.push(format!("span `{name}`: {what}"));
    if name.is_empty() {
        wrong("it has no name".to_string());
    }
    for (key, digits) in [("traceId", 32), ("spanId", 16)] {
        if let Err(why) = check_id(text_of(span, key), digits) {
            wrong(format!("its {key} {why}"));
        }
    }
    if let Some(parent) = span.get("parentSpanId")
        && let Err(why) = check_id(parent.as_str().unwrap_or_default(), 16)
    {
        wrong(format!("its parentSpanId {why}"));
    }
    for key in ["startTimeUnixNano", "endTimeUnixNano"] {
        if nanoseconds(span, key).is_none_or(|time| time == 0) {
            wrong(format!("its {key} is no decimal string of nanoseconds"));
        }
    }
    if !span.get("kind").and_then(Value::as_u64).is_some_and(|kind| (1..=5).contains(&kind)) {
        wrong("its kind is no number from 1 to 5".to_string());
    }
    let code = span.get("status").and_then(|status| status.get("code"));
    if code.is_some_and(|code| code.as_u64().is_none_or(|code| code > 2)) {
        wrong("its status code is no number from 0 to 2".to_string());
    }
    check_attributes(span, &mut wrong);
    let lasts = nanoseconds(span, "startTimeUnixNano").unwrap_or(0)..=nanoseconds(span, "endTimeUnixNano").unwrap_or(u64::MAX);
    for event in list(span, "events") {
        let (name, time) = (text_of(event, "name"), nanoseconds(event, "timeUnixNano"));
        if name.is_empty() || time.is_none() {
            wrong("an event has no name or no time".to_string());
        }
        if time.is_some_and(|time| !lasts.contains(&time)) {
            wrong(format!("its event `{name}` is not within it"));
        }
        check_attributes(event, &mut wrong);
    }
}

fn check_attributes(of: &Value, wrong: &mut impl FnMut(String)) {
    let mut keys = BTreeSet::new();
    for attribute in list(of, "attributes") {
        let key = text_of(attribute, "key");
        if key.is_empty() || !keys.insert(key) {
            wrong(format!("attribute `{key}` has no key of its own"));
        }
        match attribute.get("value").and_then(|value| value.get("intValue")) {
            Some(number) if number.as_str().is_none_or(|digits| digits.parse::<i64>().is_err()) => {
                wrong(format!("attribute `{key}` is no decimal string of 64 bits"));
            }
            _ => {}
        }
    }
}

/// What spans say about each other.
fn check_tree(spans: &BTreeMap<&str, Seen>, problems: &mut Vec<String>) {
    let roots = spans.values().filter(|span| span.parent.is_none()).count();
    if roots != 1 && !spans.is_empty() {
        problems.push(format!("it has {roots} roots instead of one"));
    }
    for (id, span) in spans {
        let name = span.name;
        if span.end < span.start {
            problems.push(format!("span `{name}` ends before it begins"));
        }
        match span.parent.map(|parent| (parent, spans.get(parent))) {
            Some((parent, None)) => problems.push(format!("span `{name}` is an orphan: there is no span `{parent}`")),
            Some((_, Some(parent))) if span.start < parent.start || span.end > parent.end => {
                problems.push(format!("span `{name}` is not within `{}`, its parent", parent.name));
            }
            _ => {}
        }
        let mut ancestor = span.parent;
        let is_in_a_circle = (0..=spans.len()).all(|_| {
            ancestor = ancestor.and_then(|id| spans.get(id)).and_then(|span| span.parent);
            ancestor.is_some()
        });
        if is_in_a_circle {
            problems.push(format!("span `{id}` is its own ancestor"));
        }
    }
}

fn check_id(id: &str, digits: usize) -> Result<(), String> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    match id {
        _ if id.len() != digits => Err(format!("has {} characters instead of {digits}", id.chars().count())),
        _ if !id.bytes().all(is_hex) => Err("is not lower-case hex".to_string()),
        _ if id.bytes().all(|byte| byte == b'0') => Err("is all zeros".to_string()),
        _ => Ok(()),
    }
}

fn text_of<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn nanoseconds(object: &Value, key: &str) -> Option<u64> {
    let digits = object.get(key).and_then(Value::as_str)?;
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

//! What changed between two JSON values, as a list of paths.

use serde_json::Value;

use crate::base::json::compact;
use crate::record::object;

/// One changed place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Such as `plan.version` or `messages[8].content`.
    pub path: String,
    /// JSON text; `None`: was not there.
    pub before: Option<String>,
    /// JSON text; `None`: is no longer there.
    pub after: Option<String>,
}

impl Change {
    /// As plain data.
    pub fn to_json(&self) -> Value {
        object([
            ("path", self.path.as_str().into()),
            ("before", self.before.as_deref().into()),
            ("after", self.after.as_deref().into()),
        ])
    }
}

/// All changed places, in the order of the newer value. Objects and arrays are entered; a value that is new or gone is one change.
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut list = Vec::new();
    compare("", Some(before), Some(after), &mut list);
    list
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, out: &mut Vec<Change>) {
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let join = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
            for (key, value) in new {
                compare(&join(key), old.get(key), Some(value), out);
            }
            for (key, value) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
                compare(&join(key), Some(value), None, out);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                compare(&format!("{path}[{index}]"), old.get(index), new.get(index), out);
            }
        }
        (before, after) if before == after => {}
        (before, after) => out.push(Change { path: path.to_string(), before: before.map(compact), after: after.map(compact) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_listed_with_its_path() {
        let before = json!({"a": 1, "plan": {"version": 1, "steps": ["x"]}, "gone": true});
        let after = json!({"a": 1, "plan": {"version": 2, "steps": ["x", "y"]}});
        let list: Vec<_> =
            changes(&before, &after).into_iter().map(|change| (change.path, change.before, change.after)).collect();
        let some = |text: &str| Some(text.to_string());
        assert_eq!(
            list,
            [
                ("plan.version".to_string(), some("1"), some("2")),
                ("plan.steps[1]".to_string(), None, some("\"y\"")),
                ("gone".to_string(), some("true"), None),
            ]
        );
    }
}

//! A tool call as the model planned it, and its identity.

use std::sync::Arc;

use serde_json::Value;

use super::codec::{object, text};
use crate::base::canonical::canonical;
use crate::base::json::Fields;

/// A tool call as the model planned it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolCall {
    /// Given by the model.
    pub id: Arc<str>,
    /// Which tool.
    pub name: Arc<str>,
    /// As the model wrote them. A text that is no JSON is kept as a JSON string.
    pub args: Arc<Value>,
    /// Tool and canonical arguments.
    pub identity: Arc<str>,
}

impl ToolCall {
    /// A call with its identity.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, args: Value) -> ToolCall {
        let name = name.into();
        let identity = call_identity(&name, &args);
        ToolCall { id: id.into(), name, args: Arc::new(args), identity }
    }
}

impl ToolCall {
    /// `{id, name, args}`.
    pub fn to_json(&self) -> Value {
        object([("id", text(&self.id)), ("name", text(&self.name)), ("args", (*self.args).clone())])
    }

    /// Reads `{id, name, args}`.
    pub fn from_json(from: &Fields) -> ToolCall {
        ToolCall::new(from.str("id"), from.str("name"), from.value("args").clone())
    }
}

/// Tool and canonical arguments, for example `get_invoice {"invoice_id":"INV-1"}`.
pub fn call_identity(tool: &str, args: &Value) -> Arc<str> {
    format!("{tool} {}", canonical(args)).into()
}

//! What a run is given, from a JSON object.

use std::sync::Arc;

use serde_json::Value;

use crate::agent::config::{Config, Policies};
use crate::agent::tools::{Parameter, ParameterKind, Reliance, ToolSpec};
use crate::base::hash::hash64;
use crate::base::json::{Fields, ReadError, parse, read};
use crate::base::money::{PicoUsd, Prices};
use crate::base::trace_context::is_traceparent;
use crate::lab::scenario::{read_limits, read_prices, read_retry};
use crate::record::object;
use crate::report::mcp::read_annotations;

const KEYS: [&str; 15] = [
    "run_id",
    "task_id",
    "name",
    "system",
    "task",
    "seed",
    "limits",
    "prices",
    "retry",
    "tools",
    "approver",
    "policies",
    "traceparent",
    "tracestate",
    "about",
];

/// Reads a configuration. The error names the JSON path, what stands there, and what was expected.
///
/// The tools are written as MCP's `tools/list` has them, with `intent`, `lookup` and `relies_on` beside: a tool without annotations
/// is taken to be destructive and not idempotent.
pub fn read_config(text: &str) -> Result<Config, ReadError> {
    read(&parse(text)?, "$", |from| {
        from.only(&KEYS);
        let run_id = from.non_empty_str("run_id");
        let (system, task) = (from.str("system"), from.str("task"));
        let tools = read_tools(from);
        let policies = from.optional("policies", Fields::object).map(|given| read_policies(&given)).unwrap_or_default();
        let name = from.optional("name", Fields::non_empty_str).unwrap_or("agent");
        let traceparent = from.optional("traceparent", Fields::arc_str);
        if traceparent.as_deref().is_some_and(|text| !is_traceparent(text)) {
            from.note_wrong("traceparent", "a W3C traceparent of version 00");
        }
        // Under other words or other tools a run is not silently continued.
        let digest = hash64(format!("{system}\n{task}\n{}", digested_tools(&tools)).as_bytes());
        Config {
            run_id: run_id.into(),
            task_id: from.optional("task_id", Fields::non_empty_str).unwrap_or(run_id).into(),
            scenario: format!("{name}#{:08x}", digest >> 32).into(),
            seed: read_seed(from, run_id),
            system: system.into(),
            task: task.into(),
            limits: from.optional("limits", Fields::object).map(|given| read_limits(&given)).unwrap_or_default(),
            prices: from.optional("prices", Fields::object).map_or(FREE, |given| read_prices(&given)),
            retry: from.optional("retry", Fields::object).map(|given| read_retry(&given)).unwrap_or_default(),
            tools: tools.into(),
            has_approver: from.optional("approver", Fields::bool).unwrap_or(true),
            mechanisms: Arc::new(policies_json(&policies)),
            policies,
            traceparent,
            tracestate: from.optional("tracestate", Fields::arc_str),
        }
    })
}

/// The text of the tools that is digested. Its form is fixed: another one would refuse to resume every run that is stored.
fn digested_tools(tools: &[ToolSpec]) -> String {
    let parameter = |parameter: &Parameter| {
        let Parameter { name, kind, required } = parameter;
        let kind = match kind {
            ParameterKind::Text => "Text",
            ParameterKind::Number => "Number",
            ParameterKind::Boolean => "Boolean",
            ParameterKind::List => "List",
            ParameterKind::Object => "Object",
            ParameterKind::Any => "Any",
        };
        format!("Parameter {{ name: {name:?}, kind: {kind}, required: {required} }}")
    };
    let tool = |tool: &ToolSpec| {
        let ToolSpec { name, description, parameters, irreversible, idempotent, read_only, intent, lookup, relies_on } = tool;
        let parameters: Vec<String> = parameters.iter().map(parameter).collect();
        let relies_on = match relies_on {
            Some(Reliance { tool, argument, version_field }) => {
                format!("Some(Reliance {{ tool: {tool:?}, argument: {argument:?}, version_field: {version_field:?} }})")
            }
            None => "None".to_string(),
        };
        format!(
            "ToolSpec {{ name: {name:?}, description: {description:?}, parameters: [{}], irreversible: {irreversible}, idempotent: \
             {idempotent}, read_only: {read_only}, intent: {intent:?}, lookup: {lookup:?}, relies_on: {relies_on} }}",
            parameters.join(", ")
        )
    };
    let tools: Vec<String> = tools.iter().map(tool).collect();
    format!("[{}]", tools.join(", "))
}

/// Without prices nothing is counted in money; the tokens are.
const FREE: Prices = Prices { input: PicoUsd(0), output: PicoUsd(0) };

/// Digits or a number. Without one, every run has its own lots all the same.
fn read_seed(from: &Fields, run_id: &str) -> u64 {
    match from.maybe("seed") {
        None => hash64(run_id.as_bytes()),
        Some(Value::String(digits)) => digits.parse().unwrap_or_else(|_| {
            from.note_wrong("seed", "the digits of a number from 0 to 18446744073709551615");
            0
        }),
        Some(_) => from.u64("seed"),
    }
}

fn read_tools(from: &Fields) -> Vec<ToolSpec> {
    let tools: Vec<ToolSpec> = from.objects("tools").iter().map(read_tool).collect();
    for (index, tool) in tools.iter().enumerate() {
        let path = format!("{}[{index}]", from.path("tools"));
        let is_known = |name: &str| tools.iter().any(|other| other.name == name);
        if tools[..index].iter().any(|earlier| earlier.name == tool.name) {
            from.note(ReadError::new(&format!("{path}.name"), format!("there is another tool `{}`", tool.name)));
        }
        if let Some(lookup) = tool.lookup.as_deref().filter(|lookup| !is_known(lookup)) {
            from.note(ReadError::new(&format!("{path}.lookup"), format!("there is no tool `{lookup}`")));
        }
        if let Some(reliance) = tool.relies_on.as_ref().filter(|reliance| !is_known(&reliance.tool)) {
            from.note(ReadError::new(&format!("{path}.relies_on.tool"), format!("there is no tool `{}`", reliance.tool)));
        }
        let stray = |field: &&String| tool.parameters.iter().all(|parameter| parameter.name != **field);
        if let Some(field) = tool.intent.iter().find(stray) {
            from.note(ReadError::new(&format!("{path}.intent"), format!("{} takes no `{field}`", tool.name)));
        }
    }
    tools
}

/// A definition of a server has more than this reads: titles, icons, schemas of answers.
fn read_tool(from: &Fields) -> ToolSpec {
    let mut tool = ToolSpec::new(from.non_empty_str("name"), from.optional("description", Fields::str).unwrap_or_default());
    tool.parameters = from.optional("inputSchema", Fields::object).map(|schema| Parameter::read_all(&schema)).unwrap_or_default();
    read_annotations(from, &mut tool);
    let intent = from.optional("intent", Fields::strs).unwrap_or_default();
    tool.intent = intent.into_iter().map(str::to_string).collect();
    tool.lookup = from.optional("lookup", Fields::non_empty_str).map(str::to_string);
    tool.relies_on = from.optional("relies_on", Fields::object).map(|given| Reliance::read(&given));
    tool
}

/// The names of the policies and where they stand, in the order of the design's table.
fn policy_fields(policies: &mut Policies) -> [(&'static str, &mut bool); 11] {
    [
        ("intent_keys", &mut policies.intent_keys),
        ("checkpoints", &mut policies.checkpoints),
        ("saved_guards", &mut policies.saved_guards),
        ("journal", &mut policies.journal),
        ("durable_approvals", &mut policies.durable_approvals),
        ("approval_gate", &mut policies.approval_gate),
        ("exact_arguments", &mut policies.exact_arguments),
        ("default_deny", &mut policies.default_deny),
        ("reread_world", &mut policies.reread_world),
        ("budget_guard", &mut policies.budget_guard),
        ("loop_guard", &mut policies.loop_guard),
    ]
}

fn read_policies(from: &Fields) -> Policies {
    let mut policies = Policies::default();
    let fields = policy_fields(&mut policies);
    from.only(&fields.each_ref().map(|(name, _)| *name));
    for (name, policy) in fields {
        *policy = from.optional(name, Fields::bool).unwrap_or(true);
    }
    policies
}

fn policies_json(policies: &Policies) -> Value {
    let mut policies = policies.clone();
    object(policy_fields(&mut policies).map(|(name, policy)| (name, Value::from(*policy))))
}

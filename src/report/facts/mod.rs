//! What happened in a run, as its trace tells it: the model's calls, the tools' calls with their attempts, decisions, and gaps.
//!
//! Everything is read leniently, field by field, so that traces of other programs are understood as far as they go. What a trace
//! does not say stays unknown (`None`); nothing is made up.

mod reader;
mod refunds;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::json::decimal;
use crate::base::money::{PicoUsd, Prices};
use crate::lab::shipped_tools::shipped_tool;
use crate::log::trace::RecordedError;
use crate::record::FailureKind;

pub use reader::facts_of_runs;
pub use refunds::Refund;

/// One run of a trace. Numbers of records are places in the trace, from 0.
#[derive(Clone, Debug, Default)]
pub struct RunFacts {
    /// Its id; empty if the records have none.
    pub run_id: String,
    /// Its records.
    pub records: Vec<usize>,
    /// The types of the records, side by side with `records`.
    pub kinds: Vec<String>,
    /// `run_start`.
    pub start: Option<(usize, Value)>,
    /// Model calls that are recorded with their answer.
    pub model_calls: Vec<ModelCall>,
    /// Model calls of unknown outcome: the request or the retry, and what it can have cost.
    pub in_doubt: Vec<(usize, Option<PicoUsd>)>,
    /// The request that has no outcome at the end.
    pub open_request: Option<Request>,
    /// `llm_retry` records.
    pub model_retries: Vec<usize>,
    /// Tool calls, in the order in which they were proposed.
    pub calls: Vec<Call>,
    /// Decisions.
    pub decisions: Vec<Decision>,
    /// Questions: the record, and the key of question and decision.
    pub questions: Vec<(usize, String)>,
    /// A question without a decision at the end.
    pub open_question: Option<(usize, String)>,
    /// Guards that stopped the run: record, name, observed, limit.
    pub guards: Vec<(usize, String, Value, Value)>,
    /// `stop` records.
    pub stops: Vec<(usize, Value)>,
    /// `resume` records.
    pub resumes: Vec<(usize, Value)>,
    /// `crash` records: where.
    pub crashes: Vec<(usize, String)>,
    /// The waits between attempts, in milliseconds.
    pub backoffs_ms: Vec<u64>,
    /// `replan` records.
    pub replans: Vec<usize>,
    /// What is missing between the records: where it was noticed, and what.
    pub gaps: Vec<(usize, String)>,
    /// Steps in which the model answered.
    pub steps: BTreeSet<u32>,
    /// The newest step that any record of work names.
    pub last_step: Option<u32>,
    /// Numbers of refunds that a tool's answer names, whoever made them, each with the record that names it first.
    pub refunds_seen: BTreeMap<String, usize>,
    /// True if a tool's answer shows that money was refunded before.
    pub others_refunded: bool,
    /// True: the trace has records of this type.
    pub has: Has,
}

/// Types of records that a trace has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Has {
    /// `llm_request`.
    pub requests: bool,
    /// `tool_call`.
    pub intents: bool,
    /// `approval_request`.
    pub questions: bool,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub struct Request {
    /// The record.
    pub index: usize,
    /// The most that it can cost.
    pub projected: Option<PicoUsd>,
}

/// A model call with its answer.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The record.
    pub index: usize,
    /// The step.
    pub step: Option<u32>,
    /// Tokens sent.
    pub input_tokens: Option<u64>,
    /// Tokens received.
    pub output_tokens: Option<u64>,
    /// As recorded: rounded.
    pub cost: Option<PicoUsd>,
    /// How many calls it wants; `None`: not recorded.
    pub wants: Option<usize>,
    /// What it said.
    pub text: Option<String>,
}

/// A tool call.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Canonical arguments.
    pub args: Option<String>,
    /// For a refund: the charge.
    pub charge: Option<String>,
    /// As the model named it.
    pub call_id: Option<String>,
    /// The step.
    pub step: Option<u32>,
    /// The model call that proposed it.
    pub proposed: Option<usize>,
    /// True if the arguments are such that the tool takes them; `None`: the tool is not known.
    pub fits: Option<bool>,
    /// What was done about it, in order.
    pub events: Vec<Event>,
    /// What came of it.
    pub result: Option<CallResult>,
}

/// Something that was done about a call.
#[derive(Clone, Debug)]
pub struct Event {
    /// The record.
    pub index: usize,
    /// What.
    pub what: Did,
}

/// Things that are done about a call.
#[derive(Clone, Debug)]
pub enum Did {
    /// It was sent.
    Sent {
        /// From 1.
        attempt: Option<u32>,
        /// Under this key.
        key: Option<String>,
    },
    /// The service was asked whether it was executed.
    LookedUp,
    /// An attempt failed, and the call will be repeated.
    Failed {
        /// From 1.
        attempt: Option<u32>,
        /// Why.
        error: RecordedError,
    },
    /// A person was asked; `again`: whether to send it again.
    Asked {
        /// Whether it was about sending it again.
        again: bool,
    },
    /// It was decided: a place in [`RunFacts::decisions`].
    Decided(usize),
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// The record.
    pub index: usize,
    /// Whether it went well; `None`: not recorded.
    pub ok: Option<bool>,
    /// True: it may have been executed all the same.
    pub in_doubt: bool,
    /// True: a person, or nobody, decided against it.
    pub refused: bool,
    /// What went wrong.
    pub error: Option<RecordedError>,
    /// The number of the refund.
    pub refund_id: Option<String>,
}

/// A decision.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The record.
    pub index: usize,
    /// The tool.
    pub tool: String,
    /// Canonical arguments.
    pub args: Option<String>,
    /// `approved`, `denied`, `expired`, or another program's word.
    pub decision: String,
    /// Who.
    pub approver: Option<String>,
    /// An earlier decision was found.
    pub reused: bool,
    /// It was about sending a call again.
    pub again: bool,
}

/// How a tool is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// It needs an approval.
    pub irreversible: bool,
    /// It can be sent again.
    pub repeatable: bool,
    /// It changes nothing.
    pub read_only: bool,
    /// The loop sends it again after an unknown outcome, whether the service recognises that or not.
    pub resent: bool,
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// The tool that a record or a call names.
fn tool_of(value: &Value) -> String {
    text(value, "tool").or(text(value, "name")).unwrap_or("a tool without a name").to_string()
}

/// An amount of USD.
pub fn usd(value: Option<&Value>) -> Option<PicoUsd> {
    decimal(value?)?.scaled(12).map(PicoUsd)
}

/// Reading tools never refund, whatever their names say.
const READING: [&str; 8] = ["get_", "list_", "find_", "search_", "read_", "lookup_", "look_up_", "check_"];

/// True for a tool that sends money back.
pub fn is_refund(tool: &str) -> bool {
    tool.to_ascii_lowercase().contains("refund") && !READING.iter().any(|verb| tool.starts_with(verb))
}

impl Call {
    /// The first record that is about it.
    pub fn first_record(&self) -> Option<usize> {
        self.events.first().map(|event| event.index).or(self.result.as_ref().map(|result| result.index)).or(self.proposed)
    }

    /// The records of its attempts.
    pub fn sent(&self) -> Vec<usize> {
        self.events.iter().filter(|event| matches!(event.what, Did::Sent { .. })).map(|event| event.index).collect()
    }

    /// The key of its newest attempt.
    pub fn key(&self) -> Option<&str> {
        self.events.iter().rev().find_map(|event| match &event.what {
            Did::Sent { key, .. } => key.as_deref(),
            _ => None,
        })
    }

    /// The first record of its being carried out; without recorded intents that is its first failure or its result.
    pub fn started(&self) -> Option<usize> {
        let attempt = self.events.iter().find(|event| matches!(event.what, Did::Sent { .. } | Did::Failed { .. }));
        let answered = self.result.as_ref().filter(|result| !result.refused && result.ok != Some(false));
        attempt.map(|event| event.index).or(answered.map(|result| result.index))
    }

    /// True: it happened. False: it did not, or nobody knows.
    pub fn happened(&self) -> bool {
        self.result.as_ref().is_some_and(|result| result.ok == Some(true) || (result.ok.is_none() && !result.refused))
    }

    /// True: it handed the ticket over to a colleague.
    pub fn is_hand_over(&self) -> bool {
        self.tool.contains("escalate") && self.happened()
    }

    /// True: it was sent, and the trace does not say whether it was executed.
    pub fn is_in_doubt(&self) -> bool {
        match &self.result {
            Some(result) => result.in_doubt,
            None => match self.events.iter().rev().find(|event| matches!(event.what, Did::Sent { .. } | Did::Failed { .. })) {
                Some(Event { what: Did::Failed { error, .. }, .. }) => error.kind() == FailureKind::OutcomeUnknown,
                Some(_) => true,
                None => false,
            },
        }
    }

    /// The records that are about it.
    pub fn records(&self) -> Vec<usize> {
        let result = self.result.as_ref().map(|result| result.index);
        self.events.iter().map(|event| event.index).chain(result).collect()
    }
}

impl RunFacts {
    /// A field of `run_start`'s limits.
    pub fn limit(&self, key: &str) -> Option<&Value> {
        self.start.as_ref()?.1.get("limits")?.get(key)
    }

    /// False only if the trace says that the mechanism was off.
    pub fn has_mechanism(&self, id: &str) -> bool {
        self.start.as_ref().and_then(|(_, start)| start.get("mechanisms")?.get(id)) != Some(&Value::Bool(false))
    }

    /// Model calls for a step that had been answered before.
    pub fn answered_again(&self) -> Vec<usize> {
        let is_again = |place: &usize| {
            let step = self.model_calls[*place].step;
            step.is_some() && self.model_calls[..*place].iter().any(|earlier| earlier.step == step)
        };
        (0..self.model_calls.len()).filter(is_again).map(|place| self.model_calls[place].index).collect()
    }

    /// The newest stop: its record, what stands in it, and its status.
    pub fn stop(&self) -> Option<(usize, &Value, &str)> {
        let (index, stop) = self.stops.last()?;
        Some((*index, stop, text(stop, "status").or(text(stop, "reason")).unwrap_or_default()))
    }

    /// Prices, if they are recorded.
    pub fn prices(&self) -> Option<Prices> {
        let price = |key: &str| decimal(self.limit(key)?)?.scaled(6).map(PicoUsd);
        Some(Prices { input: price("input_usd_per_million")?, output: price("output_usd_per_million")? })
    }

    /// How a tool is meant: as recorded, else as the lab has it. `None`: nobody knows.
    pub fn flags(&self, tool: &str) -> Option<Flags> {
        self.recorded_flags(tool).or_else(|| {
            let spec = shipped_tool(tool)?.spec;
            let keys_count = self.has_mechanism("idempotency");
            let resent = spec.read_only || spec.idempotent;
            let repeatable = spec.read_only || (spec.idempotent && keys_count);
            Some(Flags { irreversible: spec.irreversible, repeatable, read_only: spec.read_only, resent })
        })
    }

    fn recorded_flags(&self, tool: &str) -> Option<Flags> {
        let names = |key: &str| self.limit(key)?.as_array();
        if let (Some(irreversible), Some(not_idempotent), Some(read_only)) =
            (names("irreversible"), names("not_idempotent"), names("read_only"))
        {
            let is_in = |list: &[Value]| list.iter().any(|name| name.as_str() == Some(tool));
            let (read_only, resent) = (is_in(read_only), !is_in(not_idempotent));
            let repeatable = read_only || (resent && self.has_mechanism("idempotency"));
            return Some(Flags { irreversible: is_in(irreversible), repeatable, read_only, resent: read_only || resent });
        }
        let tools = self.start.as_ref()?.1.get("tools")?;
        let flags = match tools {
            Value::Object(fields) => fields.get(tool)?,
            Value::Array(items) => items.iter().find(|item| text(item, "name") == Some(tool))?,
            _ => return None,
        };
        let hints = flags.get("annotations").unwrap_or(flags);
        // The names of the loop, and those of MCP's annotations. A tool without them is destructive and not idempotent.
        let flag =
            |own: &str, hint: &str, default: bool| flags.get(own).or(hints.get(hint)).and_then(Value::as_bool).unwrap_or(default);
        let read_only = flag("read_only", "readOnlyHint", false);
        let repeatable = read_only || flag("idempotent", "idempotentHint", false);
        let irreversible = flag("irreversible", "destructiveHint", !read_only);
        Some(Flags { irreversible, repeatable, read_only, resent: repeatable })
    }

    /// What all model calls cost together: the exact sum, with what is in doubt, and the records whose cost is not known.
    pub fn spent(&self) -> (PicoUsd, Vec<usize>) {
        let prices = self.prices();
        let mut spent = PicoUsd(0);
        let mut unknown = Vec::new();
        for call in &self.model_calls {
            let exact = prices.zip(call.input_tokens).zip(call.output_tokens);
            match exact.map(|((prices, input), output)| prices.cost(input, output)).or(call.cost) {
                Some(cost) => spent = spent.plus(cost),
                None => unknown.push(call.index),
            }
        }
        let open = self.open_request.iter().map(|open| (open.index, open.projected));
        for (index, projected) in self.in_doubt.iter().copied().chain(open) {
            match projected {
                Some(projected) => spent = spent.plus(projected),
                None => unknown.push(index),
            }
        }
        (spent, unknown)
    }

    /// The answer to the customer: its record, and its text if there is one.
    pub fn answer(&self) -> Option<(usize, &str)> {
        let (stop_index, stop, status) = self.stop()?;
        if status != "done" {
            return None;
        }
        let in_stop = ["final", "final_text", "answer"].into_iter().find_map(|key| text(stop, key));
        if let Some(said) = in_stop {
            return Some((stop_index, said));
        }
        let call = self.model_calls.last().filter(|call| call.wants.unwrap_or(0) == 0)?;
        Some((call.index, call.text.as_deref()?))
    }
}

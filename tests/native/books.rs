//! The invariants at their edges: what just holds, and what just breaks.

use std::sync::Arc;

use crashlab::agent::config::Config;
use crashlab::base::money::PicoUsd;
use crashlab::lab::invariants::{Evidence, INVARIANTS};
use crashlab::lab::ledger::{Entry, Row};
use crashlab::lab::scenario::Scenario;
use crashlab::lab::world::World;
use crashlab::record::{
    ApprovalStatus, Decision, InDoubt, LlmCall, QuestionKind, Record, RecordBody, RecordedFailure, Retry, Status, StopCause,
    ToolCall, ToolOutcome,
};
use serde_json::{Value, json};

use crate::support::{Site, document, read, scenario};

/// Books and a log that a test writes itself.
struct Case {
    scenario: Arc<Scenario>,
    config: Config,
    rows: Vec<Arc<Row>>,
    log: Vec<Arc<Record>>,
}

impl Case {
    fn new() -> Case {
        Case::of(scenario("double-charge"))
    }

    fn of(scenario: Arc<Scenario>) -> Case {
        let config = (*Site::new(&scenario).config).clone();
        Case { scenario, config, rows: Vec::new(), log: Vec::new() }
    }

    fn row(&mut self, entry: Entry) -> &mut Case {
        // It was caused by the newest record.
        let record = self.log.len().checked_sub(1).map(|place| place as u64);
        self.rows.push(Arc::new(Row { at_ms: 1_000, record, entry }));
        self
    }

    fn says(&mut self, step: u32, body: RecordBody) -> &mut Case {
        self.log.push(Arc::new(Record { ts_ms: 1_000, run_id: "r".into(), step, body }));
        self
    }

    fn billed(&mut self, cost: u64) -> &mut Case {
        self.row(Entry::ModelCall { outcome: "ok".into(), input_tokens: 1, output_tokens: 1, cost: PicoUsd(cost) })
    }

    fn refunded(&mut self, charge: &str, cents: u64) -> &mut Case {
        let refund_id = format!("RF-{:05}", self.rows.len()).into();
        self.row(Entry::Refund { refund_id, charge_id: charge.into(), cents, key: "k".into(), by: "agent".into() })
    }

    fn mailed(&mut self, text: &str) -> &mut Case {
        self.row(Entry::Mail { to: "c".into(), text: text.into() })
    }

    fn asked(&mut self, key: &str, tool: &str, args: Value) -> &mut Case {
        self.row(Entry::Question { key: key.into(), tool: tool.into(), args: Arc::new(args) })
    }

    fn decided(&mut self, key: &str, status: ApprovalStatus, approver: &str) -> &mut Case {
        self.row(Entry::Decision { key: key.into(), status, approver: approver.into(), note: None })
    }

    /// A request that was carried out, or one that was not.
    fn requested(&mut self, tool: &str, args: Value, key: &str, outcome: &str) -> &mut Case {
        let result = (outcome == "ok").then(|| Arc::new(json!({})));
        let args = crashlab::base::canonical::canonical(&args).into();
        self.row(Entry::Request { tool: tool.into(), args, key: key.into(), outcome: outcome.into(), result })
    }

    fn holds(&self, id: &str) -> bool {
        let world = World::with_rows(self.scenario.clone(), true, self.rows.clone());
        let evidence = Evidence { scenario: &self.scenario, config: &self.config, world: &world, log: &self.log };
        let invariant = INVARIANTS.iter().find(|invariant| invariant.id == id).expect("an invariant");
        (invariant.judge)(&evidence).is_ok()
    }
}

fn model_call(input_tokens: u64, output_tokens: u64) -> RecordBody {
    RecordBody::LlmCall(LlmCall {
        thought: "t".into(),
        plan: None,
        plan_version: 0,
        tool_calls: Vec::<ToolCall>::new().into(),
        input_tokens,
        output_tokens,
        cost: PicoUsd(0),
        latency_ms: 1,
        usage_partial: false,
    })
}

fn request(projected: u64) -> RecordBody {
    RecordBody::LlmRequest { attempt: 1, projected: PicoUsd(projected) }
}

fn retry(error: &str) -> RecordBody {
    RecordBody::LlmRetry(Retry { attempt: 1, failure: RecordedFailure::parse(error), backoff_ms: 1, until_ms: 1 })
}

fn resume(in_doubt: Option<InDoubt>) -> RecordBody {
    RecordBody::Resume { from_step: 0, checkpoint_generation: None, records_replayed: 0, in_doubt }
}

fn stop(error: Option<&str>) -> RecordBody {
    let model_failed = |error| StopCause::ModelFailed { failure: RecordedFailure::parse(error), attempt: Some(1) };
    let cause = error.map_or(StopCause::Plain, model_failed);
    RecordBody::Stop { status: Status::ModelFailed, used: Arc::new(json!(0)), cause }
}

#[test]
fn a_bill_of_exactly_the_budget_is_within_it() {
    for (billed, holds) in [(999, true), (1_000, true), (1_001, false)] {
        let mut case = Case::new();
        case.config.limits.budget = PicoUsd(1_000);
        assert_eq!(case.billed(600).billed(billed - 600).holds("within_budget"), holds, "{billed}");
    }
    assert!(Case::new().holds("within_budget"));
}

#[test]
fn a_projection_that_was_rounded_down_in_the_log_still_covers_its_call() {
    // 0.00000014999 USD is written as 0.0000001.
    let written = PicoUsd(149_999).usd();
    let written = PicoUsd::from_usd(&written).unwrap();
    assert_eq!(written, PicoUsd(100_000));
    let in_doubt = || Some(InDoubt::Model { attempt: 1, projected: written });
    for (billed, holds) in [(149_999, true), (150_001, false)] {
        let place = format!("{billed}");
        let out = |case: &mut Case| case.says(0, request(written.0)).billed(billed).holds("spend_recorded");
        assert_eq!(out(&mut Case::new()), holds, "{place}: while it is out");
        let mut timed_out = Case::new();
        timed_out.says(0, request(written.0)).billed(billed).says(0, retry("timeout: late"));
        assert_eq!(timed_out.holds("spend_recorded"), holds, "{place}: after a timeout");
        let mut died = Case::new();
        died.says(0, request(written.0)).billed(billed).says(0, resume(in_doubt()));
        assert_eq!(died.holds("spend_recorded"), holds, "{place}: after a crash");
    }
}

#[test]
fn what_was_billed_and_is_not_in_the_log_is_missed() {
    let spent = |edit: &dyn Fn(&mut Case)| {
        let mut case = Case::new();
        edit(&mut case);
        case.holds("spend_recorded")
    };
    let price = Case::new().config.prices.cost(100, 10).0;
    assert!(spent(&|_| {}));
    assert!(!spent(&|case| {
        case.billed(1);
    }));
    for (billed, holds) in [(price - 1, true), (price, true), (price + 1, false)] {
        let answered = |case: &mut Case| {
            case.says(0, request(price * 9)).billed(billed).says(0, model_call(100, 10));
        };
        assert_eq!(spent(&answered), holds, "{billed}: an answer takes the place of its projection");
    }
    // A failure that certainly was not executed has cost nothing, so its projection covers nothing.
    assert!(!spent(&|case| {
        case.says(0, request(price)).says(0, retry("unavailable: 503")).billed(1);
    }));
    assert!(spent(&|case| {
        case.says(0, request(price)).says(0, retry("timeout: late")).billed(price);
    }));
    // Nor does one that a resume does not call in doubt.
    assert!(!spent(&|case| {
        case.says(0, request(price)).billed(1).says(0, resume(None));
    }));
    // A last attempt may have been billed unless its error says that it was not executed.
    for (error, holds) in [(Some("timeout: late"), true), (Some("rejected: no"), false), (None, true)] {
        let ended = |case: &mut Case| {
            case.says(0, request(price)).billed(price).says(0, stop(error));
        };
        assert_eq!(spent(&ended), holds, "{error:?}");
    }
    // Two calls at once count as two.
    assert!(spent(&|case| {
        case.says(0, request(price)).billed(price).says(1, request(price)).billed(price);
    }));
}

#[test]
fn one_refund_for_each_charge_and_none_above_it() {
    let mut case = Case::new();
    assert!(case.refunded("CH-90121", 28_800).refunded("CH-90118", 28_799).holds("refunded_once"));
    assert!(case.holds("refund_within_charge"));
    assert!(!case.refunded("CH-90121", 1).holds("refunded_once"));
    assert!(case.holds("refund_within_charge"), "each for itself");
    assert!(!Case::new().refunded("CH-90121", 28_801).holds("refund_within_charge"));
    assert!(!Case::new().refunded("CH-1", 1).holds("refund_within_charge"), "a charge that nobody knows");
    assert!(!Case::new().holds("refund_happens"));
    assert!(case.holds("refund_happens"));
}

#[test]
fn an_approval_by_a_person_is_used_up_by_one_action_with_its_arguments() {
    use ApprovalStatus::{Approved, Denied};
    let args = || json!({"amount": 288, "charge_id": "C"});
    let approved = || {
        let mut case = Case::new();
        case.asked("q", "issue_refund", args()).decided("q", Approved, "human:maya");
        case
    };
    let id = "approved_exactly";
    assert!(Case::new().holds(id));
    let mut case = approved();
    assert!(case.requested("issue_refund", json!({"charge_id": "C", "amount": 288.0}), "k", "ok").holds(id), "in any layout");
    assert!(case.requested("issue_refund", args(), "k", "ok").holds(id), "the same action again");
    assert!(!case.requested("issue_refund", args(), "k2", "ok").holds(id), "another action");
    assert!(!approved().requested("issue_refund", json!({"amount": 289, "charge_id": "C"}), "k", "ok").holds(id));
    assert!(!approved().requested("send_voucher", args(), "k", "ok").holds(id), "another tool");
    assert!(approved().requested("issue_refund", json!({}), "k", "rejected").holds(id), "what was not done needs nobody");
    assert!(Case::new().requested("add_internal_note", args(), "k", "ok").holds(id), "what can be taken back needs nobody");
    assert!(!Case::new().requested("issue_refund", args(), "k", "ok").holds(id));
    for (status, approver) in [(Denied, "human:maya"), (Approved, "policy:allow_all")] {
        let mut case = Case::new();
        case.asked("q", "issue_refund", args()).decided("q", status, approver);
        assert!(!case.requested("issue_refund", args(), "k", "ok").holds(id), "{status:?} by {approver}");
    }
    // A decision about another question covers nothing here.
    let mut case = Case::new();
    case.asked("q", "issue_refund", args()).asked("other", "issue_refund", json!({})).decided("other", Approved, "human:maya");
    assert!(!case.requested("issue_refund", args(), "k", "ok").holds(id));
}

#[test]
fn one_question_about_one_action() {
    let mut case = Case::new();
    assert!(case.asked("q", "issue_refund", json!({})).asked("q2", "issue_refund", json!({})).holds("asked_once"));
    assert!(!case.asked("q", "issue_refund", json!({})).holds("asked_once"));
}

#[test]
fn the_answer_tells_of_the_refunds_that_there_are() {
    let id = "told_the_truth";
    assert!(Case::new().holds(id));
    assert!(Case::new().refunded("CH-90121", 1).holds(id), "nothing was told yet");
    assert!(Case::new().refunded("CH-90121", 1).mailed("Your refund is RF-00000.").holds(id));
    assert!(!Case::new().refunded("CH-90121", 1).mailed("All is well.").holds(id));
    assert!(!Case::new().mailed("Your refund is RF-00000.").holds(id));
    assert!(!Case::new().mailed("We have refunded it.").holds(id));
    assert!(Case::new().mailed("All is well.").holds(id));
    let mut handed_over = Case::new();
    handed_over.refunded("CH-90121", 1).row(Entry::Effect {
        name: "escalation".into(),
        tool: "escalate".into(),
        business_key: None,
        cents: None,
        text: "t".into(),
    });
    assert!(handed_over.mailed("A colleague takes over.").holds(id));
}

#[test]
fn a_step_is_paid_for_once() {
    let id = "step_paid_once";
    let mut case = Case::new();
    assert!(case.says(0, model_call(1, 1)).says(1, model_call(1, 1)).holds(id));
    assert!(!case.says(0, model_call(1, 1)).holds(id));
}

fn tool_call(tool: &str, key: &str, call_id: &str, attempt: u32, args: Value) -> RecordBody {
    RecordBody::ToolCall {
        tool: tool.into(),
        args: Arc::new(args),
        call_id: call_id.into(),
        attempt,
        idempotency_key: key.into(),
        traceparent: "t".into(),
    }
}

fn told(tool: &str, ok: bool, result: Value) -> RecordBody {
    let outcome = ToolOutcome::of_result(ok, &result);
    RecordBody::ToolResult { tool: tool.into(), call_id: "c".into(), outcome, code: None, result: Arc::new(result) }
}

fn approval(tool: &str, args: Value, decision: ApprovalStatus) -> RecordBody {
    RecordBody::Approval {
        kind: QuestionKind::MayRun,
        call_id: None,
        tool: tool.into(),
        args: Arc::new(args),
        approval_key: "q".into(),
        decision: Decision { status: decision, approver: "human:maya".into(), note: None },
        reused: false,
    }
}

#[test]
fn as_many_stale_steps_as_are_allowed_are_no_circle_and_one_more_is() {
    let steps = |results: &[&[u32]]| {
        let mut case = Case::new();
        case.config.limits.max_stale_steps = 2;
        for (step, results) in (0..).zip(results) {
            results.iter().for_each(|result| {
                case.says(step, told("search_kb", true, json!(result)));
            });
        }
        case.holds("no_circles")
    };
    assert!(steps(&[]));
    assert!(steps(&[&[1], &[1], &[1]]), "two");
    assert!(!steps(&[&[1], &[1], &[1], &[1]]), "three");
    assert!(steps(&[&[1], &[1], &[1], &[1], &[2]]), "what is new ends it");
    assert!(steps(&[&[1], &[1], &[1], &[2, 1]]), "also as the first of a step");
    assert!(steps(&[&[1], &[1], &[1], &[1, 2]]), "and as the last");
    assert!(!steps(&[&[1], &[1, 1], &[1], &[1, 1]]), "a step counts once");
    assert!(!steps(&[&[1], &[2], &[1, 2], &[2], &[1]]));
    // The same within one step is no repetition of an earlier one.
    assert!(steps(&[&[1, 1, 1, 1, 1]]));
    let mut other = Case::new();
    other.config.limits.max_stale_steps = 1;
    for (step, (tool, ok)) in
        (0..).zip([("search_kb", true), ("search_kb", false), ("read_article", true), ("read_article", false)])
    {
        other.says(step, told(tool, ok, json!(1)));
    }
    assert!(other.holds("no_circles"), "another tool, or another outcome, is something new");
}

#[test]
fn a_failure_is_repeated_as_often_as_is_allowed_before_the_model_hears_of_it() {
    let id = "blips_hidden";
    let attempts = Case::new().scenario.retry.max_attempts as usize;
    let heard_after = |failures: usize, outcome: &str, tool: &str| {
        let mut case = Case::new();
        case.says(0, tool_call(tool, "k", "c", 1, json!({})));
        for _ in 0..failures {
            case.requested(tool, json!({}), "k", outcome);
        }
        case.says(1, request(1)).billed(1);
        case.holds(id)
    };
    assert!(heard_after(0, "unavailable", "search_kb"));
    for outcome in ["unavailable", "refused"] {
        assert!(!heard_after(1, outcome, "search_kb"), "{outcome}");
        assert!(!heard_after(attempts - 1, outcome, "search_kb"), "{outcome}");
        assert!(heard_after(attempts, outcome, "search_kb"), "{outcome}");
    }
    for outcome in ["rate_limited", "timeout", "rejected"] {
        assert!(heard_after(1, outcome, "search_kb"), "{outcome}");
    }
    assert!(heard_after(1, "unavailable", "send_voucher"), "it may not be repeated");
    assert!(!heard_after(1, "unavailable", "add_internal_note"));
    let mut repeated = Case::new();
    repeated.says(0, tool_call("search_kb", "k", "c", 1, json!({}))).requested("search_kb", json!({}), "k", "unavailable");
    assert!(repeated.holds(id), "the model has not heard of it");
    repeated.says(0, request(1)).billed(1);
    assert!(repeated.holds(id), "a call of the same step is no news");
    repeated.requested("search_kb", json!({}), "k", "ok").says(1, request(1)).billed(1);
    assert!(repeated.holds(id));
    for (tool, key) in [("search_kb", "other"), ("read_article", "k")] {
        let mut other = Case::new();
        other.says(0, tool_call("search_kb", "k", "c", 1, json!({}))).requested("search_kb", json!({}), "k", "unavailable");
        other.requested(tool, json!({}), key, "ok").says(1, request(1)).billed(1);
        assert!(!other.holds(id), "{tool} {key} is another call");
    }
}

#[test]
fn every_row_stands_behind_its_intent() {
    let id = "traced";
    let args = || json!({"amount": 1});
    assert!(Case::new().holds(id));
    assert!(Case::new().says(0, request(1)).billed(1).holds(id));
    assert!(!Case::new().billed(1).holds(id));
    assert!(!Case::new().says(0, model_call(1, 1)).billed(1).holds(id));
    let asked_for = |tool: &str, key: &str| {
        let mut case = Case::new();
        case.says(0, tool_call("search_kb", "k", "c", 1, args())).requested(tool, args(), key, "ok");
        case.holds(id)
    };
    assert!(asked_for("search_kb", "k"));
    assert!(!asked_for("search_kb", "other"));
    assert!(!asked_for("read_article", "k"));
    assert!(!Case::new().requested("search_kb", args(), "k", "ok").holds(id));
    let gated = |before: Option<RecordBody>, gate: bool| {
        let mut case = Case::new();
        case.config.policies.approval_gate = gate;
        before.into_iter().for_each(|before| {
            case.says(0, before);
        });
        case.says(0, tool_call("issue_refund", "k", "c", 1, args())).requested("issue_refund", args(), "k", "ok");
        case.holds(id)
    };
    assert!(gated(Some(approval("issue_refund", json!({"amount": 1.0}), ApprovalStatus::Approved)), true));
    assert!(!gated(Some(approval("issue_refund", args(), ApprovalStatus::Denied)), true));
    assert!(!gated(Some(approval("issue_refund", json!({"amount": 2}), ApprovalStatus::Approved)), true));
    assert!(!gated(Some(approval("send_voucher", args(), ApprovalStatus::Approved)), true));
    assert!(!gated(None, true));
    assert!(gated(None, false), "without the gate nobody is asked");
}

#[test]
fn each_attempt_at_changing_something_has_a_number_of_its_own() {
    let args = || json!({"text": "t"});
    let twice = |tool: &str, (first, second): (u32, u32), between: Option<RecordBody>, ids: (&str, &str)| {
        let mut case = Case::new();
        case.says(0, tool_call(tool, "k", ids.0, first, args())).requested(tool, args(), "k", "timeout");
        between.into_iter().for_each(|between| {
            case.says(0, between);
        });
        case.says(0, tool_call(tool, "k", ids.1, second, args())).requested(tool, args(), "k", "ok");
        case.holds("traced")
    };
    assert!(twice("add_internal_note", (1, 2), None, ("c", "c")));
    assert!(!twice("add_internal_note", (1, 1), None, ("c", "c")));
    assert!(twice("add_internal_note", (1, 1), None, ("c", "d")), "another call");
    assert!(twice("add_internal_note", (1, 1), Some(model_call(1, 1)), ("c", "c")), "another answer of the model");
    assert!(!twice("add_internal_note", (1, 1), Some(resume(None)), ("c", "c")));
    assert!(twice("search_kb", (1, 1), None, ("c", "c")), "a read changes nothing");
    // Two agents at once number their attempts each for itself.
    let mut case = Case::of(scenario("two-tabs"));
    case.says(0, tool_call("add_internal_note", "k", "c", 1, args())).requested("add_internal_note", args(), "k", "timeout");
    case.says(0, tool_call("add_internal_note", "k", "c", 1, args())).requested("add_internal_note", args(), "k", "ok");
    assert!(case.holds("traced"));
}

#[test]
fn a_run_ends_with_a_mail_or_with_a_person() {
    assert!(!Case::new().holds("ends"));
    assert!(Case::new().mailed("t").holds("ends"));
    assert!(Case::new().row(Entry::HandOver { status: "max_steps".into() }).holds("ends"));
    assert!(!Case::new().refunded("CH-90121", 1).holds("ends"));
}

#[test]
fn an_agent_that_works_alone_is_in_step_with_nobody() {
    assert!(Case::new().holds("no_lockstep"));
    assert!(Case::of(read(&document("retry-storm").to_string())).holds("no_lockstep"));
}

#[test]
fn what_may_happen_once_happens_once_for_each_key() {
    let effect = |name: &str, key: Option<&str>| Entry::Effect {
        name: name.into(),
        tool: "t".into(),
        business_key: key.map(Arc::from),
        cents: None,
        text: "t".into(),
    };
    let id = "effect_at_most_once";
    let mut case = Case::new();
    case.row(effect("voucher", Some("a"))).row(effect("voucher", Some("b"))).row(effect("note", Some("a")));
    assert!(case.row(effect("note", None)).row(effect("note", None)).holds(id), "what has no key may happen again");
    assert!(!case.row(effect("voucher", Some("a"))).holds(id));
}

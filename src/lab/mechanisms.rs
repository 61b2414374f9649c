//! Reliability mechanisms, each of which can be taken away.

use serde_json::{Map, Value};

use crate::agent::config::Policies;
use crate::agent::retry::RetryPolicy;
use crate::base::json::Fields;

/// What can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mechanism {
    /// Failed calls are repeated in the loop.
    Retries,
    /// Waits differ from agent to agent.
    Jitter,
    /// Billing recognises a repeated request.
    Idempotency,
    /// Keys are made from the business intent.
    IntentKeys,
    /// Snapshots are saved.
    Checkpoints,
    /// Counters are in them.
    SavedGuards,
    /// The log is replayed onto them.
    Journal,
    /// Decisions survive a crash.
    DurableApprovals,
    /// Irreversible calls wait for a person.
    ApprovalGate,
    /// A decision covers exactly the arguments that were shown.
    ExactArguments,
    /// Nobody there means no.
    DefaultDeny,
    /// Billing compares with what was read before.
    RereadWorld,
    /// Budgets are checked before each call.
    BudgetGuard,
    /// Loops are noticed.
    LoopGuard,
    /// One agent at a time writes a run's log.
    SingleWriter,
}

/// What a mechanism is, for people.
pub struct MechanismText {
    /// Its id in scenarios, links and records.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// What happens without it.
    pub without: &'static str,
    /// The invariant that then breaks, by id.
    pub breaks: &'static str,
    /// The shipped scenario that shows it, by id.
    pub scenario: &'static str,
}

impl Mechanism {
    /// All of them, in the order of the design's table.
    pub const ALL: [Mechanism; 15] = [
        Mechanism::Retries,
        Mechanism::Jitter,
        Mechanism::Idempotency,
        Mechanism::IntentKeys,
        Mechanism::Checkpoints,
        Mechanism::SavedGuards,
        Mechanism::Journal,
        Mechanism::DurableApprovals,
        Mechanism::ApprovalGate,
        Mechanism::ExactArguments,
        Mechanism::DefaultDeny,
        Mechanism::RereadWorld,
        Mechanism::BudgetGuard,
        Mechanism::LoopGuard,
        Mechanism::SingleWriter,
    ];

    /// Its texts.
    pub fn text(self) -> MechanismText {
        let text = |id, name, what, without, [breaks, scenario]: [&'static str; 2]| MechanismText {
            id,
            name,
            what,
            without,
            breaks,
            scenario,
        };
        match self {
            Mechanism::Retries => text(
                "retries",
                "Retries in the loop",
                "A failed call that may be repeated, because it did not run or is idempotent, is sent again with backoff before the model hears of it.",
                "Every blip goes to the model, which is paid to say “try again”.",
                ["blips_hidden", "flaky-tool"],
            ),
            Mechanism::Jitter => text(
                "jitter",
                "Jitter",
                "Half of each backoff is drawn by lot, so agents that failed together spread out.",
                "They all come back in the same millisecond and knock the service over again.",
                ["no_lockstep", "retry-storm"],
            ),
            Mechanism::Idempotency => text(
                "idempotency",
                "Idempotent billing",
                "Billing remembers the key of each refund and answers a repeated request with the first result.",
                "A request that is sent again is a second refund.",
                ["refunded_once", "refund-timeout"],
            ),
            Mechanism::IntentKeys => text(
                "intent_keys",
                "Keys from the intent",
                "The idempotency key is made from what is meant (this charge), not from the call that says it.",
                "A model that plans the same refund again, under a new call id, gets a second one.",
                ["refunded_once", "replanned-refund"],
            ),
            Mechanism::Checkpoints => text(
                "checkpoints",
                "Checkpoints",
                "After each step everything the agent knows is saved, and a resume starts from there.",
                "A resume starts from nothing: the run begins again and pays again.",
                ["step_paid_once", "crash-resume"],
            ),
            Mechanism::SavedGuards => text(
                "saved_guards",
                "Counters in the checkpoint",
                "What was spent, called and tried is saved with the conversation.",
                "Each resume starts with a fresh budget: limits no longer limit.",
                ["within_budget", "budget-crashes"],
            ),
            Mechanism::Journal => text(
                "journal",
                "The log as journal",
                "Results after the last checkpoint are replayed from the log.",
                "What happened after the checkpoint is forgotten: paid again, sent again, and counted once.",
                ["step_paid_once", "five-calls"],
            ),
            Mechanism::DurableApprovals => text(
                "durable_approvals",
                "Durable approvals",
                "Question and decision are kept outside the agent and recorded before the tool runs.",
                "After a crash the person is asked the same thing again.",
                ["asked_once", "crash-question"],
            ),
            Mechanism::ApprovalGate => text(
                "approval_gate",
                "The gate in code",
                "The loop stops before an irreversible tool, whatever the model meant to do.",
                "Only the prompt says to ask first, and a prompt is a request.",
                ["approved_exactly", "happy-path"],
            ),
            Mechanism::ExactArguments => text(
                "exact_arguments",
                "Exact arguments",
                "A decision covers the arguments that the person saw, and nothing else.",
                "Approved were 288, and 2,880 went out.",
                ["approved_exactly", "approved-288"],
            ),
            Mechanism::DefaultDeny => text(
                "default_deny",
                "Default deny",
                "If nobody is set up to decide, the answer is no.",
                "If nobody is set up to decide, a policy says yes to everything.",
                ["approved_exactly", "nobody-there"],
            ),
            Mechanism::RereadWorld => text(
                "reread_world",
                "The world is read again",
                "A refund carries the version of the invoice that the agent read, and billing compares before it acts.",
                "The agent trusts what it read an hour ago, and refunds what somebody else has refunded since.",
                ["refunded_once", "refunded-meanwhile"],
            ),
            Mechanism::BudgetGuard => text(
                "budget_guard",
                "Budget guard",
                "A model call that could exceed the budget is refused before it is paid for.",
                "The bill is the first to notice.",
                ["within_budget", "budget-crashes"],
            ),
            Mechanism::LoopGuard => text(
                "loop_guard",
                "Loop guard",
                "The same call for the third time, two calls in turn, or steps that teach nothing stop the run.",
                "An agent that goes in circles pays for every round.",
                ["no_circles", "loop-same"],
            ),
            Mechanism::SingleWriter => text(
                "single_writer",
                "One writer",
                "A resume takes the run over; the agent that lost it can write nothing more.",
                "Two agents work on one run, and its steps are paid for twice.",
                ["step_paid_once", "two-tabs"],
            ),
        }
    }

    /// The mechanism of an id.
    pub fn of_id(id: &str) -> Option<Mechanism> {
        Mechanism::ALL.into_iter().find(|mechanism| mechanism.text().id == id)
    }
}

/// Which mechanisms are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mechanisms {
    off: u16,
}

impl Mechanisms {
    /// All on.
    pub const ALL_ON: Mechanisms = Mechanisms { off: 0 };

    /// All on but this one.
    pub fn without(mechanism: Mechanism) -> Mechanisms {
        Mechanisms::ALL_ON.with(mechanism, false)
    }

    /// The same with one of them on or off.
    #[must_use]
    pub fn with(self, mechanism: Mechanism, on: bool) -> Mechanisms {
        let bit = 1 << mechanism as u16;
        Mechanisms { off: if on { self.off & !bit } else { self.off | bit } }
    }

    /// True if it is on.
    pub fn has(self, mechanism: Mechanism) -> bool {
        self.off & (1 << mechanism as u16) == 0
    }

    /// `{"retries": true, …}`, all of them.
    pub fn to_json(self) -> Value {
        let entry = |mechanism: Mechanism| (mechanism.text().id.to_string(), Value::from(self.has(mechanism)));
        Value::Object(Map::from_iter(Mechanism::ALL.into_iter().map(entry)))
    }

    /// Reads `{"retries": false, …}`; what is not named is on.
    pub fn from_json(from: &Fields) -> Mechanisms {
        let known: Vec<&str> = Mechanism::ALL.iter().map(|mechanism| mechanism.text().id).collect();
        from.only(&known);
        let mut mechanisms = Mechanisms::ALL_ON;
        for mechanism in Mechanism::ALL {
            let on = from.optional(mechanism.text().id, Fields::bool).unwrap_or(true);
            mechanisms = mechanisms.with(mechanism, on);
        }
        mechanisms
    }

    /// What the core is told.
    pub fn policies(self) -> Policies {
        Policies {
            intent_keys: self.has(Mechanism::IntentKeys),
            checkpoints: self.has(Mechanism::Checkpoints),
            saved_guards: self.has(Mechanism::SavedGuards),
            journal: self.has(Mechanism::Journal),
            durable_approvals: self.has(Mechanism::DurableApprovals),
            approval_gate: self.has(Mechanism::ApprovalGate),
            exact_arguments: self.has(Mechanism::ExactArguments),
            default_deny: self.has(Mechanism::DefaultDeny),
            reread_world: self.has(Mechanism::RereadWorld),
            budget_guard: self.has(Mechanism::BudgetGuard),
            loop_guard: self.has(Mechanism::LoopGuard),
        }
    }

    /// How the core retries.
    pub fn retry(self, policy: &RetryPolicy) -> RetryPolicy {
        RetryPolicy {
            max_attempts: if self.has(Mechanism::Retries) { policy.max_attempts } else { 1 },
            jitter: self.has(Mechanism::Jitter),
            ..policy.clone()
        }
    }
}

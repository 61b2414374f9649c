//! The scenarios that come with the program.

/// Id and document of each, in the order in which they are offered: first the one to begin with, then by theme.
pub const SHIPPED: [(&str, &str); 28] = [
    ("double-charge", include_str!("scenarios/double-charge.json")),
    ("happy-path", include_str!("scenarios/happy-path.json")),
    // Failures outside.
    ("flaky-tool", include_str!("scenarios/flaky-tool.json")),
    ("retries-exhausted", include_str!("scenarios/retries-exhausted.json")),
    ("rate-limit", include_str!("scenarios/rate-limit.json")),
    ("retry-storm", include_str!("scenarios/retry-storm.json")),
    // Money goes out once.
    ("refund-timeout", include_str!("scenarios/refund-timeout.json")),
    ("crash-resume", include_str!("scenarios/crash-resume.json")),
    ("replanned-refund", include_str!("scenarios/replanned-refund.json")),
    ("refunded-meanwhile", include_str!("scenarios/refunded-meanwhile.json")),
    // Crashes elsewhere.
    ("crash-backoff", include_str!("scenarios/crash-backoff.json")),
    ("crash-question", include_str!("scenarios/crash-question.json")),
    ("five-calls", include_str!("scenarios/five-calls.json")),
    ("two-tabs", include_str!("scenarios/two-tabs.json")),
    // A person decides.
    ("denied", include_str!("scenarios/denied.json")),
    ("stubborn", include_str!("scenarios/stubborn.json")),
    ("prompt-only", include_str!("scenarios/prompt-only.json")),
    ("nobody-there", include_str!("scenarios/nobody-there.json")),
    ("approved-288", include_str!("scenarios/approved-288.json")),
    ("twelve-questions", include_str!("scenarios/twelve-questions.json")),
    ("two-questions", include_str!("scenarios/two-questions.json")),
    // Guards.
    ("budget", include_str!("scenarios/budget.json")),
    ("budget-crashes", include_str!("scenarios/budget-crashes.json")),
    ("max-steps", include_str!("scenarios/max-steps.json")),
    ("loop-same", include_str!("scenarios/loop-same.json")),
    ("loop-abab", include_str!("scenarios/loop-abab.json")),
    ("stale", include_str!("scenarios/stale.json")),
    ("bad-calls", include_str!("scenarios/bad-calls.json")),
];

/// The document of an id.
pub fn shipped(id: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(name, _)| *name == id).map(|(_, json)| *json)
}

//! The scenarios that come with the program.

/// Id and document of each, in the order in which they are offered.
pub const SHIPPED: [(&str, &str); 4] = [
    ("double-charge", include_str!("scenarios/double-charge.json")),
    ("crash-resume", include_str!("scenarios/crash-resume.json")),
    ("denied", include_str!("scenarios/denied.json")),
    ("budget", include_str!("scenarios/budget.json")),
];

/// The document of an id.
pub fn shipped(id: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(name, _)| *name == id).map(|(_, json)| *json)
}

//! The scenarios that come with the program.

// `SHIPPED`, which build.rs makes from `scenarios/shipped.txt`.
include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The document of an id.
pub fn shipped(id: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(name, _)| *name == id).map(|(_, json)| *json)
}

//! Judges a finished run by what its scenario says is to be observed.

use super::session::Session;

/// What did not come as [`Scenario::expect`](super::scenario::Scenario::expect) says, a sentence each. Empty: all of it came true.
///
/// What a scenario does not expect anything about is not judged; only invariants are: those that it does not list have to hold.
pub fn unmet(session: &Session) -> Vec<String> {
    let (expect, world) = (&session.scenario().expect, session.world());
    let mut complaints = Vec::new();
    let status = session.status().map_or("not over", |status| status.as_str());
    if expect.status.as_deref().is_some_and(|wanted| wanted != status) {
        complaints.push(format!("the status is {status}, expected was {}", expect.status.as_deref().unwrap_or_default()));
    }
    let effects = |name: &str| world.effects(name).count() as u64;
    let mut counts = vec![
        ("refunds", expect.refunds, world.refund_count() as u64),
        ("questions", expect.questions, world.questions().len() as u64),
        ("notes", expect.notes, effects("note")),
        ("billed model calls", expect.model_calls, world.meter().0),
    ];
    counts.extend(expect.effects.iter().map(|(name, wanted)| (name.as_str(), Some(*wanted), effects(name))));
    for (what, wanted, found) in counts {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            complaints.push(format!("there are {found} {what}, expected were {wanted}"));
        }
    }
    for breach in session.breaches() {
        if expect.broken.iter().all(|id| id != breach.id) {
            complaints.push(format!("the invariant {} broke: {}", breach.id, breach.explanation));
        }
    }
    for id in &expect.broken {
        if session.breaches().iter().all(|breach| breach.id != id) {
            complaints.push(format!("the invariant {id} was expected to break, and it held"));
        }
    }
    complaints
}

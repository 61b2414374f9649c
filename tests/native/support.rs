//! What all native tests share.

use std::path::PathBuf;
use std::sync::Arc;

use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::{Session, Setup};
use crashlab::lab::shipped::{SHIPPED, shipped};
use crashlab::log::store::MemoryStore;

/// A shipped scenario.
pub fn scenario(id: &str) -> Arc<Scenario> {
    let json = shipped(id).unwrap_or_else(|| panic!("no scenario {id}"));
    Arc::new(Scenario::from_json(json).unwrap_or_else(|error| panic!("{id}: {error}")))
}

/// All shipped scenarios.
pub fn all_scenarios() -> Vec<Arc<Scenario>> {
    SHIPPED.iter().map(|(id, _)| scenario(id)).collect()
}

/// A run that went to its end.
pub fn finished(setup: Setup) -> (Session, MemoryStore) {
    let mut store = MemoryStore::default();
    let mut session = Session::start(setup, &mut store).unwrap();
    session.run_to_end(&mut store).unwrap();
    (session, store)
}

/// The log as text.
pub fn log_text(store: &MemoryStore) -> String {
    store.records().iter().map(|record| record.to_line() + "\n").collect()
}

/// Compares with `tests/golden/<name>`; `UPDATE_EXPECT=1` rewrites the file instead.
pub fn assert_golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == actual {
        return;
    }
    let differs = expected.lines().zip(actual.lines()).position(|(a, b)| a != b);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("<end>").to_string();
    panic!("{name}, line {}:\n  expected {}\n  found    {}\nUPDATE_EXPECT=1 rewrites it", line + 1, at(&expected), at(actual));
}

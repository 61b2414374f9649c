//! Each shipped scenario has a golden trace.

use crate::support::{all_scenarios, assert_golden, finished, log_text};
use crashlab::lab::session::Setup;

#[test]
fn each_shipped_scenario_has_its_golden_trace() {
    for scenario in all_scenarios() {
        let (_, store) = finished(Setup::of(&scenario));
        assert_golden(&format!("{}.jsonl", scenario.id), &log_text(&store));
    }
}

//! States per second of the search, natively.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark reads the clock, and fails by panicking")]

use std::sync::Arc;
use std::time::Instant;

use crashlab::lab::explore::Explorer;
use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::scenario::Scenario;
use crashlab::lab::session::Setup;
use crashlab::lab::shipped::{SHIPPED, shipped};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |place: usize, default: u8| args.get(place).map_or(default, |text| text.parse().unwrap());
    let bounds = Bounds { crashes: number(0, 2), faults: number(1, 1), ..Bounds::default() };
    for (id, _) in SHIPPED.iter().filter(|(id, _)| args.get(2).is_none_or(|wanted| wanted == id)) {
        let scenario = Arc::new(Scenario::from_json(shipped(id).unwrap()).unwrap());
        let start = Instant::now();
        let mut explorer = Explorer::new(Setup::of(&scenario), bounds).unwrap();
        let progress = explorer.run();
        let took = start.elapsed().as_secs_f64();
        println!(
            "{id}: {} states, {} choices, {} deep; {:.0} states a second",
            progress.states,
            progress.choices,
            progress.depth,
            progress.states as f64 / took
        );
    }
}

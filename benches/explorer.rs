//! States per second of the search, side by side with stateright on the same transition system, in one thread each.
#![cfg_attr(not(target_arch = "wasm32"), expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "it reads the clock"))]

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    native::main();
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::fmt;
    use std::hash::{Hash, Hasher};
    use std::sync::Arc;
    use std::time::Instant;

    use crashlab::lab::explore::choice::{Bounds, Choice, choices};
    use crashlab::lab::explore::node::Node;
    use crashlab::lab::explore::{Explorer, go};
    use crashlab::lab::scenario::Scenario;
    use crashlab::lab::session::Setup;
    use crashlab::lab::shipped::shipped;
    use crashlab::log::store::MemoryStore;
    use stateright::{Checker, Model, Property};

    const ROUNDS: usize = 5;

    /// `cargo bench --bench explorer -- [crashes] [faults] [scenario]`; with a scenario it only counts.
    pub fn main() {
        let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
        let number = |place: usize, default: u8| args.get(place).map_or(default, |text| text.parse().unwrap());
        let bounds = Bounds { crashes: number(0, 2), faults: number(1, 1), ..Bounds::default() };
        let id = args.get(2).map_or("double-charge", String::as_str);
        let scenario = Arc::new(Scenario::from_json(shipped(id).unwrap()).unwrap());
        if args.len() > 2 {
            let (states, rate) = ours(&scenario, bounds);
            println!("{id}: {states} states, {rate:.0} a second");
            return;
        }
        // In turns, so that a busy machine is busy for both; the best round of each is the one that was disturbed least.
        let (mut best, mut theirs_best): (f64, f64) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            let (states, rate) = ours(&scenario, bounds);
            let (their_states, their_rate) = stateright(&scenario, bounds);
            assert_eq!(states, their_states, "both have to see the same states");
            best = best.max(rate);
            theirs_best = theirs_best.max(their_rate);
        }
        println!("states_per_s_native: {best:.0}");
        println!("states_per_s_stateright: {theirs_best:.0}");
        println!("ours_to_stateright: {:.2}", best / theirs_best);
    }

    fn ours(scenario: &Arc<Scenario>, bounds: Bounds) -> (usize, f64) {
        let start = Instant::now();
        let states = Explorer::new(Setup::of(scenario), bounds).unwrap().run().states;
        (states, states as f64 / start.elapsed().as_secs_f64())
    }

    fn stateright(scenario: &Arc<Scenario>, bounds: Bounds) -> (usize, f64) {
        let start = Instant::now();
        let first = Explorer::new(Setup::of(scenario), bounds).unwrap().tell(&[]).unwrap().states.remove(0);
        let checker = Lab { first, bounds }.checker().threads(1).spawn_bfs().join();
        let states = checker.unique_state_count();
        (states, states as f64 / start.elapsed().as_secs_f64())
    }

    struct Lab {
        first: Node<MemoryStore>,
        bounds: Bounds,
    }

    /// A state with its print, which says what is equal.
    #[derive(Clone)]
    struct State {
        node: Node<MemoryStore>,
        print: u128,
    }

    impl State {
        fn of(mut node: Node<MemoryStore>) -> State {
            let print = node.print();
            State { node, print }
        }
    }

    impl Hash for State {
        fn hash<H: Hasher>(&self, out: &mut H) {
            self.print.hash(out);
        }
    }

    impl PartialEq for State {
        fn eq(&self, other: &State) -> bool {
            self.print == other.print
        }
    }

    impl Eq for State {}

    impl fmt::Debug for State {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:032x}", self.print)
        }
    }

    impl Model for Lab {
        type State = State;
        type Action = Choice;

        fn init_states(&self) -> Vec<State> {
            vec![State::of(self.first.clone())]
        }

        fn actions(&self, state: &State, actions: &mut Vec<Choice>) {
            actions.extend(choices(&state.node.session, state.node.left));
        }

        fn next_state(&self, last: &State, choice: Choice) -> Option<State> {
            let mut node = last.node.clone();
            go(&mut node, choice);
            if choices(&node.session, node.left).is_empty() {
                node.judge_end();
            }
            Some(State::of(node))
        }

        fn properties(&self) -> Vec<Property<Lab>> {
            // One that holds everywhere, or the checker would stop where the other is broken.
            vec![
                Property::always("nothing is broken", |_: &Lab, state: &State| state.node.broken() == 0),
                Property::always("bounds are kept", |lab: &Lab, state: &State| state.node.left.crashes <= lab.bounds.crashes),
            ]
        }
    }
}

//! The fault explorer: every crash, every fault and every decision within bounds, over the real agent.
//!
//! Breadth first: each state that has been found is continued by each choice that the driver has there ([`choice::choices`]), on a copy
//! of it. Copies share what they have in common, and equal states are continued once ([`node`] says which are equal), and what the
//! driver may still do is part of a state. So of the runs that break an invariant the search has one in which as little as possible
//! goes wrong, and of these a shortest one; and the same input gives the same states, counts and runs.

pub mod choice;
pub mod fingerprint;
pub mod graph;
pub mod matrix;
pub mod node;
pub mod replay;
pub mod story;

use std::collections::VecDeque;

use choice::{Bounds, Choice, Left, choices, choose};
use graph::{Decisive, Found, Graph};
use node::{Node, Scope, SearchStore};

use super::invariants::{INVARIANTS, Kind};
use super::scenario::{Scenario, When};
use super::session::{Session, SessionError, Setup};
use crate::agent::protocol::EffectKind;
use crate::log::store::MemoryStore;

/// A search under way.
pub struct Explorer<S> {
    start: Start<S>,
    bounds: Bounds,
    merges: bool,
    scope: Scope,
    graph: Graph,
    /// States that wait to be continued, in the order of their numbers.
    frontier: VecDeque<(u32, Node<S>)>,
    tally: Tally,
    is_done: bool,
    /// True if counters had to be taken into account after all.
    restarted: bool,
    stops_at_first: bool,
}

/// Where a search begins.
#[derive(Clone)]
struct Start<S> {
    session: Session,
    store: S,
}

impl<S: SearchStore> Start<S> {
    /// The first state: the agent has said what it wants.
    fn node(&self, bounds: &Bounds, scope: Scope) -> Node<S> {
        let mut node = Node::new(self.session.clone(), self.store.clone(), Left::of(bounds), scope);
        let _ = node.session.tick(&mut node.store);
        node.take_in(None);
        node
    }
}

/// What has been found, per invariant by its place in the list.
#[derive(Clone, Debug)]
struct Tally {
    /// The first state in which it is broken, of those behind which the least went wrong, and how much that was.
    first_broken: Vec<Option<(u32, u32)>>,
    /// The first end of a run at which it holds, likewise.
    first_held: Vec<Option<(u32, u32)>>,
    /// In how many states it is broken.
    broken: Vec<usize>,
    /// At how many ends of runs it holds, of those that are about the end.
    held: Vec<usize>,
    ends: usize,
}

impl Default for Tally {
    fn default() -> Tally {
        let none = vec![None; INVARIANTS.len()];
        let zero = vec![0; INVARIANTS.len()];
        Tally { first_broken: none.clone(), first_held: none, broken: zero.clone(), held: zero, ends: 0 }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchProgress {
    /// States seen.
    pub states: usize,
    /// Choices followed; each of them has been carried out by the real agent.
    pub choices: usize,
    /// States that wait to be continued.
    pub waiting: usize,
    /// The most choices from the start to a state.
    pub depth: u32,
    /// True: nothing waits any more, or it has stopped.
    pub is_done: bool,
    /// True: it stopped at the bound of states, so what it says is true of the states that it has seen.
    pub hit_limit: bool,
}

impl Explorer<MemoryStore> {
    /// A search through the runs of a setup.
    pub fn new(setup: Setup, bounds: Bounds) -> Result<Explorer<MemoryStore>, SessionError> {
        let mut store = MemoryStore::default();
        let session = Session::start(Setup { interactive: true, ..setup }, &mut store)?;
        Ok(Explorer::of(session, store, bounds, true))
    }
}

impl<S: SearchStore> Explorer<S> {
    /// A search from a session that has just started. `is_plain`: nobody has tampered with the agent.
    pub fn of(session: Session, store: S, bounds: Bounds, is_plain: bool) -> Explorer<S> {
        let is_plain = is_plain && store.is_faithful();
        let scope = Scope::smallest(&session, is_plain);
        let start = Start { session, store };
        Explorer::with_scope(start, bounds, scope)
    }

    fn with_scope(start: Start<S>, bounds: Bounds, scope: Scope) -> Explorer<S> {
        let mut node = start.node(&bounds, scope);
        let graph = Graph::new(&found(&mut node), !(scope.money && scope.time));
        Explorer {
            start,
            bounds,
            merges: true,
            scope,
            graph,
            frontier: VecDeque::from([(0, node)]),
            tally: Tally::default(),
            is_done: false,
            restarted: false,
            stops_at_first: false,
        }
    }

    /// No two states are taken for one: plain enumeration, to compare with.
    #[must_use]
    pub fn without_merging(mut self) -> Explorer<S> {
        self.merges = false;
        self
    }

    /// The search stops at the first broken invariant.
    #[must_use]
    pub fn until_first(mut self) -> Explorer<S> {
        self.stops_at_first = true;
        self
    }

    /// Continues up to this many states, and says how far the search is.
    pub fn step(&mut self, states: usize) -> SearchProgress {
        for _ in 0..states {
            if self.is_done {
                break;
            }
            match self.frontier.pop_front() {
                Some((state, node)) if self.graph.state_count() < self.bounds.states => self.expand(state, node),
                Some(_) => self.is_done = true,
                None => self.finish(),
            }
        }
        self.progress()
    }

    /// Searches to the end.
    pub fn run(&mut self) -> SearchProgress {
        while !self.is_done {
            self.step(4_096);
        }
        self.progress()
    }

    /// How far the search is.
    pub fn progress(&self) -> SearchProgress {
        SearchProgress {
            states: self.graph.state_count(),
            choices: self.graph.edge_count(),
            waiting: self.frontier.len(),
            depth: self.graph.depth(),
            is_done: self.is_done,
            hit_limit: self.is_done && self.graph.state_count() >= self.bounds.states,
        }
    }

    // ANCHOR: expand-state
    fn expand(&mut self, state: u32, node: Node<S>) {
        let list = choices(&node.session, node.left);
        let before = node.counters();
        self.graph.begin(state);
        let Some((last, others)) = list.split_last() else {
            return;
        };
        for &choice in others {
            self.follow(state, choice, node.clone(), before);
        }
        // The last choice takes the state itself.
        self.follow(state, *last, node, before);
    }
    // ANCHOR_END: expand-state

    fn follow(&mut self, from: u32, choice: Choice, mut node: Node<S>, before: node::Counters) {
        go(&mut node, choice);
        let is_end = node.is_stuck() || choices(&node.session, node.left).is_empty();
        let held = if is_end { node.judge_end() } else { 0 };
        let found = found(&mut node);
        let (to, is_new) = self.graph.follow(from, choice, before, &found, self.merges);
        if !is_new {
            return;
        }
        self.tally.note((Left::of(&self.bounds).more_than(node.left), to), found.broken, held);
        if is_end {
            self.tally.ends += 1;
        } else {
            self.frontier.push_back((to, node));
        }
        if self.stops_at_first && found.broken != 0 {
            self.is_done = true;
        }
    }

    /// Everything has been seen. If a counter that the prints leave out could have mattered, it is all done again with it.
    fn finish(&mut self) {
        self.is_done = true;
        let Decisive { money, time } = self.graph.decisive(&self.start.session.config().limits);
        let scope = Scope { money: self.scope.money || money, time: self.scope.time || time, ..self.scope };
        if scope != self.scope && self.merges {
            let again = Explorer::with_scope(self.start.clone(), self.bounds, scope);
            *self = Explorer { stops_at_first: self.stops_at_first, restarted: true, ..again };
        }
    }
}

/// Carries out a choice in a state of the search.
pub fn go<S: SearchStore>(node: &mut Node<S>, choice: Choice) {
    let is_saved = matches!(node.session.in_flight(), Some((effect, When::After)) if matches!(effect.kind, EffectKind::SaveCheckpoint { .. }));
    let before = node.run_before_answer();
    node.left = node.left.after(&node.session, choice);
    if choose(&mut node.session, &mut node.store, choice).is_err() {
        node.get_stuck();
    }
    if choice == Choice::Resume || (is_saved && choice == Choice::GoOn) {
        node.is_in_step();
    }
    node.take_in(before);
}

fn found<S: SearchStore>(node: &mut Node<S>) -> Found {
    Found { print: node.print(), counters: node.counters(), margin: node.margin(), broken: node.broken() }
}

impl Tally {
    /// A state, behind how much that went wrong. Of two behind which as much did, the earlier one has a lower number.
    fn note(&mut self, state: (u32, u32), broken: u32, held: u32) {
        let least = |best: &mut Option<(u32, u32)>| *best = Some(best.map_or(state, |best| best.min(state)));
        for place in 0..INVARIANTS.len() {
            let bit = 1 << place;
            if broken & bit != 0 {
                least(&mut self.first_broken[place]);
                self.broken[place] += 1;
            }
            if held & bit != 0 {
                least(&mut self.first_held[place]);
                self.held[place] += 1;
            }
        }
    }
}

/// What a search says about an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchVerdict {
    /// It holds in every state that was seen; for one that has to hold in some run: in none.
    Holds,
    /// It is broken in a state, and this is a run to one in which as little as possible goes wrong, of these a shortest one.
    Broken(Vec<Choice>),
    /// It has to hold in some run, and this is such a one.
    Happens(Vec<Choice>),
    /// It has to hold in some run, and does in none.
    NeverHappens,
}

impl<S: SearchStore> Explorer<S> {
    /// The verdict about the invariant at this place of the list.
    pub fn verdict(&self, place: usize) -> SearchVerdict {
        match INVARIANTS[place].kind {
            Kind::Always | Kind::Eventually => match self.tally.first_broken[place] {
                Some((_, state)) => SearchVerdict::Broken(self.graph.choices_to(state)),
                None => SearchVerdict::Holds,
            },
            Kind::Sometimes => match self.tally.first_held[place] {
                Some((_, state)) => SearchVerdict::Happens(self.graph.choices_to(state)),
                None => SearchVerdict::NeverHappens,
            },
        }
    }

    /// What is searched.
    pub fn scenario(&self) -> &Scenario {
        self.start.session.scenario()
    }

    /// How much it tries.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// What was seen.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What the prints hold: all that could have mattered.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Ends of runs that were seen.
    pub fn ends(&self) -> usize {
        self.tally.ends
    }

    /// In how many of the states that were seen an invariant is broken.
    pub fn broken_states(&self, place: usize) -> usize {
        self.tally.broken[place]
    }

    /// At how many ends an invariant holds that is judged there.
    pub fn held_ends(&self, place: usize) -> usize {
        self.tally.held[place]
    }

    /// The runs that the search has followed, each told from the others by its choices; nothing while it has not seen all of them.
    pub fn runs(&self) -> Option<u128> {
        Some(self.count(0)?.first()?.all)
    }

    /// True if it was all done again, as a counter mattered.
    pub fn restarted(&self) -> bool {
        self.restarted
    }
}

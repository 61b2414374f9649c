//! What a search has seen: states by number, how each was reached first, and where each choice leads.

use super::choice::Choice;
use super::node::{Counters, Margin};
use crate::agent::config::Limits;
use crate::lab::explore::fingerprint::Table;

/// The states and the choices between them. States are numbered in the order in which they were found, so a lower number is at most
/// as many choices away from the start.
#[derive(Debug, Default)]
pub struct Graph {
    table: Table,
    /// From which state each was found first, and by which choice.
    parents: Vec<(u32, u8)>,
    depths: Vec<u32>,
    broken: Vec<u32>,
    /// The first edge of each state that has been expanded, in order.
    first_edges: Vec<u32>,
    edges: Vec<Edge>,
    /// Kept only where counters are left out of the prints.
    weights: Option<Weights>,
}

/// A choice and the state that it leads to.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// What was chosen.
    pub choice: Choice,
    /// The state that it led to.
    pub to: u32,
}

#[derive(Debug, Default)]
struct Weights {
    start: Counters,
    margins: Vec<Margin>,
    /// Per edge, what the counters grow by.
    growth: Vec<[i64; 4]>,
}

/// Which of the counters turned out to decide something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisive {
    /// A limit on money or tokens, or the bill and what is recorded of it.
    pub money: bool,
    /// The deadline.
    pub time: bool,
}

/// A state as it was found.
pub struct Found {
    /// Its print.
    pub print: u128,
    /// What has grown on the way.
    pub counters: Counters,
    /// What is compared with limits here.
    pub margin: Margin,
    /// The invariants that are broken, as bits.
    pub broken: u32,
}

impl Graph {
    /// With the state at the start. `weighs`: keep what [`Graph::decisive`] needs.
    pub fn new(start: &Found, weighs: bool) -> Graph {
        let mut graph = Graph { weights: weighs.then(Weights::default), ..Graph::default() };
        if let Some(weights) = &mut graph.weights {
            weights.start = start.counters;
        }
        graph.table.find_or_add(start.print);
        graph.add(start, (0, Choice::GoOn.code()), 0);
        graph
    }

    fn add(&mut self, found: &Found, parent: (u32, u8), depth: u32) {
        self.parents.push(parent);
        self.depths.push(depth);
        self.broken.push(found.broken);
        if let Some(weights) = &mut self.weights {
            weights.margins.push(found.margin);
        }
    }

    /// How many states there are.
    pub fn state_count(&self) -> usize {
        self.parents.len()
    }

    /// How many choices were followed.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The most choices from the start to a state, by the shortest way to each.
    pub fn depth(&self) -> u32 {
        self.depths.last().copied().unwrap_or(0)
    }

    /// The choices of this state follow.
    pub fn begin(&mut self, state: u32) {
        // States at which a run ends are in between; they have no edges.
        let edges = self.edges.len() as u32;
        self.first_edges.resize(state as usize + 1, edges);
    }

    /// A choice from `from` leads to this state; `merges`: if it has been seen, it is the same. Returns its number and whether it is new.
    pub fn follow(&mut self, from: u32, choice: Choice, before: Counters, found: &Found, merges: bool) -> (u32, bool) {
        let (to, is_new) = if merges { self.table.find_or_add(found.print) } else { (self.table.push(found.print), true) };
        if is_new {
            self.add(found, (from, choice.code()), self.depths[from as usize] + 1);
        }
        self.edges.push(Edge { choice, to });
        if let Some(weights) = &mut self.weights {
            weights.growth.push(growth(before, found.counters));
        }
        (to, is_new)
    }

    /// The run that reached a state first, as choices: a shortest one.
    pub fn choices_to(&self, state: u32) -> Vec<Choice> {
        let mut choices = Vec::new();
        let mut at = state;
        while at != 0 {
            let (parent, choice) = self.parents[at as usize];
            choices.push(Choice::of_code(choice));
            at = parent;
        }
        choices.reverse();
        choices
    }

    /// The invariants that are broken in a state, as bits.
    pub fn broken(&self, state: u32) -> u32 {
        self.broken[state as usize]
    }

    /// More of them, seen at the end of a run.
    pub fn add_broken(&mut self, state: u32, broken: u32) {
        self.broken[state as usize] |= broken;
    }

    /// Where the choices of a state lead; none for one that has not been expanded, or where a run ends.
    pub fn edges(&self, state: u32) -> &[Edge] {
        let place = state as usize;
        let Some(&first) = self.first_edges.get(place) else {
            return &[];
        };
        let next = self.first_edges.get(place + 1).copied().unwrap_or(self.edges.len() as u32);
        &self.edges[first as usize..next as usize]
    }

    /// Whether something goes wrong with a choice in a state: a crash, a fault, a decision that is not the scenario's.
    pub fn goes_wrong(&self, state: u32, choice: Choice) -> bool {
        let is_decision = |choice: Choice| matches!(choice, Choice::Approve | Choice::Deny | Choice::Expire);
        match choice {
            Choice::GoOn | Choice::Resume => false,
            Choice::Crash | Choice::Fault(_) => true,
            // The scenario's is the first of them.
            _ => self.edges(state).iter().find(|edge| is_decision(edge.choice)).is_some_and(|edge| edge.choice != choice),
        }
    }

    /// Where a choice leads.
    pub fn to(&self, state: u32, choice: Choice) -> Option<u32> {
        self.edges(state).iter().find(|edge| edge.choice == choice).map(|edge| edge.to)
    }

    /// All states, each before those that it leads to; `Err`: a state on a circle, from which a run goes on for ever.
    pub fn in_order(&self) -> Result<Vec<u32>, u32> {
        const OPEN: u8 = 1;
        const DONE: u8 = 2;
        let mut marks = vec![0u8; self.state_count()];
        let mut order = Vec::with_capacity(self.state_count());
        let mut stack: Vec<(u32, usize)> = vec![(0, 0)];
        marks[0] = OPEN;
        while let Some((state, next)) = stack.last_mut() {
            match self.edges(*state).get(*next) {
                Some(edge) => {
                    *next += 1;
                    match marks[edge.to as usize] {
                        OPEN => return Err(edge.to),
                        DONE => {}
                        _ => {
                            marks[edge.to as usize] = OPEN;
                            stack.push((edge.to, 0));
                        }
                    }
                }
                None => {
                    marks[*state as usize] = DONE;
                    order.push(*state);
                    stack.pop();
                }
            }
        }
        order.reverse();
        Ok(order)
    }

    /// Per state the number of runs from there to an end, and of those in which an invariant of `mask` is broken at the end. States
    /// that were not expanded count as an end of one run, neither good nor bad. In the order of [`Graph::in_order`].
    pub fn count_runs(&self, order: &[u32], mask: u32) -> Vec<Runs> {
        let mut runs = vec![Runs::default(); self.state_count()];
        for &state in order.iter().rev() {
            let edges = self.edges(state);
            let mut sum = Runs::default();
            if edges.is_empty() {
                let is_broken = self.broken(state) & mask != 0;
                sum = Runs { all: 1, broken: u128::from(is_broken) };
            }
            for edge in edges {
                let further = runs[edge.to as usize];
                sum.all = sum.all.saturating_add(further.all);
                sum.broken = sum.broken.saturating_add(further.broken);
            }
            runs[state as usize] = sum;
        }
        runs
    }

    /// Which counters could have decided something on a way to a state other than the one that was followed. Exact to one side: what it
    /// does not name has decided nothing.
    pub fn decisive(&self, limits: &Limits) -> Decisive {
        let Some(weights) = &self.weights else {
            return Decisive::default();
        };
        let Ok(order) = self.in_order() else {
            return Decisive { money: true, time: true };
        };
        // The most active time, cost, tokens and bill, and the most that the bill is ahead of the log's count.
        let start = weights.start;
        let first = [start.active_ms, start.cost, start.tokens, start.billed].map(|count| count as i64);
        let mut most = vec![[i64::MIN; 5]; self.state_count()];
        most[0] = [first[0], first[1], first[2], first[3], first[3] - first[1]];
        let mut decisive = Decisive::default();
        for state in order {
            let [active, cost, tokens, billed, owed] = most[state as usize];
            let beyond = |used: i64, next: u64, limit: u64| used.max(0) as u64 + next > limit;
            decisive.time |= beyond(active, 0, limits.deadline_ms);
            decisive.money |= beyond(billed, 0, limits.budget.0);
            let margin = &weights.margins[state as usize];
            decisive.money |= beyond(cost, margin.next_cost, limits.budget.0);
            decisive.money |= beyond(tokens, margin.next_tokens, limits.budget_tokens);
            decisive.money |= owed > margin.open as i64;
            let Some(&edge) = self.first_edges.get(state as usize) else {
                continue;
            };
            for (place, to) in self.edges(state).iter().enumerate() {
                let [more_active, more_cost, more_tokens, more_billed] = weights.growth[edge as usize + place];
                let reached = [
                    active + more_active,
                    cost + more_cost,
                    tokens + more_tokens,
                    billed + more_billed,
                    owed + more_billed - more_cost,
                ];
                for (known, new) in most[to.to as usize].iter_mut().zip(reached) {
                    *known = (*known).max(new);
                }
            }
        }
        decisive
    }
}

/// How many runs go on from a state, and how many of them end badly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// All of them, within the bounds.
    pub all: u128,
    /// Those that end with the invariant broken.
    pub broken: u128,
}

fn growth(before: Counters, after: Counters) -> [i64; 4] {
    let more = |before: u64, after: u64| after as i64 - before as i64;
    [
        more(before.active_ms, after.active_ms),
        more(before.cost, after.cost),
        more(before.tokens, after.tokens),
        more(before.billed, after.billed),
    ]
}

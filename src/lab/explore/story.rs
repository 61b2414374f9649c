//! One run of a search, told step by step, beside the run that stays fine the longest way along with it.

use super::choice::{Choice, choices};
use super::graph::Runs;
use super::node::{Node, SearchStore};
use super::{Explorer, go};
use crate::agent::protocol::EffectKind;
use crate::lab::crash_points::gap_label;
use crate::lab::invariants::{INVARIANTS, Kind};
use crate::lab::scenario::When;
use crate::lab::session::Session;

/// A run: the choices, and the states between them, one more.
pub struct ExploredRun<S> {
    /// What was chosen.
    pub choices: Vec<Choice>,
    /// The states, from the start.
    pub states: Vec<Node<S>>,
}

/// A choice that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Which of the run's choices, from 0.
    pub step: usize,
    /// What cannot be chosen there.
    pub choice: Choice,
    /// Where the run stands.
    pub instant: String,
    /// What can be chosen there.
    pub possible: Vec<Choice>,
}

/// What an invariant says about one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// False: it does not hold here. An invariant about the end of runs is open until then, which is not broken.
    pub holds: bool,
    /// With the figures.
    pub text: String,
}

/// A run that stays fine.
pub struct Twin {
    /// Its choices, to its end.
    pub choices: Vec<Choice>,
    /// The first step at which it differs, from 0.
    pub parts_at: usize,
}

impl<S: SearchStore> Explorer<S> {
    /// A run of this search by its choices.
    pub fn tell(&self, choices: &[Choice]) -> Result<ExploredRun<S>, Impossible> {
        tell(self.start.node(&self.bounds, self.scope), choices)
    }

    /// The run to its end if nothing goes wrong any more: the answers of the scenario's person, no crash, no fault.
    pub fn finish_plainly(&self, choices: &[Choice]) -> Result<ExploredRun<S>, Impossible> {
        let mut story = self.tell(choices)?;
        while let Some(choice) = story.states.last().and_then(|node| plainest(node)) {
            story.follow(choice);
        }
        Ok(story)
    }

    /// Per state of a run, how many runs go on from there, and how many of those end with the invariant broken. `None`: the search has
    /// not seen all of them.
    pub fn futures(&self, choices: &[Choice], place: usize) -> Option<Vec<Runs>> {
        let states = self.states_of(choices)?;
        let runs = self.count(place)?;
        Some(states.iter().map(|state| runs[*state as usize]).collect())
    }

    /// The run that has the longest beginning in common with this one, and no invariant broken at its end.
    pub fn twin(&self, choices: &[Choice]) -> Option<Twin> {
        match self.states_of(choices).filter(|_| self.is_complete()) {
            Some(states) => self.twin_in_graph(choices, &states),
            None => self.twin_by_trying(choices),
        }
    }

    fn is_complete(&self) -> bool {
        self.is_done && self.frontier.is_empty()
    }

    pub(super) fn count(&self, place: usize) -> Option<Vec<Runs>> {
        self.is_complete().then_some(())?;
        let order = self.graph.in_order().ok()?;
        Some(self.graph.count_runs(&order, 1 << place))
    }

    /// The numbers of the states of a run.
    pub(super) fn states_of(&self, choices: &[Choice]) -> Option<Vec<u32>> {
        let mut states = vec![0];
        for choice in choices {
            states.push(self.graph.to(*states.last()?, *choice)?);
        }
        Some(states)
    }

    fn twin_in_graph(&self, choices: &[Choice], states: &[u32]) -> Option<Twin> {
        let order = self.graph.in_order().ok()?;
        let runs = self.graph.count_runs(&order, u32::MAX);
        let is_fine = |state: u32| runs[state as usize].all > runs[state as usize].broken;
        for (parts_at, choice) in choices.iter().enumerate().rev() {
            let others = self.graph.edges(states[parts_at]).iter().filter(|edge| edge.choice != *choice);
            let Some(first) = others.into_iter().find(|edge| is_fine(edge.to)) else {
                continue;
            };
            let mut twin = choices[..parts_at].to_vec();
            let mut edge = Some(first);
            while let Some(taken) = edge {
                twin.push(taken.choice);
                edge = self.graph.edges(taken.to).iter().find(|edge| is_fine(edge.to));
            }
            return Some(Twin { choices: twin, parts_at });
        }
        None
    }

    /// Where the search has not seen everything: each other choice, and from there on nothing goes wrong.
    fn twin_by_trying(&self, made: &[Choice]) -> Option<Twin> {
        let story = self.tell(made).ok()?;
        for parts_at in (0..made.len()).rev() {
            for other in choices(&story.states[parts_at].session, story.states[parts_at].left) {
                if other == made[parts_at] {
                    continue;
                }
                let start = [&made[..parts_at], &[other]].concat();
                let Ok(mut twin) = self.finish_plainly(&start) else { continue };
                let Some(end) = twin.states.last_mut() else { continue };
                end.judge_end();
                if end.broken() == 0 {
                    return Some(Twin { choices: twin.choices, parts_at });
                }
            }
        }
        None
    }
}

/// Carries out the choices, one after the other, from a state.
pub fn tell<S: SearchStore>(start: Node<S>, made: &[Choice]) -> Result<ExploredRun<S>, Impossible> {
    let mut story = ExploredRun { choices: Vec::new(), states: vec![start] };
    for (step, &choice) in made.iter().enumerate() {
        let node = &story.states[step];
        let possible = choices(&node.session, node.left);
        if !possible.contains(&choice) {
            return Err(Impossible { step, choice, instant: instant(&node.session), possible });
        }
        story.follow(choice);
    }
    Ok(story)
}

impl<S: SearchStore> ExploredRun<S> {
    fn follow(&mut self, choice: Choice) {
        if let Some(node) = self.states.last() {
            let mut next = node.clone();
            go(&mut next, choice);
            self.choices.push(choice);
            self.states.push(next);
        }
    }

    /// What an invariant says about each state.
    pub fn clauses(&self, place: usize) -> Vec<Clause> {
        let invariant = &INVARIANTS[place];
        let clause = |node: &Node<S>| {
            let is_over = node.is_stuck() || node.session.status().is_some();
            match (invariant.judge)(&node.session.evidence()) {
                Ok(text) => Clause { holds: node.broken() & (1 << place) == 0, text },
                Err(text) => Clause { holds: invariant.kind != Kind::Always && !is_over, text },
            }
        };
        self.states.iter().map(clause).collect()
    }
}

/// What happens if nothing goes wrong.
fn plainest<S: SearchStore>(node: &Node<S>) -> Option<Choice> {
    // The first choice is the plainest.
    if node.is_stuck() { None } else { choices(&node.session, node.left).first().copied() }
}

/// Where a run stands, in words.
pub fn instant(session: &Session) -> String {
    match (session.in_flight(), session.status()) {
        (Some((effect, when)), _) => {
            let label = gap_label(&session.scenario().tools, &effect.kind, when);
            match (&effect.kind, when) {
                // Two instants of one effect.
                (EffectKind::AskApproval { .. }, When::After) => {
                    let what = label.split(',').next().unwrap_or(&label);
                    let known =
                        if session.is_waiting_for_person() { "before anybody decides" } else { "decided, before the answer" };
                    format!("{what}, {known}")
                }
                _ => label,
            }
        }
        (None, Some(status)) => format!("the run is over: {}", status.as_str()),
        (None, None) if session.is_fenced() => "another agent owns the run".to_string(),
        (None, None) => "the agent is dead".to_string(),
    }
}

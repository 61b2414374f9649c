//! Every crash point of a scenario, with all mechanisms and with each one taken away.

use super::Explorer;
use super::choice::{Bounds, Choice};
use super::story::instant;
use crate::agent::protocol::EffectKind;
use crate::lab::crash_points::effect_label;
use crate::lab::invariants::{INVARIANTS, Kind};
use crate::lab::mechanisms::{Mechanism, Mechanisms};
use crate::lab::scenario::When;
use crate::lab::session::{SessionError, Setup};
use crate::log::store::MemoryStore;

/// A matrix that is being filled, a column after the other.
pub struct Matrix {
    setup: Setup,
    bounds: Bounds,
    /// The crash points, in the order of the run with all mechanisms in which nothing else goes wrong.
    pub rows: Vec<CrashPoint>,
    /// All mechanisms on, then each one off.
    pub columns: Vec<Column>,
    search: Option<Explorer<MemoryStore>>,
    states: usize,
}

/// A place at which the agent may die.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    /// Effect, what it is about, and the instant: the same place in a run with other mechanisms.
    pub place: String,
    /// How often the run was at such a place before.
    pub earlier: u32,
    /// For people.
    pub label: String,
    /// The step of the run.
    pub step: u32,
    /// The effect in a few words; what comes before and after it has the same.
    pub effect: String,
    /// Before or after the effect.
    pub when: When,
}

/// One set of mechanisms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The one that is off; `None`: all are on.
    pub off: Option<Mechanism>,
    /// A cell for each row; empty until the column has been searched.
    pub cells: Vec<Cell>,
    /// The invariants that are broken without any crash, as bits.
    pub broken_anyway: u32,
}

/// What a crash at one place leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The run does not come to this place.
    NotReached,
    /// No run through this crash breaks an invariant.
    Fine(Vec<Choice>),
    /// Some run does.
    Broken {
        /// The invariants that break, as bits by their place in the list.
        invariants: u32,
        /// A run to the first of them in which the least goes wrong beside the crash, of these a shortest one.
        choices: Vec<Choice>,
    },
}

/// How far a matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixProgress {
    /// Columns that are filled.
    pub columns: usize,
    /// All columns.
    pub of: usize,
    /// States seen so far.
    pub states: usize,
    /// True: all columns are filled.
    pub is_done: bool,
}

impl Matrix {
    /// A matrix of a scenario. Each cell's crash is one more than the scenario's own; `bounds` says what else is tried after it (its
    /// crashes do not count).
    pub fn new(setup: Setup, bounds: Bounds) -> Result<Matrix, SessionError> {
        let bounds = Bounds { crashes: 1, ..bounds };
        let column = |off| Column { off, cells: Vec::new(), broken_anyway: 0 };
        let columns = std::iter::once(None).chain(Mechanism::ALL.map(Some)).map(column).collect();
        let mut matrix = Matrix { setup, bounds, rows: Vec::new(), columns, search: None, states: 0 };
        let first = Explorer::new(matrix.setup_of(None), bounds)?;
        matrix.rows = plain_run(&first).into_iter().map(|(point, _)| point).collect();
        matrix.search = Some(first);
        Ok(matrix)
    }

    /// The bounds of each column's search.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The setup of a column.
    pub fn setup_of(&self, off: Option<Mechanism>) -> Setup {
        let mechanisms = off.map_or(Mechanisms::ALL_ON, Mechanisms::without);
        Setup { mechanisms, ..self.setup.clone() }
    }

    /// Continues up to this many states.
    pub fn step(&mut self, states: usize) -> Result<MatrixProgress, SessionError> {
        let mut left = states;
        while let Some(next) = self.columns.iter().position(|column| column.cells.is_empty()).filter(|_| left > 0) {
            let mut search = match self.search.take() {
                Some(search) => search,
                None => Explorer::new(self.setup_of(self.columns[next].off), self.bounds)?,
            };
            let before = search.progress().states;
            let progress = search.step(left);
            left = left.saturating_sub(progress.states.saturating_sub(before).max(1));
            if progress.is_done {
                self.states += progress.states;
                self.fill(next, &search);
            } else {
                self.search = Some(search);
                break;
            }
        }
        Ok(self.progress())
    }

    /// How far it is.
    pub fn progress(&self) -> MatrixProgress {
        let columns = self.columns.iter().filter(|column| !column.cells.is_empty()).count();
        let under_way = self.search.as_ref().map_or(0, |search| search.progress().states);
        let of = self.columns.len();
        MatrixProgress { columns, of, states: self.states + under_way, is_done: columns == of }
    }

    fn fill(&mut self, place: usize, search: &Explorer<MemoryStore>) {
        let plain = plain_run(search);
        let nearest = Nearest::of(search, u32::MAX);
        let cell = |row: &CrashPoint| {
            let found = plain.iter().find(|(point, _)| point.place == row.place && point.earlier == row.earlier);
            let Some((_, choices)) = found else {
                return Cell::NotReached;
            };
            let through = [&choices[..], &[Choice::Crash]].concat();
            match search.states_of(&through).and_then(|states| states.last().copied()) {
                Some(state) => nearest.cell(search, state, through),
                None => Cell::NotReached,
            }
        };
        let cells = self.rows.iter().map(cell).collect();
        let broken_anyway = search.finish_plainly(&[]).ok().and_then(|mut story| {
            let end = story.states.last_mut()?;
            end.judge_end();
            Some(end.broken())
        });
        let column = &mut self.columns[place];
        column.cells = cells;
        column.broken_anyway = broken_anyway.unwrap_or(0);
    }
}

/// The crash points of the run in which nothing else goes wrong, with the choices that lead there.
fn plain_run(search: &Explorer<MemoryStore>) -> Vec<(CrashPoint, Vec<Choice>)> {
    let Ok(story) = search.finish_plainly(&[]) else {
        return Vec::new();
    };
    let mut points: Vec<(CrashPoint, Vec<Choice>)> = Vec::new();
    for (step, node) in story.states.iter().enumerate() {
        let Some((effect, when)) = node.session.in_flight() else {
            continue;
        };
        let place = place_of(&effect.kind, when);
        // A question that is asked and one that is decided are both behind the asking.
        let earlier = points.iter().filter(|(point, _)| point.place == place).count() as u32;
        let step_of_run = match &effect.kind {
            EffectKind::Append(record) => record.step,
            _ => node.session.log().last().map_or(0, |record| record.step),
        };
        let (label, effect) = (instant(&node.session), effect_label(&effect.kind));
        points.push((CrashPoint { place, earlier, label, step: step_of_run, effect, when }, story.choices[..step].to_vec()));
    }
    points
}

/// The kind of an effect, what it is about, and the instant: words that no change of wording touches.
pub fn place_of(effect: &EffectKind, when: When) -> String {
    let about = match effect {
        EffectKind::Append(record) => record.body.kind().to_string(),
        EffectKind::CallTool { call, .. } => call.name.to_string(),
        EffectKind::AskApproval { tool, .. } => tool.to_string(),
        EffectKind::CallModel { .. } | EffectKind::Wait { .. } | EffectKind::SaveCheckpoint { .. } | EffectKind::Stop { .. } => {
            String::new()
        }
    };
    format!("{} {about}/{}", effect.as_str(), when.as_str()).replace(" /", "/")
}

/// Per state, which invariants still break on some way from there, and the nearest state in which one of some of them is broken: that
/// before which the least goes wrong, of these the one with the fewest choices.
struct Nearest {
    broken: Vec<u32>,
    /// The way to it, and the first choice of that.
    next: Vec<Option<(Way, Choice, u32)>>,
    mask: u32,
}

/// What goes wrong on a way, and how many choices it has.
type Way = (u32, u32);

impl Nearest {
    /// `mask`: the invariants to come near to, as bits.
    fn of(search: &Explorer<MemoryStore>, mask: u32) -> Nearest {
        let graph = search.graph();
        let mut nearest = Nearest { broken: vec![0; graph.state_count()], next: vec![None; graph.state_count()], mask };
        let order = graph.in_order().unwrap_or_default();
        for &state in order.iter().rev() {
            let mut broken = graph.broken(state);
            let mut next = None;
            for edge in graph.edges(state) {
                broken |= nearest.broken[edge.to as usize];
                let wrong = u32::from(graph.goes_wrong(state, edge.choice));
                if let Some((more, choices)) = nearest.way(search, edge.to)
                    && let way = (more + wrong, choices + 1)
                    && next.is_none_or(|(best, _, _)| way < best)
                {
                    next = Some((way, edge.choice, edge.to));
                }
            }
            nearest.broken[state as usize] = broken;
            nearest.next[state as usize] = next;
        }
        nearest
    }

    fn way(&self, search: &Explorer<MemoryStore>, state: u32) -> Option<Way> {
        if search.graph().broken(state) & self.mask != 0 {
            return Some((0, 0));
        }
        self.next[state as usize].map(|(way, _, _)| way)
    }

    fn cell(&self, search: &Explorer<MemoryStore>, state: u32, through: Vec<Choice>) -> Cell {
        let invariants = self.broken[state as usize];
        if invariants == 0 {
            return Cell::Fine(through);
        }
        let mut choices = through;
        let mut at = state;
        while search.graph().broken(at) & self.mask == 0
            && let Some((_, choice, to)) = self.next[at as usize]
        {
            choices.push(choice);
            at = to;
        }
        Cell::Broken { invariants, choices }
    }
}

/// Of a run through a crash: the best run through the same crash in which the invariant at this place of the list breaks.
pub fn run_that_breaks(search: &Explorer<MemoryStore>, run: &[Choice], place: usize) -> Option<Vec<Choice>> {
    let crash = run.iter().position(|choice| *choice == Choice::Crash)?;
    let through = run[..=crash].to_vec();
    let state = *search.states_of(&through)?.last()?;
    let mask = 1 << place;
    match Nearest::of(search, mask).cell(search, state, through) {
        Cell::Broken { invariants, choices } if invariants & mask != 0 => Some(choices),
        _ => None,
    }
}

/// The ids of the invariants of some bits, those that break at once before those about a run's end.
pub fn ids_of(bits: u32) -> Vec<&'static str> {
    let of_kind = |kind: Kind| INVARIANTS.iter().enumerate().filter(move |(_, invariant)| invariant.kind == kind);
    let all = of_kind(Kind::Always).chain(of_kind(Kind::Eventually));
    all.filter(|(place, _)| bits & (1 << place) != 0).map(|(_, invariant)| invariant.id).collect()
}

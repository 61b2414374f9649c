//! What the fault explorer found, as plain data for a page.

use serde_json::{Value, json};

use super::view::{HostFacts, Known, record_views, snapshots_view, view};
use crate::lab::explore::choice::{Bounds, Choice, decision};
use crate::lab::explore::graph::Runs;
use crate::lab::explore::matrix::{Cell, Column, Matrix, MatrixProgress, ids_of, run_that_breaks};
use crate::lab::explore::node::{Node, SearchStore};
use crate::lab::explore::replay::{Misfit, Replay};
use crate::lab::explore::story::{ExploredRun, instant};
use crate::lab::explore::{Explorer, SearchProgress, SearchVerdict};
use crate::lab::invariants::INVARIANTS;
use crate::lab::mechanisms::{Mechanism, Mechanisms};
use crate::lab::replay::{Command, CommandKind};
use crate::lab::session::Setup;
use crate::log::store::{MemoryStore, Store};
use crate::record::ApprovalStatus;

/// How far a search is.
pub fn progress(progress: SearchProgress, restarted: bool) -> Value {
    json!({
        "states": progress.states,
        "choices": progress.choices,
        "waiting": progress.waiting,
        "depth": progress.depth,
        "done": progress.is_done,
        "hit_limit": progress.hit_limit,
        "restarted": restarted,
    })
}

/// What a search says about each invariant.
pub fn verdicts<S: SearchStore>(explorer: &Explorer<S>) -> Value {
    let verdict = |place: usize| {
        let (word, steps) = match explorer.verdict(place) {
            SearchVerdict::Holds => ("holds", None),
            SearchVerdict::Broken(choices) => ("broken", Some(choices.len())),
            SearchVerdict::Happens(choices) => ("happens", Some(choices.len())),
            SearchVerdict::NeverHappens => ("never", None),
        };
        let invariant = &INVARIANTS[place];
        json!({
            "id": invariant.id,
            "name": invariant.name,
            "kind": invariant.kind.as_str(),
            "verdict": word,
            "steps": steps,
            "broken_states": explorer.broken_states(place),
            "ends": explorer.ends(),
            "held_ends": explorer.held_ends(place),
        })
    };
    let concerns = |place: &usize| (INVARIANTS[*place].concerns)(explorer.scenario());
    (0..INVARIANTS.len()).filter(concerns).map(verdict).collect()
}

/// The shortest run that the search has for an invariant, with its twin; `null` if there is none.
pub fn run_of_invariant(explorer: &Explorer<MemoryStore>, setup: &Setup, place: usize) -> Value {
    match explorer.verdict(place) {
        SearchVerdict::Broken(choices) | SearchVerdict::Happens(choices) => run(explorer, setup, &choices, place, &[]),
        SearchVerdict::Holds | SearchVerdict::NeverHappens => Value::Null,
    }
}

/// A run of a search with its twin, and what one invariant says about both. Both are told to their ends. Where no run of the search
/// stays fine, the twin is the run with all mechanisms; `beside`: the choices with which that one begins.
pub fn run(explorer: &Explorer<MemoryStore>, setup: &Setup, choices: &[Choice], place: usize, beside: &[Choice]) -> Value {
    let invariant = &INVARIANTS[place];
    let mut twin = explorer.twin(choices).map(|twin| (told(explorer, setup, &twin.choices, place), Some(twin.parts_at)));
    let is_of_search = twin.is_some();
    if twin.is_none() {
        twin = mended(setup, explorer.bounds(), beside, place).map(|twin| (twin, None));
    }
    let (twin, parts_at) = twin.unwrap_or_default();
    json!({
        "invariant": {"id": invariant.id, "name": invariant.name, "kind": invariant.kind.as_str()},
        "broken_at": choices.len(),
        "run": told(explorer, setup, choices, place),
        "twin": twin,
        "twin_has_all_mechanisms": !is_of_search,
        "parts_at": parts_at,
    })
}

/// The run with all mechanisms, if it begins so and stays fine.
fn mended(setup: &Setup, bounds: Bounds, choices: &[Choice], place: usize) -> Option<Value> {
    let setup = Setup { mechanisms: Mechanisms::ALL_ON, ..setup.clone() };
    let explorer = Explorer::new(setup.clone(), bounds).ok()?;
    let mut story = explorer.finish_plainly(choices).ok()?;
    let end = story.states.last_mut()?;
    end.judge_end();
    (end.broken() == 0).then(|| told(&explorer, &setup, choices, place))
}

fn told(explorer: &Explorer<MemoryStore>, setup: &Setup, choices: &[Choice], place: usize) -> Value {
    let Ok(story) = explorer.finish_plainly(choices) else {
        return Value::Null;
    };
    let futures = explorer.futures(&story.choices, place);
    // A file says no more than it has to: what breaks, it does not follow any further.
    let is_broken = story.states.get(choices.len()).is_some_and(|state| state.broken() != 0);
    let replayed = if is_broken { choices } else { &story.choices };
    let replay = Replay::of(setup, replayed).map(|replay| replay.to_json().to_string());
    let Some(end) = story.states.last() else {
        return Value::Null;
    };
    json!({
        "steps": steps(&story, place, futures.as_deref()),
        "replay": replay.ok(),
        "deeds": commands(&story),
        "records": serde_json::to_value(record_views(end.session.log(), 0)).unwrap_or_default(),
        "view": serde_json::to_value(view(&end.session, facts(end), Known::default())).unwrap_or_default(),
    })
}

/// What the panel of storage says beside the session.
fn facts(node: &Node<MemoryStore>) -> HostFacts {
    HostFacts {
        warning: None,
        snapshots: snapshots_view(&node.store.snapshots()),
        epoch: node.store.epoch(),
        log_bytes: node.session.log().iter().map(|record| record.to_line().len() + 1).sum(),
    }
}

/// What somebody has to do so that this becomes a run of the playground, as JSON text for `Lab.replay`; nothing where the search did
/// what nobody can do there: a fault, or a question that nobody decides.
fn commands(story: &ExploredRun<MemoryStore>) -> Option<String> {
    let mut commands = Vec::new();
    for (node, choice) in story.states.iter().zip(&story.choices) {
        let kind = match choice {
            Choice::GoOn => continue,
            Choice::Crash => CommandKind::Crash,
            Choice::Resume => CommandKind::Resume,
            Choice::Approve | Choice::Deny => {
                let decision = decision(node.session.scenario(), *choice == Choice::Approve);
                let approver = decision.approver.strip_prefix("human:").unwrap_or(&decision.approver).into();
                CommandKind::Decide { approved: decision.status == ApprovalStatus::Approved, approver, note: decision.note }
            }
            Choice::Expire | Choice::Fault(_) => return None,
        };
        commands.push(Command { half_step: node.session.half_step(), kind }.to_json());
    }
    let half_step = story.states.last()?.session.half_step();
    Some(json!({"deeds": commands, "moment": half_step}).to_string())
}

fn steps(story: &ExploredRun<MemoryStore>, place: usize, futures: Option<&[Runs]>) -> Value {
    let clauses = story.clauses(place);
    let step = |index: usize| {
        let node = &story.states[index];
        let choice = story.choices.get(index);
        json!({
            "at": instant(&node.session),
            "choice": choice.map(|choice| choice.as_str()),
            "plain": choice.is_none_or(|choice| matches!(choice, Choice::GoOn | Choice::Resume)),
            "at_s": node.session.now_ms().saturating_sub(node.session.scenario().start_ms) as f64 / 1_000.0,
            "records": node.session.log().len(),
            "rows": node.session.world().rows().len(),
            "broken": ids_of(node.broken()),
            "holds": clauses[index].holds,
            "clause": clauses[index].text,
            "futures": futures.map(|futures| runs(futures[index])),
        })
    };
    (0..story.states.len()).map(step).collect()
}

/// Numbers that may not fit a JavaScript number are text.
fn runs(runs: Runs) -> Value {
    let share = if runs.all == 0 { 0.0 } else { runs.broken as f64 / runs.all as f64 };
    json!({"all": runs.all.to_string(), "broken": runs.broken.to_string(), "share": share})
}

/// How far a matrix is.
pub fn matrix_progress(progress: MatrixProgress) -> Value {
    json!({"columns": progress.columns, "of": progress.of, "states": progress.states, "done": progress.is_done})
}

/// A matrix as far as it is filled.
pub fn matrix(matrix: &Matrix) -> Value {
    let rows = matrix.rows.iter().map(|row| {
        json!({
            "label": row.label,
            "place": row.place,
            "earlier": row.earlier,
            "step": row.step,
            "effect": row.effect,
            "when": row.when.as_str(),
        })
    });
    json!({"rows": rows.collect::<Vec<_>>(), "columns": matrix.columns.iter().map(column).collect::<Vec<_>>()})
}

/// One column of a matrix.
pub fn column(column: &Column) -> Value {
    let cell = |cell: &Cell| match cell {
        Cell::NotReached => json!({"verdict": "not_reached", "broken": []}),
        Cell::Fine(_) => json!({"verdict": "fine", "broken": []}),
        Cell::Broken { invariants, .. } => json!({"verdict": "broken", "broken": ids_of(*invariants)}),
    };
    json!({
        "off": column.off.map(|mechanism| mechanism.text().id),
        "name": column.off.map_or("All mechanisms", |mechanism| mechanism.text().name),
        "broken_anyway": ids_of(column.broken_anyway),
        "cells": (!column.cells.is_empty()).then(|| column.cells.iter().map(cell).collect::<Vec<_>>()),
    })
}

/// The run of a cell with its twin; `null` for a cell without a run. `broken`: of several invariants that break there, the one that has
/// to, by its place in the list.
pub fn run_of_cell(matrix: &Matrix, row: usize, column: usize, broken: Option<usize>) -> Value {
    let Some(column) = matrix.columns.get(column) else {
        return Value::Null;
    };
    // The same crash with all mechanisms.
    let beside = match matrix.columns.first().and_then(|all| all.cells.get(row)) {
        Some(Cell::Fine(choices)) => choices.as_slice(),
        _ => &[],
    };
    let (choices, invariants) = match column.cells.get(row) {
        None | Some(Cell::NotReached) => return Value::Null,
        Some(Cell::Fine(choices)) => (choices, 1),
        Some(Cell::Broken { invariants, choices }) => (choices, *invariants),
    };
    let setup = matrix.setup_of(column.off);
    // The columns' searches are small, and were not kept.
    let Ok(mut explorer) = Explorer::new(setup.clone(), matrix.bounds()) else {
        return Value::Null;
    };
    explorer.run();
    if let Some(place) = broken {
        return run_that_breaks(&explorer, choices, place)
            .map_or(Value::Null, |choices| run(&explorer, &setup, &choices, place, beside));
    }
    // Of several, the one that this run breaks.
    let broken = explorer.tell(choices).ok().and_then(|story| story.states.last().map(|end| end.broken()));
    let bits = broken.filter(|broken| *broken != 0).unwrap_or(invariants);
    run(&explorer, &setup, choices, bits.trailing_zeros() as usize, beside)
}

/// A replay file that has been run again: its log, what is broken in it, and what makes it a run of the playground.
pub fn replayed(replay: &Replay, setup: &Setup) -> Result<Value, Misfit> {
    let (session, _) = replay.run(setup)?;
    let log: String = session.log().iter().map(|record| record.to_line() + "\n").collect();
    let broken = session.breaches().iter().filter_map(|breach| {
        let invariant = INVARIANTS.iter().find(|invariant| invariant.id == breach.id)?;
        Some(json!({"id": breach.id, "name": invariant.name, "clause": breach.explanation}))
    });
    // As much may go wrong as the file says, and then the run continues to its end.
    let bounds = Bounds { crashes: u8::MAX, faults: u8::MAX, decisions: u8::MAX, states: 1 };
    let choices = replay.all_choices(setup)?;
    let story = Explorer::new(setup.clone(), bounds).ok().and_then(|explorer| explorer.finish_plainly(&choices).ok());
    let mechanisms =
        Mechanism::ALL.iter().map(|mechanism| (mechanism.text().id.to_string(), setup.mechanisms.has(*mechanism).into()));
    Ok(json!({
        "log": log,
        "broken": broken.collect::<Vec<_>>(),
        "scenario": &*setup.scenario.json,
        "mechanisms": Value::Object(mechanisms.collect()),
        "seed": setup.seed.to_string(),
        "deeds": story.and_then(|story| commands(&story)),
    }))
}

/// Bounds from plain data; what is missing is the default.
pub fn bounds(given: &Value) -> Bounds {
    let default = Bounds::default();
    let number = |key: &str| given.get(key).and_then(crate::base::json::count);
    let small = |key: &str, default: u8| number(key).map_or(default, |count| count.min(u64::from(MOST)) as u8);
    Bounds {
        crashes: small("crashes", default.crashes),
        faults: small("faults", default.faults),
        decisions: small("decisions", default.decisions),
        states: number("states").and_then(|count| usize::try_from(count).ok()).unwrap_or(default.states),
    }
}

/// More crashes or faults in one run than this are not worth waiting for.
const MOST: u8 = 9;

//! What the fault explorer found, as plain data for a page.

use serde_json::{Value, json};

use crate::lab::explore::choice::{Bounds, Choice};
use crate::lab::explore::graph::Runs;
use crate::lab::explore::matrix::{Cell, Matrix, MatrixProgress, ids_of};
use crate::lab::explore::node::SearchStore;
use crate::lab::explore::replay::Replay;
use crate::lab::explore::story::{Story, instant};
use crate::lab::explore::{Explorer, Progress, Verdict};
use crate::lab::invariants::INVARIANTS;
use crate::lab::session::Setup;
use crate::log::store::MemoryStore;

/// How far a search is.
pub fn progress(progress: Progress, restarted: bool) -> Value {
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
            Verdict::Holds => ("holds", None),
            Verdict::Broken(choices) => ("broken", Some(choices.len())),
            Verdict::Happens(choices) => ("happens", Some(choices.len())),
            Verdict::NeverHappens => ("never", None),
        };
        let invariant = &INVARIANTS[place];
        json!({"id": invariant.id, "name": invariant.name, "kind": invariant.kind.word(), "verdict": word, "steps": steps})
    };
    (0..INVARIANTS.len()).map(verdict).collect()
}

/// The shortest run that the search has for an invariant, with its twin; `null` if there is none.
pub fn run_of_invariant(explorer: &Explorer<MemoryStore>, setup: &Setup, place: usize) -> Value {
    match explorer.verdict(place) {
        Verdict::Broken(choices) | Verdict::Happens(choices) => run(explorer, setup, &choices, place),
        Verdict::Holds | Verdict::NeverHappens => Value::Null,
    }
}

/// A run of a search with its twin, and what one invariant says about both. Both are told to their ends.
pub fn run(explorer: &Explorer<MemoryStore>, setup: &Setup, choices: &[Choice], place: usize) -> Value {
    let twin = explorer.twin(choices);
    let invariant = &INVARIANTS[place];
    json!({
        "invariant": {"id": invariant.id, "name": invariant.name, "kind": invariant.kind.word()},
        "broken_at": choices.len(),
        "run": told(explorer, setup, choices, place),
        "twin": twin.as_ref().map(|twin| told(explorer, setup, &twin.choices, place)),
        "parts_at": twin.as_ref().map(|twin| twin.parts_at),
    })
}

fn told(explorer: &Explorer<MemoryStore>, setup: &Setup, choices: &[Choice], place: usize) -> Value {
    let Ok(story) = explorer.finish_plainly(choices) else {
        return Value::Null;
    };
    let futures = explorer.futures(&story.choices, place);
    let replay = Replay::of(setup, &story.choices).map(|replay| replay.to_json().to_string());
    let end = story.states.last();
    let log: String = end.iter().flat_map(|end| end.session.log()).map(|record| record.to_line() + "\n").collect();
    let rows: Vec<String> = end.iter().flat_map(|end| end.session.world().rows()).map(|row| row.to_line()).collect();
    json!({"steps": steps(&story, place, futures.as_deref()), "replay": replay.ok(), "log": log, "rows": rows})
}

fn steps(story: &Story<MemoryStore>, place: usize, futures: Option<&[Runs]>) -> Value {
    let clauses = story.clauses(place);
    let step = |index: usize| {
        let node = &story.states[index];
        let choice = story.choices.get(index);
        json!({
            "at": instant(&node.session),
            "choice": choice.map(|choice| choice.word()),
            "plain": choice.is_none_or(|choice| matches!(choice, Choice::GoOn | Choice::Resume)),
            "at_s": node.session.now_ms() / 1_000,
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
    let cell = |cell: &Cell| match cell {
        Cell::NotReached => json!({"verdict": "not_reached", "broken": []}),
        Cell::Fine(_) => json!({"verdict": "fine", "broken": []}),
        Cell::Broken { invariants, .. } => json!({"verdict": "broken", "broken": ids_of(*invariants)}),
    };
    let columns = matrix.columns.iter().map(|column| {
        let name = column.off.map_or("All mechanisms", |mechanism| mechanism.text().name);
        json!({
            "off": column.off.map(|mechanism| mechanism.text().id),
            "name": name,
            "broken_anyway": ids_of(column.broken_anyway),
            "cells": (!column.cells.is_empty()).then(|| column.cells.iter().map(cell).collect::<Vec<_>>()),
        })
    });
    let rows = matrix.rows.iter().map(|row| json!({"label": row.label, "place": row.place, "earlier": row.earlier}));
    json!({"rows": rows.collect::<Vec<_>>(), "columns": columns.collect::<Vec<_>>()})
}

/// The run of a cell with its twin; `null` for a cell without a run.
pub fn run_of_cell(matrix: &Matrix, row: usize, column: usize) -> Value {
    let Some(column) = matrix.columns.get(column) else {
        return Value::Null;
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
    // Of several, the one that this run breaks.
    let broken = explorer.tell(choices).ok().and_then(|story| story.states.last().map(|end| end.broken()));
    let bits = broken.filter(|broken| *broken != 0).unwrap_or(invariants);
    run(&explorer, &setup, choices, bits.trailing_zeros() as usize)
}

/// Bounds from plain data; what is missing is the default.
pub fn bounds(given: &Value) -> Bounds {
    let default = Bounds::default();
    let number = |key: &str| given.get(key).and_then(crate::json::count);
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

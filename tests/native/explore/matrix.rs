//! The matrix of crash points and mechanisms.

use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::explore::matrix::{Cell, Matrix, ids_of};
use crashlab::lab::invariants::INVARIANTS;
use crashlab::lab::mechanisms::Mechanism;
use crashlab::lab::session::Setup;
use crashlab::report::search::run_of_cell;
use std::fmt::Write;

use crate::support::{assert_golden, scenario};

fn filled() -> Matrix {
    let setup = Setup::of(&scenario("double-charge"));
    let mut matrix = Matrix::new(setup, Bounds { faults: 0, ..Bounds::default() }).unwrap();
    while !matrix.step(500).unwrap().is_done {}
    matrix
}

#[test]
fn the_matrix_of_the_double_charge_shows_each_mechanism_that_a_crash_needs() {
    let matrix = filled();
    assert!(matrix.columns[0].cells.iter().all(|cell| matches!(cell, Cell::Fine(_))), "with all mechanisms nothing breaks");
    let mut text = String::new();
    for column in &matrix.columns {
        let off = column.off.map_or("all on", |mechanism| mechanism.text().id);
        let count = |wanted: fn(&Cell) -> bool| column.cells.iter().filter(|cell| wanted(cell)).count();
        let broken = column.cells.iter().fold(0, |bits, cell| match cell {
            Cell::Broken { invariants, .. } => bits | invariants,
            Cell::Fine(_) | Cell::NotReached => bits,
        });
        writeln!(
            text,
            "{off}: {} fine, {} broken {:?}, {} not reached",
            count(|cell| matches!(cell, Cell::Fine(_))),
            count(|cell| matches!(cell, Cell::Broken { .. })),
            ids_of(broken),
            count(|cell| matches!(cell, Cell::NotReached)),
        )
        .unwrap();
    }
    assert_golden("matrix.txt", &text);
}

#[test]
fn a_cell_opens_its_run_beside_its_twin() {
    let matrix = filled();
    let is_off = |wanted| matrix.columns.iter().position(|column| column.off == Some(wanted)).unwrap();
    let column = is_off(Mechanism::DurableApprovals);
    let is_broken = |cell: &Cell| matches!(cell, Cell::Broken { .. });
    let row = matrix.columns[column].cells.iter().position(is_broken).unwrap();
    assert!(matrix.rows[row].place.contains("approv"), "{:?}", matrix.rows[row]);
    let run = run_of_cell(&matrix, row, column, None);
    assert_eq!(run["invariant"]["id"], "asked_once");
    let (broken_at, parts_at) = (run["broken_at"].as_u64().unwrap() as usize, run["parts_at"].as_u64().unwrap() as usize);
    assert!(parts_at < broken_at);
    let step = |run: &serde_json::Value, index: usize| run["steps"][index].clone();
    assert_eq!(step(&run["run"], broken_at)["holds"], false);
    assert_eq!(step(&run["run"], broken_at - 1)["holds"], true);
    assert_ne!(step(&run["run"], parts_at)["choice"], step(&run["twin"], parts_at)["choice"]);
    assert_eq!(step(&run["run"], parts_at)["at"], step(&run["twin"], parts_at)["at"]);
    assert!(run["run"]["replay"].is_string() && run["run"]["records"].is_array() && run["run"]["deeds"].is_string());
}

#[test]
fn a_cell_that_is_broken_in_several_ways_opens_a_run_for_each() {
    let setup = Setup::of(&scenario("budget-crashes"));
    let mut matrix = Matrix::new(setup, Bounds { faults: 0, ..Bounds::default() }).unwrap();
    let column = 1 + Mechanism::ALL.iter().position(|mechanism| *mechanism == Mechanism::Checkpoints).unwrap();
    while matrix.columns[column].cells.is_empty() {
        let _ = matrix.step(500).unwrap();
    }
    let breaks = |cell: &Cell| match cell {
        Cell::Broken { invariants, .. } => *invariants,
        Cell::Fine(_) | Cell::NotReached => 0,
    };
    let row = matrix.columns[column].cells.iter().position(|cell| breaks(cell).count_ones() == 3).unwrap();
    let bits = breaks(&matrix.columns[column].cells[row]);
    for (place, invariant) in INVARIANTS.iter().enumerate() {
        let run = run_of_cell(&matrix, row, column, Some(place));
        if bits & (1 << place) == 0 {
            assert!(run.is_null(), "{}", invariant.id);
            continue;
        }
        assert_eq!(run["invariant"]["id"], invariant.id);
        let end = &run["run"]["steps"][run["broken_at"].as_u64().unwrap() as usize];
        assert_eq!(end["holds"], false, "{}: {end}", invariant.id);
    }
}

#[test]
fn no_two_neighbours_among_the_crash_points_have_the_same_label() {
    for id in ["double-charge", "crash-question", "two-tabs"] {
        let matrix = Matrix::new(Setup::of(&scenario(id)), Bounds::default()).unwrap();
        for pair in matrix.rows.windows(2) {
            assert_ne!(pair[0].label, pair[1].label, "{id}");
        }
    }
}

//! The matrix of crash points and mechanisms.

use crashlab::lab::explore::choice::Bounds;
use crashlab::lab::explore::matrix::{Cell, Matrix, ids_of};
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
    let run = run_of_cell(&matrix, row, column);
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

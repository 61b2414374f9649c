//! Faults that real agent runtimes had (FAULTS.md), each under its own number. What belongs to the page is tested there.

mod approval;
mod budget;
mod execution;
mod retry;
mod state;

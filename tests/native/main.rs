//! The native tests: one binary, a module per subject.
#![cfg(not(target_arch = "wasm32"))]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod books;
mod diagnosis;
mod explore;
mod faults;
mod golden;
mod herd;
mod history;
mod import;
mod limits;
mod long_runs;
mod lots;
mod mechanisms;
mod otel;
mod own_tools;
mod properties;
mod protocol;
mod purity;
mod random_crashes;
mod records;
mod recovery;
mod replay;
mod reports;
mod resume;
mod run_file;
mod scenarios;
mod services;
mod stored;
mod support;
mod trace;
mod verdicts;

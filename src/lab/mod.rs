//! The lab: a scripted model, a world that keeps its own books, faults, crashes, and the driver that brings them together.

pub mod answer_check;
pub mod crash_points;
pub mod driver_state;
pub mod expect;
pub mod explore;
pub mod faults;
pub mod fleet;
pub mod inbox;
pub mod invariants;
pub mod ledger;
pub mod mechanisms;
pub mod model;
pub mod replay;
pub mod run_file;
pub mod scenario;
pub mod services;
pub mod session;
pub mod setup;
pub mod shipped;
pub mod shipped_tools;
pub mod template;
pub mod tool_definition;
pub mod world;

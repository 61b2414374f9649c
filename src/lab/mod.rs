//! The lab: a scripted model, a world that keeps its own books, faults, crashes, and the driver that brings them together.

pub mod expect;
pub mod explore;
pub mod faults;
pub mod herd;
pub mod inbox;
pub mod invariants;
pub mod ledger;
pub mod mechanisms;
pub mod model;
pub mod replay;
pub mod run_file;
pub mod scenario;
pub mod seat;
pub mod services;
pub mod session;
pub mod setup;
pub mod shipped;
pub mod spots;
pub mod told;
pub mod world;

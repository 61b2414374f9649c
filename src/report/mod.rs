//! What people read: a record in a line, a run in three panels.

pub mod describe;
pub mod diff;
pub mod gaps;
pub mod view;

//! The fault explorer.

mod bugs;
mod counts;
mod matrix;
mod mechanisms;
mod merging;
mod replays;

//! The fault explorer.

mod merging;

//! What everything stands on and that knows nothing of agents: JSON with errors that name a path, exact numbers, money, text for
//! readers, hashes, and W3C Trace Context.

pub mod canonical;
pub mod decimal;
pub mod hash;
pub mod json;
pub mod money;
pub mod text;
pub mod trace_context;

//! What people read: a record in a line, a run in three panels. And what other software reads: OpenTelemetry, MCP.

pub mod describe;
pub mod diagnose;
pub mod diff;
pub mod evaluate;
pub mod facts;
pub mod file_kind;
pub mod fleet;
pub mod gaps;
pub mod imported;
pub mod mcp;
pub mod otel;
pub mod search;
pub mod view;

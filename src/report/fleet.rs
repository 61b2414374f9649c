//! What a herd of agents did to the service that they all need: the figures of a plot.

use serde_json::Value;

use crate::lab::fleet::{Bucket, Fleet};
use crate::record::{object, seconds};

/// The requests in spans of so many milliseconds, and what became of the agents; a `HerdView` of `types.ts`.
pub fn herd_json(fleet: &Fleet, span_ms: u64) -> Value {
    let bucket = |bucket: &Bucket| object([("requests", bucket.requests.into()), ("served", bucket.served.into())]);
    let since_start = |at_ms: u64| seconds(at_ms.saturating_sub(fleet.start_ms()));
    let served = fleet.ends.iter().filter_map(|end| end.served_ms);
    let spec = fleet.spec();
    object([
        ("agents", spec.agents.into()),
        ("tool", spec.tool.as_str().into()),
        ("capacity_per_s", spec.capacity_per_s.into()),
        ("down_until_s", seconds(spec.down_until_ms)),
        ("span_s", seconds(span_ms)),
        ("buckets", fleet.buckets(span_ms, u64::MAX).iter().map(bucket).collect()),
        ("requests", fleet.requests.len().into()),
        ("most_at_once", fleet.most_at_once(u64::MAX).into()),
        ("served_agents", served.clone().count().into()),
        ("last_served_s", served.max().map_or(Value::Null, since_start)),
    ])
}

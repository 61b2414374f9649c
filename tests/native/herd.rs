//! A herd's service, request by request: when it is busy, and how its figures are counted.

use crashlab::lab::fleet::{Fleet, FleetRequest};
use crashlab::lab::session::Setup;

use crate::support::scenario;

/// The herd of `retry-storm`, 10 served in a second and none in the first 3 seconds, with requests that a test writes itself:
/// milliseconds from the start, agent, attempt, served.
fn herd(requests: &[(u64, u32, u32, bool)]) -> Fleet {
    let mut fleet = Fleet::of(&Setup::of(&scenario("retry-storm"))).unwrap();
    let start_ms = fleet.start_ms();
    let request = |&(at_ms, agent, attempt, is_served)| FleetRequest { at_ms: start_ms + at_ms, agent, attempt, is_served };
    fleet.requests = requests.iter().map(request).collect();
    fleet
}

#[test]
fn a_service_that_is_down_is_busy_for_everybody_until_it_is_up() {
    let fleet = herd(&[]);
    let busy = |at_ms: u64| fleet.is_busy("get_account", fleet.start_ms() + at_ms);
    assert_eq!([0, 2_999, 3_000, 3_001].map(busy), [true, true, false, false]);
    assert!(fleet.is_busy("get_account", 0), "before it began");
    assert!(!fleet.is_busy("search_kb", fleet.start_ms()), "another tool");
}

#[test]
fn as_many_others_are_served_in_a_second_as_the_service_can() {
    let others = |count: u32, at_ms: u64| (1..=count).map(|agent| (at_ms, agent, 1, true)).collect::<Vec<_>>();
    let busy = |requests: &[(u64, u32, u32, bool)], at_ms: u64| {
        let fleet = herd(requests);
        fleet.is_busy("get_account", fleet.start_ms() + at_ms)
    };
    assert!(!busy(&others(9, 5_100), 5_200));
    assert!(busy(&others(10, 5_100), 5_200));
    assert!(busy(&others(10, 5_000), 5_999), "all of its second");
    assert!(!busy(&others(10, 5_100), 6_000), "the next second");
    assert!(!busy(&others(10, 4_999), 5_000), "the second before");
    assert!(!busy(&others(10, 5_300), 5_200), "what comes later does not count");
    assert!(!busy(&others(10, 5_200), 5_200), "in the same millisecond the lower number comes first");
    let unserved: Vec<_> =
        others(10, 5_100).into_iter().map(|(at_ms, agent, attempt, _)| (at_ms, agent, attempt, false)).collect();
    assert!(!busy(&unserved, 5_200));
    let own: Vec<_> = (1..=10).map(|attempt| (5_100, 0, attempt, true)).collect();
    assert!(!busy(&own, 5_200), "its own requests do not count");
}

#[test]
fn repeated_requests_in_the_same_millisecond_are_counted_up_to_a_time() {
    let fleet = herd(&[
        (100, 1, 1, false),
        (100, 2, 1, false),
        (100, 3, 1, false),
        (200, 1, 2, false),
        (200, 2, 2, false),
        (300, 1, 3, false),
        (300, 2, 3, false),
        (300, 3, 2, false),
        (400, 1, 4, true),
    ]);
    let most = |until_ms: u64| fleet.most_at_once(fleet.start_ms() + until_ms);
    assert_eq!([99, 100, 199, 200, 299, 300, 9_999].map(most), [0, 0, 0, 2, 2, 3, 3]);
}

#[test]
fn requests_are_counted_by_spans_from_the_start() {
    let fleet = herd(&[(0, 1, 1, false), (99, 2, 1, true), (100, 1, 2, true), (350, 2, 2, false), (351, 3, 1, true)]);
    let counted = |span_ms: u64, until_ms: u64| -> Vec<(u32, u32)> {
        let buckets = fleet.buckets(span_ms, fleet.start_ms() + until_ms);
        buckets.iter().map(|bucket| (bucket.requests, bucket.served)).collect()
    };
    assert_eq!(counted(100, 9_999), [(2, 1), (1, 1), (0, 0), (2, 1)]);
    assert_eq!(counted(100, 350), [(2, 1), (1, 1), (0, 0), (1, 0)]);
    assert_eq!(counted(100, 99), [(2, 1)]);
    assert_eq!(counted(1_000, 9_999), [(5, 3)]);
    assert_eq!(counted(0, 99).len(), 100, "a span of nothing is one of a millisecond");
}

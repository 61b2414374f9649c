//! Retries in the loop: how long to wait, and how often.
//!
//! Exponential backoff with jitter (Brooker, "Exponential Backoff And Jitter", 2015, the "equal jitter" variant), and Retry-After
//! (RFC 9110, section 10.2.3). Randomness is given: the fraction comes from the seed, the call and the attempt.

use crate::base::hash::{hash64, mix};

/// How failed attempts are repeated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RetryPolicy {
    /// Failed attempts after which the failure is reported to the model; 1 means no retry.
    pub max_attempts: u32,
    /// The first backoff before jitter, in milliseconds.
    pub base_ms: u64,
    /// No backoff of our own is longer, in milliseconds. A server's Retry-After may be.
    pub cap_ms: u64,
    /// A Retry-After beyond this is not waited for: the failure goes to the model at once. Milliseconds.
    pub patience_ms: u64,
    /// Without jitter, agents that failed together retry together.
    pub jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy { max_attempts: 4, base_ms: 100, cap_ms: 10_000, patience_ms: 120_000, jitter: true }
    }
}

/// What a server's Retry-After asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// Wait at least this long, in milliseconds.
    Wait(u64),
    /// Not a number of seconds and not a date: ignored.
    Unreadable,
}

impl RetryPolicy {
    // ANCHOR: backoff
    /// The wait after the `failures`-th failure (from 1), in milliseconds. `None`: give up, the attempts or the patience are used up.
    pub fn backoff_ms(&self, failures: u32, retry_after: Option<RetryAfter>, seed: u64, call: &str) -> Option<u64> {
        if failures >= self.max_attempts {
            return None;
        }
        let doublings = failures.saturating_sub(1).min(32);
        let plain = self.base_ms.saturating_mul(1 << doublings).min(self.cap_ms);
        let own = if self.jitter { equal_jitter(plain, seed, call, failures) } else { plain };
        match retry_after {
            Some(RetryAfter::Wait(asked)) if asked > self.patience_ms => None,
            Some(RetryAfter::Wait(asked)) => Some(own.max(asked)),
            Some(RetryAfter::Unreadable) | None => Some(own),
        }
    }
    // ANCHOR_END: backoff
}

/// Half of the backoff for certain, the other half by lot.
fn equal_jitter(plain_ms: u64, seed: u64, call: &str, failures: u32) -> u64 {
    let lot = mix(seed ^ hash64(call.as_bytes()).wrapping_add(u64::from(failures)));
    let half = plain_ms / 2;
    half + lot % (plain_ms - half + 1)
}

/// Reads a Retry-After field: delay in seconds, or an HTTP date compared with `now_ms` (milliseconds since 1970).
pub fn parse_retry_after(text: &str, now_ms: u64) -> RetryAfter {
    let text = text.trim_matches([' ', '\t']);
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse::<u64>().unwrap_or(u64::MAX);
        return RetryAfter::Wait(seconds.saturating_mul(1_000));
    }
    match parse_http_date(text) {
        Some(date_ms) => RetryAfter::Wait(date_ms.saturating_sub(now_ms)),
        None => RetryAfter::Unreadable,
    }
}

/// An IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`, in milliseconds since 1970. The two obsolete forms are not read.
fn parse_http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_weekday, rest) = text.split_once(", ")?;
    let parts: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = parts.as_slice() else {
        return None;
    };
    let number = |part: &str, width: usize| {
        let digits = part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u64>().ok()).flatten()
    };
    let day = number(day, 2).filter(|day| (1..=31).contains(day))?;
    let month = MONTHS.iter().position(|name| name == month)? as u64 + 1;
    let year = number(year, 4).filter(|&year| year >= 1970)?;
    let clock: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = clock.as_slice() else {
        return None;
    };
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some((days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms").
pub fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year / 400;
    let year_of_era = shifted_year % 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_780_000_000_000;

    #[test]
    fn backoff_doubles_within_its_cap_and_jitter_keeps_at_least_half() {
        let plain = RetryPolicy { jitter: false, max_attempts: 99, ..RetryPolicy::default() };
        let waits: Vec<_> = (1..=9).map(|n| plain.backoff_ms(n, None, 1, "c").unwrap()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
        let jittered = RetryPolicy { max_attempts: 99, ..RetryPolicy::default() };
        for seed in 0..200 {
            for (index, &full) in waits.iter().enumerate() {
                let wait = jittered.backoff_ms(index as u32 + 1, None, seed, "c").unwrap();
                assert!((full / 2..=full).contains(&wait), "{wait} of {full}");
            }
        }
        assert_eq!(plain.backoff_ms(u32::MAX - 1, None, 1, "c"), None);
    }

    #[test]
    fn two_agents_wait_differently() {
        let policy = RetryPolicy::default();
        let waits: std::collections::BTreeSet<_> = (0..50).map(|seed| policy.backoff_ms(2, None, seed, "c")).collect();
        assert!(waits.len() > 20);
    }

    #[test]
    fn attempts_are_bounded() {
        assert_eq!(RetryPolicy::default().backoff_ms(4, None, 1, "c"), None);
        assert!(RetryPolicy::default().backoff_ms(3, None, 1, "c").is_some());
    }

    #[test]
    fn retry_after_is_honoured_beyond_the_cap_and_bounded_by_patience() {
        let policy = RetryPolicy { cap_ms: 10_000, ..RetryPolicy::default() };
        let wait = |text| policy.backoff_ms(1, Some(parse_retry_after(text, NOW)), 1, "c");
        let own = policy.backoff_ms(1, None, 1, "c");
        assert_eq!(wait("30"), Some(30_000));
        assert_eq!(wait(" 30"), Some(30_000));
        for ignored in ["0", "-5", "soon", "1e3", "", "30.5", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert_eq!(wait(ignored), own, "{ignored}");
        }
        for too_long in ["2200000", "99999999999999999999999", "Thu, 01 Jan 2099 00:00:00 GMT"] {
            assert_eq!(wait(too_long), None, "{too_long}");
        }
    }

    #[test]
    fn dates_are_read_as_http_writes_them() {
        assert_eq!(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
        assert_eq!(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(parse_http_date("Sun, 06 Nov 1994 08:49:37 CET"), None);
        assert_eq!(parse_http_date("Sun, 6 Nov 1994 08:49:37 GMT"), None);
    }
}

//! Whether and when a request that failed is made again.
//!
//! Invariant: pure; only what may pass by itself is tried again, never sooner than the provider
//! said, and waits grow with a part of chance so that clients do not come back together.

use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait that we choose.
const LONGEST: Duration = Duration::from_secs(16);

/// Whether a status may be another one soon.
pub(crate) fn passes(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 529)
}

/// How long to wait before attempt `attempt` (the first repetition is 1). `chance` is 0 to 1;
/// `told` is what the provider said.
pub(crate) fn wait(attempt: u32, told: Option<Duration>, chance: f64) -> Duration {
    let grown = FIRST.saturating_mul(2u32.saturating_pow(attempt.saturating_sub(1))).min(LONGEST);
    let ours = grown.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
    told.map_or(ours, |told| told.max(ours.min(told + FIRST)))
}

/// What `retry-after` says, in seconds; dates are not read.
pub(crate) fn told(retry_after: &str) -> Option<Duration> {
    let seconds: f64 = retry_after.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(1e6)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(attempt: u32, told: Option<u64>, chance: f64, expected: u64) {
        let wait = wait(attempt, told.map(Duration::from_millis), chance);
        assert_eq!(wait, Duration::from_millis(expected));
    }

    #[test]
    fn waits_grow_and_never_come_before_what_was_said() {
        check(1, None, 0.0, 250);
        check(1, None, 1.0, 500);
        check(3, None, 0.5, 1500);
        check(40, None, 1.0, 16_000);
        check(1, Some(2000), 1.0, 2000);
        check(4, Some(2000), 1.0, 2500);
    }

    #[test]
    fn what_is_told_is_a_number_of_seconds() {
        assert_eq!(told(" 2 "), Some(Duration::from_secs(2)));
        assert_eq!(told("0.5"), Some(Duration::from_millis(500)));
        for other in ["", "soon", "-1", "NaN", "inf", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(told(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_wrong_stays_wrong() {
        assert!([429, 500, 503, 529].into_iter().all(passes));
        assert!(![200, 400, 401, 403, 404, 413, 422].into_iter().any(passes));
    }
}

//! How often calls fail behind a compression, against before it.
//!
//! Invariant: a call counts once on either side, however many compressions are near it.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::regret::REGRET_TURNS;

/// Calls near compressions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallsAround {
    /// Calls within so many turns before one.
    pub(crate) calls_before: u64,
    /// Those of them that failed.
    pub(crate) failed_before: u64,
    /// Calls within so many turns behind one.
    pub(crate) calls_after: u64,
    /// Those of them that failed.
    pub(crate) failed_after: u64,
}

impl AddAssign for CallsAround {
    fn add_assign(&mut self, other: Self) {
        self.calls_before += other.calls_before;
        self.failed_before += other.failed_before;
        self.calls_after += other.calls_after;
        self.failed_after += other.failed_after;
    }
}

/// A call that has a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnsweredCall {
    /// The turn of the model that it was made in.
    pub(super) turn: u32,
    /// Whether it failed.
    pub(super) failed: bool,
}

impl CallsAround {
    /// Counts calls around compressions that were made behind these turns.
    pub(super) fn of_calls(calls: &[AnsweredCall], compressed: &[u32]) -> Self {
        let mut found = Self::default();
        for AnsweredCall { turn, failed } in calls.iter().copied() {
            let is_behind = |at: &u32| turn > *at && turn - at <= REGRET_TURNS;
            let is_before = |at: &u32| turn <= *at && at - turn < REGRET_TURNS;
            if compressed.iter().any(is_behind) {
                found.calls_after += 1;
                found.failed_after += u64::from(failed);
            }
            if compressed.iter().any(is_before) {
                found.calls_before += 1;
                found.failed_before += u64::from(failed);
            }
        }
        found
    }

    /// How many calls failed behind compressions that would not have, did they fail as often as before.
    /// Nothing is known where none was made before.
    pub(super) fn more_failed(&self) -> f64 {
        if self.calls_before == 0 {
            return 0.0;
        }
        let before = self.failed_before as f64 / self.calls_before as f64;
        self.failed_after as f64 - before * self.calls_after as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_behind_a_compression_are_held_against_those_before() {
        let calls = |failing: &[u32]| -> Vec<AnsweredCall> {
            (1..=40).map(|turn| AnsweredCall { turn, failed: failing.contains(&turn) }).collect()
        };
        let around = CallsAround::of_calls(&calls(&[15, 21, 22, 35]), &[20]);
        let expected =
            CallsAround { calls_before: 10, failed_before: 1, calls_after: 10, failed_after: 2 };
        assert_eq!(around, expected);
        assert!((around.more_failed() - 1.0).abs() < 1e-9);
        assert_eq!(CallsAround::of_calls(&calls(&[3]), &[]), CallsAround::default());
        // Two that are near each other.
        let both = CallsAround::of_calls(&calls(&[]), &[20, 22]);
        assert_eq!((both.calls_before, both.calls_after), (12, 12));
    }
}

//! Whether the arms got as many units as they should have: where they did not, whatever loses units
//! also decides which, and no figure of theirs can be compared.
//!
//! Invariant: says nothing where so few units are there that nothing could be said.

use crate::normal::chi_squared_above;

/// Below this chance the split is broken.
pub const BROKEN: f64 = 0.001;

/// Each arm is expected to have so many units before the split is judged.
const LEAST: f64 = 5.0;

/// Returns the chance of a split at least as uneven as this, by chance alone.
///
/// `arms` has the number of units that each arm has, and the number that it was expected to have.
/// `None` where that is too few to tell, or where there are no two arms.
#[must_use]
pub fn sample_ratio(arms: &[(u64, f64)]) -> Option<f64> {
    let possible: Vec<_> = arms.iter().filter(|(_, expected)| *expected > 0.0).collect();
    // Units where none can be are no chance.
    if arms.iter().any(|(found, expected)| *expected <= 0.0 && *found > 0) {
        return Some(0.0);
    }
    if possible.len() < 2 || possible.iter().any(|(_, expected)| *expected < LEAST) {
        return None;
    }
    let distance = |&&(found, expected): &&(u64, f64)| (found as f64 - expected).powi(2) / expected;
    let sum: f64 = possible.iter().map(distance).sum();
    Some(chi_squared_above(possible.len() - 1, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arms: &[(u64, f64)], broken: Option<bool>) {
        let chance = sample_ratio(arms);
        assert_eq!(chance.map(|chance| chance < BROKEN), broken, "{arms:?}: {chance:?}");
    }

    #[test]
    fn an_uneven_split_is_told_from_chance() {
        check(&[(52, 50.0), (48, 50.0)], Some(false));
        check(&[(70, 50.0), (30, 50.0)], Some(true));
        check(&[(43, 45.0), (46, 45.0), (11, 10.0)], Some(false));
        check(&[(60, 45.0), (39, 45.0), (1, 10.0)], Some(true));
        check(&[(3, 2.0), (1, 2.0)], None);
        check(&[(30, 30.0)], None);
        check(&[(30, 15.0), (0, 0.0), (0, 15.0)], Some(true));
        check(&[(30, 30.0), (1, 0.0)], Some(true));
    }
}

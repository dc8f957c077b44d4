//! Which units of two arms are compared with each other.
//!
//! Invariant: units are compared that were drawn at the same odds between the two. Where weights changed, or
//! an arm was stopped or came later, one arm has more units of one time and the other of another, and what
//! differs between the times would be taken for what the arms do.

use std::collections::BTreeMap;

use super::collect::UnitFigures;

/// The units of two arms that were drawn at the same odds between them: those odds that most units were
/// drawn at, and of several the newest.
pub(super) fn drawn_alike<'u>(units: &'u [UnitFigures], arms: [&str; 2]) -> Vec<&'u UnitFigures> {
    let mut by_odds = BTreeMap::<[u64; 2], Vec<&UnitFigures>>::new();
    for unit in units.iter().filter(|unit| arms.contains(&unit.arm())) {
        if let Some(odds) = odds_between(unit, arms) {
            by_odds.entry(odds).or_default().push(unit);
        }
    }
    let newest = |units: &[&UnitFigures]| units.iter().map(|it| it.record.at.clone()).max();
    let most = by_odds.into_values().max_by_key(|units| (units.len(), newest(units)));
    most.unwrap_or_default()
}

/// The odds that a unit was drawn at between two arms, in lowest terms; none where it could have one of
/// them alone.
fn odds_between(unit: &UnitFigures, arms: [&str; 2]) -> Option<[u64; 2]> {
    // An older program recorded none.
    if unit.record.odds.is_empty() {
        return Some([1, 1]);
    }
    let [one, other] = arms.map(|arm| unit.record.odds.get(arm).copied().unwrap_or_default());
    let (mut large, mut small) = (one, other);
    while small > 0 {
        (large, small) = (small, large % small);
    }
    (one > 0 && other > 0).then(|| [one / large, other / large])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::UnitRecord;

    fn unit(arm: &str, at: u32, odds: &[(&str, u64)]) -> UnitFigures {
        let odds = odds.iter().map(|(arm, weight)| ((*arm).to_owned(), *weight)).collect();
        let (arm, at_time) = (Some(arm.to_owned()), format!("{at:03}"));
        let record = UnitRecord { arm, at: at_time, odds, ..UnitRecord::default() };
        UnitFigures { unit: at.to_string(), record, sums: Default::default() }
    }

    #[track_caller]
    fn check(units: &[UnitFigures], arms: [&str; 2], expected: &[u32]) {
        let found: Vec<_> = drawn_alike(units, arms).iter().map(|it| it.unit.clone()).collect();
        let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{arms:?}");
    }

    #[test]
    fn units_of_other_weights_are_not_compared() {
        let (before, after) = ([("a", 9), ("b", 1)], [("a", 1), ("b", 9)]);
        let mut units = vec![unit("a", 1, &before), unit("a", 2, &before), unit("b", 3, &before)];
        units.extend([unit("a", 4, &after), unit("b", 5, &after)]);
        check(&units, ["a", "b"], &[1, 2, 3]);
        units.push(unit("b", 6, &after));
        check(&units, ["a", "b"], &[4, 5, 6]);
    }

    #[test]
    fn a_third_arm_makes_no_difference_between_two() {
        let (all, without) = ([("a", 2), ("b", 2), ("c", 2)], [("a", 1), ("b", 1), ("c", 0)]);
        let units = [
            unit("a", 1, &all),
            unit("b", 2, &all),
            unit("c", 3, &all),
            unit("a", 4, &without),
            unit("b", 5, &without),
        ];
        check(&units, ["a", "b"], &[1, 2, 4, 5]);
        // What came when it was stopped is none of its time.
        check(&units, ["a", "c"], &[1, 3]);
        check(&units, ["a", "d"], &[]);
    }
}

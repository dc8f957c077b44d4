//! What an arm changes against the one that it is compared with.
//!
//! Invariant: nothing is said below [`LEAST_CLUSTERS`] in either arm, where the sums are not yet near
//! to normal.

use crate::cluster::ClusterSums;
use crate::interval::IntervalTerms;
use crate::normal::normal_cdf;

/// Clusters that each arm needs before anything is said.
pub const LEAST_CLUSTERS: u64 = 30;

/// How a change is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectScale {
    /// As a share of the control: 0.1 is a tenth more.
    Relative,
    /// As a difference: 0.1 is ten points of a hundred more.
    Absolute,
}

/// A change with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectEstimate {
    /// The change as far as it is known.
    pub estimate: f64,
    /// The least that it can be.
    pub low: f64,
    /// The most that it can be.
    pub high: f64,
    /// The standard error of the difference, on the same scale.
    pub error: f64,
}

/// Returns what an arm changes against the control; `None` where that cannot be told yet.
#[must_use]
pub fn compare(
    control: &ClusterSums,
    treated: &ClusterSums,
    scale: EffectScale,
    terms: IntervalTerms,
) -> Option<EffectEstimate> {
    if control.count().min(treated.count()) < LEAST_CLUSTERS {
        return None;
    }
    let (base, with) = (control.ratio()?, treated.ratio()?);
    let variance = match scale {
        EffectScale::Relative => ClusterSums::variance,
        EffectScale::Absolute => ClusterSums::variance_of_share,
    };
    let (of_base, of_with) = (variance(control)?, variance(treated)?);
    let reach = terms.half_width((control.count() + treated.count()) as f64);
    let error = (of_base + of_with).sqrt();
    match scale {
        EffectScale::Absolute => {
            let (estimate, reach) = (with - base, reach * error);
            Some(EffectEstimate { estimate, low: estimate - reach, high: estimate + reach, error })
        }
        EffectScale::Relative => {
            // The shares g for which the difference of `with` and `g * base` may be nothing. An interval
            // around the quotient itself leaves the truth out far too often: where costs are skewed, an
            // arm that lacks the dearest sessions seems cheap and sure at once.
            let squared = reach * reach;
            let least = base * base - squared * of_base;
            if base <= 0.0 || least <= 0.0 {
                return None;
            }
            let middle = with * base;
            let spread = (middle * middle - least * (with * with - squared * of_with)).max(0.0);
            let end = |sign: f64| (middle + sign * spread.sqrt()) / least - 1.0;
            let estimate = with / base - 1.0;
            Some(EffectEstimate { estimate, low: end(-1.0), high: end(1.0), error: error / base })
        }
    }
}

/// Standard errors between the least that is found and the effect behind it, at a power of 80 %.
const FOUR_OF_FIVE: f64 = 0.841_621_2;

/// Returns the smallest effect that is found with a chance of 80 % after so many clusters, both arms
/// together, where an estimate has this standard error.
#[must_use]
pub fn detectable_effect(error: f64, clusters: f64, terms: IntervalTerms) -> f64 {
    error * (terms.half_width(clusters) + FOUR_OF_FIVE)
}

/// Returns the chance to find an effect with one look after so many clusters, both arms together. More
/// looks before that one only add to it.
#[must_use]
pub fn power_at_one_look(effect: f64, error: f64, clusters: f64, terms: IntervalTerms) -> f64 {
    normal_cdf(effect.abs() / error - terms.half_width(clusters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(count: u32, mean: f64, spread: f64) -> ClusterSums {
        let mut sums = ClusterSums::default();
        for at in 0..count {
            sums.add(mean + if at % 2 == 0 { spread } else { -spread }, 1.0);
        }
        sums
    }

    #[test]
    fn few_clusters_say_nothing() {
        let terms = IntervalTerms::default();
        let of = |count| {
            compare(&sums(count, 1.0, 0.1), &sums(30, 0.5, 0.1), EffectScale::Relative, terms)
        };
        assert_eq!(of(29), None);
        assert!(of(30).is_some());
        let free = compare(&sums(30, 0.0, 0.0), &sums(30, 1.0, 0.1), EffectScale::Relative, terms);
        assert_eq!(free, None, "nothing is a share of nothing");
    }

    #[test]
    fn a_change_is_told_as_a_share_or_as_a_difference() {
        let terms = IntervalTerms::default();
        let (control, treated) = (sums(100, 2.0, 0.2), sums(100, 1.0, 0.2));
        let relative = compare(&control, &treated, EffectScale::Relative, terms).unwrap();
        let absolute = compare(&control, &treated, EffectScale::Absolute, terms).unwrap();
        assert!((relative.estimate + 0.5).abs() < 1e-9 && (absolute.estimate + 1.0).abs() < 1e-9);
        // 0.04 / 99 in each arm, of 2 and of 1.
        let variance = 0.04 * 100.0 / 99.0 / 100.0;
        assert!((absolute.error - (2.0_f64 * variance).sqrt()).abs() < 1e-9);
        assert!((relative.error - absolute.error / 2.0).abs() < 1e-9);
        assert!(relative.low < relative.estimate && relative.high < 0.0);
        // Both find something at the same moment.
        for mean in [1.8, 1.87, 1.9, 1.95] {
            let treated = sums(100, mean, 0.2);
            let found = [EffectScale::Relative, EffectScale::Absolute]
                .map(|scale| compare(&control, &treated, scale, terms).unwrap().high < 0.0);
            assert_eq!(found[0], found[1], "{mean}");
        }
    }

    #[test]
    fn what_was_never_seen_may_be() {
        let terms = IntervalTerms::default();
        let never = |count| sums(count, 0.0, 0.0);
        let effect = |count| compare(&never(count), &never(count), EffectScale::Absolute, terms);
        let (few, many) = (effect(40).unwrap(), effect(4_000).unwrap());
        assert!(few.low < -0.05 && few.high > 0.05, "{few:?}");
        assert!(many.high < 0.01, "{many:?}");
    }

    #[test]
    fn the_smallest_effect_is_found_four_times_of_five() {
        let terms = IntervalTerms::default();
        let least = detectable_effect(0.1, 200.0, terms);
        assert!((power_at_one_look(least, 0.1, 200.0, terms) - 0.8).abs() < 1e-6);
        assert!((least - 0.388).abs() < 0.001, "{least}");
    }
}

//! How a provider's counts differ from ours, learned from what it reports (hazards 8, 20).
//!
//! Invariant: pure, and a function of the newest samples alone; it only ever lowers a limit, and it
//! says nothing before there are enough samples. A sample is a whole prompt, counted once by both:
//! system prompt, tool schemas and images are in our count, cached tokens in the provider's. Fed and
//! asked by whoever sends prompts.

use std::collections::VecDeque;

/// How many samples are remembered: of a conversation, about its last turns.
const SAMPLES: usize = 16;
/// So many must agree before they count.
const ENOUGH: usize = 3;
/// Prompts below so many tokens are mostly what the provider adds to any prompt.
const LEAST: u64 = 256;
/// A provider that counts more or less than so many times what we do counts something else: it left
/// a part out, or added one of its own.
const MOST: f64 = 4.0;
/// The part of the largest prompt below which a sample says little of prompts near the limit.
const SMALL: u64 = 4;
/// What a median distance is worth as a spread: the band then holds nearly all samples that scatter.
const SPREADS: f64 = 3.0;
/// So many of 8 samples are in the band even where they do not scatter: a compression changes what a
/// prompt is made of, and all prompts after it count alike again.
const HELD: usize = 7;
/// The widest band: beyond it a limit would be given away for noise.
const WIDEST: f64 = 0.25;

/// What a provider counts for what we count as 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Our count and the provider's, the newest last.
    samples: VecDeque<[u64; 2]>,
}

/// How a provider counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// Tokens of the provider for one of ours.
    pub factor: f64,
    /// How far single prompts are off that, as a part of it.
    pub band: f64,
    /// How many prompts say so.
    pub samples: usize,
}

impl Calibration {
    /// From samples that were kept, each our count and the provider's, the newest last.
    pub fn of(samples: impl IntoIterator<Item = [u64; 2]>) -> Self {
        let mut calibration = Self::default();
        for [ours, theirs] in samples {
            calibration.learn(ours, theirs);
        }
        calibration
    }

    /// Learns from a prompt that was answered. Says whether it tells anything.
    pub fn learn(&mut self, ours: u64, theirs: u64) -> bool {
        let ratio = theirs as f64 / ours.max(1) as f64;
        if ours < LEAST || !(1.0 / MOST..=MOST).contains(&ratio) {
            return false;
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back([ours, theirs]);
        true
    }

    /// The samples, to be kept.
    pub fn samples(&self) -> impl Iterator<Item = [u64; 2]> + '_ {
        self.samples.iter().copied()
    }

    /// How the provider counts, once enough prompts say so.
    pub fn factor(&self) -> Option<Factor> {
        let largest = self.samples.iter().map(|[ours, _]| *ours).max()?;
        let telling = self.samples.iter().filter(|[ours, _]| *ours >= largest / SMALL);
        let ratios: Vec<_> = telling.map(|[ours, theirs]| *theirs as f64 / *ours as f64).collect();
        if ratios.len() < ENOUGH {
            return None;
        }
        let factor = median(ratios.clone());
        let mut off: Vec<_> = ratios.iter().map(|ratio| (ratio - factor).abs()).collect();
        off.sort_by(f64::total_cmp);
        let spread = (off[off.len() / 2] * SPREADS).max(off[(off.len() - 1) * HELD / 8]);
        let band = (spread / factor).min(WIDEST);
        Some(Factor { factor, band, samples: ratios.len() })
    }

    /// A limit in the provider's tokens, in ours: never more than it is, less the band where the
    /// provider counts more than we do.
    pub fn limit(&self, limit: u64) -> u64 {
        match self.factor() {
            Some(factor) => factor.limit(limit),
            None => limit,
        }
    }
}

impl Factor {
    /// A limit in the provider's tokens, in ours.
    pub fn limit(self, limit: u64) -> u64 {
        let ours = limit as f64 / self.factor * (1.0 - self.band);
        (ours as u64).min(limit)
    }
}

/// The middle one; of an even number the greater of the two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(samples: &[[u64; 2]], limit: u64, expected: u64) {
        assert_eq!(Calibration::of(samples.iter().copied()).limit(limit), expected);
    }

    #[test]
    fn nothing_changes_until_enough_prompts_say_so() {
        check(&[], 1000, 1000);
        check(&[[1000, 1250], [1000, 1250]], 1000, 1000);
        check(&[[1000, 1250], [1000, 1250], [2000, 2500]], 1000, 800);
    }

    #[test]
    fn a_limit_is_never_raised() {
        check(&[[1000, 500]; 5], 1000, 1000);
        check(&[[1000, 1000]; 5], 1000, 1000);
    }

    #[test]
    fn what_says_nothing_of_counting_is_passed_over() {
        // Hardly more than the provider's own words, another prompt altogether, one that was cut.
        check(&[[10, 40], [10, 40], [10, 40]], 1000, 1000);
        check(&[[1000, 9000], [1000, 9000], [1000, 9000]], 1000, 1000);
        check(&[[8000, 1000], [8000, 1000], [8000, 1000]], 1000, 1000);
        // Small prompts beside large ones.
        let grown = [[300, 500], [300, 500], [300, 500], [4000, 4400], [5000, 5500], [6000, 6600]];
        check(&grown, 11_000, 10_000);
    }

    #[test]
    fn one_prompt_that_is_off_changes_nothing_and_many_widen_the_band() {
        check(&[[1000, 1250], [1000, 1250], [1000, 1250], [1000, 3000]], 1000, 800);
        let even = [[1000, 1240], [1000, 1250], [1000, 1260], [1000, 1245], [1000, 1255]];
        let factor = Calibration::of(even).factor().unwrap();
        assert_eq!((factor.factor, factor.samples), (1.25, 5));
        assert!((factor.band - 0.012).abs() < 1e-9, "{}", factor.band);
        assert_eq!(factor.limit(1000), 790);
    }

    #[test]
    fn a_band_holds_the_prompts_before_and_after_a_compression() {
        let samples = [vec![[1000, 1120]; 12], vec![[1000, 1170]; 4]].concat();
        let factor = Calibration::of(samples).factor().unwrap();
        assert!(factor.factor * (1.0 + factor.band) >= 1.17, "{factor:?}");
    }

    #[test]
    fn the_newest_samples_count() {
        let mut calibration = Calibration::of([[1000, 2000]; SAMPLES]);
        assert_eq!(calibration.limit(1000), 500);
        for _ in 0..SAMPLES {
            assert!(calibration.learn(1000, 1000));
        }
        assert_eq!(calibration.limit(1000), 1000);
        assert_eq!(calibration.samples().count(), SAMPLES);
    }

    proptest! {
        /// Whatever is reported: a limit is lowered at most, within bounds, and survives being kept.
        #[test]
        fn a_limit_stays_within_bounds(
            samples in prop::collection::vec([0..200_000u64, 0..2_000_000u64], 0..40),
            limit in 1..2_000_000u64,
        ) {
            let calibration = Calibration::of(samples);
            let ours = calibration.limit(limit);
            prop_assert!(ours <= limit);
            prop_assert!(ours as f64 >= limit as f64 / MOST * (1.0 - WIDEST) - 1.0);
            prop_assert_eq!(&Calibration::of(calibration.samples()), &calibration);
        }

        /// What a provider counts by one factor, give or take a little, fits once it was learned.
        #[test]
        fn a_prompt_at_the_limit_fits(
            factor in 0.5..3.0f64,
            sizes in prop::collection::vec((2000..8000u64, -0.02..0.02f64), 5..40),
            limit in 2000..200_000u64,
        ) {
            let counted = |ours: u64, off: f64| (ours as f64 * factor * (1.0 + off)) as u64;
            let calibration = Calibration::of(sizes.iter().map(|(n, off)| [*n, counted(*n, *off)]));
            let ours = calibration.limit(limit);
            // As far as single prompts are off, and rounding.
            prop_assert!(ours as f64 * factor <= limit as f64 * 1.025 + factor + 1.0);
        }
    }
}

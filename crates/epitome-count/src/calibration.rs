//! How a provider's counts differ from ours, learned from what it reports.
//!
//! Invariant: pure, and a function of the samples that are kept alone, so that whoever has these goes
//! on as whoever kept them; it only ever lowers a limit, and it says nothing before there are enough
//! samples. A sample is a whole prompt, counted once by both:
//! system prompt, tool schemas and images are in our count, cached tokens in the provider's. Fed and
//! asked by whoever sends prompts.

use std::collections::VecDeque;

/// How many samples are remembered: of a conversation, some compressions' worth.
const SAMPLES: usize = 32;
/// Once there are so many, one of so many that say nothing new is kept.
const KEPT: u64 = 4;
/// So many must agree before they count.
const ENOUGH: usize = 3;
/// Prompts below so many tokens are mostly what the provider adds to any prompt.
const LEAST: u64 = 256;
/// A provider that counts more or less than so many times what we do counts something else: it left
/// a part out, or added one of its own.
const MOST: f64 = 4.0;
/// The part of the largest prompt below which a sample says little of prompts near the limit.
const SMALL: u64 = 4;
/// So many of 8 samples must be in the band; the others may be prompts that are another matter.
const HELD: usize = 7;
/// The widest band: beyond it a limit would be given away for noise.
const WIDEST: f64 = 0.25;
/// A prompt by so much smaller than the one before it is another text: of another conversation, or
/// of this one with its beginning summarized.
const ANEW: f64 = 0.9;
/// Who differs from us on one text differs on another by so much of it more or less.
const UNSEEN: f64 = 0.5;
/// What texts that were not seen widen the band by at most; the root of the texts that were seen
/// divides it.
const MOST_UNSEEN: f64 = 0.1;

/// What a provider counts for what we count as 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Our count and the provider's, the newest last.
    samples: VecDeque<[u64; 2]>,
}

/// How a provider counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationFactor {
    /// Tokens of the provider for one of ours: the middle of what was seen.
    pub factor: f64,
    /// How far prompts may be off that, as a part of it: as far as they were, and as far as texts
    /// that were not seen may be.
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

    /// Learns from a prompt that was answered. Says whether it was kept: it is where it tells anything,
    /// and of those that tell what is known some, which take the place of older ones.
    pub fn learn(&mut self, ours: u64, theirs: u64) -> bool {
        let ratio = theirs as f64 / ours.max(1) as f64;
        if ours < LEAST || !(1.0 / MOST..=MOST).contains(&ratio) {
            return false;
        }
        if self.samples.len() < SAMPLES {
            self.samples.push_back([ours, theirs]);
            return true;
        }
        let mut next = self.clone();
        next.samples.rotate_left(1);
        next.samples[SAMPLES - 1] = [ours, theirs];
        let is_known = self.factor().is_some_and(|known| {
            (ratio / known.factor - 1.0).abs() <= known.band
                && next.factor().is_some_and(|next| next.is_about(known))
        });
        // By what it is and not by how many came: those who share what is kept agree on it.
        let is_kept = !is_known || (ours ^ theirs).is_multiple_of(KEPT);
        if is_kept {
            *self = next;
        }
        is_kept
    }

    /// The samples, to be kept.
    pub fn samples(&self) -> impl Iterator<Item = [u64; 2]> + '_ {
        self.samples.iter().copied()
    }

    /// How the provider counts, once enough prompts say so.
    pub fn factor(&self) -> Option<CalibrationFactor> {
        let largest = self.samples.iter().map(|[ours, _]| *ours).max()?;
        let telling = self.samples.iter().filter(|[ours, _]| *ours >= largest / SMALL);
        let mut ratios: Vec<_> =
            telling.map(|[ours, theirs]| *theirs as f64 / *ours as f64).collect();
        let samples = ratios.len();
        if samples < ENOUGH {
            return None;
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios[samples / 2];
        ratios.retain(|ratio| (ratio - median).abs() <= WIDEST * median);
        let [Some(least), Some(most)] = [ratios.first(), ratios.last()] else { return None };
        if ratios.len() <= (samples - 1) * HELD / 8 {
            return Some(CalibrationFactor { factor: median, band: WIDEST, samples });
        }
        let factor = (least + most) / 2.0;
        let seen = (most - least) / 2.0 / factor;
        let unseen =
            ((factor - 1.0).abs() * UNSEEN).min(MOST_UNSEEN) / (self.texts() as f64).sqrt();
        Some(CalibrationFactor { factor, band: (seen + unseen).min(WIDEST), samples })
    }

    /// Of how many texts the samples are. A prompt begins with the one before it, until there is
    /// another conversation or a compression: however many there are of one text, they say the same.
    fn texts(&self) -> usize {
        let pairs = self.samples.iter().zip(self.samples.iter().skip(1));
        1 + pairs
            .filter(|([before, _], [after, _])| (*after as f64) < *before as f64 * ANEW)
            .count()
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

impl CalibrationFactor {
    /// Whether both come to the same in whole percents.
    fn is_about(self, other: Self) -> bool {
        let percents = |it: Self| [it.factor, it.band].map(|figure| (figure * 100.0).round());
        percents(self) == percents(other)
    }

    /// A limit in the provider's tokens, in ours.
    pub fn limit(self, limit: u64) -> u64 {
        let ours = limit as f64 / (self.factor * (1.0 + self.band));
        (ours as u64).min(limit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(samples: &[[u64; 2]], limit: u64, expected: u64) {
        assert_eq!(Calibration::of(samples.iter().copied()).limit(limit), expected);
    }

    /// Prompts of ever new texts, whose counts all differ from ours by a quarter.
    const SEEN: [[u64; 2]; 6] =
        [[2000, 2500], [1000, 1250], [2000, 2500], [1000, 1250], [2000, 2500], [1000, 1250]];

    #[test]
    fn nothing_changes_until_enough_prompts_say_so() {
        check(&[], 1000, 1000);
        check(&[[1000, 1250], [1000, 1250]], 1000, 1000);
        // A quarter more, and a tenth for other texts.
        check(&[[1000, 1250], [1000, 1250], [2000, 2500]], 1000, 727);
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
        check(&grown, 11_000, 9523);
    }

    #[track_caller]
    fn says(samples: &[[u64; 2]], factor: f64, band: f64) {
        let said = Calibration::of(samples.iter().copied()).factor().unwrap();
        assert!((said.factor - factor).abs() < 1e-4 && (said.band - band).abs() < 1e-4, "{said:?}");
    }

    #[test]
    fn the_band_is_as_wide_as_prompts_were_off() {
        // Who counts as we do counts every text as we do.
        says(&[[1000, 1000], [1100, 1100], [1200, 1200]], 1.0, 0.0);
        says(&[[1000, 980], [1100, 1122], [1200, 1200]], 1.0, 0.02);
    }

    #[test]
    fn the_fewer_texts_were_seen_the_wider_is_the_band() {
        says(&[[1000, 1100], [1100, 1210], [1200, 1320]], 1.1, 0.05);
        says(&[[1200, 1320], [1000, 1100], [1100, 1210]], 1.1, 0.05 / 2f64.sqrt());
        says(&[[1000, 900], [1100, 990], [1200, 1080]], 0.9, 0.05);
        says(&SEEN[..3], 1.25, 0.1 / 2f64.sqrt());
        says(&SEEN, 1.25, 0.05);
        says(&[[1000, 2000]; 5], 2.0, 0.1);
    }

    #[test]
    fn one_prompt_that_is_off_changes_nothing_and_many_widen_the_band() {
        says(&[&SEEN[..3], &[[2000, 6000]]].concat(), 1.25, 0.1 / 2f64.sqrt());
        says(&[&SEEN[..3], &[[2000, 6000]; 2]].concat(), 1.25, WIDEST);
    }

    /// What stands for old talk is counted in another way than talk is.
    #[test]
    fn the_first_prompts_after_a_compression_are_in_the_band() {
        let talk = [[1000, 1110], [1200, 1332], [1400, 1554], [1600, 1776]];
        let compressed = [[900, 1051], [1100, 1273], [1300, 1495], [1500, 1717]];
        let (mut before, mut within) = (Vec::new(), 0);
        for [ours, theirs] in [talk, compressed, compressed, compressed].concat() {
            if let Some(said) = Calibration::of(before.iter().copied()).factor() {
                let ratio = theirs as f64 / ours as f64;
                assert!((ratio / said.factor - 1.0).abs() <= said.band, "{ratio}: {said:?}");
                within += 1;
            }
            before.push([ours, theirs]);
        }
        assert_eq!(within, before.len() - ENOUGH);
    }

    #[test]
    fn the_newest_samples_count() {
        let mut calibration = Calibration::of([[1000, 2000]; SAMPLES]);
        assert_eq!(calibration.limit(1000), 454);
        for _ in 0..SAMPLES {
            calibration.learn(1000, 1000);
        }
        assert_eq!(calibration.limit(1000), 1000);
        assert_eq!(calibration.samples().count(), SAMPLES);
    }

    /// A process that is started again, or another one, goes by what is kept.
    #[test]
    fn what_is_known_is_not_kept_each_time() {
        let grown = (0..400u64).map(|turn| [1000 + 37 * turn, 1111 + 41 * turn]);
        let mut calibration = Calibration::default();
        let kept = grown.filter(|[ours, theirs]| {
            let before = calibration.clone();
            let is_kept = calibration.learn(*ours, *theirs);
            assert_eq!(is_kept, calibration != before);
            is_kept
        });
        let kept = kept.count();
        assert!((SAMPLES..160).contains(&kept), "{kept} of 400 are kept");
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

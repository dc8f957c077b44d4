//! What is known of one model through one API.
//!
//! Invariant: pure. A limit is in our tokens and only falls, until a prompt beyond it is answered.
//! Kept by `lessons`.

use epitome_count::Calibration;
use epitome_types::ContextOverflow;

use super::record::{CountCalibration, LearnedRecord, SilentTruncation};

/// Less than this share of what was sent cannot be a matter of counting.
const CUT: f64 = 0.6;
/// Prompts below so many tokens tell nothing.
const TELLING: u64 = 256;
/// A window of fewer tokens is no window: the server counts something else.
const LEAST_WINDOW: u64 = 1024;

/// A provider that counts more than so many times what we do counts something that we cannot, and says
/// nothing of other prompts.
const UNCOUNTED: u64 = 2;

/// What is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnedModel {
    /// The provider's limit, in our tokens.
    pub limit: Option<u64>,
    /// What its server last told, in the server's tokens; kept for those who ask who said so.
    pub window: Option<u64>,
    calibration: Calibration,
    /// The last prompt that its server cut.
    shortened: Option<SilentTruncation>,
    /// Whether that was told.
    told: bool,
}

/// A prompt that was answered.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredPrompt {
    /// Its tokens by our count.
    pub tokens: u64,
    /// Those of them that are images.
    pub images: u64,
    /// What the provider counted, whatever part of it was cached.
    pub counted: u64,
    /// Whether its server cuts what exceeds its window, and says nothing of it (RULES 153).
    pub cuts: bool,
}

impl LearnedModel {
    /// As it was recorded.
    pub fn of(written: &str) -> Option<Self> {
        let LearnedRecord { limit, samples, shortened, window } = LearnedRecord::read(written)?;
        let calibration = Calibration::of(samples);
        Some(Self { limit, window, calibration, shortened, told: shortened.is_some() })
    }

    /// As the journal keeps it.
    pub fn record(&self) -> LearnedRecord {
        let samples = self.calibration.samples().collect();
        let Self { limit, window, shortened, .. } = *self;
        LearnedRecord { limit, samples, shortened, window }
    }

    /// How the provider counts.
    pub fn counted(&self) -> Option<CountCalibration> {
        self.calibration.factor().map(CountCalibration::from)
    }

    /// A limit in the provider's tokens, in ours.
    pub fn in_ours(&self, limit: u64) -> u64 {
        self.calibration.limit(limit)
    }

    /// Learns from the refusal of a prompt. Gives the most that the next one may take.
    pub fn refuse(&mut self, tokens: u64, told: ContextOverflow, share: f64) -> u64 {
        let less = (tokens as f64 * share) as u64;
        let Some(limit) = told.limit else { return less };
        let ours = match told.size {
            // It counts in other tokens than we do.
            Some(size) if size > limit => {
                (u128::from(limit) * u128::from(tokens) / u128::from(size)) as u64
            }
            _ if limit < tokens => self.in_ours(limit),
            _ => less,
        };
        let holds = match told.size {
            Some(size) if size / UNCOUNTED > tokens => self.in_ours(limit),
            _ => ours,
        };
        self.limit = Some(limit.min(holds).min(self.limit.unwrap_or(u64::MAX)));
        limit.min(ours).min(self.limit.unwrap_or(u64::MAX))
    }

    /// Learns from an answer. Gives what there is to tell.
    pub fn answer(&mut self, sent: AnsweredPrompt) -> Option<SilentTruncation> {
        let AnsweredPrompt { tokens, images, counted, cuts } = sent;
        let words = tokens.saturating_sub(images);
        // A server that counts less than we do is not told from one that cuts a little more of each
        // prompt, so no factor below 1 is believed here.
        let least = self.counted().map_or(1.0, |counted| counted.factor * (1.0 - counted.band));
        let expected = least.max(1.0) * words as f64;
        let is_cut = cuts && counted > 0 && words >= TELLING && (counted as f64) < expected * CUT;
        if is_cut {
            self.shortened = Some(SilentTruncation { sent: tokens, evaluated: counted });
            if counted >= LEAST_WINDOW {
                self.limit = Some(self.in_ours(counted).min(self.limit.unwrap_or(u64::MAX)));
            }
            let is_told = std::mem::replace(&mut self.told, true);
            return self.shortened.filter(|_| !is_told);
        }
        // More text that counts no more was cut a little, and says nothing of counting.
        let last = self.calibration.samples().last();
        if !cuts || last.is_none_or(|[ours, theirs]| tokens <= ours || counted > theirs) {
            self.calibration.learn(tokens, counted);
        }
        // The provider takes more than it once did.
        let takes_more = match (self.shortened, self.limit) {
            (Some(cut), _) => tokens >= cut.sent,
            (None, Some(limit)) => tokens > limit && counted > limit,
            (None, None) => false,
        };
        if takes_more {
            (self.limit, self.shortened, self.told) = (None, None, false);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tokens: u64, limit: Option<u64>, size: Option<u64>, next: u64, learned: Option<u64>) {
        let mut known = LearnedModel::default();
        assert_eq!(known.refuse(tokens, ContextOverflow { limit, size }, 0.75), next);
        assert_eq!(known.limit, learned);
    }

    #[test]
    fn a_limit_is_learned_in_our_tokens() {
        check(1000, Some(800), None, 800, Some(800));
        // We count 1000 where the provider counts 1250.
        check(1000, Some(1200), Some(1250), 960, Some(960));
        // We count more than it does: its limit is safe as it is.
        check(1000, Some(800), Some(900), 800, Some(800));
        // We believed that it would fit.
        check(1000, Some(1200), None, 750, Some(750));
        check(1000, None, Some(1250), 750, None);
        // Most of the prompt is something that we do not count.
        check(1000, Some(8000), Some(9000), 888, Some(8000));
        check(1000, None, None, 750, None);
    }

    #[test]
    fn a_limit_falls_until_more_is_taken() {
        let mut known = LearnedModel::default();
        let told = |limit| ContextOverflow { limit: Some(limit), size: None };
        assert_eq!(known.refuse(1000, told(800), 0.75), 800);
        assert_eq!(known.refuse(1000, told(900), 0.75), 800);
        assert_eq!(known.answer(answered(700, 700, false)), None);
        assert_eq!(known.limit, Some(800));
        known.answer(answered(1000, 900, false));
        assert_eq!(known.limit, None);
    }

    fn answered(tokens: u64, counted: u64, cuts: bool) -> AnsweredPrompt {
        AnsweredPrompt { tokens, images: 0, counted, cuts }
    }

    #[test]
    fn a_prompt_that_was_cut_is_told_once_and_teaches_the_window() {
        let mut known = LearnedModel::default();
        let cut = SilentTruncation { sent: 8000, evaluated: 2048 };
        assert_eq!(known.answer(answered(8000, 2048, true)), Some(cut));
        assert_eq!((known.limit, known.counted()), (Some(2048), None));
        assert_eq!(known.answer(answered(8000, 2048, true)), None, "it was told");
        let again = LearnedModel::of(&known.record().written()).unwrap();
        assert_eq!((again.limit, again.shortened), (Some(2048), Some(cut)));
        // What fits was not cut, and says nothing of what does not.
        assert_eq!(known.answer(answered(2000, 2000, true)), None);
        assert_eq!((known.limit, known.shortened), (Some(2048), Some(cut)));
        // It takes the whole of it now, and forgets that it did not.
        known.answer(answered(8000, 8100, true));
        assert_eq!((known.limit, known.shortened), (None, None));
        assert_eq!(known.answer(answered(8000, 2048, true)), Some(cut));
    }

    /// It reads ever less of a conversation that grows by little, as far as one can see from a turn.
    #[test]
    fn a_conversation_that_grows_slowly_out_of_the_window_is_cut() {
        let mut known = LearnedModel::default();
        let told: Vec<_> = (10..200)
            .map(|turn| turn * 50)
            .filter_map(|tokens| known.answer(answered(tokens, tokens.min(2048), true)))
            .collect();
        assert_eq!(told, [SilentTruncation { sent: 3450, evaluated: 2048 }]);
        assert_eq!(known.limit, Some(2047));
        let counted = known.counted().unwrap();
        assert!(counted.band < 0.001, "what was cut says nothing of counting: {counted:?}");
    }

    #[test]
    fn what_is_counted_in_another_way_is_not_cut() {
        let mut known = LearnedModel::default();
        assert_eq!(known.answer(answered(8000, 2048, false)), None, "it refuses instead");
        assert_eq!(known.answer(answered(8000, 0, true)), None, "it does not say");
        assert_eq!(known.answer(answered(1000, 700, true)), None, "it counts otherwise");
        assert_eq!(known.answer(answered(200, 20, true)), None, "it is too small to tell");
        let images = AnsweredPrompt { images: 1500, ..answered(2500, 900, true) };
        assert_eq!(known.answer(images), None, "images count otherwise");
        assert_eq!(known.shortened, None);
    }
}

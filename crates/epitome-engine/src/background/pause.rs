//! When models that wrote nothing are asked again.
//!
//! Invariant: what is asked in vain stays in proportion to the conversation. All that no model wrote of is
//! asked about anew each time, so after the fourth failure in a row one chance to ask is let pass, then
//! three, then seven. Looked after by the background worker.

/// So often in a row what a model writes is given up for a person who waits for the same server.
const GIVEN_UP: u32 = 2;
/// So many failures in a row are taken for chance: some ranges of messages hold nothing that words tell better
/// than an extract.
const CHANCES: u32 = 3;
/// The pause grows no further than 2 to the power of this.
const LONGEST: u32 = 16;

/// How often models wrote nothing, and how long they are left alone for it.
#[derive(Debug, Default)]
pub(super) struct FailurePause {
    /// How often in a row.
    failures: u32,
    /// So many chances to ask are let pass yet.
    left: u32,
    /// How often in a row one was given up before it had written.
    given_up: u32,
}

impl FailurePause {
    /// Whether what a model is at may be given up.
    pub(super) fn may_give_up(&self) -> bool {
        self.given_up < GIVEN_UP
    }

    /// It was given up.
    pub(super) fn gave_up(&mut self) {
        self.given_up += 1;
    }

    /// One was heard to its end.
    pub(super) fn heard(&mut self) {
        self.given_up = 0;
    }

    /// Models wrote what was asked for, or some of it.
    pub(super) fn succeeded(&mut self) {
        (self.failures, self.left) = (0, 0);
    }

    /// Models wrote nothing of it. Returns how many chances to ask are let pass now, where that begins.
    pub(super) fn failed(&mut self) -> Option<u32> {
        self.failures = self.failures.saturating_add(1);
        let doublings = self.failures.saturating_sub(CHANCES).min(LONGEST);
        self.left = (1 << doublings) - 1;
        (self.left > 0).then_some(self.left)
    }

    /// How often in a row models wrote nothing.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether a chance to ask is let pass. It counts as one.
    pub(super) fn passes(&mut self) -> bool {
        let passes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_pause_and_a_summary_ends_it() {
        let mut pause = FailurePause::default();
        for _ in 0..CHANCES {
            assert_eq!((pause.failed(), pause.passes()), (None, false));
        }
        assert_eq!(pause.failed(), Some(1));
        assert_eq!([pause.passes(), pause.passes()], [true, false]);
        assert_eq!((pause.failed(), pause.failures()), (Some(3), 5));
        pause.succeeded();
        assert_eq!((pause.passes(), pause.failed()), (false, None));
    }

    #[test]
    fn a_model_that_never_writes_is_asked_a_few_times_in_a_thousand_chances() {
        let mut pause = FailurePause::default();
        let asked = (0..1_000).filter(|_| !pause.passes() && pause.failed() != Some(0)).count();
        assert!(asked <= 14, "{asked}");
    }
}

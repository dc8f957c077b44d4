//! The compression that comes next: what it will come to, and whether it waits for models.
//!
//! Invariant: nothing here changes a prompt, and none waits for more turns than it is told. Looked after
//! by live sessions.

use epitome_types::hook::Orders;
use epitome_types::{CompactionId, EntryKey, HistoryHash, Plan};

/// What is known of it in advance.
#[derive(Default)]
pub(crate) struct NextCompression {
    /// What it comes to, for which models are asked.
    draft: Option<PreparedCompression>,
    /// The size of a prompt of which no draft could be made.
    rests: Option<u64>,
    /// Whether models were asked about it.
    is_asked: bool,
    /// How many turns it has waited for what they write, once it was due.
    waited: u32,
}

/// A compression of a snapshot of the conversation, which is not applied.
pub(crate) struct PreparedCompression {
    /// Its plan. It says what was said then, in the places of the history.
    pub(crate) plan: Plan,
    /// What was ordered for it.
    pub(crate) orders: Orders,
    /// How many messages there are up to the last that it touches, and the history of those.
    pub(crate) messages: usize,
    pub(crate) head: HistoryHash,
    /// The epoch in force, and what was pinned.
    pub(crate) parent: Option<CompactionId>,
    pub(crate) pins: Vec<EntryKey>,
    /// Tokens of the prompt before and after.
    pub(crate) tokens: [u64; 2],
}

impl NextCompression {
    /// What it comes to, where that was worked out.
    pub(crate) fn draft(&self) -> Option<&PreparedCompression> {
        self.draft.as_ref()
    }

    /// Takes up what it comes to.
    pub(crate) fn drafted(&mut self, draft: PreparedCompression) {
        (self.draft, self.rests) = (Some(draft), None);
    }

    /// No draft can be made of a prompt of this size.
    pub(crate) fn rest(&mut self, size: u64) {
        (self.draft, self.rests) = (None, Some(size));
    }

    /// Whether one is tried all the same: the prompt grew by a share since, or shrank.
    pub(crate) fn is_rested(&self, size: u64, share: f64) -> bool {
        let grown = |since: u64| size < since || size as f64 >= since as f64 * (1.0 + share);
        self.rests.is_none_or(grown)
    }

    /// Models are asked about it.
    pub(crate) fn asked(&mut self) {
        self.is_asked = true;
    }

    /// Whether it waits for another turn, of so many at most, once it is due: models are to be asked yet,
    /// or are busy. `counts` says whether this is one more turn, or one that is looked at again.
    pub(crate) fn waits(&mut self, is_busy: bool, most: u32, counts: bool) -> bool {
        let (is_late, counted) = (!self.is_asked || is_busy, u32::from(counts));
        let is_waiting = is_late && self.waited + counted <= most;
        if is_waiting {
            (self.rests, self.waited) = (None, self.waited + counted);
        }
        is_waiting
    }

    /// Whether it was due, and waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waited > 0
    }

    /// One was applied, or other models are asked: the next is worked out anew.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_for_models_that_are_asked_and_for_no_more_turns_than_told() {
        let mut next = NextCompression::default();
        next.rest(100);
        assert!(!next.is_rested(105, 0.1) && next.is_rested(111, 0.1) && next.is_rested(99, 0.1));
        // It is tried again at once.
        assert!(next.waits(false, 2, true) && next.is_rested(105, 0.1));
        next.asked();
        assert!(next.waits(true, 2, true) && !next.waits(true, 2, true));
        // One that is looked at again counts once.
        assert!(next.waits(true, 2, false) && next.is_waiting());
        next.begin_anew();
        next.asked();
        assert!(
            !next.waits(false, 2, true) && next.waits(true, 1, true) && !next.waits(true, 1, true)
        );
    }
}

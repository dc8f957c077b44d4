//! What the model is shown of a conversation, and what of that no plan may take.
//!
//! Invariant: follows from what the thread holds alone. Called by plans and by their checks.

use epitome_types::EntryId;

use crate::links::Exchange;
use crate::thread::{PinReason, Thread};

impl Thread {
    /// The place from which on the model is shown what is said: the exchange that holds what the
    /// provider made of the conversation before it. 0 where there is none.
    pub fn shown_from(&self) -> usize {
        self.compaction().map_or(0, |exchange| exchange.entries.start)
    }

    /// The first place in which something of ours is shown to the model.
    pub(crate) fn open_from(&self) -> usize {
        self.compaction().map_or(0, |exchange| exchange.entries.end)
    }

    fn compaction(&self) -> Option<&Exchange> {
        self.exchanges().get(self.compacted?)
    }

    /// Whether no word of an entry leaves: it is a system prompt, somebody pinned it, or no model is
    /// shown it.
    pub(crate) fn holds(&self, id: EntryId) -> bool {
        use PinReason::{ByHand, Rule, System, Unshown};
        matches!(self.pinned(id), Some(System | ByHand | Rule | Unshown))
    }
}

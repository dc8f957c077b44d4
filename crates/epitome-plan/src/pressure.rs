//! How far down the emergency ladder a run has come.
//!
//! Invariant: plain data; the run presses harder, the draft obeys.

use epitome_kernel::types::CheckpointLevel;

/// How hard the ladder presses by now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pressure {
    /// By what the wished-for recent part is multiplied.
    pub(crate) tail: f64,
    /// Whether results of the recent part are cut.
    pub(crate) results: bool,
    /// Whether arguments of the recent part that are on disk are truncated.
    pub(crate) inputs: bool,
    /// Whether exchanges of the recent part become stubs.
    pub(crate) stubs: bool,
    /// How detailed the checkpoint is. Merged, it takes in the stubs of the recent part as well.
    pub(crate) level: CheckpointLevel,
    /// Whether user messages of the recent part are cut.
    pub(crate) fold_user: bool,
    /// Whether there is a checkpoint.
    pub(crate) checkpoint: bool,
}

impl Pressure {
    /// None: the main plan.
    pub(crate) const NONE: Self = Self {
        tail: 1.0,
        results: false,
        inputs: false,
        stubs: false,
        level: CheckpointLevel::Detailed,
        fold_user: false,
        checkpoint: true,
    };
    /// The last resort: as many of the newest messages as fit, and no checkpoint.
    pub(crate) const LAST: Self = Self { checkpoint: false, ..Self::NONE };

    /// Whether one checkpoint stands for all that does not stay word for word.
    pub(crate) fn merges(self) -> bool {
        self.checkpoint && self.level == CheckpointLevel::Merged
    }
}

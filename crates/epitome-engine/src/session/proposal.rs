//! A compression that could be applied, and what it is decided from.
//!
//! Invariant: data alone. Made by the proposing part of the turn, recorded by its compression.

use epitome_kernel::Eviction;
use epitome_types::hook::{Budgets, Common};
use epitome_types::{Actor, Compaction, EventKind, OpReport, Plan};

use super::watermark::WatermarkMove;
use crate::background::SummaryTasks;
use crate::limits::PromptBounds;
use crate::policy_runner::PolicyRunner;

/// What the policies said of a request before anything is decided.
pub(crate) struct PolicyContext {
    pub(crate) council: PolicyRunner,
    pub(crate) common: Common,
    pub(crate) held: PromptBounds,
    /// The same bounds, as policies read them.
    pub(crate) budgets: Budgets,
}

/// A compression that could be applied.
pub(crate) struct Proposal {
    pub(crate) epoch: Compaction,
    pub(super) departure: Eviction,
    pub(super) ops: Vec<OpReport>,
    /// What else happened with it.
    pub(super) beside: Vec<EventKind>,
    /// Where the watermark moves, and who moves it.
    pub(super) moved: Option<(WatermarkMove, Actor)>,
    /// What a model wrote of its summaries.
    pub(super) written: Vec<String>,
    /// Whether a restore point is made, where a policy said so.
    pub(super) snapshot: Option<bool>,
    /// The size that it aimed at, in tokens.
    pub(super) target: u64,
    /// Whether words of models take the place of extracts, and nothing else is done.
    pub(crate) rewords: bool,
    /// What models may write of it, where they write in the background.
    pub(crate) late: Option<PendingSummaries>,
}

/// What models may write of a plan.
pub(crate) struct PendingSummaries {
    /// The plan, in the places of the history.
    pub(super) plan: Plan,
    pub(super) tokens: [u64; 2],
    pub(super) assignment: SummaryTasks,
}

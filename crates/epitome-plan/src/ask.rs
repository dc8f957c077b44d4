//! What a plan in the making asks of its driver.
//!
//! Invariant: an ask says all that a summariser needs; it is answered with `PlanAssembly::answer`.

use epitome_kernel::types::{CheckpointLevel, Entry, EntryId, PartId, SummaryStyle};

use crate::outcome::FitOutcome;

/// What a plan in the making needs next.
#[derive(Debug)]
pub enum PlanStep<'t> {
    /// A summary; answered with [`crate::PlanAssembly::answer`].
    Summarize(SummaryRequest),
    /// Nothing: it is over.
    Done(FitOutcome<'t>),
}

/// A summary that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRequest {
    /// What it stands for.
    pub what: SummarySubject,
    /// How detailed it will be.
    pub level: CheckpointLevel,
    /// How it is worded.
    pub style: SummaryStyle,
    /// Which summariser of the chain, counted from 0.
    pub summarizer: usize,
    /// The entries that stay in the prompt, oldest first, as they will stand there; for a digest
    /// those that are pinned.
    pub kept: Vec<Entry>,
    /// The most the text may take, in the budget's unit.
    pub most: u64,
}

/// What a summary stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummarySubject {
    /// These entries, oldest first.
    Checkpoint(Vec<EntryId>),
    /// The text of this part.
    Digest(PartId),
}

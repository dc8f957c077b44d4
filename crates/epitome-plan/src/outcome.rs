//! What a run ends with.
//!
//! Invariant: a compressed outcome is within its budget, and every text that is missing from its
//! view is in its departure. Made by `Run`, read by the host.

use epitome_kernel::types::{
    Breakdown, Budget, CheckpointReport, How, Level, OffloadReport, Op, OpReport, Passage, Plan,
};

use crate::budget::{Floor, stalled};
use crate::departure::Leaving;
use crate::draft::{Draft, Ground};
use epitome_kernel::PlanError;
use epitome_kernel::View;
use epitome_kernel::{Departure, Measure};

/// The end of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome<'t> {
    /// The conversation is within its budget as it is.
    NothingToDo {
        /// Its size, in the budget's unit.
        size: u64,
    },
    /// A smaller, valid view.
    Compressed(Box<Compressed<'t>>),
    /// What cannot shrink exceeds the budget.
    CannotFit {
        /// The budget.
        budget: Budget,
        /// What cannot shrink.
        floor: Floor,
    },
    /// The kernel's own plan broke an invariant; nothing was changed.
    Refused(PlanError),
}

/// A compression, ready to be applied.
#[derive(Debug)]
pub struct Compressed<'t> {
    /// What is done.
    pub plan: Plan,
    /// What is sent.
    pub view: View<'t>,
    /// Size of the request before and after, in the budget's unit.
    pub size: [u64; 2],
    /// Tokens by category before and after.
    pub by: [Breakdown; 2],
    /// The operations, as reported.
    pub ops: Vec<OpReport>,
    /// The checkpoints now in the prompt.
    pub checkpoints: Vec<CheckpointReport>,
    /// Tool results that left the prompt or were cut.
    pub offloaded: Vec<OffloadReport>,
    /// What the store should keep.
    pub departure: Departure,
    /// Whether less was freed than the options ask for (SPEC 2.8).
    pub stalled: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// What is left to tell once a plan is settled.
pub(crate) struct Settled<'a, 't> {
    pub(crate) plan: Plan,
    pub(crate) view: View<'t>,
    pub(crate) size: u64,
    pub(crate) draft: &'a Draft,
    pub(crate) left: Vec<Passage>,
    pub(crate) warnings: Vec<String>,
}

impl<'t> Settled<'_, 't> {
    pub(crate) fn compressed(self, ground: &Ground<'_>) -> Compressed<'t> {
        let (thread, tokens, options) = (ground.thread, ground.tokens, ground.options);
        let before = ground.sizes.total();
        // A summariser cuts the pieces of what it was shown; where it cut none, the kernel does.
        let told_of: Vec<_> = match self.left.is_empty() {
            true => Vec::new(),
            false => self.draft.leaving(),
        };
        let passage_bytes = options.passages.then_some(options.passage_bytes);
        let leaving = Leaving::new(thread, tokens, passage_bytes, options.texts.line_chars);
        let cuts = &self.draft.cuts;
        let (departure, offloaded) = leaving.gather(&self.plan, cuts, self.left, &told_of);
        let mut was = Breakdown { tools: tokens.envelope(), ..Breakdown::default() };
        thread.entries().iter().for_each(|entry| tokens.add_to(&mut was, entry));
        Compressed {
            by: [was, self.view.breakdown(tokens)],
            ops: self.plan.ops.iter().map(|op| report(op, ground)).collect(),
            checkpoints: self.plan.ops.iter().filter_map(|op| checkpoint(op, ground)).collect(),
            stalled: stalled(before, self.size, options.minimum_gain),
            size: [before, self.size],
            plan: self.plan,
            view: self.view,
            offloaded,
            departure,
            warnings: self.warnings,
        }
    }
}

fn report(op: &Op, ground: &Ground<'_>) -> OpReport {
    let tokens = ground.tokens;
    let (name, entries, before, after, reason) = match op {
        Op::Replace { part, with, how } => {
            let name = match how {
                How::Digest => "digest",
                How::Offload => "offload",
                How::Mask => "mask",
                How::TruncateInput => "truncate_input",
                How::Cut => "cut",
            };
            let after = tokens.gauge().size(with);
            (name, vec![part.entry], tokens.part(*part), after, "too large for the recent part")
        }
        Op::Drop { entries } => {
            let before = tokens.sum(entries.iter().copied());
            ("drop", entries.clone(), before, 0, "no room for a summary")
        }
        Op::Insert { text, .. } => {
            ("insert", Vec::new(), 0, tokens.gauge().message(text), "a note")
        }
        Op::Summarize(checkpoint) => {
            let before = tokens.sum(checkpoint.covers.iter().copied());
            let after = tokens.gauge().message(&checkpoint.text);
            let reason = match checkpoint.level {
                Level::Merged => "too large to be cut",
                _ => "older than the recent part",
            };
            ("summarize", checkpoint.covers.clone(), before, after, reason)
        }
    };
    OpReport {
        op: name,
        entries: entries.iter().map(ToString::to_string).collect(),
        tokens_before: before,
        tokens_after: after,
        reason: reason.to_owned(),
        policy: ground.options.policy.clone(),
        hook: ground.options.hook.clone(),
    }
}

fn checkpoint(op: &Op, ground: &Ground<'_>) -> Option<CheckpointReport> {
    let Op::Summarize(checkpoint) = op else { return None };
    Some(CheckpointReport {
        id: checkpoint.id.to_string(),
        level: checkpoint.level.number(),
        tokens: ground.tokens.gauge().message(&checkpoint.text),
        covers: checkpoint.covers.iter().map(ToString::to_string).collect(),
    })
}

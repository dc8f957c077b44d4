//! What a plan in the making ends with.
//!
//! Invariant: a compressed outcome is within its budget, and every text that is missing from its
//! view is in its departure. Made by the planner, read by the host.

use std::collections::BTreeSet;

use epitome_kernel::types::{
    Budget, CheckpointLevel, CheckpointReport, Entry, EntryId, EventKind, OffloadReport, Op,
    OpReport, PartId, Plan, ReplaceMethod, TokenBreakdown,
};
use epitome_kernel::{Eviction, PlanError, Thread, ThreadSizes, View};

use crate::budget::{PromptFloor, frees_too_little};
use crate::eviction::{EvictionCollector, GatheredEviction, Wanted};
use crate::files::{self, LeftFile};
use crate::ground::PlanGround;
use crate::kept;
use crate::leaving::copied;
use crate::options::CompressOptions;
use crate::parts::PlanParts;

/// The end of a plan in the making.
#[derive(Debug)]
#[non_exhaustive]
pub enum FitOutcome<'t> {
    /// The conversation is within its budget as it is.
    NothingToDo {
        /// Its size, in the budget's unit.
        size: u64,
    },
    /// A smaller, valid view.
    Compressed(Box<PlannedCompression<'t>>),
    /// What cannot shrink exceeds the budget.
    CannotFit {
        /// The budget.
        budget: Budget,
        /// What cannot shrink.
        floor: PromptFloor,
    },
    /// What was ordered leaves more than the budget.
    Missed {
        /// What it leaves, in the budget's unit.
        size: u64,
    },
    /// The plan broke an invariant; nothing was changed.
    Refused(PlanError),
}

/// A compression, ready to be applied.
#[derive(Debug)]
pub struct PlannedCompression<'t> {
    /// What is done.
    pub plan: Plan,
    /// What is sent.
    pub view: View<'t>,
    /// Size of the request before and after, in the budget's unit.
    pub size: [u64; 2],
    /// Tokens by category before and after.
    pub by: [TokenBreakdown; 2],
    /// The operations, as reported.
    pub ops: Vec<OpReport>,
    /// The checkpoints now in the prompt.
    pub checkpoints: Vec<CheckpointReport>,
    /// Tool results that left the prompt or were cut.
    pub offloaded: Vec<OffloadReport>,
    /// What the store should keep.
    pub departure: Eviction,
    /// Whether less was freed than the options ask for (RULES 8).
    pub stalled: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What happened to checkpoints that stood there before.
    pub events: Vec<EventKind>,
    /// The files whose newest copies left, since no prompt would hold them.
    pub files: Vec<LeftFile>,
}

/// A plan that was applied, and what it was made from.
pub(crate) struct AppliedPlan<'a> {
    pub(crate) ground: PlanGround<'a>,
    pub(crate) parts: PlanParts,
    pub(crate) plan: Plan,
    /// What it leaves, in the budget's unit.
    pub(crate) size: u64,
    /// The entries that summarizers were shown who cut the pieces for search.
    pub(crate) told_of: BTreeSet<EntryId>,
}

impl AppliedPlan<'_> {
    pub(crate) fn compressed(self, view: View<'_>) -> PlannedCompression<'_> {
        let Self { ground, parts, plan, size, told_of } = self;
        let PlanGround { thread, options, tokens, .. } = ground;
        let before = ground.sizes.total();
        let wanted = Wanted {
            originals: options.originals,
            passage_bytes: options.passages.then_some(options.passage_bytes),
            line_chars: options.texts.line_chars,
        };
        let leaving = EvictionCollector::new(thread, tokens, wanted);
        let state = parts.state.unwrap_or_default();
        let (mut told, mut events) = (Vec::new(), Vec::new());
        events.extend(kept::without_room(&state.unkept));
        for mut one in parts.worded {
            told.append(&mut one.left);
            events.extend(one.event);
        }
        let left = leaving.gather(&plan, parts.cuts, told, &told_of);
        let GatheredEviction { departure, texts, offloaded } = left;
        let departure = Eviction { blobs: copied(texts, thread), ..departure };
        let mut was = TokenBreakdown { tools: tokens.envelope(), ..TokenBreakdown::default() };
        thread.entries().iter().for_each(|entry| tokens.add_to(&mut was, entry));
        PlannedCompression {
            by: [was, view.breakdown(tokens)],
            ops: plan
                .ops
                .iter()
                .map(|op| keeping(report(op, thread, tokens, options), state.lines))
                .collect(),
            checkpoints: plan.ops.iter().filter_map(|op| checkpoint(op, tokens)).collect(),
            stalled: frees_too_little(before, size, options.minimum_gain),
            size: [before, size],
            files: files::left(thread, &plan, tokens),
            plan,
            view,
            offloaded,
            departure,
            warnings: parts.warnings,
            events,
        }
    }
}

/// What an op is called that states the work.
const STATE: &str = "state";

/// Why notes of a client leave that are stale.
const STALE: &str = "what a newer note states anew";

/// Why pieces of texts leave that are copies of files.
const STALE_FILES: &str = "what a newer copy states anew";

/// What an op did, before it is said whose it is.
struct Effect {
    name: &'static str,
    entries: Vec<EntryId>,
    /// Tokens before and after.
    tokens: [u64; 2],
    reason: &'static str,
}

fn report(
    op: &Op,
    thread: &Thread,
    tokens: &ThreadSizes<'_>,
    options: &CompressOptions,
) -> OpReport {
    let Effect { name, entries, tokens: [before, after], reason } = effect(op, thread, tokens);
    OpReport {
        op: name,
        entries: entries.iter().map(ToString::to_string).collect(),
        tokens_before: before,
        tokens_after: after,
        reason: reason.to_owned(),
        policy: options.policy.clone(),
        hook: options.hook.clone(),
        line: None,
        model: match op {
            Op::Summarize(checkpoint) => checkpoint.model.clone(),
            _ => None,
        },
    }
}

/// The report of an op, credited to the profile where it states lines that `keep` names.
/// Whether an operation, as it is reported, states lines that are kept.
pub fn states_lines(report: &OpReport) -> bool {
    report.op == STATE && report.hook == kept::KEEP
}

fn keeping(report: OpReport, lines: usize) -> OpReport {
    if report.op != STATE || lines == 0 {
        return report;
    }
    let s = if lines == 1 { "" } else { "s" };
    let reason = format!("{}, with {lines} line{s} that the profile keeps", report.reason);
    OpReport { reason, policy: kept::PROFILE.to_owned(), hook: kept::KEEP.to_owned(), ..report }
}

fn effect(op: &Op, thread: &Thread, tokens: &ThreadSizes<'_>) -> Effect {
    let (entries, tokens, reason) = match op {
        Op::Replace { part, with, how } => {
            let reason = match how {
                ReplaceMethod::TruncateInput => "what it wrote is on disk",
                _ if thread.without_stale_files(*part).as_ref() == Some(with) => STALE_FILES,
                _ => "too large for the recent part",
            };
            let sizes = [tokens.part(*part), tokens.rewritten(thread, *part, with)];
            (vec![part.entry], sizes, reason)
        }
        Op::Drop { entries } => {
            let before = tokens.sum(entries.iter().copied());
            let mut parts = entries.iter().filter_map(|id| thread.entry(*id)).flat_map(ids);
            let reason = match parts.all(|part| thread.is_stale(part)) {
                true => STALE,
                false => "no room for a summary",
            };
            (entries.clone(), [before, 0], reason)
        }
        Op::Strip { parts } => {
            let gone = parts.iter().flat_map(|&part| thread.with_inner(part));
            let before = gone.map(|part| tokens.part(part)).sum();
            let mut entries: Vec<_> = parts.iter().map(|part| part.entry).collect();
            entries.dedup();
            let reason = match parts.iter().all(|part| thread.is_stale(*part)) {
                true => STALE,
                false => "tool calls and results, without what was said",
            };
            (entries, [before, 0], reason)
        }
        Op::Unbind { replies } => {
            let known = replies.iter().filter_map(|reply| thread.entry(reply.entry));
            let before = known.flat_map(|entry| entry.thoughts()).map(|part| tokens.part(part));
            let entries = replies.iter().map(|reply| reply.entry).collect();
            (entries, [before.sum(), 0], "reasoning that is bound to the prompt before the change")
        }
        Op::State { text, .. } => {
            (Vec::new(), [0, tokens.gauge().message(text)], "the state of the work")
        }
        Op::Insert { text, .. } => (Vec::new(), [0, tokens.gauge().message(text)], "a note"),
        Op::Summarize(checkpoint) => {
            let before = tokens.sum(checkpoint.covers.iter().copied());
            let reason = match checkpoint.level {
                CheckpointLevel::Merged => "too large to be cut",
                _ => "older than the recent part",
            };
            let sizes = [before, tokens.gauge().message(&checkpoint.text)];
            (checkpoint.covers.clone(), sizes, reason)
        }
    };
    Effect { name: name(op), entries, tokens, reason }
}

fn ids(entry: &Entry) -> impl Iterator<Item = PartId> {
    (0..entry.parts.len() as u32).map(|part| PartId { entry: entry.id, part })
}

fn name(op: &Op) -> &'static str {
    match op {
        Op::Replace { how: ReplaceMethod::Digest, .. } => "digest",
        Op::Replace { how: ReplaceMethod::Offload, .. } => "offload",
        Op::Replace { how: ReplaceMethod::Mask, .. } => "mask",
        Op::Replace { how: ReplaceMethod::TruncateInput, .. } => "truncate_input",
        Op::Replace { how: ReplaceMethod::Cut, .. } => "cut",
        Op::Replace { how: ReplaceMethod::Append, .. } => "append",
        Op::Drop { .. } => "drop",
        Op::Strip { .. } => "strip",
        Op::Unbind { .. } => "unbind",
        Op::State { .. } => STATE,
        Op::Insert { .. } => "insert",
        Op::Summarize(_) => "summarize",
    }
}

fn checkpoint(op: &Op, tokens: &ThreadSizes<'_>) -> Option<CheckpointReport> {
    let Op::Summarize(checkpoint) = op else { return None };
    Some(CheckpointReport {
        id: checkpoint.id.to_string(),
        level: checkpoint.level.number(),
        tokens: tokens.gauge().message(&checkpoint.text),
        covers: checkpoint.covers.iter().map(ToString::to_string).collect(),
    })
}

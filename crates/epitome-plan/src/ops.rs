//! What the ops of a plan take out, put in and touch.
//!
//! Invariant: each question to an op is answered in one place. Called by all that read plans.

use std::collections::BTreeSet;

use epitome_kernel::types::{Checkpoint, EntryId, Op};

/// The entries that ops take out.
pub(crate) fn leaving<'o>(ops: impl IntoIterator<Item = &'o Op>) -> BTreeSet<EntryId> {
    let gone = ops.into_iter().flat_map(|op| match op {
        Op::Summarize(one) => &one.covers[..],
        Op::Drop { entries } => entries,
        _ => &[],
    });
    gone.copied().collect()
}

/// The checkpoints that ops put in.
pub(crate) fn checkpoints<'o>(
    ops: impl IntoIterator<Item = &'o Op>,
) -> impl Iterator<Item = &'o Checkpoint> {
    ops.into_iter().filter_map(|op| match op {
        Op::Summarize(one) => Some(one),
        _ => None,
    })
}

/// Where an op stands in the conversation.
pub(crate) fn place(op: &Op) -> EntryId {
    let first = match op {
        Op::Replace { part, .. } => Some(part.entry),
        Op::Drop { entries } => entries.first().copied(),
        Op::Strip { parts } => parts.first().map(|part| part.entry),
        Op::Insert { after, .. } | Op::State { after, .. } => *after,
        Op::Summarize(checkpoint) => checkpoint.covers.first().copied(),
        Op::Unbind { replies } => replies.first().map(|reply| reply.entry),
    };
    first.unwrap_or(EntryId(0))
}

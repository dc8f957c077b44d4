//! What a plan takes out before all else: notes of clients that newer ones state anew (RULES 16).
//!
//! Invariant: no plan says of them what it says of talk. They leave without a word in their place,
//! and one that cannot leave alone leaves with what is summed up around it. Called where plans are
//! put together.

use std::collections::BTreeSet;

use epitome_kernel::types::{EntryId, Op, PartId};
use epitome_kernel::{StrippedExchange, Thread};

use crate::options::{CompressOptions, newest_from};

/// The notes that leave, but for those in messages that are to be left alone.
pub(crate) fn restated(thread: &Thread, options: &CompressOptions) -> StrippedExchange {
    thread.restated(newest_from(thread, options.keep_recent_messages))
}

/// The ops that take notes out, where other ops are done as well.
pub(crate) fn ops(gone: &StrippedExchange, others: &[Op]) -> Vec<Op> {
    let (mut entries, mut parts): (BTreeSet<EntryId>, BTreeSet<PartId>) = Default::default();
    for op in others {
        match op {
            Op::Replace { part, .. } => drop(parts.insert(*part)),
            Op::Drop { entries: gone } => entries.extend(gone),
            Op::Summarize(one) => entries.extend(&one.covers),
            Op::Strip { parts } => entries.extend(parts.iter().map(|part| part.entry)),
            Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => {}
        }
    }
    let touched: BTreeSet<_> = parts.iter().map(|part| part.entry).collect();
    let whole = gone.entries.iter().filter(|id| !entries.contains(id) && !touched.contains(id));
    let whole: Vec<_> = whole.copied().collect();
    let alone = |part: &&PartId| !entries.contains(&part.entry) && !parts.contains(part);
    let parts: Vec<_> = gone.parts.iter().filter(alone).copied().collect();
    let drop = (!whole.is_empty()).then_some(Op::Drop { entries: whole });
    drop.into_iter().chain((!parts.is_empty()).then_some(Op::Strip { parts })).collect()
}

//! What a plan takes out before all else: notes of clients and copies of files that newer ones state
//! anew (RULES 16).
//!
//! Invariant: no plan says of them what it says of talk. They leave without a word in their place,
//! and one that cannot leave alone leaves with what is summed up around it. Called where plans are
//! put together.

use std::collections::BTreeSet;

use epitome_kernel::types::{EntryId, Op, PartId, ReplaceMethod};
use epitome_kernel::{StrippedExchange, Thread, ThreadSizes};

use crate::options::{CompressOptions, newest_from};

/// The notes and copies of files that leave, but for those in messages that are to be left alone,
/// and those of which too little leaves.
pub(crate) fn restated(
    thread: &Thread,
    options: &CompressOptions,
    sizes: &ThreadSizes<'_>,
) -> StrippedExchange {
    let mut gone = thread.restated(newest_from(thread, options.keep_recent_messages));
    gone.texts.retain(|it| sizes.rewritten(thread, it.part, &it.with) < sizes.part(it.part));
    gone
}

/// The ops that take them out, where other ops are done as well.
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
    let strip = (!parts.is_empty()).then_some(Op::Strip { parts });
    let texts = gone
        .texts
        .iter()
        .filter(|it| !entries.contains(&it.part.entry) && !touched.contains(&it.part.entry));
    let how = ReplaceMethod::Cut;
    let shorter = texts.map(|it| Op::Replace { part: it.part, with: it.with.clone(), how });
    drop.into_iter().chain(strip).chain(shorter).collect()
}

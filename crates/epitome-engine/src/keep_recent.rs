//! The newest messages, where somebody says how many of them are left alone.
//!
//! Invariant: every policy is told not to touch them, whichever it is; a budget that has no room for
//! them comes first, and then it is told how many stay. Called where plans are made.

use epitome_kernel::Thread;
use epitome_plan::{CompressOptions, newest_from};
use epitome_types::hook::Columns;
use epitome_types::{EventKind, Op, Plan};

/// Marks so many of the newest messages as ones that no policy touches, and what belongs to one
/// exchange with the oldest of them.
pub(crate) fn leave_alone(columns: &mut Columns, thread: &Thread, messages: Option<usize>) {
    columns.pinned[newest_from(thread, messages)..].fill(true);
}

/// What is told where a plan touches some of them.
pub(crate) fn touched(
    thread: &Thread,
    plan: &Plan,
    options: &CompressOptions,
) -> Option<EventKind> {
    let count = thread.entries().len();
    let wished = options.keep_recent_messages?.min(count);
    let first_whole = plan.ops.iter().filter_map(newest_of).max().map_or(0, |last| last + 1);
    let stay = count - first_whole;
    (stay < wished).then(|| EventKind::PolicyWarning {
        policy: options.policy.clone(),
        text: format!(
            "{stay} of the newest {wished} messages stay as they are; there is no room for more"
        ),
        level: None,
    })
}

/// The place of the newest message of which an op takes something.
fn newest_of(op: &Op) -> Option<usize> {
    let newest = match op {
        Op::Replace { part, .. } => Some(part.entry),
        Op::Drop { entries } => entries.iter().max().copied(),
        Op::Strip { parts } => parts.iter().map(|part| part.entry).max(),
        Op::Summarize(checkpoint) => checkpoint.covers.iter().max().copied(),
        Op::Insert { .. } | Op::State { .. } | Op::Unbind { .. } => None,
    };
    newest.map(|id| id.index())
}

//! Which reasoning a plan takes out with what it changes: all that was said behind the change.
//!
//! The newest models bind what they thought to the whole prompt before it: system prompt, tools and
//! every message. Behind a change their provider refuses it, or drops it without a word, and all that
//! follows it (RULES 139 and 140). So there are these rules:
//!
//! - All reasoning of the replies that stay behind the first change leaves with the plan that makes
//!   the change, and stays out while that plan is in force. What is thought afterwards is bound to the
//!   prompt as it is sent then, and stays until the next plan.
//! - That holds within a tool loop too. Models that bind think adaptively only, and there no reply has
//!   to begin with reasoning; what no reply may do is to keep a part of it (RULES 107), so of a
//!   reply all leaves or none.
//! - A request that grants its model a budget to think is for an older model, which binds nothing and
//!   wants the reasoning of a loop back: there, and where a model is known to bind nothing, all stays.
//!   The host says which case it is ([`crate::CompressOptions::unbind`]).
//!
//! Invariant: a plan that changes nothing before a reply takes no reasoning from it. Called when a
//! plan is put together.

use epitome_kernel::Thread;
use epitome_kernel::types::{BoundReply, EntryId, EntryKey, Op};

use crate::ops::leaving;

/// The op that takes out what is bound to a prompt that these ops change.
pub(crate) fn op(thread: &Thread, ops: &[Op]) -> Option<Op> {
    // What no model is shown goes as it came (RULES 125).
    let first = ops.iter().filter_map(first_changed).min()?.max(thread.shown_from());
    let gone = leaving(ops);
    let behind = thread.entries().iter().skip(first).filter(|entry| !gone.contains(&entry.id));
    let bound = behind.filter(|entry| entry.thoughts().next().is_some());
    let reply = |entry| BoundReply { key: EntryKey::for_entry(entry), entry: entry.id };
    let replies: Vec<_> = bound.map(reply).collect();
    (!replies.is_empty()).then_some(Op::Unbind { replies })
}

/// The place of the first message that an op changes, or stands before.
fn first_changed(op: &Op) -> Option<usize> {
    let behind = |after: Option<EntryId>| after.map_or(0, |id| id.index() + 1);
    match op {
        Op::Replace { part, .. } => Some(part.entry.index()),
        Op::Drop { entries } => entries.first().map(|id| id.index()),
        Op::Strip { parts } => parts.first().map(|part| part.entry.index()),
        Op::Insert { after, .. } | Op::State { after, .. } => Some(behind(*after)),
        Op::Summarize(one) if one.stand.front => Some(0),
        Op::Summarize(one) => one.covers.first().map(|id| id.index()),
        Op::Unbind { .. } => None,
    }
}

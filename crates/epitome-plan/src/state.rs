//! The state of the work in a plan: where it stands, and what a summariser is told of it.
//!
//! Invariant: a plan that takes something out holds the state that its options give, once; what an
//! older plan said of it never stays. Called when a plan is put together.

use epitome_kernel::Thread;
use epitome_kernel::types::{Entry, EntryId, Op, Part, PartBody, Role, Speaker};

use crate::ops::checkpoints;

/// What it is called where it is named as something that cannot shrink.
pub(crate) const NAME: &str = "the state of the work";

/// The op that puts the state behind what the other ops take out.
pub(crate) fn op(thread: &Thread, text: Option<String>, ops: &[Op]) -> Option<Op> {
    Some(Op::State { after: place(thread, ops), text: text? })
}

/// The state as a message, beside those that stay: what a summary need not say again.
pub(crate) fn entry(thread: &Thread, text: Option<String>) -> Option<Entry> {
    let text = text?;
    Some(Entry {
        id: EntryId(thread.entries().len() as u32),
        role: Role::User,
        bytes: text.len() as u32,
        parts: vec![Part {
            body: PartBody::Text(text),
            speaker: Speaker::Harness,
            within: None,
            known_as: None,
            note: None,
            files: Box::default(),
        }],
        at: None,
    })
}

/// Behind the newest checkpoint of what came before the last message that a person typed, else behind the
/// newest; without one, behind the newest exchange that something was taken
/// out of and that nothing pins, so that it stands between no call and its result.
fn place(thread: &Thread, ops: &[Op]) -> Option<EntryId> {
    let behind = || checkpoints(ops).filter_map(|one| one.covers.last().copied());
    let before_typed = || behind().filter(|last| Some(*last) < thread.typed()).max();
    if let Some(newest) = before_typed().or_else(|| behind().max()) {
        return Some(newest);
    }
    let touched = ops.iter().filter_map(|op| match op {
        Op::Replace { part, .. } => Some(part.entry),
        Op::Drop { entries } => entries.last().copied(),
        Op::Strip { parts } => parts.last().map(|part| part.entry),
        _ => None,
    });
    let last = touched.max().unwrap_or(EntryId(0));
    let first = |place: usize| EntryId(place as u32);
    let free = |run: &std::ops::Range<usize>| thread.pinned(first(run.start)).is_none();
    let runs = thread.exchanges().iter().map(|exchange| exchange.entries.clone());
    let before = runs.take_while(|run| run.start <= last.index()).filter(free).last();
    let opening = thread.entries().iter().take_while(|entry| entry.role == Role::System).last();
    before.map(|run| first(run.end - 1)).or_else(|| opening.map(|entry| entry.id))
}

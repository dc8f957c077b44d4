//! From a plan to a view.
//!
//! Invariant: all of a plan is applied or none of it (RULES 7); the thread is never changed.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{BoundReply, EntryKey, Op, Plan, Role};

use crate::check::{PlanError, check, checked};
use crate::size::ThreadSizes;
use crate::thread::Thread;
use crate::view::{InsertedKind, InsertedMessage, View};

/// Applies a plan to a thread; `sizes` are the thread's, in the unit that must shrink.
///
/// # Errors
///
/// When the plan breaks an invariant; see [`check`].
pub fn apply<'t>(
    thread: &'t Thread,
    sizes: &ThreadSizes<'_>,
    plan: &Plan,
) -> Result<View<'t>, PlanError> {
    check(thread, sizes, plan)?;
    Ok(placed(thread, plan))
}

/// The view of a thread that is sent as it is.
pub fn identity(thread: &Thread) -> View<'_> {
    placed(thread, &Plan::default())
}

/// Applies a plan that was applied before, to a thread that holds the same run.
///
/// # Errors
///
/// When the plan breaks an invariant by now: an entry that it takes was pinned since.
pub(crate) fn reapply<'t>(thread: &'t Thread, plan: &Plan) -> Result<View<'t>, PlanError> {
    checked(thread, None, plan)?;
    Ok(placed(thread, plan))
}

fn placed<'t>(thread: &'t Thread, plan: &Plan) -> View<'t> {
    let mut view = View {
        thread,
        kept: vec![true; thread.entries().len()],
        rewrites: BTreeMap::new(),
        stripped: BTreeSet::new(),
        inserts: Vec::new(),
    };
    let system = thread.entries().iter().take_while(|entry| entry.role == Role::System);
    // What stands before the block that its provider made of it is shown to no model (RULES 125).
    let open = thread.open_from();
    let front = system.count().max(open);
    for op in &plan.ops {
        match op {
            Op::Replace { part, with, .. } => {
                view.rewrites.insert(*part, with.clone());
            }
            Op::Drop { entries } => entries.iter().for_each(|id| view.kept[id.index()] = false),
            Op::Strip { parts } => view.stripped.extend(parts),
            // Once it is known what stays.
            Op::Unbind { .. } => {}
            Op::Insert { after, role, text } => {
                view.inserts.push(InsertedMessage::new(*after, *role, text, InsertedKind::Note));
            }
            Op::State { after, text } => {
                view.inserts.push(InsertedMessage::new(
                    *after,
                    Role::User,
                    text,
                    InsertedKind::State,
                ));
            }
            Op::Summarize(checkpoint) => {
                checkpoint.covers.iter().for_each(|id| view.kept[id.index()] = false);
                view.inserts.push(InsertedMessage::checkpoint(checkpoint, front));
            }
        }
    }
    if plan.ops.iter().any(|op| matches!(op, Op::Summarize(one) if one.stand.front)) {
        let state = view.inserts.iter_mut().find(|inserted| inserted.kind == InsertedKind::State);
        state.into_iter().for_each(|state| state.place = front);
    }
    let unbound = plan.ops.iter().filter_map(|op| match op {
        Op::Unbind { replies } => Some(replies),
        _ => None,
    });
    unbound.flatten().for_each(|reply| unbind(&mut view, *reply));
    view.inserts.iter_mut().for_each(|inserted| inserted.place = inserted.place.max(open));
    view.inserts.sort_by_key(InsertedMessage::order);
    lead_with_user(&mut view);
    view
}

/// Takes the reasoning out of a reply that says what it said when it was bound, or was erased since.
fn unbind(view: &mut View<'_>, reply: BoundReply) {
    let entry = view.thread.entry(reply.entry).filter(|_| view.keeps(reply.entry));
    if entry.is_some_and(|it| it.has_erased_thoughts() || EntryKey::for_entry(it) == reply.key) {
        view.unthink(reply.entry);
    }
}

/// Some providers refuse a conversation that begins with the assistant (RULES 106). Where the plan
/// took every message before a pinned one of the assistant, the first checkpoint leads instead, or
/// else the state of the work.
fn lead_with_user(view: &mut View<'_>) {
    let entries = view.thread.entries();
    let Some(opening) = entries.iter().position(|entry| entry.role != Role::System) else { return };
    let first = (opening..entries.len()).find(|&place| view.kept[place]);
    let Some(first) = first else { return };
    let turned = entries[opening].role == Role::User && entries[first].role != Role::User;
    if !turned || view.inserts.iter().any(|inserted| inserted.place <= first) {
        return;
    }
    if let Some(ours) = view.inserts.iter_mut().find(|inserted| inserted.kind != InsertedKind::Note)
    {
        ours.place = first;
        view.inserts.sort_by_key(InsertedMessage::order);
    }
}

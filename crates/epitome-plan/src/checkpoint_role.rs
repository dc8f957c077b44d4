//! Who says a checkpoint, settled once for as long as it stands.
//!
//! Invariant: no conversation ends with a message of the assistant that the assistant did not say
//! (RULES 106), and what is sent of a checkpoint does not change when somebody goes on (RULES 10).
//! Called when a plan is put together.

use epitome_kernel::Thread;
use epitome_kernel::types::{EntryId, Op, Role};

use crate::ops::leaving;

/// Has the user say the checkpoints behind which nothing stays.
pub(crate) fn settle(thread: &Thread, ops: &mut [Op]) {
    let gone = leaving(&*ops);
    let stays = |id: &EntryId| !gone.contains(id);
    let talk = thread.entries().iter().rev().filter(|entry| entry.role != Role::System);
    let newest = talk.map(|entry| entry.id).find(stays);
    for op in ops {
        let Op::Summarize(one) = op else { continue };
        let is_behind = |newest| one.stand.front || one.covers.last() < Some(&newest);
        one.stand.assistant &= newest.is_some_and(is_behind);
    }
}

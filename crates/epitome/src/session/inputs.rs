//! Which calls wrote what is still on disk as they wrote it (SPEC 7.2).
//!
//! Invariant: what cannot be looked at is not on disk. Asked only where a plan is made.

use epitome_extract::ledger::{Written, is_on_disk, written};
use epitome_kernel::{Thread, Workspace};
use epitome_types::hook::Columns;

/// Asks the workspace of each call that wrote files, succeeded, and is still sent whole.
pub(crate) fn look_up(columns: &mut Columns, thread: &Thread, workspace: &dyn Workspace) {
    let holds = |one: &Written| match one.whole {
        true => workspace.persisted(&one.path, one.text.as_bytes()),
        false => workspace.holds(&one.path, &one.text),
    };
    for (entry, inputs) in thread.entries().iter().zip(&mut columns.inputs) {
        let calls: Vec<_> = entry.calls().collect();
        for input in inputs.iter_mut().filter(|input| input.ok && input.tokens > 0) {
            let call = (input.call as usize).checked_sub(1).and_then(|at| calls.get(at));
            input.persisted = call.is_some_and(|call| is_on_disk(&written(call), holds));
        }
    }
}

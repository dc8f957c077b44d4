//! Arguments of calls that wrote files (RULES 47): what of it is still on disk as it was written,
//! and what a plan truncates.
//!
//! Invariant: what cannot be looked at is not on disk. Asked only where a plan is made.

use epitome_extract::ledger::{WrittenFile, is_on_disk, written};
use epitome_kernel::{Thread, ThreadSizes, Workspace};
use epitome_types::hook::Columns;
use epitome_types::{EventKind, Op, PartBody, Plan, ReplaceMethod};

use crate::planning::PlanRequest;

/// Asks the workspace of each call that wrote files, succeeded, and is still sent whole.
pub(crate) fn look_up(columns: &mut Columns, thread: &Thread, workspace: &dyn Workspace) {
    let holds = |one: &WrittenFile| match one.whole {
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

/// What a plan truncates that was not truncated before.
pub(crate) fn truncated(
    plan: &Plan,
    planning: &PlanRequest<'_, '_>,
    tokens: &ThreadSizes<'_>,
) -> Vec<EventKind> {
    let cuts = |op: &Op| match op {
        Op::Replace { part, how: ReplaceMethod::TruncateInput, .. } => Some(*part),
        _ => None,
    };
    let before: Vec<_> = planning.standing.plan.ops.iter().filter_map(cuts).collect();
    let news = plan.ops.iter().filter_map(|op| match op {
        Op::Replace { with, .. } => Some((cuts(op).filter(|part| !before.contains(part))?, with)),
        _ => None,
    });
    let thread = planning.history.thread;
    let told = news.map(|(part, with)| {
        let tool = match thread.part(part).map(|part| &part.body) {
            Some(PartBody::Call(call)) => call.tool.clone(),
            _ => String::new(),
        };
        let saved = tokens.part(part).saturating_sub(tokens.rewritten(thread, part, with));
        EventKind::ToolInputTruncated { entry: part.entry.to_string(), tool, saved }
    });
    told.collect()
}

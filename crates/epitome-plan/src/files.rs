//! Copies of files that no prompt would hold: which leave, and what is said of them (RULES 16).
//!
//! Invariant: a copy leaves whole, with its path in what stands for it, and only where what cannot
//! shrink exceeds the window. Called by hosts before they plan, and where checkpoints are worded.

use std::collections::BTreeMap;

use epitome_kernel::types::{EntryId, Op, Plan};
use epitome_kernel::{Thread, ThreadSizes};

use crate::budget::prompt_floor;

/// The share of a window that is left for all else where files give way.
const ROOM: u64 = 8;

/// The share of a window that files leave free in any case: a first message of the user's side and
/// what stands for the talk take some of it.
const LEAST_ROOM: u64 = 16;

/// A file whose newest copy left the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftFile {
    /// Its path, as it was written there.
    pub path: String,
    /// Tokens of what left with it: the message that held it.
    pub tokens: u64,
}

/// What is to be done where files left.
pub const PASTE_AGAIN: &str = "paste them again where they are needed, or use a larger window";

/// The same thread where copies of files may leave, as many as have to for what cannot shrink to
/// fit into `most` beside a little talk, in the unit of the sizes: the oldest first, and those that the person names last
/// behind all others. `None` where all fit, or where none may leave.
pub fn let_go(thread: &Thread, sizes: &ThreadSizes<'_>, most: u64) -> Option<Thread> {
    let fresh = sizes.clone().without(&thread.restated(thread.entries().len()));
    let floor = prompt_floor(thread, &fresh, |part| fresh.part(part)).size;
    let files = thread.entries().iter().map(|entry| entry.id);
    let files: Vec<_> = files.filter(|id| thread.is_kept_for_files(*id)).collect();
    // In a small window the label that names what left takes more than a share of it.
    let label = 2 * sizes.gauge().message(&named(thread, &files));
    if floor + label.max(most / LEAST_ROOM) <= most {
        return None;
    }
    let asked = thread.typed().and_then(|id| thread.entry(id));
    let asked: String = asked.into_iter().flat_map(|entry| entry.texts()).collect();
    let is_named = |id: EntryId| {
        thread.files(id).any(|(_, copy)| {
            let name = copy.path.rsplit('/').next().unwrap_or_default();
            asked.contains(name)
        })
    };
    let (last, first): (Vec<_>, Vec<_>) = files.into_iter().partition(|id| is_named(*id));
    let wanted = (floor + label.max(most / ROOM)).saturating_sub(most);
    let mut freed = 0;
    let leaving = first.into_iter().chain(last).take_while(|id| {
        let is_wanted = freed < wanted;
        freed += fresh.entry(*id);
        is_wanted
    });
    let leaving: Vec<_> = leaving.collect();
    (!leaving.is_empty()).then(|| thread.letting_go(&leaving))
}

/// The files whose newest copies leave with a plan.
pub(crate) fn left(thread: &Thread, plan: &Plan, tokens: &ThreadSizes<'_>) -> Vec<LeftFile> {
    let covered = plan.ops.iter().flat_map(|op| match op {
        Op::Summarize(one) => &one.covers[..],
        _ => &[],
    });
    let mut files = BTreeMap::new();
    for id in covered {
        for (part, copy) in thread.files(*id) {
            *files.entry(&*copy.path).or_default() += tokens.part(part);
        }
    }
    let left = files.into_iter();
    left.map(|(path, tokens)| LeftFile { path: path.to_owned(), tokens }).collect()
}

/// A line that names the files whose newest copies leave with these entries; nothing where none do.
pub(crate) fn named(thread: &Thread, covers: &[EntryId]) -> String {
    let mut paths: Vec<_> =
        covers.iter().flat_map(|id| thread.files(*id)).map(|(_, copy)| &*copy.path).collect();
    paths.sort_unstable();
    paths.dedup();
    if paths.is_empty() {
        return String::new();
    }
    let paths = paths.join(", ");
    format!(
        "Files that left this conversation for want of room; ask for them where needed: {paths}\n"
    )
}

//! Copies of files that no prompt would hold: which leave, and what is said of them (RULES 16).
//!
//! Invariant: a copy leaves whole, with its path in what stands for it, and only where what cannot
//! shrink exceeds the window, or where it is old and has each compression free next to nothing. Called by hosts before they plan, and where checkpoints are worded.

use std::collections::BTreeMap;

use epitome_kernel::types::{Entry, EntryId, Op, Plan, Speaker};
use epitome_kernel::{Thread, ThreadSizes};

use crate::budget::prompt_floor;

/// The share of a window that is left for all else where files give way.
const ROOM: u64 = 8;

/// The share of a window that files leave free in any case: a first message of the user's side and
/// what stands for the talk take some of it.
const LEAST_ROOM: u64 = 16;

/// A compression that frees less than one part of so many has to be made again soon.
const LITTLE: u64 = 5;

/// The share of a window that old files make room for where the last compression freed little.
const ROOM_AGAIN: u64 = 2;

/// A file is old once people said something so often behind it: who still works on one has it sent
/// again, or asks about it.
const OLD: usize = 4;

/// Whether the next compression has to free more than one did, by the sizes before and after it.
pub fn freed_little([before, after]: [u64; 2]) -> bool {
    before.saturating_sub(after) < before / LITTLE
}

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
/// fit into `most` beside a little talk, in the unit of the sizes: the oldest first, and those that the
/// person names last behind all others. Where the last compression freed little (`again`), and another
/// one would, old files leave for a larger share. `None` where all stay, or where none may leave.
pub fn let_go(thread: &Thread, sizes: &ThreadSizes<'_>, most: u64, again: bool) -> Option<Thread> {
    let fresh = sizes.clone().without(&thread.restated(thread.entries().len()));
    let floor = prompt_floor(thread, &fresh, |part| fresh.part(part)).size;
    let files = thread.entries().iter().map(|entry| entry.id);
    let files: Vec<_> = files.filter(|id| thread.is_kept_for_files(*id)).collect();
    // In a small window the label that names what left takes more than a share of it.
    let label = 2 * sizes.gauge().message(&named(thread, &files));
    let fits = floor + label.max(most / LEAST_ROOM) <= most;
    let is_wide = !again || floor + most / ROOM_AGAIN <= most;
    if fits && is_wide {
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
    let wanted = |room: u64| (floor + room).saturating_sub(most);
    let forced = if fits { 0 } else { wanted(label.max(most / ROOM)) };
    let wished = if is_wide { 0 } else { wanted(label.max(most / ROOM_AGAIN)) };
    let old_before = old_before(thread);
    let mut freed = 0;
    let leaving = first.into_iter().chain(last).filter(|id| {
        let leaves = freed < forced || freed < wished && *id < old_before && !is_named(*id);
        freed += if leaves { fresh.entry(*id) } else { 0 };
        leaves
    });
    let leaving: Vec<_> = leaving.collect();
    (!leaving.is_empty()).then(|| thread.letting_go(&leaving))
}

/// The message behind which people said no more than a few things.
fn old_before(thread: &Thread) -> EntryId {
    let is_typed = |entry: &&Entry| {
        entry.parts.iter().any(|part| part.speaker == Speaker::Human && part.text().is_some())
    };
    let typed = thread.entries().iter().rev().filter(is_typed).nth(OLD - 1);
    typed.map_or(EntryId(0), |entry| entry.id)
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

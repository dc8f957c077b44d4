//! Copies of files in what was said: of each path the newest counts (RULES 16).
//!
//! Invariant: a copy that a newer one took the place of never counts again, however much is said
//! later. Called by the thread as it is built.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{Entry, EntryId, FileCopy, PartId, Role};

/// A copy by its part and its place among the copies of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CopyId {
    pub(crate) part: PartId,
    pub(crate) at: usize,
}

/// The copies of files in a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileCopies {
    /// The newest copy of each path, and what changed of it since.
    pub(crate) kept: BTreeSet<CopyId>,
    /// Those that a newer one takes the place of.
    pub(crate) stale: BTreeSet<CopyId>,
}

/// A copy with its text, while others are compared with it.
#[derive(Clone, Copy)]
struct ReadCopy<'e> {
    id: CopyId,
    copy: &'e FileCopy,
    text: &'e str,
}

impl FileCopies {
    /// The copies in entries, but for those in notes that newer ones state anew (`stale`): what a
    /// client states no more is no file of the chat.
    pub(crate) fn of(entries: &[Entry], stale: &BTreeSet<PartId>) -> Self {
        let mut copies = Self::default();
        // By the last name in the path: one copy may be named by more of its path than another.
        let mut newest: BTreeMap<&str, Vec<ReadCopy<'_>>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.role != Role::System) {
            for (part, said) in (0..).zip(&entry.parts) {
                let id = PartId { entry: entry.id, part };
                if stale.contains(&id) {
                    continue;
                }
                for (at, copy) in said.files.iter().enumerate() {
                    let text = said.text().and_then(|text| text.get(copy.body.clone()));
                    let Some(text) = text else { continue };
                    let name = copy.path.rsplit('/').next().unwrap_or_default();
                    let read = ReadCopy { id: CopyId { part: id, at }, copy, text };
                    copies.stale.extend(read.joins(newest.entry(name).or_default()));
                }
            }
        }
        copies.kept.extend(newest.into_values().flatten().map(|copy| copy.id));
        copies
    }

    /// The entries that hold a copy that counts.
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryId> {
        self.kept.iter().map(|copy| copy.part.entry)
    }

    /// The copies of these parts among others.
    pub(crate) fn within(
        of: &BTreeSet<CopyId>,
        first: PartId,
        last: PartId,
    ) -> impl Iterator<Item = &CopyId> {
        of.range(CopyId { part: first, at: 0 }..=CopyId { part: last, at: usize::MAX })
    }
}

impl<'e> ReadCopy<'e> {
    /// Adds a copy to those of its name that count; gives those that count no more. The first of one
    /// path is whole; what is much shorter than that, or says that it is a part, stands beside it.
    fn joins(self, known: &mut Vec<Self>) -> Vec<CopyId> {
        let same = |other: &Self| is_same_path(&self.copy.path, &other.copy.path);
        let base = known.iter().find(|other| same(other)).copied();
        let stands_for = |other: &Self| match base {
            Some(base) if !self.copy.partial && self.is_whole_beside(base) => same(other),
            Some(base) => same(other) && other.id != base.id && self.has_most_of(*other),
            None => false,
        };
        let older: Vec<_> = known.iter().filter(|other| stands_for(other)).collect();
        let older: Vec<_> = older.into_iter().map(|other| other.id).collect();
        known.retain(|other| !older.contains(&other.id));
        if base.is_some() || !self.copy.partial {
            known.push(self);
        }
        older
    }

    /// Whether it may be all of a file that another copy was all of: not much shorter, or with the
    /// same beginning and end.
    fn is_whole_beside(self, base: Self) -> bool {
        let (lines, all) = (u64::from(self.copy.lines), u64::from(base.copy.lines));
        let ends = |text: &'e str| {
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            let first = lines.next();
            (first, lines.next_back())
        };
        let near = self.copy.path == base.copy.path || self.has_most_of(base);
        near && (lines * 10 >= all * 7
            || lines * 10 >= all * 3 && ends(self.text) == ends(base.text))
    }

    /// Whether half of the lines of another copy stand in it.
    fn has_most_of(self, other: Self) -> bool {
        let own: BTreeSet<_> = self.text.lines().map(str::trim).collect();
        let lines = || other.text.lines().map(str::trim).filter(|line| !line.is_empty());
        let found = lines().filter(|line| own.contains(line)).count();
        found * 2 >= lines().count()
    }
}

/// Whether two paths may name one file: they are equal, or one ends with the other.
fn is_same_path(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() < other.len() { (other, one) } else { (one, other) };
    long.strip_suffix(short).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

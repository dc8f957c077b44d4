//! Copies of files in what was said: of each path the newest counts (RULES 16).
//!
//! Invariant: a copy that a newer one took the place of never counts again, however much is said
//! later. Called by the thread as it is built.

use std::collections::BTreeSet;

use epitome_types::{Entry, EntryId, PartId, Role};

use crate::read_copy::{CopyId, ReadCopy};

/// The copies of files in a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileCopies {
    /// The newest copy of each path, and what changed of it since.
    pub(crate) kept: BTreeSet<CopyId>,
    /// Those that a newer one takes the place of.
    pub(crate) stale: BTreeSet<CopyId>,
}

impl FileCopies {
    /// The copies in entries, but for those in notes that newer ones state anew (`stale`): what a
    /// client states no more is no file of the chat.
    pub(crate) fn of(entries: &[Entry], stale: &BTreeSet<PartId>) -> Self {
        let mut copies = Self::default();
        let mut newest = Vec::new();
        for entry in entries.iter().filter(|entry| entry.role != Role::System) {
            for (part, said) in (0..).zip(&entry.parts) {
                let id = PartId { entry: entry.id, part };
                if stale.contains(&id) {
                    continue;
                }
                for (at, copy) in said.files.iter().enumerate() {
                    let text = said.said().and_then(|text| text.get(copy.body.clone()));
                    let Some(text) = text else { continue };
                    let read = ReadCopy::new(CopyId { part: id, at }, copy, text, said.speaker);
                    copies.stale.extend(read.joins(&mut newest));
                }
            }
        }
        let counts = newest.into_iter().filter(|copy| copy.is_edited);
        copies.kept.extend(counts.map(|copy| copy.id));
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

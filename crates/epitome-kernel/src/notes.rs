//! The notes of clients in a conversation: what they state counts by its newest copy (RULES 16).
//!
//! Invariant: what is found of the end of a conversation is what is found of it in the whole, once
//! it is known what stands before it. Called by the thread as it is built.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{Entry, EntryId, Part, PartId, Role, Stays};

/// The most notes that stay because they are recent.
const MOST_RECENT: usize = 8;

/// The most that these take together, in bytes: an eighth of the smallest window that agents have.
const MOST_RECENT_BYTES: usize = 4096;

/// What stands before the entries of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// How many entries.
    pub entries: usize,
    /// How much of the system prompt is among them.
    pub block: SystemBlock,
}

/// How much of the first block of messages in the role of the system a history holds. That block is
/// the system prompt; what stands in that role behind it are notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemBlock {
    /// None of it.
    #[default]
    Missing,
    /// It is the end of the history; what follows in that role belongs to it.
    Open,
    /// All of it.
    Closed,
}

/// The notes of clients in a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// The newest of each subject that stays.
    pub(crate) kept: BTreeSet<PartId>,
    /// Those that a newer one takes the place of.
    pub(crate) stale: BTreeSet<PartId>,
    /// The entries in the role of the system that are notes: the first block of them is the system
    /// prompt, and so is what no client writes.
    pub(crate) entries: BTreeSet<EntryId>,
    /// What those are about that take the place of others that stay.
    pub(crate) subjects: BTreeSet<String>,
    /// How much of the system prompt there is behind these entries.
    pub(crate) block: SystemBlock,
}

impl Notes {
    /// `block` says how much of the system prompt stands before these entries.
    pub(crate) fn of(entries: &[Entry], block: SystemBlock) -> Self {
        let mut notes = Self { block, ..Self::default() };
        let mut newest: BTreeMap<&str, Newest> = BTreeMap::new();
        let mut recent = Vec::new();
        for entry in entries {
            let is_system = entry.role == Role::System;
            notes.block = notes.block.then(is_system);
            if notes.block == SystemBlock::Open {
                continue;
            }
            let is_note = |part: &Part| part.note.is_some();
            if is_system && entry.parts.iter().all(is_note) {
                notes.entries.insert(entry.id);
            }
            for (part, found) in (0..).zip(&entry.parts) {
                let Some(note) = &found.note else { continue };
                let id = PartId { entry: entry.id, part };
                for older in newest.entry(&note.subject).or_default().then(id, note.stays) {
                    notes.kept.remove(&older);
                    notes.stale.insert(older);
                }
                if note.stays != Stays::Nothing {
                    notes.kept.insert(id);
                }
                if note.stays == Stays::Recent {
                    recent.push((id, found.text().map_or(0, str::len)));
                }
            }
        }
        let stay = newest.into_iter().filter(|(_, newest)| newest.stays.is_some());
        notes.subjects = stay.map(|(subject, _)| subject.to_owned()).collect();
        notes.let_go(&recent);
        notes
    }

    /// Lets those notes go as talk does that are no longer recent. A note that is let go never stays
    /// again when more are said.
    fn let_go(&mut self, recent: &[(PartId, usize)]) {
        let (mut count, mut bytes) = (0, 0);
        for (id, len) in recent.iter().rev().filter(|(id, _)| !self.stale.contains(id)) {
            count += 1;
            bytes += len;
            if count > MOST_RECENT || bytes > MOST_RECENT_BYTES {
                self.kept.remove(id);
            }
        }
    }
}

/// The newest notes about one subject.
#[derive(Default)]
struct Newest {
    stays: Option<PartId>,
    passes: Option<PartId>,
}

impl Newest {
    /// Another note about it; gives those that it takes the place of.
    fn then(&mut self, id: PartId, stays: Stays) -> impl Iterator<Item = PartId> + use<> {
        let older = match stays {
            Stays::Nothing => [None, self.passes.replace(id)],
            Stays::Newest | Stays::Recent => [self.stays.replace(id), self.passes.take()],
        };
        older.into_iter().flatten()
    }
}

impl SystemBlock {
    /// The same behind one more entry.
    fn then(self, is_system: bool) -> Self {
        match (self, is_system) {
            (Self::Missing | Self::Open, true) => Self::Open,
            (Self::Missing, false) => Self::Missing,
            (Self::Open, false) | (Self::Closed, _) => Self::Closed,
        }
    }
}

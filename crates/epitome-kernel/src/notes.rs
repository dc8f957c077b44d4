//! The notes of clients in a conversation: what they state counts by its newest copy (SPEC 2.16).
//!
//! Invariant: what is found of the end of a conversation is what is found of it in the whole, once
//! it is known what stands before it. Called by the thread as it is built.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{Entry, EntryId, Part, PartId, Role};

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
    /// The newest of each subject, where it stays.
    pub(crate) kept: BTreeSet<PartId>,
    /// Those that a newer one takes the place of.
    pub(crate) stale: BTreeSet<PartId>,
    /// The entries in the role of the system that are notes: the first block of them is the system
    /// prompt, and so is what no client writes.
    pub(crate) entries: BTreeSet<EntryId>,
    /// What all of them are about.
    pub(crate) subjects: BTreeSet<String>,
    /// How much of the system prompt there is behind these entries.
    pub(crate) block: SystemBlock,
}

impl Notes {
    /// `block` says how much of the system prompt stands before these entries.
    pub(crate) fn of(entries: &[Entry], block: SystemBlock) -> Self {
        let mut notes = Self { block, ..Self::default() };
        let mut newest: BTreeMap<&str, PartId> = BTreeMap::new();
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
                if let Some(older) = newest.insert(&note.subject, id) {
                    notes.kept.remove(&older);
                    notes.stale.insert(older);
                }
                if note.stays {
                    notes.kept.insert(id);
                }
            }
        }
        notes.subjects = newest.into_keys().map(str::to_owned).collect();
        notes
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

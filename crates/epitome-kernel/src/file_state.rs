//! Copies of files in a thread: which count, which left their place to a newer one, and which may
//! leave where no prompt would hold them (RULES 16).
//!
//! Invariant: a copy that counts leaves only with its path in what stands for it. Asked by checks
//! and by whoever makes plans.

use std::collections::BTreeSet;

use epitome_types::{EntryId, FileCopy, Part, PartId};

use crate::files::FileCopies;
use crate::thread::{PinReason, Thread};

/// The least bytes of a copy that is worth a line in its place.
const LEAST: usize = 200;

impl Thread {
    /// The copies of files in an entry that count.
    pub fn files(&self, entry: EntryId) -> impl Iterator<Item = (PartId, &FileCopy)> {
        let [first, last] = [0, u32::MAX].map(|part| PartId { entry, part });
        let kept = FileCopies::within(&self.copies.kept, first, last);
        kept.filter_map(|id| Some((id.part, self.part(id.part)?.files.get(id.at)?)))
    }

    /// Whether a text in the place of a part's holds all of it that counts of files.
    pub(crate) fn holds_files(&self, id: PartId, with: &str) -> bool {
        let said = self.part(id).and_then(Part::said).unwrap_or_default();
        let mut kept = FileCopies::within(&self.copies.kept, id, id);
        kept.all(|copy| {
            let copy = self.part(id).and_then(|part| part.files.get(copy.at));
            let body = copy.and_then(|copy| said.get(copy.body.clone()));
            body.is_none_or(|body| with.contains(body))
        })
    }

    /// Whether the copies of files that leave with these entries are named in a text: no file leaves
    /// without a word.
    pub(crate) fn names_files(&self, entry: EntryId, text: &str) -> bool {
        self.files(entry).all(|(_, copy)| text.contains(&*copy.path))
    }

    /// The text of a part without the copies in it that newer ones took the place of; `None` where
    /// there are none, or where it cannot be told what else is said there.
    pub fn without_stale_files(&self, id: PartId) -> Option<String> {
        let part = self.part(id)?;
        let said = part.text()?;
        let (mut with, mut done) = (String::new(), 0);
        for stale in FileCopies::within(&self.copies.stale, id, id) {
            let copy = part.files.get(stale.at).filter(|it| it.closed && it.body.len() >= LEAST)?;
            with.push_str(said.get(done..copy.body.start)?);
            with.push_str(&format!("(older than the copy of {} further down)\n", copy.path));
            done = copy.body.end;
        }
        // Most texts hold no such copies, and may be as large as the conversation.
        if done == 0 {
            return None;
        }
        with.push_str(said.get(done..)?);
        Some(with)
    }

    /// The parts that hold copies of files which newer ones took the place of, in order.
    pub(crate) fn parts_with_stale_files(&self) -> BTreeSet<PartId> {
        self.copies.stale.iter().map(|copy| copy.part).collect()
    }

    /// The same thread, in which the exchanges of these entries may leave whole where nothing keeps
    /// them but copies of files: no prompt would hold those.
    #[must_use]
    pub fn letting_go(&self, entries: &[EntryId]) -> Self {
        let mut thread = self.clone();
        for entry in entries.iter().filter(|id| self.is_kept_for_files(**id)) {
            thread.pins[self.exchange_of(*entry).entries.clone()].fill(None);
        }
        thread
    }

    /// Whether nothing keeps an entry but copies of files in its exchange.
    pub fn is_kept_for_files(&self, id: EntryId) -> bool {
        let pins = &self.pins[self.exchange_of(id).entries.clone()];
        pins.contains(&Some(PinReason::File))
            && pins
                .iter()
                .all(|pin| matches!(pin, None | Some(PinReason::File | PinReason::Partner)))
    }
}

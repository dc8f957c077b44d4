//! Copies of files in what was said: of each path the newest counts (RULES 16).
//!
//! Invariant: a copy that a newer one took the place of never counts again, however much is said
//! later. Called by the thread as it is built.

use std::collections::{BTreeMap, BTreeSet};

use epitome_types::{Entry, EntryId, FileCopy, Part, PartId, Role};

use crate::thread::{PinReason, Thread};

/// The least bytes of a copy that is worth a line in its place.
const LEAST: usize = 200;

/// A copy by its part and its place among the copies of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CopyId {
    part: PartId,
    at: usize,
}

/// The copies of files in a conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileCopies {
    /// The newest copy of each path, and what changed of it since.
    kept: BTreeSet<CopyId>,
    /// Those that a newer one takes the place of.
    stale: BTreeSet<CopyId>,
}

/// A copy with its text, while others are compared with it.
#[derive(Clone, Copy)]
struct ReadCopy<'e> {
    id: CopyId,
    copy: &'e FileCopy,
    text: &'e str,
}

impl FileCopies {
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut copies = Self::default();
        // By the last name in the path: one copy may be named by more of its path than another.
        let mut newest: BTreeMap<&str, Vec<ReadCopy<'_>>> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.role != Role::System) {
            for (part, said) in (0..).zip(&entry.parts) {
                let id = PartId { entry: entry.id, part };
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

    fn within(of: &BTreeSet<CopyId>, first: PartId, last: PartId) -> impl Iterator<Item = &CopyId> {
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

impl Thread {
    /// The copies of files in an entry that count.
    pub fn files(&self, entry: EntryId) -> impl Iterator<Item = (PartId, &FileCopy)> {
        let [first, last] = [0, u32::MAX].map(|part| PartId { entry, part });
        let kept = FileCopies::within(&self.copies.kept, first, last);
        kept.filter_map(|id| Some((id.part, self.part(id.part)?.files.get(id.at)?)))
    }

    /// Whether a text in the place of a part's holds all of it that counts of files.
    pub(crate) fn holds_files(&self, id: PartId, with: &str) -> bool {
        let said = self.part(id).and_then(Part::text).unwrap_or_default();
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
        with.push_str(said.get(done..)?);
        (done > 0).then_some(with)
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

//! The port of live conversations, in memory.
//!
//! Invariant: whatever may be refused is checked before anything changes. Called through
//! [`Journal`].

use std::collections::BTreeMap;
use std::convert::Infallible;

use epitome_kernel::types::{
    ArrivalRewrite, Compaction, CompactionId, EntryKey, HistoryHash, JournalMark, MeterReading,
    RecordedAction, RecordedCompaction, SessionInfo,
};
use epitome_kernel::{
    AppendBatch, Beginning, Clue, CommitOutcome, CompactionSet, Eviction, Holder, Journal,
    ResponseRecord, StoreError,
};
use rustc_hash::FxHashSet;

use super::tree::MemoryNode;
use super::{Made, MemorySession, MemorySessionId, MemoryStore, NO_SESSION, ScopeRecords};
use crate::{batch, marks};
use epitome_kernel::nearest;

impl Journal for MemoryStore {
    fn find_deepest(
        &self,
        scope: &str,
        session: &str,
        chains: &[HistoryHash],
    ) -> Result<Option<usize>, StoreError> {
        Ok(self.read(scope, |shelf| {
            let (id, _) = shelf.session(session)?;
            shelf.deepest(id, chains)
        }))
    }

    fn holders(&self, scope: &str, clue: &Clue<'_>) -> Result<Vec<Holder>, StoreError> {
        Ok(self.read(scope, |shelf| shelf.holders(clue)))
    }

    fn begin(
        &self,
        scope: &str,
        name: &str,
        beginning: &Beginning,
        at: &str,
    ) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            if shelf.session(name).is_some() {
                return Err(StoreError::Taken { name: name.to_owned() });
            }
            if let Some((parent, place)) = &beginning.from {
                let parent = shelf.named(parent)?;
                shelf.tree.end_of(parent, *place)?;
            }
            let id = shelf.begin(name, beginning, at);
            match &beginning.from {
                Some((parent, place)) => shelf.inherit(id, parent, *place),
                None => Ok(()),
            }
        })
    }

    fn append(&self, scope: &str, name: &str, batch: &AppendBatch) -> Result<(), StoreError> {
        batch::follows(batch)?;
        self.write(scope, |shelf| shelf.append(name, batch))
    }

    fn record_response(
        &self,
        scope: &str,
        name: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError> {
        self.write(scope, |shelf| shelf.answered(name, answer))
    }

    fn rewrites(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<Vec<ArrivalRewrite>, StoreError> {
        Ok(self.read(scope, |shelf| {
            let Some((id, _)) = shelf.session(session) else { return Vec::new() };
            let mut seen = FxHashSet::default();
            let keys = keys.iter().filter(|&&key| seen.insert(key));
            keys.flat_map(|&key| shelf.rewrites.range((id, key, 0)..=(id, key, u32::MAX)))
                .map(|(_, rewrite)| rewrite.clone())
                .collect()
        }))
    }

    fn compactions(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<CompactionSet, StoreError> {
        let keys: FxHashSet<&EntryKey> = keys.iter().collect();
        Ok(self.read(scope, |shelf| {
            let seen = shelf.seen;
            let Some((id, session)) = shelf.session(session) else {
                return CompactionSet { seen, ..CompactionSet::default() };
            };
            let own = shelf.epochs.iter().filter(|made| made.session == id);
            let own = own.filter(|made| keys.contains(&made.recorded.epoch.covered.first));
            let recorded = own.map(|made| made.recorded.clone()).collect();
            CompactionSet { recorded, pins: session.pins(), seen }
        }))
    }

    fn revision(&self, scope: &str) -> Result<u64, StoreError> {
        Ok(self.read(scope, |shelf| shelf.seen))
    }

    fn commit(
        &self,
        scope: &str,
        name: &str,
        epoch: &Compaction,
        departure: &Eviction,
        seen: u64,
    ) -> Result<CommitOutcome, StoreError> {
        batch::addressed(epoch)?;
        self.write(scope, |shelf| {
            let session = shelf.named(name)?;
            if shelf.seen != seen {
                return Ok(CommitOutcome::Behind);
            }
            if shelf.epoch(session, epoch.id).is_none() {
                let recorded = RecordedCompaction::from(epoch.clone());
                let place = shelf.place(session);
                shelf.epochs.push(Made { session, place, recorded });
            }
            shelf.keep(session, departure);
            shelf.seen += 1;
            Ok(CommitOutcome::Done(shelf.seen))
        })
    }

    fn record_mark(
        &self,
        scope: &str,
        name: &str,
        mark: &JournalMark,
        _at: &str,
    ) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            let id = shelf.named(name)?;
            let is_pinned =
                |key| shelf.sessions.get(&id).is_some_and(|session| session.pins().contains(&key));
            match *mark {
                JournalMark::Unpin(key) if !is_pinned(key) => return Err(marks::unpinned(key)),
                JournalMark::Undo(epoch) => shelf.turn(id, epoch, true)?,
                JournalMark::Redo(epoch) => shelf.turn(id, epoch, false)?,
                JournalMark::Pin(_) | JournalMark::Unpin(_) => {}
            }
            let place = shelf.place(id);
            if let Some(session) = shelf.sessions.get_mut(&id) {
                session.marks.push((place, *mark));
            }
            shelf.seen += 1;
            Ok(())
        })
    }

    fn meter(&self, scope: &str, name: &str) -> Result<MeterReading, StoreError> {
        let found = |shelf: &ScopeRecords| shelf.session(name).map(|(_, session)| session.meter);
        Ok(self.read(scope, found).unwrap_or_default())
    }

    fn memos(&self, scope: &str, name: &str) -> Result<BTreeMap<String, String>, StoreError> {
        let of = |(_, session): (MemorySessionId, &MemorySession)| session.memos.clone();
        Ok(self.read(scope, |shelf| shelf.session(name).map(of).unwrap_or_default()))
    }

    fn note(
        &self,
        scope: &str,
        name: &str,
        memos: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            let id = shelf.named(name)?;
            if let Some(session) = shelf.sessions.get_mut(&id) {
                session.memos.clone_from(memos);
            }
            Ok(())
        })
    }

    fn lessons(&self, scope: &str) -> Result<BTreeMap<String, String>, StoreError> {
        Ok(self.read(scope, |shelf| shelf.lessons.clone()))
    }

    fn learn(&self, scope: &str, about: &str, lesson: &str) -> Result<(), StoreError> {
        self.write(scope, |shelf| shelf.lessons.insert(about.to_owned(), lesson.to_owned()));
        Ok(())
    }

    fn act(&self, scope: &str, name: &str, acts: &[RecordedAction]) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            let id = shelf.named(name)?;
            let place = shelf.place(id);
            if let Some(session) = shelf.sessions.get_mut(&id) {
                session.acts.extend(acts.iter().map(|act| (place, act.clone())));
            }
            shelf.seen += u64::from(!acts.is_empty());
            Ok(())
        })
    }

    fn acts(&self, scope: &str, name: &str) -> Result<Vec<RecordedAction>, StoreError> {
        let of = |(_, session): (MemorySessionId, &MemorySession)| {
            session.acts.iter().map(|(_, act)| act.clone()).collect()
        };
        Ok(self.read(scope, |shelf| shelf.session(name).map(of).unwrap_or_default()))
    }
}

impl ScopeRecords {
    /// A session by its name.
    pub(super) fn session(&self, name: &str) -> Option<(MemorySessionId, &MemorySession)> {
        let found = self.sessions.iter().find(|(_, session)| session.info.name == name);
        found.map(|(&id, session)| (id, session))
    }

    /// The number of a session by its name.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoSession`] with the name that is nearest.
    pub(super) fn named(&self, name: &str) -> Result<MemorySessionId, StoreError> {
        if let Some((id, _)) = self.session(name) {
            return Ok(id);
        }
        let mut sessions: Vec<&MemorySession> = self.sessions.values().collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.used));
        let names: Vec<String> = sessions.iter().map(|session| session.info.name.clone()).collect();
        let nearest = nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
        Err(StoreError::NoSession { name: name.to_owned(), nearest })
    }

    /// What a session has come to.
    fn place(&self, id: MemorySessionId) -> HistoryHash {
        self.sessions.get(&id).map_or_else(HistoryHash::default, |session| session.info.head)
    }

    fn append(&mut self, name: &str, batch: &AppendBatch) -> Result<(), StoreError> {
        let known = self.session(name).map(|(id, _)| id);
        let mut end = self.tree.end_of(known.unwrap_or(NO_SESSION), batch.after)?;
        batch::continues(batch, end.map(|id| self.tree.place(id)))?;
        let id = match known {
            Some(id) => id,
            None => self.begin(name, &batch::beginning(batch), &batch.at),
        };
        for said in &batch.said {
            end = Some(match self.tree.find(id, said.chain) {
                Some(known) => known,
                None => {
                    let mut said = said.clone();
                    said.bytes = said.bytes.filter(|_| !self.erased.contains(&said.key));
                    let indexed = said.bytes.is_none();
                    self.tree.add(MemoryNode { said, parent: end, session: id, indexed })
                }
            });
        }
        let Ok((rewrites, departure)) =
            batch::without_erased(batch, |key| Ok::<_, Infallible>(self.erased.contains(&key)));
        for rewrite in rewrites {
            let place = self.rewrites.entry((id, rewrite.key, rewrite.part));
            place.or_insert_with(|| rewrite.clone());
        }
        self.keep(id, &departure);
        let head = batch.said.last().map_or(batch.after, |said| said.chain);
        let messages = end.map_or(0, |id| self.tree.place(id) + 1);
        self.used += 1;
        if let Some(session) = self.sessions.get_mut(&id) {
            session.used = self.used;
            session.advance(batch, head, messages);
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, name: &str, beginning: &Beginning, at: &str) -> MemorySessionId {
        let id = self.sessions.last_key_value().map_or(0, |(last, _)| last + 1);
        let (name, started, label) = (name.to_owned(), at.to_owned(), beginning.label.clone());
        let last = started.clone();
        let info = SessionInfo { name, started, last, label, ..SessionInfo::default() };
        let opened = beginning.opened;
        self.sessions.insert(id, MemorySession { info, opened, ..MemorySession::default() });
        id
    }

    fn epoch(
        &mut self,
        session: MemorySessionId,
        id: CompactionId,
    ) -> Option<&mut RecordedCompaction> {
        let mut own = self.epochs.iter_mut().filter(|made| made.session == session);
        own.find(|made| made.recorded.epoch.id == id).map(|made| &mut made.recorded)
    }

    /// Takes an epoch of a session back, or does it again.
    fn turn(
        &mut self,
        session: MemorySessionId,
        id: CompactionId,
        undone: bool,
    ) -> Result<(), StoreError> {
        let place = self.place(session);
        match self.epoch(session, id) {
            Some(recorded) if recorded.undone != undone => {
                recorded.undone = undone;
                recorded.undone_at = undone.then_some(place);
                Ok(())
            }
            found => Err(marks::nothing(id, found.is_some(), undone)),
        }
    }
}

impl MemorySession {
    /// Takes over what a batch says of its session.
    fn advance(&mut self, batch: &AppendBatch, head: HistoryHash, messages: u32) {
        let info = &mut self.info;
        if info.title.is_empty() {
            info.title.clone_from(&batch.title);
        }
        info.format.clone_from(&batch.format);
        if batch.model.is_some() {
            info.model.clone_from(&batch.model);
        }
        info.last.clone_from(&batch.at);
        (info.head, info.messages) = (head, messages);
        let Some(turn) = batch.turn else { return };
        info.trashed = false;
        info.turns += 1;
        info.tokens = turn.tokens;
        for (total, tokens) in info.total.iter_mut().zip(turn.tokens) {
            *total = total.saturating_add(tokens);
        }
        info.limit = turn.limit;
        self.meter = turn.meter;
    }
}

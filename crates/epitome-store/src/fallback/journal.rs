//! The port of live conversations, on disk or in memory.
//!
//! Invariant: each session is asked for where it is. Called through [`Journal`].

use std::collections::BTreeMap;

use epitome_kernel::types::{
    ArrivalRewrite, Compaction, EntryKey, HistoryHash, JournalMark, MeterReading, RecordedAction,
};
use epitome_kernel::{
    AppendBatch, Beginning, Clue, CommitOutcome, CompactionSet, Eviction, HistoryLookup,
    HistoryQuery, Holder, Journal, ResponseRecord, SessionOf, StoreError,
};

use super::FallbackStore;
use crate::{SessionArchive, batch};

impl Journal for FallbackStore {
    fn find_deepest(
        &self,
        scope: &str,
        session: &str,
        chains: &[HistoryHash],
    ) -> Result<Option<usize>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.find_deepest(scope, session, chains))
    }

    fn holders(&self, scope: &str, clue: &Clue<'_>) -> Result<Vec<Holder>, StoreError> {
        let [away, mut kept] = self.both(scope, |store| store.holders(scope, clue))?;
        kept.retain(|holder| !self.is_away(scope, &holder.session));
        kept.extend(away);
        Ok(kept)
    }

    fn begin(
        &self,
        scope: &str,
        session: &str,
        beginning: &Beginning,
        at: &str,
    ) -> Result<(), StoreError> {
        let parent = beginning.from.as_ref().map(|(parent, _)| parent.as_str());
        let is_away = parent.is_some_and(|parent| self.is_away(scope, parent));
        if !is_away && !self.is_away(scope, session) && self.may_write() {
            match self.disk.begin(scope, session, beginning, at) {
                Err(error) if self.is_lost(&error) => {}
                done => return done,
            }
        }
        // A name that the disk knows is another conversation's, now and once it is well again.
        if !self.is_away(scope, session) && self.disk.session(scope, session).is_ok() {
            return Err(StoreError::Taken { name: session.to_owned() });
        }
        if let Some(parent) = parent {
            self.move_away(scope, parent);
        }
        let done = match self.memory.begin(scope, session, beginning, at) {
            // What it would have is not to be read any more.
            Err(StoreError::NoSession { .. } | StoreError::Damaged { .. }) if parent.is_some() => {
                let alone = Beginning { from: None, ..beginning.clone() };
                self.memory.begin(scope, session, &alone, at)
            }
            done => done,
        };
        done?;
        self.move_away(scope, session);
        if parent.is_some() {
            self.decided(scope, session);
        }
        Ok(())
    }

    fn append(&self, scope: &str, session: &str, batch: &AppendBatch) -> Result<(), StoreError> {
        batch::follows(batch)?;
        let append = |store: &dyn SessionArchive| store.append(scope, session, batch);
        self.commit_to(SessionOf { scope, session }, Some(batch), append)?;
        if !batch.rewrites.is_empty() || !batch.acts.is_empty() {
            self.decided(scope, session);
        }
        Ok(())
    }

    fn record_response(
        &self,
        scope: &str,
        session: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError> {
        if !self.is_away(scope, session) {
            if self.may_write() {
                let is_lost = |error: &StoreError| {
                    !self.is_astray(scope, session, answer.after) && self.is_lost(error)
                };
                match self.disk.record_response(scope, session, answer) {
                    Err(error) if is_lost(&error) => {}
                    done => return done,
                }
            }
            self.move_away(scope, session);
        }
        self.memory.record_response(scope, session, answer)
    }

    fn rewrites(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<Vec<ArrivalRewrite>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.rewrites(scope, session, keys))
    }

    fn compactions(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<CompactionSet, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.compactions(scope, session, keys))
    }

    fn lookup(&self, scope: &str, history: &HistoryQuery<'_>) -> Result<HistoryLookup, StoreError> {
        // All that a request goes by is read from here on.
        self.let_back(scope, history.session);
        self.read(SessionOf { scope, session: history.session }, |store| {
            store.lookup(scope, history)
        })
    }

    fn revision(&self, scope: &str, session: &str) -> Result<u64, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.revision(scope, session))
    }

    fn commit(
        &self,
        scope: &str,
        session: &str,
        epoch: &Compaction,
        departure: &Eviction,
        seen: u64,
    ) -> Result<CommitOutcome, StoreError> {
        batch::addressed(epoch)?;
        let commit =
            |store: &dyn SessionArchive| store.commit(scope, session, epoch, departure, seen);
        let done = self.commit_to(SessionOf { scope, session }, None, commit)?;
        self.decided(scope, session);
        Ok(done)
    }

    fn record_mark(
        &self,
        scope: &str,
        session: &str,
        mark: &JournalMark,
        at: &str,
    ) -> Result<(), StoreError> {
        self.write(SessionOf { scope, session }, |store| {
            store.record_mark(scope, session, mark, at)
        })?;
        self.decided(scope, session);
        Ok(())
    }

    fn meter(&self, scope: &str, session: &str) -> Result<MeterReading, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.meter(scope, session))
    }

    fn memos(&self, scope: &str, session: &str) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.memos(scope, session))
    }

    fn note(
        &self,
        scope: &str,
        session: &str,
        memos: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        self.write(SessionOf { scope, session }, |store| store.note(scope, session, memos))
    }

    fn lessons(&self, scope: &str) -> Result<BTreeMap<String, String>, StoreError> {
        let mut all = match self.disk.lessons(scope) {
            Err(error) if self.is_lost(&error) => BTreeMap::new(),
            lessons => lessons?,
        };
        all.extend(self.state().lessons_of(scope).clone());
        Ok(all)
    }

    fn learn(&self, scope: &str, about: &str, lesson: &str) -> Result<(), StoreError> {
        if self.may_write() {
            match self.disk.learn(scope, about, lesson) {
                Err(error) if self.is_lost(&error) => {}
                done => {
                    // The disk has it, and whoever writes it next may be another process.
                    self.state().lessons_of(scope).remove(about);
                    return done;
                }
            }
        }
        self.state().lessons_of(scope).insert(about.to_owned(), lesson.to_owned());
        Ok(())
    }

    fn act(&self, scope: &str, session: &str, acts: &[RecordedAction]) -> Result<(), StoreError> {
        self.write(SessionOf { scope, session }, |store| store.act(scope, session, acts))?;
        self.decided(scope, session);
        Ok(())
    }

    fn acts(&self, scope: &str, session: &str) -> Result<Vec<RecordedAction>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.acts(scope, session))
    }
}

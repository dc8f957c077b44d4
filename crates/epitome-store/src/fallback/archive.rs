//! The port for people who look after a store, on disk or in memory.
//!
//! Invariant: what is to go for good goes from both, and a disk that keeps it is an error. Called
//! through [`SessionArchive`].

use std::collections::{BTreeMap, BTreeSet};

use epitome_kernel::types::{
    EntryKey, HistoryHash, MeterReading, PlacedMark, RecordedCompaction, SessionBranch,
    SessionInfo, Snapshot, TokenUsage, WordMentions,
};
use epitome_kernel::{Eviction, MessageRecord, SearchRange, SessionOf, StoreError};

use super::FallbackStore;
use crate::mentions::mentions;
use crate::{SessionArchive, StoreFinding, StoreNews, StoreOutage};

impl SessionArchive for FallbackStore {
    fn mentions(
        &self,
        range: SearchRange<'_>,
        words: &[String],
        query: &str,
        most: usize,
    ) -> Result<Vec<WordMentions>, StoreError> {
        if !self.is_away_in(range) {
            return self.disk.mentions(range, words, query, most);
        }
        Ok(mentions(&self.candidates_in(range, &words.join(" "))?, words, query, most))
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        let mut all = match self.disk.scopes() {
            Err(error) if self.is_lost(&error) => Vec::new(),
            scopes => scopes?,
        };
        all.extend(self.memory.scopes()?);
        all.sort();
        all.dedup();
        Ok(all)
    }

    fn sessions(
        &self,
        scope: &str,
        skip: usize,
        most: usize,
        trashed: bool,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        if !self.has_away(scope) {
            return self.disk.sessions(scope, skip, most, trashed);
        }
        let all = skip.saturating_add(most);
        let [away, kept] = self.both(scope, |store| store.sessions(scope, 0, all, trashed))?;
        let kept = kept.into_iter().filter(|info| !self.is_away(scope, &info.name));
        Ok(away.into_iter().chain(kept).skip(skip).take(most).collect())
    }

    fn damage(&self, scope: &str, session: &str) -> Result<Vec<String>, StoreError> {
        match self.disk.damage(scope, session) {
            Err(error) if self.is_lost(&error) => Ok(Vec::new()),
            found => found,
        }
    }

    fn learn_once(&self, scope: &str, about: &str, lesson: &str) -> Result<String, StoreError> {
        // What was first recorded during an outage holds in this process, also after it.
        if let Some(known) = self.state().lessons_of(scope).get(about) {
            return Ok(known.clone());
        }
        if self.may_write() {
            match self.disk.learn_once(scope, about, lesson) {
                Err(error) if self.is_lost(&error) => {}
                done => return done,
            }
        }
        let mut state = self.state();
        let known = state.lessons_of(scope).entry(about.to_owned());
        Ok(known.or_insert_with(|| lesson.to_owned()).clone())
    }

    fn lessons_about(
        &self,
        scope: &str,
        prefix: &str,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let mut all = match self.disk.lessons_about(scope, prefix) {
            Err(error) if self.is_lost(&error) => BTreeMap::new(),
            lessons => lessons?,
        };
        let mut state = self.state();
        let here = state.lessons_of(scope).iter().filter(|(about, _)| about.starts_with(prefix));
        all.extend(here.map(|(about, lesson)| (about.clone(), lesson.clone())));
        Ok(all)
    }

    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError> {
        self.read(SessionOf { scope, session: name }, |store| store.session(scope, name))
    }

    fn history(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        from: u32,
        most: usize,
    ) -> Result<Vec<MessageRecord>, StoreError> {
        if !self.is_away(scope, session) && self.is_astray(scope, session, head) {
            return self.disk.history(scope, session, head, from, most);
        }
        self.read(SessionOf { scope, session }, |store| {
            store.history(scope, session, head, from, most)
        })
    }

    fn answer(&self, scope: &str, session: &str) -> Result<Option<MessageRecord>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.answer(scope, session))
    }

    fn answer_to(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
    ) -> Result<Option<MessageRecord>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.answer_to(scope, session, head))
    }

    fn answer_usage(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<BTreeMap<HistoryHash, TokenUsage>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.answer_usage(scope, session))
    }

    fn marks(&self, scope: &str, session: &str) -> Result<Vec<PlacedMark>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.marks(scope, session))
    }

    fn branches(&self, scope: &str, session: &str) -> Result<Vec<SessionBranch>, StoreError> {
        self.read(SessionOf { scope, session }, |store| store.branches(scope, session))
    }

    fn compactions_of_session(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<Vec<RecordedCompaction>, StoreError> {
        self.read(SessionOf { scope, session }, |store| {
            store.compactions_of_session(scope, session)
        })
    }

    fn save_snapshot(
        &self,
        scope: &str,
        snapshot: &Snapshot,
        keep: usize,
    ) -> Result<(), StoreError> {
        self.write(SessionOf { scope, session: &snapshot.session }, |store| {
            store.save_snapshot(scope, snapshot, keep)
        })
    }

    fn snapshots(&self, scope: &str, session: Option<&str>) -> Result<Vec<Snapshot>, StoreError> {
        let both = self.both(scope, |store| store.snapshots(scope, session))?;
        Ok(both.into_iter().flatten().collect())
    }

    fn delete_snapshot(&self, scope: &str, id: &str) -> Result<(), StoreError> {
        match self.memory.delete_snapshot(scope, id) {
            Err(StoreError::NoSnapshot { .. }) => self.disk.delete_snapshot(scope, id),
            done => done,
        }
    }

    fn set_head(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        meter: Option<&MeterReading>,
    ) -> Result<(), StoreError> {
        if self.is_away(scope, session) {
            return self.memory.set_head(scope, session, head, meter);
        }
        self.disk.set_head(scope, session, head, meter)
    }

    fn set_trashed(&self, scope: &str, session: &str, trashed: bool) -> Result<(), StoreError> {
        if self.is_away(scope, session) {
            self.memory.set_trashed(scope, session, trashed)?;
        }
        self.on_disk_too(scope, session, |disk| disk.set_trashed(scope, session, trashed))
    }

    fn delete(&self, scope: &str, session: &str) -> Result<u32, StoreError> {
        if !self.is_away(scope, session) {
            return self.disk.delete(scope, session);
        }
        self.on_disk_too(scope, session, |disk| disk.delete(scope, session).map(drop))?;
        self.memory.delete(scope, session)
    }

    fn erase(&self, scope: &str, key: EntryKey) -> Result<u32, StoreError> {
        let kept = self.disk.erase(scope, key);
        match (self.memory.erase(scope, key), kept) {
            (Ok(away), Err(StoreError::Unknown { .. })) => Ok(away),
            (Ok(away), kept) => Ok(kept? + away),
            (Err(_), kept) => kept,
        }
    }

    fn erased(&self, scope: &str) -> Result<BTreeSet<EntryKey>, StoreError> {
        let mut all = match self.disk.erased(scope) {
            Err(error) if self.is_lost(&error) => BTreeSet::new(),
            erased => erased?,
        };
        all.extend(self.memory.erased(scope)?);
        Ok(all)
    }

    fn unindexed(
        &self,
        scope: &str,
        most: usize,
    ) -> Result<Vec<(String, MessageRecord)>, StoreError> {
        if self.has_away(scope) {
            let open = self.memory.unindexed(scope, most)?;
            if !open.is_empty() {
                return Ok(open);
            }
        }
        self.disk.unindexed(scope, most)
    }

    fn index(
        &self,
        scope: &str,
        session: &str,
        messages: &[HistoryHash],
        departure: &Eviction,
    ) -> Result<(), StoreError> {
        match self.is_away(scope, session) {
            true => self.memory.index(scope, session, messages, departure),
            false => self.disk.index(scope, session, messages, departure),
        }
    }

    fn verify(&self, repair: bool) -> Result<Vec<StoreFinding>, StoreError> {
        self.disk.verify(repair)
    }

    fn rebuild(&self) -> Result<Vec<StoreFinding>, StoreError> {
        self.disk.rebuild()
    }

    fn lasts(&self, scope: &str, session: &str) -> bool {
        !self.is_away(scope, session)
    }

    fn moves(&self) -> u64 {
        self.state().moves
    }

    fn outage(&self) -> Option<StoreOutage> {
        self.state().outage.as_ref().map(|(_, outage)| outage.clone())
    }

    fn news(&self) -> Vec<StoreNews> {
        let mut news = std::mem::take(&mut self.state().untold);
        news.extend(self.disk.take_damage().into_iter().map(StoreNews::Damaged));
        news
    }
}

impl FallbackStore {
    /// Does to what the disk has of a session in memory what was done to that; it may have nothing.
    fn on_disk_too(
        &self,
        scope: &str,
        session: &str,
        work: impl Fn(&dyn SessionArchive) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match work(&*self.disk) {
            Err(StoreError::NoSession { .. }) if self.is_away(scope, session) => Ok(()),
            done => done,
        }
    }
}

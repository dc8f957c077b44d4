//! The port for people who look after a store, in memory.
//!
//! Invariant: what goes and what stays is the same as on disk. Called through [`SessionArchive`].

use std::collections::BTreeSet;

use crate::{SessionArchive, StoreFinding};
use epitome_kernel::types::{
    ContentId, EntryKey, HistoryHash, RecordedCompaction, SessionInfo, Snapshot, SnapshotPurpose,
};
use epitome_kernel::{Eviction, MessageRecord, StoreError};
use rustc_hash::FxHashSet;

use super::{Made, MemorySession, MemorySessionId, MemoryStore, ScopeRecords};
use crate::content;
use crate::lineage::MessageForest;

impl SessionArchive for MemoryStore {
    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        let mut scopes: Vec<String> = self.lock().keys().cloned().collect();
        scopes.sort();
        Ok(scopes)
    }

    fn sessions(
        &self,
        scope: &str,
        skip: usize,
        most: usize,
        trashed: bool,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        Ok(self.read(scope, |shelf| {
            let mut wanted: Vec<(MemorySessionId, &MemorySession)> = shelf
                .sessions
                .iter()
                .filter(|(_, session)| session.info.messages > 0)
                .filter(|(_, session)| trashed || !session.info.trashed)
                .map(|(&id, session)| (id, session))
                .collect();
            wanted.sort_by_key(|(id, session)| std::cmp::Reverse((session.used, *id)));
            let page = wanted.into_iter().skip(skip).take(most);
            page.map(|(id, session)| shelf.info(id, session)).collect()
        }))
    }

    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError> {
        self.in_scope(scope, |shelf| {
            let id = shelf.named(name)?;
            Ok(shelf.sessions.get(&id).map(|session| shelf.info(id, session)).unwrap_or_default())
        })
    }

    fn history(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        from: u32,
        most: usize,
    ) -> Result<Vec<MessageRecord>, StoreError> {
        self.in_scope(scope, |shelf| {
            let end = shelf.tree.end_of(shelf.named(session)?, head)?;
            Ok(end.map(|end| shelf.tree.history(end, from, most)).unwrap_or_default())
        })
    }

    fn answer(&self, scope: &str, session: &str) -> Result<Option<MessageRecord>, StoreError> {
        self.in_scope(scope, |shelf| shelf.newest_answer(session))
    }

    fn compactions_of_session(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<Vec<RecordedCompaction>, StoreError> {
        self.in_scope(scope, |shelf| {
            let id = shelf.named(session)?;
            let own = shelf.epochs.iter().filter(|made| made.session == id);
            Ok(own.map(|made| made.recorded.clone()).collect())
        })
    }

    fn save_snapshot(
        &self,
        scope: &str,
        snapshot: &Snapshot,
        keep: usize,
    ) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            shelf.named(&snapshot.session)?;
            if shelf.snapshots.iter().all(|known| known.id != snapshot.id) {
                shelf.snapshots.push(snapshot.clone());
            }
            let spare = |other: &Snapshot| {
                other.session == snapshot.session && other.purpose != SnapshotPurpose::Recovery
            };
            let count = shelf.snapshots.iter().filter(|other| spare(other)).count();
            let mut surplus = count.saturating_sub(keep);
            shelf.snapshots.retain(|other| {
                let goes = surplus > 0 && spare(other);
                surplus -= usize::from(goes);
                !goes
            });
            Ok(())
        })
    }

    fn snapshots(&self, scope: &str, session: Option<&str>) -> Result<Vec<Snapshot>, StoreError> {
        Ok(self.read(scope, |shelf| {
            let newest_first = shelf.snapshots.iter().rev();
            let wanted =
                newest_first.filter(|snapshot| session.is_none_or(|name| snapshot.session == name));
            wanted.cloned().collect()
        }))
    }

    fn delete_snapshot(&self, scope: &str, id: &str) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            let before = shelf.snapshots.len();
            shelf.snapshots.retain(|snapshot| snapshot.id != id);
            if shelf.snapshots.len() == before {
                return Err(StoreError::NoSnapshot { name: id.to_owned() });
            }
            Ok(())
        })
    }

    fn set_head(&self, scope: &str, session: &str, head: HistoryHash) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            let id = shelf.named(session)?;
            let end = shelf.tree.end_of(id, head)?;
            let messages = end.map_or(0, |end| shelf.tree.place(end) + 1);
            if let Some(session) = shelf.sessions.get_mut(&id) {
                (session.info.head, session.info.messages) = (head, messages);
            }
            Ok(())
        })
    }

    fn set_trashed(&self, scope: &str, session: &str, trashed: bool) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            let id = shelf.named(session)?;
            if let Some(session) = shelf.sessions.get_mut(&id) {
                session.info.trashed = trashed;
            }
            Ok(())
        })
    }

    fn delete(&self, scope: &str, session: &str) -> Result<u32, StoreError> {
        self.write(scope, |shelf| {
            let doomed = shelf.named(session)?;
            Ok(shelf.delete(doomed, session))
        })
    }

    fn erase(&self, scope: &str, key: EntryKey) -> Result<u32, StoreError> {
        self.write(scope, |shelf| shelf.erase(key))
    }

    fn erased(&self, scope: &str) -> Result<BTreeSet<EntryKey>, StoreError> {
        Ok(self.read(scope, |shelf| shelf.erased.iter().copied().collect()))
    }

    fn unindexed(
        &self,
        scope: &str,
        most: usize,
    ) -> Result<Vec<(String, MessageRecord)>, StoreError> {
        Ok(self.read(scope, |shelf| {
            let open = shelf.tree.nodes.values().filter(|node| !node.indexed).take(most);
            let named = open.filter_map(|node| {
                let session = shelf.sessions.get(&node.session)?;
                Some((session.info.name.clone(), node.said.clone()))
            });
            let mut open: Vec<_> = named.collect();
            open.extend(shelf.open_answers(most - open.len()));
            open
        }))
    }

    fn index(
        &self,
        scope: &str,
        session: &str,
        messages: &[HistoryHash],
        departure: &Eviction,
    ) -> Result<(), StoreError> {
        self.write(scope, |shelf| {
            // It was erased or deleted since it was read: what was made of it must not come back.
            // The others are offered again.
            let Some((session, _)) = shelf.session(session) else { return Ok(()) };
            for &chain in messages {
                let id = shelf.tree.find(session, chain);
                let is_there = match id.and_then(|id| shelf.tree.nodes.get(&id)) {
                    Some(node) => node.said.bytes.is_some(),
                    None => shelf.has_open_answer(session, chain),
                };
                if !is_there {
                    return Ok(());
                }
            }
            for &chain in messages {
                let id = shelf.tree.find(session, chain);
                if let Some(node) = id.and_then(|id| shelf.tree.nodes.get_mut(&id)) {
                    node.indexed = true;
                }
                shelf.answer_is_indexed(session, chain);
            }
            shelf.keep(session, departure);
            Ok(())
        })
    }

    fn verify(&self, _repair: bool) -> Result<Vec<StoreFinding>, StoreError> {
        Ok(Vec::new())
    }
}

impl MemoryStore {
    /// Reads a scope; one that was never written is empty.
    fn in_scope<T>(
        &self,
        scope: &str,
        work: impl FnOnce(&ScopeRecords) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.lock().get(scope) {
            Some(shelf) => work(shelf),
            None => work(&ScopeRecords::default()),
        }
    }
}

impl ScopeRecords {
    fn info(&self, id: MemorySessionId, session: &MemorySession) -> SessionInfo {
        let own = self.epochs.iter().filter(|made| made.session == id);
        let standing = own.filter(|made| !made.recorded.undone);
        let compressions = u32::try_from(standing.count()).unwrap_or(u32::MAX);
        let mut info = SessionInfo { compressions, ..session.info.clone() };
        self.sum_up(id, &mut info);
        info
    }

    fn lineage(&self) -> MessageForest {
        MessageForest::new(self.tree.knots().collect())
    }

    /// Erases all messages that say this; gives how many epochs went.
    fn erase(&mut self, key: EntryKey) -> Result<u32, StoreError> {
        let (mut told, mut found) = self.erase_answers(key);
        let mut sources = Vec::new();
        let said = self.tree.nodes.values_mut().filter(|node| node.said.key == key);
        for node in said {
            let session = self.sessions.get(&node.session);
            sources.extend(session.map(|it| content::source(&it.info.name, node.said.place)));
            found = true;
            let bytes = node.said.bytes.take();
            node.indexed = true;
            told.add(node.said.text, bytes.as_deref());
            for session in self.sessions.values_mut() {
                if content::made(&session.info.title, bytes.as_deref()) {
                    session.info.title.clear();
                }
            }
        }
        if !found {
            return Err(StoreError::Unknown { id: key.to_string() });
        }
        for session in self.sessions.values_mut() {
            session.acts.retain(|(_, act)| !told.quoted_by(act));
        }
        let mut gone = told.addresses();
        let is_of = |source: &str| sources.iter().any(|it| content::is_of(source, it));
        let departed = self.originals.iter().filter(|(_, it)| is_of(&it.blob.source));
        gone.extend(departed.map(|(id, _)| *id));
        self.rewrites.retain(|(_, of, _), rewrite| {
            if *of == key {
                gone.extend([rewrite.original, ContentId::for_text(&rewrite.with)]);
            }
            *of != key
        });
        let tree = self.lineage();
        for session in tree.hearers(key, &self.needed()) {
            if let Some(session) = self.sessions.get_mut(&session) {
                session.memos.clear();
            }
        }
        let before = self.epochs.len();
        let mut quoting: Vec<RecordedCompaction> = Vec::new();
        self.epochs.retain(|made| {
            let goes = tree.may_hold(&made.recorded.epoch.covered, key);
            if goes {
                quoting.push(made.recorded.clone());
            }
            !goes
        });
        quoting.iter().for_each(|recorded| gone.extend(content::of_epoch(&recorded.epoch)));
        self.unname(&quoting);
        let mut needed: FxHashSet<ContentId> = FxHashSet::default();
        let texts = |made: &Made| content::of_epoch(&made.recorded.epoch);
        self.epochs.iter().for_each(|made| needed.extend(texts(made)));
        for rewrite in self.rewrites.values() {
            needed.extend([rewrite.original, ContentId::for_text(&rewrite.with)]);
        }
        gone.difference(&needed).for_each(|&id| self.remove(id));
        self.erased.insert(key);
        self.seen += 1;
        Ok(u32::try_from(before - self.epochs.len()).unwrap_or(u32::MAX))
    }

    /// Deletes a text and its passages.
    fn remove(&mut self, id: ContentId) {
        self.originals.remove(&id);
        let known = &mut self.known;
        self.passages.retain(|passage| {
            let stays = passage.kept.original != id && !(passage.own && passage.kept.id == id);
            if !stays {
                known.remove(&(passage.kept.id, passage.session));
            }
            stays
        });
    }

    /// Deletes the passages of a session; what others said too is found under them.
    fn remove_passages(&mut self, doomed: MemorySessionId) {
        self.known.retain(|(_, session)| *session != doomed);
        self.passages.retain(|passage| passage.session != doomed);
    }

    /// Calls an original as others do who said it, where none of them calls it so: as the first does
    /// whose passages are known.
    fn rename(&mut self, id: ContentId) {
        let Some(original) = self.originals.get_mut(&id) else { return };
        let own = self.passages.iter().filter(|passage| passage.kept.original == id);
        let mut sources = own.map(|passage| &passage.kept.source);
        if sources.clone().all(|source| *source != original.blob.source)
            && let Some(source) = sources.next()
        {
            source.clone_into(&mut original.blob.source);
        }
    }

    /// Lets no snapshot name these epochs, where no other session has them.
    fn unname(&mut self, gone: &[RecordedCompaction]) {
        let is_left = |id| self.epochs.iter().any(|made| made.recorded.epoch.id == id);
        let gone: Vec<_> = gone.iter().filter(|it| !is_left(it.epoch.id)).collect();
        for snapshot in &mut self.snapshots {
            snapshot.epoch =
                snapshot.epoch.filter(|id| gone.iter().all(|recorded| recorded.epoch.id != *id));
        }
    }

    /// Deletes a session; gives how many messages went.
    fn delete(&mut self, doomed: MemorySessionId, name: &str) -> u32 {
        self.snapshots.retain(|snapshot| snapshot.session != name);
        self.sessions.remove(&doomed);
        self.answers.retain(|answer| answer.session != doomed);
        let gone = self.tree.bury(doomed);
        self.rewrites.retain(|(session, ..), _| *session != doomed);
        let of_it = |made: &mut Made| made.session == doomed;
        let epochs: Vec<_> = self.epochs.extract_if(.., of_it).map(|made| made.recorded).collect();
        self.unname(&epochs);
        self.seen += u64::from(!epochs.is_empty());
        self.remove_passages(doomed);
        let (mut spare, mut shared) = (Vec::new(), Vec::new());
        for (&id, original) in &mut self.originals {
            if original.held.remove(&doomed) {
                if original.held.is_empty() { spare.push(id) } else { shared.push(id) }
            }
        }
        spare.into_iter().for_each(|id| self.remove(id));
        shared.into_iter().for_each(|id| self.rename(id));
        u32::try_from(gone).unwrap_or(u32::MAX)
    }

    /// The messages that sessions and snapshots lead to.
    fn needed(&self) -> Vec<(i64, MemorySessionId)> {
        let heads = self.sessions.iter().map(|(&id, session)| (session.info.head, id));
        let snapshots = self.snapshots.iter().filter_map(|snapshot| {
            let (id, _) = self.session(&snapshot.session)?;
            Some((snapshot.head, id))
        });
        heads
            .chain(snapshots)
            .filter_map(|(head, id)| Some((self.tree.find(id, head)?, id)))
            .collect()
    }
}

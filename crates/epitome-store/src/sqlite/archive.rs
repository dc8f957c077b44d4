//! The port for people who look after a store, on disk.
//!
//! Invariant: listing reads no message; nothing here is on the way of a request. Called through
//! [`SessionArchive`].

use std::collections::{BTreeMap, BTreeSet};

use crate::mentions::mentions;
use crate::{SessionArchive, StoreFinding};
use epitome_kernel::types::{
    EntryKey, HistoryHash, MeterReading, PlacedMark, RecordedCompaction, SessionBranch,
    SessionInfo, Snapshot, TokenUsage, WordMentions,
};
use epitome_kernel::{Eviction, MessageRecord, SearchRange, StoreError};
use rusqlite::{Connection, params};

use super::checksum::{MESSAGE, SESSION, ScopeChecksum};
use super::fail::Fail;
use super::journal::number;
use super::owner::{Owner, SessionRowId};
use super::{
    SqliteStore, answer, compaction, copy, delete, erase, lesson, mark, passages, session,
    snapshot, sums, tree,
};

impl SessionArchive for SqliteStore {
    fn mentions(
        &self,
        range: SearchRange<'_>,
        words: &[String],
        query: &str,
        most: usize,
    ) -> Result<Vec<WordMentions>, StoreError> {
        Ok(mentions(&self.candidates_in(range, &words.join(" "))?, words, query, most))
    }

    fn scopes(&self) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let mut names = connection.prepare_cached("SELECT name FROM scope ORDER BY name")?;
            let names = names.query_map([], |row| row.get(0))?;
            Ok(names.collect::<Result<_, _>>()?)
        })
    }

    fn sessions(
        &self,
        scope: &str,
        skip: usize,
        most: usize,
        trashed: bool,
    ) -> Result<Vec<SessionInfo>, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else { return Ok(Vec::new()) };
            let listed = session::list(connection, scope, skip, most, trashed)?;
            let summed = listed.into_iter().map(|(id, mut info)| {
                answer::sum_up(connection, id, &mut info)?;
                Ok(info)
            });
            summed.collect()
        })
    }

    fn damage(&self, scope: &str, name: &str) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else { return Ok(Vec::new()) };
            match session::find(connection, scope, name)? {
                Some((session, _)) => Ok(sums::damaged(connection, scope, Some(session))?),
                None => Ok(Vec::new()),
            }
        })
    }

    fn learn_once(&self, scope: &str, about: &str, lesson: &str) -> Result<String, StoreError> {
        self.record(scope, |connection, ledger| {
            Ok(lesson::put_once(connection, ledger, about, lesson)?)
        })
    }

    fn lessons_about(
        &self,
        scope: &str,
        prefix: &str,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => Ok(lesson::about(connection, scope, prefix)?),
            None => Ok(BTreeMap::new()),
        })
    }

    fn session(&self, scope: &str, name: &str) -> Result<SessionInfo, StoreError> {
        self.read(|connection| {
            let (id, mut info) = session::named(connection, number(connection, scope)?, name)?;
            answer::sum_up(connection, id, &mut info)?;
            Ok(info)
        })
    }

    fn history(
        &self,
        scope: &str,
        name: &str,
        head: HistoryHash,
        from: u32,
        most: usize,
    ) -> Result<Vec<MessageRecord>, StoreError> {
        self.read(|connection| {
            let number = number(connection, scope)?;
            let (session, _) = session::named(connection, number, name)?;
            let owner = Owner { scope: number.unwrap_or_default(), session };
            tree::history(connection, owner, head, from, most)
        })
    }

    fn answer(&self, scope: &str, session: &str) -> Result<Option<MessageRecord>, StoreError> {
        self.read(|connection| {
            let number = number(connection, scope)?;
            let (id, info) = session::named(connection, number, session)?;
            answer::newest(connection, number.unwrap_or_default(), id, info.head)
        })
    }

    fn answer_to(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
    ) -> Result<Option<MessageRecord>, StoreError> {
        self.read(|connection| {
            let number = number(connection, scope)?;
            let (id, _) = session::named(connection, number, session)?;
            answer::newest(connection, number.unwrap_or_default(), id, head)
        })
    }

    fn answer_usage(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<BTreeMap<HistoryHash, TokenUsage>, StoreError> {
        self.read(|connection| {
            let (id, _) = session::named(connection, number(connection, scope)?, session)?;
            Ok(answer::usage(connection, id)?)
        })
    }

    fn marks(&self, scope: &str, session: &str) -> Result<Vec<PlacedMark>, StoreError> {
        self.read(|connection| {
            let scope = number(connection, scope)?;
            let (session, _) = session::named(connection, scope, session)?;
            mark::all(connection, scope, session)
        })
    }

    fn branches(&self, scope: &str, session: &str) -> Result<Vec<SessionBranch>, StoreError> {
        self.read(|connection| {
            let number = number(connection, scope)?;
            let (session, info) = session::named(connection, number, session)?;
            let owner = Owner { scope: number.unwrap_or_default(), session };
            tree::branches(connection, owner, info.head)
        })
    }

    fn compactions_of_session(
        &self,
        scope: &str,
        session: &str,
    ) -> Result<Vec<RecordedCompaction>, StoreError> {
        self.read(|connection| {
            let (id, _) = session::named(connection, number(connection, scope)?, session)?;
            compaction::of_session(connection, id)
        })
    }

    fn save_snapshot(
        &self,
        scope: &str,
        snapshot: &Snapshot,
        keep: usize,
    ) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            session::named(connection, Some(ledger.scope), &snapshot.session)?;
            snapshot::add(connection, ledger, snapshot, keep)
        })
    }

    fn snapshots(&self, scope: &str, session: Option<&str>) -> Result<Vec<Snapshot>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => snapshot::list(connection, scope, session),
            None => Ok(Vec::new()),
        })
    }

    fn delete_snapshot(&self, scope: &str, id: &str) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| snapshot::forget(connection, ledger, id))
    }

    fn set_head(
        &self,
        scope: &str,
        session: &str,
        head: HistoryHash,
        meter: Option<&MeterReading>,
    ) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (id, _) = session::named(connection, Some(ledger.scope), session)?;
            let end = tree::end_of(connection, ledger.owner(id), head)?;
            let messages = end.map_or(0, |node| node.place + 1);
            let newest = "head = ?2, messages = ?3";
            ledger.change(connection, &SESSION, id, newest, params![head.0, messages])?;
            match meter {
                Some(meter) => session::measure(connection, ledger, id, meter),
                None => Ok(()),
            }
        })
    }

    fn set_trashed(&self, scope: &str, session: &str, trashed: bool) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (id, _) = session::named(connection, Some(ledger.scope), session)?;
            Ok(ledger.change(connection, &SESSION, id, "trashed = ?2", params![trashed])?)
        })
    }

    fn delete(&self, scope: &str, session: &str) -> Result<u32, StoreError> {
        let gone =
            self.record(scope, |connection, ledger| delete::session(connection, ledger, session))?;
        self.scrub()?;
        Ok(gone)
    }

    fn erase(&self, scope: &str, key: EntryKey) -> Result<u32, StoreError> {
        let gone =
            self.record(scope, |connection, ledger| erase::message(connection, ledger, key))?;
        self.scrub()?;
        Ok(gone)
    }

    fn erased(&self, scope: &str) -> Result<BTreeSet<EntryKey>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => Ok(copy::erased(connection, scope)?.into_iter().collect()),
            None => Ok(BTreeSet::new()),
        })
    }

    fn unindexed(
        &self,
        scope: &str,
        most: usize,
    ) -> Result<Vec<(String, MessageRecord)>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => {
                let mut open = tree::unindexed(connection, scope, most)?;
                open.extend(answer::unindexed(connection, scope, most - open.len())?);
                Ok(open)
            }
            None => Ok(Vec::new()),
        })
    }

    fn index(
        &self,
        scope: &str,
        name: &str,
        messages: &[HistoryHash],
        departure: &Eviction,
    ) -> Result<(), StoreError> {
        let many = departure.passages.len() > passages::PORTION;
        self.record(scope, |connection, ledger| {
            let Some(session) = offered(connection, ledger, name, messages)? else { return Ok(()) };
            passages::keep(connection, ledger, session, departure)?;
            if many { Ok(()) } else { cut(connection, ledger, session, messages) }
        })?;
        if !many {
            return Ok(());
        }
        // They are offered again unless all passages are there.
        self.keep_rest(scope, Some(name), departure)?;
        self.record(scope, |connection, ledger| {
            match offered(connection, ledger, name, messages)? {
                Some(session) => cut(connection, ledger, session, messages),
                None => Ok(()),
            }
        })
    }

    fn rebuild(&self) -> Result<Vec<StoreFinding>, StoreError> {
        self.derive_anew()
    }

    fn verify(&self, repair: bool) -> Result<Vec<StoreFinding>, StoreError> {
        self.examine(repair)
    }
}

/// The session that still holds all of these messages. One of them that was erased or deleted since
/// it was read must not come back by what was made of it; the others are offered again.
fn offered(
    connection: &Connection,
    ledger: &ScopeChecksum,
    name: &str,
    messages: &[HistoryHash],
) -> Result<Option<SessionRowId>, Fail> {
    let found = session::number(connection, ledger.scope, name)?;
    let Some(session) = found else { return Ok(None) };
    let owner = ledger.owner(session);
    for &chain in messages {
        let is_there = match tree::find(connection, owner, chain)? {
            Some(node) => tree::has_bytes(connection, node.id)?,
            None => answer::is_open(connection, owner, chain)?,
        };
        if !is_there {
            return Ok(None);
        }
    }
    Ok(Some(session))
}

/// Notes that these messages are cut into passages.
fn cut(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    messages: &[HistoryHash],
) -> Result<(), Fail> {
    for &chain in messages {
        if let Some(node) = tree::find(connection, ledger.owner(session), chain)? {
            ledger.change(connection, &MESSAGE, node.id, "indexed = 1", &[])?;
        }
    }
    tree::all_indexed(connection, ledger.scope)?;
    for &chain in messages {
        answer::indexed(connection, ledger, session, chain)?;
    }
    Ok(())
}

//! The port of live conversations, on disk.
//!
//! Invariant: what a request adds is one transaction; nothing here reads what did not change.
//! Called through [`Journal`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use epitome_kernel::types::{
    ArrivalRewrite, Compaction, EntryKey, HistoryHash, JournalMark, MeterReading, RecordedAction,
};
use epitome_kernel::{
    AppendBatch, Beginning, Clue, CommitOutcome, CompactionChanges, CompactionSet, Eviction,
    HistoryLookup, HistoryQuery, Holder, Journal, ResponseRecord, StoreError,
};
use rusqlite::{Connection, OptionalExtension};

use super::checksum::ScopeChecksum;
use super::fail::Fail;
use super::owner::{Owner, SessionRowId};
use super::pending::{PendingContent, PendingRecord};
use super::warm::SessionState;
use super::{SqliteStore, act, compaction, holder, inherit, lesson, mark, memo, passages, session};
use crate::batch;

impl Journal for SqliteStore {
    fn find_deepest(
        &self,
        scope: &str,
        session: &str,
        chains: &[HistoryHash],
    ) -> Result<Option<usize>, StoreError> {
        self.read(|connection| match owner(connection, scope, session)? {
            Some(owner) => holder::deepest(connection, owner, chains),
            None => Ok(None),
        })
    }

    fn holders(&self, scope: &str, clue: &Clue<'_>) -> Result<Vec<Holder>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => holder::all(connection, scope, clue),
            None => Ok(Vec::new()),
        })
    }

    fn begin(
        &self,
        scope: &str,
        name: &str,
        beginning: &Beginning,
        at: &str,
    ) -> Result<(), StoreError> {
        self.warm.forget(scope, name);
        self.record(scope, |connection, ledger| {
            if session::find(connection, ledger.scope, name)?.is_some() {
                return Err(StoreError::Taken { name: name.to_owned() }.into());
            }
            let session = session::begin(connection, ledger, name, beginning, at)?;
            match &beginning.from {
                Some((parent, place)) => {
                    inherit::up_to(connection, ledger, session, parent, *place)
                }
                None => Ok(()),
            }
        })?;
        // One that inherits what another one has holds more than is known here.
        if beginning.from.is_none() {
            self.warm.begun(scope, name);
        }
        Ok(())
    }

    fn append(&self, scope: &str, name: &str, batch: &AppendBatch) -> Result<(), StoreError> {
        batch::follows(batch)?;
        let lent = self.warm.take_lent(scope, name);
        let what = PendingContent::Said(Cow::Borrowed(batch));
        let recorded =
            self.along(PendingRecord { scope: scope.into(), session: name.into(), what, lent });
        match recorded {
            Ok(()) => self.warm.recorded(scope, name, batch),
            Err(_) => self.warm.forget(scope, name),
        }
        recorded?;
        // It is recorded by now. A search cuts anew what has no passages.
        drop(self.keep_rest(scope, Some(name), &batch.departure));
        Ok(())
    }

    fn record_response(
        &self,
        scope: &str,
        name: &str,
        answer: &ResponseRecord,
    ) -> Result<(), StoreError> {
        let what = PendingContent::Answered(Cow::Borrowed(answer));
        self.along(PendingRecord { scope: scope.into(), session: name.into(), what, lent: None })
    }

    fn rewrites(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<Vec<ArrivalRewrite>, StoreError> {
        self.read(|connection| match owner(connection, scope, session)? {
            Some(owner) => compaction::rewrites(connection, owner, keys),
            None => Ok(Vec::new()),
        })
    }

    fn compactions(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<CompactionSet, StoreError> {
        self.read(|connection| {
            let Some(ledger) = ScopeChecksum::find(connection, scope)? else {
                return Ok(CompactionSet::default());
            };
            let session = session::number(connection, ledger.scope, session)?;
            epochs(connection, &ledger, session, keys)
        })
    }

    fn lookup(&self, scope: &str, history: &HistoryQuery<'_>) -> Result<HistoryLookup, StoreError> {
        if let Some(found) = self.warm.lookup(scope, history) {
            return Ok(found);
        }
        let HistoryQuery { session: name, keys, chains, before, seen, .. } = *history;
        let (new, chains) = (&keys[before..], &chains[before..]);
        let (lookup, session) = self.read(|connection| {
            let Some(ledger) = ScopeChecksum::find(connection, scope)? else {
                let nothing = match seen {
                    Some(0) => CompactionChanges::Quiet(Vec::new()),
                    _ => CompactionChanges::Anew(CompactionSet::default()),
                };
                let none = HistoryLookup { known: None, rewrites: Vec::new(), epochs: nothing };
                return Ok((none, None));
            };
            let session = session::number(connection, ledger.scope, name)?;
            let owner = ledger.owner(session.unwrap_or(passages::NO_SESSION));
            let revision = ledger.seen as u64;
            let state =
                session.map(|it| SessionState::read(connection, it, revision)).transpose()?;
            let is_own = state.as_ref().is_none_or(|state| batch::goes_on(history, state.head()));
            let epochs = match seen {
                Some(seen) if seen == revision && is_own => {
                    CompactionChanges::Quiet(compaction::beginning_with(connection, owner, new)?)
                }
                _ => CompactionChanges::Anew(epochs(connection, &ledger, session, keys)?),
            };
            if session.is_none() {
                let none = HistoryLookup { known: None, rewrites: Vec::new(), epochs };
                return Ok((none, None));
            }
            let rewrites = compaction::rewrites(connection, owner, new)?;
            let known = holder::deepest(connection, owner, chains)?;
            Ok((HistoryLookup { known, rewrites, epochs }, state))
        })?;
        self.warm.looked_up(scope, name, session, lookup.known.is_none());
        Ok(lookup)
    }

    fn revision(&self, scope: &str, _session: &str) -> Result<u64, StoreError> {
        self.read(|connection| {
            let ledger = ScopeChecksum::find(connection, scope)?;
            Ok(ledger.map_or(0, |ledger| ledger.seen as u64))
        })
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
        let done = self.record(scope, |connection, ledger| {
            let (session, info) = session::named(connection, Some(ledger.scope), name)?;
            if ledger.seen as u64 != seen {
                return Ok(CommitOutcome::Behind);
            }
            compaction::add(connection, ledger, session, epoch, Some(info.head))?;
            passages::keep(connection, ledger, session, departure)?;
            ledger.seen += 1;
            Ok(CommitOutcome::Done(ledger.seen as u64))
        })?;
        if let CommitOutcome::Done(_) = done {
            drop(self.keep_rest(scope, Some(name), departure));
        }
        Ok(done)
    }

    fn record_mark(
        &self,
        scope: &str,
        name: &str,
        mark: &JournalMark,
        at: &str,
    ) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (session, info) = session::named(connection, Some(ledger.scope), name)?;
            let marked = mark::Marked { mark, place: info.head, at };
            mark::add(connection, ledger, session, &marked)
        })
    }

    fn meter(&self, scope: &str, name: &str) -> Result<MeterReading, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else {
                return Ok(MeterReading::default());
            };
            Ok(session::meter(connection, scope, name)?)
        })
    }

    fn memos(&self, scope: &str, name: &str) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else { return Ok(BTreeMap::new()) };
            match session::find(connection, scope, name)? {
                Some((session, _)) => Ok(memo::of_session(connection, scope, session)?),
                None => Ok(BTreeMap::new()),
            }
        })
    }

    fn note(
        &self,
        scope: &str,
        name: &str,
        memos: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (session, _) = session::named(connection, Some(ledger.scope), name)?;
            Ok(memo::replace(connection, ledger, session, memos)?)
        })
    }

    fn lessons(&self, scope: &str) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => Ok(lesson::all(connection, scope)?),
            None => Ok(BTreeMap::new()),
        })
    }

    fn learn(&self, scope: &str, about: &str, lesson: &str) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            Ok(lesson::replace(connection, ledger, about, lesson)?)
        })
    }

    fn act(&self, scope: &str, name: &str, acts: &[RecordedAction]) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (session, info) = session::named(connection, Some(ledger.scope), name)?;
            act::add(connection, ledger, session, info.head, acts)
        })
    }

    fn acts(&self, scope: &str, name: &str) -> Result<Vec<RecordedAction>, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else { return Ok(Vec::new()) };
            match session::find(connection, scope, name)? {
                Some((session, _)) => act::of_session(connection, scope, session),
                None => Ok(Vec::new()),
            }
        })
    }
}

/// The number of a scope.
pub(crate) fn number(connection: &Connection, scope: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM scope WHERE name = ?1")?
        .query_row([scope], |row| row.get(0))
        .optional()
}

/// The numbers of a scope and of a session in it.
pub(crate) fn owner(
    connection: &Connection,
    scope: &str,
    session: &str,
) -> rusqlite::Result<Option<Owner>> {
    let Some(scope) = number(connection, scope)? else { return Ok(None) };
    Ok(session::number(connection, scope, session)?.map(|session| Owner { scope, session }))
}

/// The epochs of a session whose run begins with one of these entries, and its pins.
fn epochs(
    connection: &Connection,
    ledger: &ScopeChecksum,
    session: Option<SessionRowId>,
    keys: &[EntryKey],
) -> Result<CompactionSet, Fail> {
    let seen = ledger.seen as u64;
    let Some(session) = session else {
        return Ok(CompactionSet { seen, ..CompactionSet::default() });
    };
    let owner = ledger.owner(session);
    let recorded = compaction::beginning_with(connection, owner, keys)?;
    Ok(CompactionSet { recorded, pins: mark::pins(connection, owner)?, seen })
}

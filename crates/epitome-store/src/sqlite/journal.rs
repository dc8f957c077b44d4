//! The port of live conversations, on disk.
//!
//! Invariant: what a request adds is one transaction; nothing here reads what did not change.
//! Called through [`Journal`].

use std::collections::BTreeMap;

use epitome_kernel::types::{Acted, Chain, EntryKey, Epoch, Mark, MeterReading, Rewrite};
use epitome_kernel::{
    Answered, Batch, Beginning, Clue, Commit, Departure, Epochs, Holder, Journal, Met, News,
    Onward, StoreError,
};
use rusqlite::{Connection, OptionalExtension};

use super::crowd::{Record, What};
use super::fail::Fail;
use super::ledger::Ledger;
use super::session::SessionId;
use super::{
    Sqlite, act, answer, epoch, holder, inherit, lesson, mark, memo, session, shelf, tree,
};
use crate::batch;

impl Journal for Sqlite {
    fn known(
        &self,
        scope: &str,
        session: &str,
        chains: &[Chain],
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
        })
    }

    fn append(&self, scope: &str, name: &str, batch: &Batch) -> Result<(), StoreError> {
        batch::follows(batch)?;
        let (of, session) = (scope.to_owned(), name.to_owned());
        self.along(Record { scope: of, session, what: What::Said(batch.clone()) })?;
        // It is recorded by now. A search cuts anew what has no passages.
        drop(self.keep_rest(scope, Some(name), &batch.departure));
        Ok(())
    }

    fn answered(&self, scope: &str, name: &str, answer: &Answered) -> Result<(), StoreError> {
        let (scope, session) = (scope.to_owned(), name.to_owned());
        self.along(Record { scope, session, what: What::Answered(answer.clone()) })
    }

    fn rewrites(
        &self,
        scope: &str,
        session: &str,
        keys: &[EntryKey],
    ) -> Result<Vec<Rewrite>, StoreError> {
        self.read(|connection| match owner(connection, scope, session)? {
            Some(owner) => epoch::rewrites(connection, owner, keys),
            None => Ok(Vec::new()),
        })
    }

    fn epochs(&self, scope: &str, session: &str, keys: &[EntryKey]) -> Result<Epochs, StoreError> {
        self.read(|connection| {
            let Some(ledger) = Ledger::find(connection, scope)? else {
                return Ok(Epochs::default());
            };
            let session = session::number(connection, ledger.scope, session)?;
            epochs(connection, &ledger, session, keys)
        })
    }

    fn meet(&self, scope: &str, history: &Onward<'_>) -> Result<Met, StoreError> {
        let Onward { session, keys, chains, before, seen } = *history;
        let (new, chains) = (&keys[before..], &chains[before..]);
        self.read(|connection| {
            let Some(ledger) = Ledger::find(connection, scope)? else {
                let nothing = match seen {
                    Some(0) => News::Quiet(Vec::new()),
                    _ => News::Anew(Epochs::default()),
                };
                return Ok(Met { known: None, rewrites: Vec::new(), epochs: nothing });
            };
            let session = session::number(connection, ledger.scope, session)?;
            let owner = ledger.owner(session.unwrap_or(shelf::NO_SESSION));
            let epochs = match seen {
                Some(seen) if seen == ledger.seen as u64 => {
                    News::Quiet(epoch::beginning_with(connection, owner, new)?)
                }
                _ => News::Anew(epochs(connection, &ledger, session, keys)?),
            };
            if session.is_none() {
                return Ok(Met { known: None, rewrites: Vec::new(), epochs });
            }
            let rewrites = epoch::rewrites(connection, owner, new)?;
            Ok(Met { known: holder::deepest(connection, owner, chains)?, rewrites, epochs })
        })
    }

    fn seen(&self, scope: &str) -> Result<u64, StoreError> {
        self.read(|connection| {
            let ledger = Ledger::find(connection, scope)?;
            Ok(ledger.map_or(0, |ledger| ledger.seen as u64))
        })
    }

    fn commit(
        &self,
        scope: &str,
        name: &str,
        epoch: &Epoch,
        departure: &Departure,
        seen: u64,
    ) -> Result<Commit, StoreError> {
        batch::addressed(epoch)?;
        let done = self.record(scope, |connection, ledger| {
            let (session, info) = session::named(connection, Some(ledger.scope), name)?;
            if ledger.seen as u64 != seen {
                return Ok(Commit::Behind);
            }
            epoch::add(connection, ledger, session, epoch, Some(info.head))?;
            shelf::keep(connection, ledger, session, departure)?;
            ledger.seen += 1;
            Ok(Commit::Done(ledger.seen as u64))
        })?;
        if let Commit::Done(_) = done {
            drop(self.keep_rest(scope, Some(name), departure));
        }
        Ok(done)
    }

    fn mark(&self, scope: &str, name: &str, mark: &Mark, at: &str) -> Result<(), StoreError> {
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

    fn act(&self, scope: &str, name: &str, acts: &[Acted]) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (session, info) = session::named(connection, Some(ledger.scope), name)?;
            act::add(connection, ledger, session, info.head, acts)
        })
    }

    fn acts(&self, scope: &str, name: &str) -> Result<Vec<Acted>, StoreError> {
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
) -> rusqlite::Result<Option<tree::Owner>> {
    let Some(scope) = number(connection, scope)? else { return Ok(None) };
    Ok(session::number(connection, scope, session)?.map(|session| tree::Owner { scope, session }))
}

/// The epochs of a session whose run begins with one of these entries, and its pins.
fn epochs(
    connection: &Connection,
    ledger: &Ledger,
    session: Option<SessionId>,
    keys: &[EntryKey],
) -> Result<Epochs, Fail> {
    let seen = ledger.seen as u64;
    let Some(session) = session else { return Ok(Epochs { seen, ..Epochs::default() }) };
    let owner = ledger.owner(session);
    let recorded = epoch::beginning_with(connection, owner, keys)?;
    Ok(Epochs { recorded, pins: mark::pins(connection, owner)?, seen })
}

/// Records what came back.
pub(crate) fn answered(
    connection: &Connection,
    ledger: &mut Ledger,
    name: &str,
    answer: &Answered,
) -> Result<(), Fail> {
    let (session, _) = session::named(connection, Some(ledger.scope), name)?;
    answer::add(connection, ledger, session, answer)
}

/// Records what was said.
pub(crate) fn append(
    connection: &Connection,
    ledger: &mut Ledger,
    name: &str,
    batch: &Batch,
) -> Result<(), Fail> {
    let scope = ledger.scope;
    let (session, known) = match session::find(connection, scope, name)? {
        Some(found) => found,
        None => {
            let beginning = batch::beginning(batch);
            let session = session::begin(connection, ledger, name, &beginning, &batch.at)?;
            (session, <_>::default())
        }
    };
    let owner = ledger.owner(session);
    let mut end = tree::end_of(connection, owner, batch.after)?;
    batch::continues(batch, end.map(|node| node.place))?;
    for said in &batch.said {
        end = Some(match tree::find(connection, owner, said.chain)? {
            Some(node) => node,
            None => tree::add(connection, ledger, session, end, said)?,
        });
    }
    let gone = |key| tree::is_erased(connection, scope, key);
    let (rewrites, departure) = batch::without_erased(batch, gone)?;
    for rewrite in rewrites {
        epoch::rewrite(connection, ledger, session, rewrite)?;
    }
    shelf::keep(connection, ledger, session, &departure)?;
    let head = batch.said.last().map_or(batch.after, |said| said.chain);
    let messages = end.map_or(0, |node| node.place + 1);
    let row = session::SessionRow { id: session, known: &known };
    session::advance(connection, ledger, row, batch, session::HistoryEnd { head, messages })?;
    Ok(())
}

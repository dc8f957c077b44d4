//! The port of live conversations, on disk.
//!
//! Invariant: what a request adds is one transaction; nothing here reads what did not change.
//! Called through [`Journal`].

use std::collections::BTreeMap;

use epitome_kernel::types::{Acted, Chain, EntryKey, Epoch, Mark, Rewrite};
use epitome_kernel::{
    Answered, Batch, Commit, Departure, Epochs, Journal, Met, News, Onward, StoreError,
};
use rusqlite::{Connection, OptionalExtension};

use super::crowd::{Record, What};
use super::fail::Fail;
use super::ledger::Ledger;
use super::{Sqlite, act, answer, epoch, lesson, mark, memo, session, shelf, tree};
use crate::batch;

impl Journal for Sqlite {
    fn known(&self, scope: &str, chains: &[Chain]) -> Result<Option<(usize, String)>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => known(connection, scope, chains),
            None => Ok(None),
        })
    }

    fn append(&self, scope: &str, name: &str, batch: &Batch) -> Result<(), StoreError> {
        batch::follows(batch)?;
        let (scope, session) = (scope.to_owned(), name.to_owned());
        self.along(Record { scope, session, what: What::Said(batch.clone()) })
    }

    fn answered(&self, scope: &str, name: &str, answer: &Answered) -> Result<(), StoreError> {
        let (scope, session) = (scope.to_owned(), name.to_owned());
        self.along(Record { scope, session, what: What::Answered(answer.clone()) })
    }

    fn rewrites(&self, scope: &str, keys: &[EntryKey]) -> Result<Vec<Rewrite>, StoreError> {
        self.read(|connection| match number(connection, scope)? {
            Some(scope) => epoch::rewrites(connection, scope, keys),
            None => Ok(Vec::new()),
        })
    }

    fn epochs(&self, scope: &str, keys: &[EntryKey]) -> Result<Epochs, StoreError> {
        self.read(|connection| {
            let Some(ledger) = Ledger::find(connection, scope)? else {
                return Ok(Epochs::default());
            };
            epochs(connection, &ledger, keys)
        })
    }

    fn meet(&self, scope: &str, history: &Onward<'_>) -> Result<Met, StoreError> {
        let Onward { keys, chains, before, seen } = *history;
        let (new, chains) = (&keys[before..], &chains[before..]);
        self.read(|connection| {
            let Some(ledger) = Ledger::find(connection, scope)? else {
                let nothing = match seen {
                    Some(0) => News::Quiet(Vec::new()),
                    _ => News::Anew(Epochs::default()),
                };
                return Ok(Met { known: None, rewrites: Vec::new(), epochs: nothing });
            };
            let scope = ledger.scope;
            let epochs = match seen {
                Some(seen) if seen == ledger.seen as u64 => {
                    News::Quiet(epoch::beginning_with(connection, scope, new)?)
                }
                _ => News::Anew(epochs(connection, &ledger, keys)?),
            };
            let rewrites = epoch::rewrites(connection, scope, new)?;
            Ok(Met { known: known(connection, scope, chains)?, rewrites, epochs })
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
        self.record(scope, |connection, ledger| {
            let (session, _) = session::named(connection, Some(ledger.scope), name)?;
            if ledger.seen as u64 != seen {
                return Ok(Commit::Behind);
            }
            epoch::add(connection, ledger, session, epoch)?;
            shelf::keep(connection, ledger, session, departure)?;
            ledger.seen += 1;
            Ok(Commit::Done(ledger.seen as u64))
        })
    }

    fn mark(&self, scope: &str, name: &str, mark: &Mark, at: &str) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (session, _) = session::named(connection, Some(ledger.scope), name)?;
            mark::add(connection, ledger, session, mark, at)
        })
    }

    fn rent(&self, scope: &str, name: &str) -> Result<f64, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else { return Ok(0.0) };
            Ok(session::rent(connection, scope, name)?.unwrap_or_default())
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
            let (session, _) = session::named(connection, Some(ledger.scope), name)?;
            act::add(connection, ledger, session, acts)
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

/// The deepest of these histories that is recorded, and the session that it is known by.
fn known(
    connection: &Connection,
    scope: i64,
    chains: &[Chain],
) -> Result<Option<(usize, String)>, Fail> {
    let deepest = batch::deepest(chains, |chain| tree::find(connection, scope, chain))?;
    let Some((index, node)) = deepest else { return Ok(None) };
    let name = match session::ending_with(connection, scope, chains[index], node.session)? {
        Some(name) => name,
        None => session::name(connection, node.session)?,
    };
    Ok(Some((index, name)))
}

/// The epochs whose run begins with one of these entries, and the pins.
fn epochs(connection: &Connection, ledger: &Ledger, keys: &[EntryKey]) -> Result<Epochs, Fail> {
    Ok(Epochs {
        recorded: epoch::beginning_with(connection, ledger.scope, keys)?,
        pins: mark::pins(connection, ledger.scope)?,
        seen: ledger.seen as u64,
    })
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
    let mut end = tree::end_of(connection, scope, batch.after)?;
    batch::continues(batch, end.map(|node| node.place))?;
    let (session, known) = match session::find(connection, scope, name)? {
        Some(found) => found,
        None => (session::begin(connection, ledger, name, batch)?, <_>::default()),
    };
    for said in &batch.said {
        end = Some(match tree::find(connection, scope, said.chain)? {
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
    session::advance(connection, ledger, session, &known, batch, (head, messages))?;
    Ok(())
}

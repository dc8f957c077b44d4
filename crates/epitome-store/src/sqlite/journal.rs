//! The port of live conversations, on disk.
//!
//! Invariant: what a request adds is one transaction; nothing here reads what did not change.
//! Called through [`Journal`].

use std::collections::BTreeMap;

use epitome_kernel::types::{Chain, EntryKey, Epoch, Mark, Rewrite};
use epitome_kernel::{Answered, Batch, Commit, Departure, Epochs, Journal, StoreError};
use rusqlite::{Connection, OptionalExtension};

use super::fail::Fail;
use super::ledger::Ledger;
use super::{Sqlite, answer, epoch, mark, memo, session, shelf, tree};
use crate::batch;

impl Journal for Sqlite {
    fn known(&self, scope: &str, chains: &[Chain]) -> Result<Option<(usize, String)>, StoreError> {
        self.read(|connection| {
            let Some(scope) = number(connection, scope)? else { return Ok(None) };
            let deepest = batch::deepest(chains, |chain| tree::find(connection, scope, chain))?;
            let Some((index, node)) = deepest else { return Ok(None) };
            let name = match session::ending_with(connection, scope, chains[index], node.session)? {
                Some(name) => name,
                None => session::name(connection, node.session)?,
            };
            Ok(Some((index, name)))
        })
    }

    fn append(&self, scope: &str, name: &str, batch: &Batch) -> Result<(), StoreError> {
        batch::follows(batch)?;
        self.record(scope, |connection, ledger| append(connection, ledger, name, batch))
    }

    fn answered(&self, scope: &str, name: &str, answer: &Answered) -> Result<(), StoreError> {
        self.record(scope, |connection, ledger| {
            let (session, _) = session::named(connection, Some(ledger.scope), name)?;
            answer::add(connection, ledger, session, answer)
        })
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
            Ok(Epochs {
                recorded: epoch::beginning_with(connection, ledger.scope, keys)?,
                pins: mark::pins(connection, ledger.scope)?,
                seen: ledger.seen as u64,
            })
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
}

/// The number of a scope.
pub(crate) fn number(connection: &Connection, scope: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT id FROM scope WHERE name = ?1")?
        .query_row([scope], |row| row.get(0))
        .optional()
}

fn append(
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

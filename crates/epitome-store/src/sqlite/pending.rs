//! What a request adds, while it waits to be written, and how it is written.
//!
//! Invariant: whoever writes it has begun the transaction, and the ledgers of the scopes are saved
//! in it. Called by [`super::journal`], which says what is to be written, and by
//! [`super::group_commit`], which has it written.

use std::collections::btree_map::{BTreeMap, Entry};

use epitome_kernel::types::SessionInfo;
use epitome_kernel::{AppendBatch, ResponseRecord, StoreError};
use rusqlite::Connection;

use super::checksum::ScopeChecksum;
use super::fail::Fail;
use super::warm::SessionStamp;
use super::{answer, compaction, passages, session, tree};
use crate::batch;

/// What a request adds.
#[derive(Debug)]
pub(crate) struct PendingRecord {
    pub(crate) scope: String,
    pub(crate) session: String,
    pub(crate) what: PendingContent,
    /// What was lent of the session for it, which must be so yet.
    pub(crate) lent: Option<SessionStamp>,
}

/// What was said, or what came back.
#[derive(Debug)]
pub(crate) enum PendingContent {
    Said(AppendBatch),
    Answered(ResponseRecord),
}

/// Writes these; where one of them cannot be written, the caller undoes them all.
pub(crate) fn write(connection: &Connection, records: &[&PendingRecord]) -> Result<(), Fail> {
    let mut ledgers = BTreeMap::new();
    for PendingRecord { scope, session, what, lent } in records {
        let ledger = match ledgers.entry(scope) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(ScopeChecksum::open(connection, scope)?),
        };
        match what {
            PendingContent::Said(batch) => {
                append(connection, ledger, LentSession { name: session, lent: *lent }, batch)?;
            }
            PendingContent::Answered(answer) => answered(connection, ledger, session, answer)?,
        }
    }
    ledgers.values().try_for_each(|ledger| Ok(ledger.save(connection)?))
}

/// Records what came back.
fn answered(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    name: &str,
    answer: &ResponseRecord,
) -> Result<(), Fail> {
    let (session, _) = session::named(connection, Some(ledger.scope), name)?;
    if answer.is_whole {
        session::went_whole(connection, ledger, session)?;
    }
    answer::add(connection, ledger, session, answer)
}

/// A session by its name, and what was lent of it.
struct LentSession<'a> {
    name: &'a str,
    lent: Option<SessionStamp>,
}

impl LentSession<'_> {
    /// Refuses a batch that was made of what is so no longer.
    fn check(&self, known: &SessionInfo, seen: i64, batch: &AppendBatch) -> Result<(), StoreError> {
        let (head, turns) = (known.head, known.figures.turns);
        let now = SessionStamp { head, turns, seen: seen as u64 };
        match self.lent {
            Some(lent) if lent != now || batch.after != head => {
                Err(StoreError::Overtaken { session: self.name.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Records what was said.
fn append(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    of: LentSession<'_>,
    batch: &AppendBatch,
) -> Result<(), Fail> {
    let (scope, name) = (ledger.scope, of.name);
    let (session, known) = match session::find(connection, scope, name)? {
        Some(found) => found,
        None => {
            let beginning = batch::beginning(batch);
            let session = session::begin(connection, ledger, name, &beginning, &batch.at)?;
            (session, <_>::default())
        }
    };
    of.check(&known, ledger.seen, batch)?;
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
        compaction::rewrite(connection, ledger, session, rewrite)?;
    }
    passages::keep(connection, ledger, session, &departure)?;
    let head = batch.said.last().map_or(batch.after, |said| said.chain);
    let messages = end.map_or(0, |node| node.place + 1);
    let row = session::SessionRow { id: session, known: &known };
    session::advance(connection, ledger, row, batch, session::HistoryEnd { head, messages })?;
    Ok(())
}

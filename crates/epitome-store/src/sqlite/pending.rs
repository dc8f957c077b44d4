//! What a request adds, while it waits to be written, and how it is written.
//!
//! Invariant: whoever writes it has begun the transaction, and the ledgers of the scopes are saved
//! in it. Called by [`super::journal`], which says what is to be written, and by
//! [`super::group_commit`], which has it written.

use std::borrow::Cow;
use std::collections::btree_map::{BTreeMap, Entry};

use epitome_kernel::{AppendBatch, ResponseRecord, StoreError};
use rusqlite::Connection;

use super::checksum::ScopeChecksum;
use super::fail::Fail;
use super::session_row::{HistoryEnd, SessionRow};
use super::tree::{Erasures, NewMessage, NewPlace};
use super::warm::SessionStamp;
use super::{act, answer, compaction, passages, session, tree};
use crate::batch;

/// What a request adds.
#[derive(Debug)]
pub(crate) struct PendingRecord<'a> {
    pub(crate) scope: Cow<'a, str>,
    pub(crate) session: Cow<'a, str>,
    pub(crate) what: PendingContent<'a>,
    /// What was lent of the session for it, which must be so yet.
    pub(crate) lent: Option<SessionStamp>,
}

/// What was said, or what came back.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "whoever hands it over puts all of it into a box")]
pub(crate) enum PendingContent<'a> {
    Said(Cow<'a, AppendBatch>),
    Answered(Cow<'a, ResponseRecord>),
}

impl PendingRecord<'_> {
    /// The same, for somebody else to write.
    pub(crate) fn into_owned(self) -> PendingRecord<'static> {
        let Self { scope, session, what, lent } = self;
        PendingRecord {
            scope: Cow::Owned(scope.into_owned()),
            session: Cow::Owned(session.into_owned()),
            what: match what {
                PendingContent::Said(batch) => PendingContent::Said(Cow::Owned(batch.into_owned())),
                PendingContent::Answered(answer) => {
                    PendingContent::Answered(Cow::Owned(answer.into_owned()))
                }
            },
            lent,
        }
    }
}

/// Writes these; where one of them cannot be written, the caller undoes them all.
pub(crate) fn write(connection: &Connection, records: &[&PendingRecord<'_>]) -> Result<(), Fail> {
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
    fn check(&self, row: &SessionRow, seen: i64, batch: &AppendBatch) -> Result<(), StoreError> {
        let now = SessionStamp { head: row.head, turns: row.turns, seen: seen as u64 };
        match self.lent {
            Some(lent) if lent != now || batch.after != row.head => {
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
    let scope = ledger.scope;
    let row = row_of(connection, ledger, of.name, batch)?;
    of.check(&row, ledger.seen, batch)?;
    let owner = ledger.owner(row.id);
    let mut end = tree::end_of(connection, owner, batch.after)?;
    batch::continues(batch, end.map(|node| node.place))?;
    // What was lent said that nothing of the batch is recorded.
    let mut place = if of.lent.is_some() { NewPlace::Unrecorded } else { NewPlace::Unknown };
    let erasures = Erasures::read(connection, scope)?;
    for said in &batch.said {
        let known = match place {
            NewPlace::Unknown => tree::find(connection, owner, said.chain)?,
            NewPlace::Unrecorded | NewPlace::BehindNew => None,
        };
        end = Some(match known {
            Some(node) => node,
            None => {
                let parent = end;
                let new = NewMessage { session: row.id, parent, said, place, erasures };
                place = NewPlace::BehindNew;
                tree::add(connection, ledger, &new)?
            }
        });
    }
    let gone = |key| erasures.hold(connection, scope, key);
    let (rewrites, departure) = batch::without_erased(batch, gone)?;
    for rewrite in rewrites {
        compaction::rewrite(connection, ledger, row.id, rewrite)?;
    }
    passages::keep(connection, ledger, row.id, &departure)?;
    let head = batch.said.last().map_or(batch.after, |said| said.chain);
    let messages = end.map_or(0, |node| node.place + 1);
    row.advance(connection, ledger, batch, HistoryEnd { head, messages })?;
    act::add(connection, ledger, row.id, head, &batch.acts)
}

/// The row of the session that a batch belongs to, which it begins where there is none.
fn row_of(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    name: &str,
    batch: &AppendBatch,
) -> Result<SessionRow, Fail> {
    if let Some(row) = SessionRow::find(connection, ledger.scope, name)? {
        return Ok(row);
    }
    session::begin(connection, ledger, name, &batch::beginning(batch), &batch.at)?;
    let nearest = None;
    let lost = || StoreError::NoSession { name: name.to_owned(), nearest };
    Ok(SessionRow::find(connection, ledger.scope, name)?.ok_or_else(lost)?)
}

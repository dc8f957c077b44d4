//! Marks in the database: what was taken back, done again, pinned and unpinned.
//!
//! Invariant: marks are only added; whether an epoch is taken back stands beside it as well, and
//! the marks can tell it anew. Called by [`super::journal`].

use epitome_kernel::types::{
    CompactionId, ContentId, EntryKey, HistoryHash, JournalMark, PlacedMark,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::checksum::{EPOCH, MARK, ScopeChecksum};
use super::fail::Fail;
use super::owner::{Owner, SessionRowId};
use crate::marks;

/// A mark, where its session had come to, and when.
pub(crate) struct Marked<'a> {
    pub(crate) mark: &'a JournalMark,
    pub(crate) place: HistoryHash,
    pub(crate) at: &'a str,
}

/// Adds a mark of a session.
pub(crate) fn add(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    marked: &Marked<'_>,
) -> Result<(), Fail> {
    let owner = ledger.owner(session);
    let Marked { mark, place, at } = *marked;
    let (kind, target) = match *mark {
        JournalMark::Undo(epoch) => ("undo", turn(connection, ledger, session, epoch, true)?.0),
        JournalMark::Redo(epoch) => ("redo", turn(connection, ledger, session, epoch, false)?.0),
        JournalMark::Pin(key) => ("pin", key.0),
        JournalMark::Unpin(key) if pins(connection, owner)?.contains(&key) => ("unpin", key.0),
        JournalMark::Unpin(key) => return Err(marks::unpinned(key).into()),
    };
    ledger.insert(connection, &MARK, params![kind, target, session, at, place.0], &[])?;
    ledger.seen += 1;
    Ok(())
}

/// Takes an epoch back, or does it again.
fn turn(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    id: CompactionId,
    undone: bool,
) -> Result<CompactionId, Fail> {
    let found: Option<(i64, bool)> = connection
        .prepare_cached(
            "SELECT id, undone FROM epoch WHERE scope = ?1 AND epoch = ?2 AND session = ?3",
        )?
        .query_row(params![ledger.scope, id.0, session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((row, before)) if before != undone => {
            ledger.change(connection, &EPOCH, row, "undone = ?2", params![undone])?;
        }
        found => return Err(marks::nothing(id, found.is_some(), undone).into()),
    }
    Ok(id)
}

/// The marks of a session, oldest first.
pub(crate) fn all(
    connection: &Connection,
    scope: Option<i64>,
    session: SessionRowId,
) -> Result<Vec<PlacedMark>, Fail> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT kind, target, place FROM mark
         WHERE scope = ?1 AND kind IN ('undo', 'redo', 'pin', 'unpin') AND session = ?2 AND {}
         ORDER BY id",
        MARK.is_whole
    ))?;
    let mut rows = statement.query(params![scope, session])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, target): (String, _) = (row.get(0)?, row.get(1)?);
        let mark = match &*kind {
            "undo" => JournalMark::Undo(ContentId(target)),
            "redo" => JournalMark::Redo(ContentId(target)),
            "pin" => JournalMark::Pin(EntryKey(target)),
            "unpin" => JournalMark::Unpin(EntryKey(target)),
            _ => continue,
        };
        all.push(PlacedMark { mark, place: row.get::<_, Option<_>>(2)?.map(HistoryHash) });
    }
    Ok(all)
}

/// The entries that a session pinned, in the order in which that was done.
pub(crate) fn pins(
    connection: &Connection,
    Owner { scope, session }: Owner,
) -> rusqlite::Result<Vec<EntryKey>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT kind, target FROM mark
         WHERE scope = ?1 AND kind IN ('pin', 'unpin') AND session = ?2 AND {} ORDER BY id",
        MARK.is_whole
    ))?;
    let mut rows = statement.query([scope, session])?;
    let mut pins: Vec<EntryKey> = Vec::new();
    while let Some(row) = rows.next()? {
        let pinned = row.get_ref(0)?.as_str()? == "pin";
        marks::pin(&mut pins, EntryKey(row.get(1)?), pinned);
    }
    Ok(pins)
}

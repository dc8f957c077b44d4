//! Marks in the database: what was taken back, done again, pinned and unpinned.
//!
//! Invariant: marks are only added; whether an epoch is taken back stands beside it as well, and
//! the marks can tell it anew. Called by [`super::journal`].

use epitome_kernel::types::{EntryKey, EpochId, Mark};
use rusqlite::{Connection, OptionalExtension, params};

use super::fail::Fail;
use super::ledger::{EPOCH, Ledger, MARK};
use super::session::SessionId;
use crate::marks;

/// Adds a mark.
pub(crate) fn add(
    connection: &Connection,
    ledger: &mut Ledger,
    session: SessionId,
    mark: &Mark,
    at: &str,
) -> Result<(), Fail> {
    let (kind, target) = match *mark {
        Mark::Undo(epoch) => ("undo", turn(connection, ledger, epoch, true)?.0),
        Mark::Redo(epoch) => ("redo", turn(connection, ledger, epoch, false)?.0),
        Mark::Pin(key) => ("pin", key.0),
        Mark::Unpin(key) if pins(connection, ledger.scope)?.contains(&key) => ("unpin", key.0),
        Mark::Unpin(key) => return Err(marks::unpinned(key).into()),
    };
    ledger.insert(connection, &MARK, params![kind, target, session, at], &[])?;
    ledger.seen += 1;
    Ok(())
}

/// Takes an epoch back, or does it again.
fn turn(
    connection: &Connection,
    ledger: &mut Ledger,
    id: EpochId,
    undone: bool,
) -> Result<EpochId, Fail> {
    let found: Option<(i64, bool)> = connection
        .prepare_cached("SELECT id, undone FROM epoch WHERE scope = ?1 AND epoch = ?2")?
        .query_row(params![ledger.scope, id.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        Some((row, before)) if before != undone => {
            ledger.change(connection, &EPOCH, row, "undone = ?2", params![undone])?;
        }
        found => return Err(marks::nothing(id, found.is_some(), undone).into()),
    }
    Ok(id)
}

/// The entries that are pinned, in the order in which that was done.
pub(crate) fn pins(connection: &Connection, scope: i64) -> rusqlite::Result<Vec<EntryKey>> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, target FROM mark WHERE scope = ?1 AND kind IN ('pin', 'unpin') ORDER BY id",
    )?;
    let mut rows = statement.query([scope])?;
    let mut pins: Vec<EntryKey> = Vec::new();
    while let Some(row) = rows.next()? {
        let pinned = row.get_ref(0)?.as_str()? == "pin";
        marks::pin(&mut pins, EntryKey(row.get(1)?), pinned);
    }
    Ok(pins)
}

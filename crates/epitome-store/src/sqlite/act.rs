//! Acts in the database: what was done to a session beside what was said.
//!
//! Invariant: acts are only added; they go with their session, and those that hold the words of an
//! erased message with that. Called by [`super::journal`], and by [`super::erase`] and
//! [`super::delete`] when they are to go for good.

use epitome_kernel::types::{HistoryHash, RecordedAction};
use rusqlite::{Connection, Row, params};

use super::checksum::{ACT, ScopeChecksum};
use super::fail::Fail;
use super::owner::SessionRowId;
use super::remove;
use crate::content::ErasedContent;

/// Adds acts; `place` is what the session has come to.
pub(crate) fn add(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    place: HistoryHash,
    acts: &[RecordedAction],
) -> Result<(), Fail> {
    for act in acts {
        let written =
            serde_json::to_string(act).map_err(|error| Fail::damaged(error.to_string()))?;
        ledger.insert(connection, &ACT, params![session, written, place.0], &[])?;
    }
    ledger.seen += i64::from(!acts.is_empty());
    Ok(())
}

/// The acts of a session that are as they were written, oldest first.
pub(crate) fn of_session(
    connection: &Connection,
    scope: i64,
    session: SessionRowId,
) -> Result<Vec<RecordedAction>, Fail> {
    let whole = ACT.is_whole;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, act FROM act WHERE scope = ?1 AND session = ?2 AND {whole} ORDER BY id"
    ))?;
    let mut rows = statement.query(params![scope, session])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Reads an act: its number and what is written of it.
pub(crate) fn read(row: &Row<'_>) -> Result<RecordedAction, Fail> {
    let (id, written): (i64, String) = (row.get(0)?, row.get(1)?);
    serde_json::from_str(&written)
        .map_err(|error| Fail::damaged(format!("the act {id} cannot be read: {error}")))
}

/// Deletes the acts, of whatever session, that hold words of what was told.
pub(crate) fn erase(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    told: &ErasedContent,
) -> Result<(), Fail> {
    let mut statement = connection.prepare_cached("SELECT id, act FROM act WHERE scope = ?1")?;
    let mut rows = statement.query([ledger.scope])?;
    let mut gone = Vec::new();
    while let Some(row) = rows.next()? {
        if told.quoted_by(&read(row)?) {
            gone.push(row.get::<_, i64>(0)?);
        }
    }
    drop(rows);
    for id in gone {
        ledger.delete(connection, &ACT, id)?;
    }
    Ok(())
}

/// Deletes all that was done to a session.
pub(crate) fn forget(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
) -> rusqlite::Result<()> {
    remove::rows(connection, ledger, &ACT, "session = ?2", params![session])
}

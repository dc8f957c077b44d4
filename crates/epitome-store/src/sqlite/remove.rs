//! Taking rows out of the database for good.
//!
//! Invariant: with a text go its pieces in the index, so that nothing is found that is not there.
//! Called by [`super::delete`] and [`super::erase`].

use epitome_kernel::StoreError;
use epitome_kernel::types::{Compaction, ContentId, EntryKey};
use rusqlite::{Connection, ToSql, params};

use super::checksum::{BLOB, CheckedTable, EPOCH, HELD, PASSAGE, RAW, SNAPSHOT, ScopeChecksum};
use super::fail::{Fail, broken};
use super::owner::SessionRowId;
use super::{SqliteStore, compaction, file};
use crate::lineage::{MessageForest, MessageNode};

/// Deletes the rows of a table that a condition selects; `?1` is the scope.
pub(crate) fn rows(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    table: &CheckedTable,
    condition: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    let sql = format!("SELECT rowid FROM {} WHERE scope = ?1 AND {condition}", table.name);
    let mut all: Vec<&dyn ToSql> = vec![&ledger.scope];
    all.extend(values);
    let found: Vec<i64> = connection
        .prepare_cached(&sql)?
        .query_map(&*all, |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for &row in &found {
        ledger.delete(connection, table, row)?;
    }
    Ok(())
}

/// Deletes a text, with its passages and the texts that only they have.
pub(crate) fn text(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    id: ContentId,
) -> rusqlite::Result<()> {
    let passages: Vec<(i64, [u8; 16])> = connection
        .prepare_cached(
            "SELECT id, holder FROM passage WHERE scope = ?1 AND original = ?2
             UNION SELECT id, holder FROM passage
             WHERE scope = ?1 AND text_id = ?2 AND holder = ?2",
        )?
        .query_map(params![ledger.scope, id.0], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (row, holder) in passages {
        passage(connection, ledger, row, holder)?;
    }
    rows(connection, ledger, &BLOB, "id = ?2", params![id.0])?;
    rows(connection, ledger, &HELD, "blob = ?2", params![id.0])?;
    Ok(())
}

/// Deletes a passage, with the text that only it has.
pub(crate) fn passage(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    row: i64,
    holder: [u8; 16],
) -> rusqlite::Result<()> {
    ledger.delete(connection, &PASSAGE, row)?;
    connection.prepare_cached("DELETE FROM passage_terms WHERE rowid = ?1")?.execute([row])?;
    let own = "id = ?2 AND source IS NULL
        AND NOT EXISTS (SELECT 1 FROM held WHERE held.scope = blob.scope AND held.blob = blob.id)
        AND NOT EXISTS (SELECT 1 FROM passage WHERE passage.scope = blob.scope
            AND passage.text_id = blob.id AND passage.holder = blob.id)";
    rows(connection, ledger, &BLOB, own, params![holder])
}

/// Deletes long encoded messages that no message refers to any longer.
pub(crate) fn raw(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    candidates: impl IntoIterator<Item = [u8; 16]>,
) -> rusqlite::Result<()> {
    let mut spare: rustc_hash::FxHashSet<[u8; 16]> = candidates.into_iter().collect();
    let mut statement = connection.prepare_cached(
        "SELECT raw FROM message WHERE scope = ?1 AND raw NOT NULL AND bytes IS NULL",
    )?;
    let mut used = statement.query([ledger.scope])?;
    while let Some(row) = used.next()? {
        spare.remove(&row.get::<_, [u8; 16]>(0)?);
    }
    for id in spare {
        rows(connection, ledger, &RAW, "id = ?2", params![id])?;
    }
    Ok(())
}

/// Deletes an epoch; snapshots name it no longer, where no other session has it.
pub(crate) fn epoch(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    row: i64,
    id: ContentId,
) -> rusqlite::Result<()> {
    ledger.delete(connection, &EPOCH, row)?;
    let naming: Vec<i64> = connection
        .prepare_cached(
            "SELECT id FROM snapshot WHERE scope = ?1 AND epoch = ?2 AND NOT EXISTS
                 (SELECT 1 FROM epoch WHERE scope = ?1 AND epoch = ?2)",
        )?
        .query_map(params![ledger.scope, id.0], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for snapshot in naming {
        ledger.change(connection, &SNAPSHOT, snapshot, "epoch = NULL", &[])?;
    }
    Ok(())
}

/// The tree of a scope.
pub(crate) fn lineage(connection: &Connection, scope: i64) -> rusqlite::Result<MessageForest> {
    let knots = connection
        .prepare_cached(
            "SELECT id, parent, session, key FROM message WHERE scope = ?1 ORDER BY id",
        )?
        .query_map([scope], |row| {
            Ok(MessageNode {
                id: row.get(0)?,
                parent: row.get(1)?,
                session: row.get(2)?,
                key: EntryKey(row.get(3)?),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(MessageForest::new(knots))
}

/// All epochs of a scope, with their rows and the sessions that recorded them.
pub(crate) fn epochs(
    connection: &Connection,
    scope: i64,
) -> Result<Vec<(i64, SessionRowId, Compaction)>, Fail> {
    let mut statement = connection.prepare_cached(&format!(
        "{}, session FROM epoch WHERE scope = ?1 ORDER BY id",
        compaction::COLUMNS
    ))?;
    let mut rows = statement.query([scope])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((row.get(0)?, row.get(20)?, compaction::recorded(connection, row)?.epoch));
    }
    Ok(found)
}

/// Rewrites the index without what was deleted, which it only marks as such.
pub(crate) fn from_index(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute("INSERT INTO passage_terms (passage_terms) VALUES ('optimize')", [])
        .map(|_| ())
}

impl SqliteStore {
    /// Empties the write-ahead file, which holds old pages until then, and removes what was set aside of
    /// one that was torn.
    ///
    /// # Errors
    ///
    /// [`StoreError::Broken`] where another process still reads them.
    pub(super) fn scrub(&self) -> Result<(), StoreError> {
        file::forget_torn(&self.path)
            .map_err(|error| broken(&self.path, "cannot be cleared of old pages", &error))?;
        let link = self.lock();
        let waits: rusqlite::Result<bool> = link
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            .map(|busy| busy != 0);
        match waits {
            Ok(false) => Ok(()),
            Ok(true) => {
                let cause = "another process reads them; do it again when it has ended";
                Err(broken(&self.path, "cannot be cleared of old pages", &cause))
            }
            Err(error) => Err(Fail::Sql(error).at(&self.path, "cannot be cleared of old pages")),
        }
    }
}

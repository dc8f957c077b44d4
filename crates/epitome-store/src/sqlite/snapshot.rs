//! Snapshots in the database.
//!
//! Invariant: a snapshot never changes, except that an erased epoch is no longer named. Called by
//! [`super::archive`].

use epitome_kernel::StoreError;
use epitome_kernel::types::{ContentId, HistoryHash, Snapshot, SnapshotPurpose, SnapshotSize};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::checksum::{SNAPSHOT, ScopeChecksum};
use super::fail::Fail;

/// Adds a snapshot, and drops the oldest automatic ones of its session until `keep` are left.
pub(crate) fn add(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    snapshot: &Snapshot,
    keep: usize,
) -> Result<(), Fail> {
    let values: &[&dyn ToSql] = params![
        snapshot.id,
        snapshot.session,
        snapshot.name,
        purpose_name(snapshot.purpose),
        snapshot.at,
        snapshot.size.messages,
        snapshot.size.checkpoints,
        snapshot.size.tokens[0] as i64,
        snapshot.size.tokens[1] as i64,
        snapshot.size.limit as i64,
        snapshot.model,
        snapshot.profile,
        snapshot.head.0,
        snapshot.epoch.map(|epoch| epoch.0)
    ];
    ledger.insert(connection, &SNAPSHOT, values, &[])?;
    let spare: Vec<i64> = connection
        .prepare_cached(
            "SELECT id FROM snapshot WHERE scope = ?1 AND session = ?2 AND purpose != 'recovery'
             ORDER BY id DESC LIMIT -1 OFFSET ?3",
        )?
        .query_map(
            params![ledger.scope, snapshot.session, i64::try_from(keep).unwrap_or(i64::MAX)],
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    for row in spare {
        ledger.delete(connection, &SNAPSHOT, row)?;
    }
    Ok(())
}

/// The snapshots of a session, or of all, newest first.
pub(crate) fn list(
    connection: &Connection,
    scope: i64,
    session: Option<&str>,
) -> Result<Vec<Snapshot>, Fail> {
    let mut statement = connection.prepare_cached(
        "SELECT snapshot, session, name, purpose, at, messages, checkpoints, came, sent, size,
             model, profile, head, epoch
         FROM snapshot WHERE scope = ?1 AND (?2 IS NULL OR session = ?2) ORDER BY id DESC",
    )?;
    let mut rows = statement.query(params![scope, session])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let purpose: String = row.get(3)?;
        let Some(purpose) = purpose_of(&purpose) else {
            return Err(Fail::damaged(format!("a snapshot has the purpose `{purpose}`")));
        };
        let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
        found.push(Snapshot {
            id: row.get(0)?,
            session: row.get(1)?,
            name: row.get(2)?,
            purpose,
            at: row.get(4)?,
            size: SnapshotSize {
                messages: row.get(5)?,
                checkpoints: row.get(6)?,
                tokens: [count(7)?, count(8)?],
                limit: count(9)?,
            },
            model: row.get(10)?,
            profile: row.get(11)?,
            head: HistoryHash(row.get(12)?),
            epoch: row.get::<_, Option<_>>(13)?.map(ContentId),
        });
    }
    Ok(found)
}

/// Deletes a snapshot.
pub(crate) fn forget(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    id: &str,
) -> Result<(), Fail> {
    let row = connection
        .prepare_cached("SELECT id FROM snapshot WHERE scope = ?1 AND snapshot = ?2")?
        .query_row(params![ledger.scope, id], |row| row.get(0))
        .optional()?;
    match row {
        Some(row) => Ok(ledger.delete(connection, &SNAPSHOT, row)?),
        None => Err(StoreError::NoSnapshot { name: id.to_owned() }.into()),
    }
}

fn purpose_name(purpose: SnapshotPurpose) -> &'static str {
    match purpose {
        SnapshotPurpose::Recovery => "recovery",
        SnapshotPurpose::Rollback => "rollback",
        SnapshotPurpose::Emergency => "emergency",
    }
}

pub(crate) fn purpose_of(name: &str) -> Option<SnapshotPurpose> {
    [SnapshotPurpose::Recovery, SnapshotPurpose::Rollback, SnapshotPurpose::Emergency]
        .into_iter()
        .find(|&purpose| purpose_name(purpose) == name)
}

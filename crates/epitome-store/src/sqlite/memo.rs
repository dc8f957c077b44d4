//! What policies noted of a session, in the database.
//!
//! Invariant: a memo belongs to a session that is there. Called by [`super::journal`], and by
//! [`super::erase`] and [`super::delete`] when it is to go for good.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::checksum::{MEMO, ScopeChecksum};
use super::owner::SessionRowId;
use super::remove;

/// What was noted of a session, by policy, as far as it is as it was written.
pub(crate) fn of_session(
    connection: &Connection,
    scope: i64,
    session: SessionRowId,
) -> rusqlite::Result<BTreeMap<String, String>> {
    noted(connection, scope, session, MEMO.is_whole)
}

fn noted(
    connection: &Connection,
    scope: i64,
    session: SessionRowId,
    only: &str,
) -> rusqlite::Result<BTreeMap<String, String>> {
    let sql = "SELECT policy, memo FROM memo WHERE scope = ?1 AND session = ?2";
    connection
        .prepare_cached(&format!("{sql} AND {only}"))?
        .query_map(params![scope, session], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Puts these notes in the place of all that there are; what stays the same is not written.
pub(crate) fn replace(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    memos: &BTreeMap<String, String>,
) -> rusqlite::Result<()> {
    // One that is damaged makes room as well.
    let known = noted(connection, ledger.scope, session, "true")?;
    let differs = |policy: &String, one: &str, others: &BTreeMap<String, String>| {
        others.get(policy).is_none_or(|other| other != one)
    };
    for (policy, _) in known.iter().filter(|(policy, memo)| differs(policy, memo, memos)) {
        let noted = "session = ?2 AND policy = ?3";
        remove::rows(connection, ledger, &MEMO, noted, params![session, policy])?;
    }
    for (policy, memo) in memos.iter().filter(|(policy, memo)| differs(policy, memo, &known)) {
        ledger.insert(connection, &MEMO, params![session, policy, memo], &[])?;
    }
    Ok(())
}

/// Deletes all that was noted of a session.
pub(crate) fn forget(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
) -> rusqlite::Result<()> {
    remove::rows(connection, ledger, &MEMO, "session = ?2", params![session])
}

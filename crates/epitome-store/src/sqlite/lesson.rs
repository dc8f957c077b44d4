//! What was learned of models and their providers, in the database.
//!
//! Invariant: one record for each thing that it is about, and no conversation's words in it. Called
//! by [`super::journal`].

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::checksum::{LESSON, ScopeChecksum};
use super::remove;

/// All that was learned in a scope, by what it is about.
pub(crate) fn all(
    connection: &Connection,
    scope: i64,
) -> rusqlite::Result<BTreeMap<String, String>> {
    connection
        .prepare_cached("SELECT about, lesson FROM lesson WHERE scope = ?1")?
        .query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Puts a lesson in the place of the one before.
pub(crate) fn replace(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    about: &str,
    lesson: &str,
) -> rusqlite::Result<()> {
    remove::rows(connection, ledger, &LESSON, "about = ?2", params![about])?;
    ledger.insert(connection, &LESSON, params![about, lesson], &[])?;
    Ok(())
}

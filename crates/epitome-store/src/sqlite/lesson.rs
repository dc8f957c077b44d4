//! What was learned of models and their providers, in the database.
//!
//! Invariant: one record for each thing that it is about, and no conversation's words in it. Called
//! by [`super::journal`] and [`super::archive`].

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::checksum::{LESSON, ScopeChecksum};
use super::remove;

/// All that was learned in a scope, by what it is about.
pub(crate) fn all(
    connection: &Connection,
    scope: i64,
) -> rusqlite::Result<BTreeMap<String, String>> {
    connection
        .prepare_cached(&format!(
            "SELECT about, lesson FROM lesson WHERE scope = ?1 AND {}",
            LESSON.is_whole
        ))?
        .query_map([scope], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// All that was learned in a scope of what begins with this, by what it is about.
pub(crate) fn about(
    connection: &Connection,
    scope: i64,
    prefix: &str,
) -> rusqlite::Result<BTreeMap<String, String>> {
    // Texts are ordered by their bytes, and no character that is written comes behind that one.
    connection
        .prepare_cached(&format!(
            "SELECT about, lesson FROM lesson
             WHERE scope = ?1 AND about >= ?2 AND about < ?2 || char(0x10FFFF) AND {}",
            LESSON.is_whole
        ))?
        .query_map(params![scope, prefix], |row| Ok((row.get(0)?, row.get(1)?)))?
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

/// Puts a lesson where there is none; gives the one that is there then.
pub(crate) fn put_once(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    about: &str,
    lesson: &str,
) -> rusqlite::Result<String> {
    let known = connection
        .prepare_cached("SELECT lesson FROM lesson WHERE scope = ?1 AND about = ?2")?
        .query_row(params![ledger.scope, about], |row| row.get(0))
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    ledger.insert(connection, &LESSON, params![about, lesson], &[])?;
    Ok(lesson.to_owned())
}

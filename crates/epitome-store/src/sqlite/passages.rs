//! Texts and their passages in the database.
//!
//! Invariant: a text stands in `blob` once per scope, under the hash of its bytes. Called by
//! `keep`, and by everything that records texts.

use epitome_kernel::types::ContentId;
use epitome_kernel::{Eviction, StoredText};
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashSet;

use super::checksum::{self, BLOB, HELD, MESSAGE, PASSAGE, ScopeChecksum};
use super::fail::Fail;
use super::fulltext;
use super::owner::SessionRowId;
use crate::passage::{IncomingPassage, arrivals};
use crate::prefix::Prefix;

/// Holds what was kept outside of any session.
pub(crate) const NO_SESSION: SessionRowId = 0;

/// So many passages are written in one transaction at most: nobody waits for the file longer.
pub(crate) const PORTION: usize = 512;

/// Adds a departure: its originals, and of its passages the first [`PORTION`]. The others follow with
/// [`keep_more`].
pub(crate) fn keep(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    departure: &Eviction,
) -> rusqlite::Result<()> {
    for blob in &departure.blobs {
        let held = HeldText { id: blob.id, source: Some(&blob.source), text: &blob.text };
        put(connection, ledger, session, &held)?;
    }
    let index = fulltext::FulltextIndex::new(ledger.scope);
    let mut first = arrivals(departure).take(PORTION);
    first.try_for_each(|arrival| keep_passage(connection, ledger, session, &index, &arrival))
}

/// Adds more of a departure's passages, but for those whose original was erased meanwhile.
pub(crate) fn keep_more(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    arrivals: &[IncomingPassage<'_>],
) -> rusqlite::Result<()> {
    let index = fulltext::FulltextIndex::new(ledger.scope);
    for of_one in arrivals.chunk_by(|one, next| one.original == next.original) {
        let Some(first) = of_one.first() else { continue };
        let is_there: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM blob WHERE scope = ?1 AND id = ?2)")?
            .query_row(params![ledger.scope, first.original.0], |row| row.get(0))?;
        for arrival in of_one.iter().filter(|one| is_there || one.original == one.id) {
            keep_passage(connection, ledger, session, &index, arrival)?;
        }
    }
    Ok(())
}

fn keep_passage(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    index: &fulltext::FulltextIndex,
    arrival: &IncomingPassage<'_>,
) -> rusqlite::Result<()> {
    let holder = if arrival.range.is_some() { arrival.original } else { arrival.id };
    let start = arrival.range.as_ref().map_or(0, |range| range.start) as i64;
    let length = arrival.text.len() as i64;
    let (id, original) = (arrival.id.0, arrival.original.0);
    let values = params![id, original, arrival.source, holder.0, start, length, session];
    if !ledger.insert(connection, &PASSAGE, values, &[])? {
        return Ok(());
    }
    connection
        .prepare_cached("INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)")?
        .execute(params![connection.last_insert_rowid(), index.terms(arrival.text)])?;
    if arrival.range.is_some() {
        return Ok(());
    }
    if arrival.original == arrival.id {
        let (id, source) = (arrival.id, Some(&*arrival.source));
        put(connection, ledger, session, &HeldText { id, source, text: arrival.text })
    } else {
        // It stays as long as its original does, whoever holds that.
        let values = params![arrival.id.0, None::<String>];
        ledger.insert(connection, &BLOB, values, params![arrival.text]).map(drop)
    }
}

/// Has what several sessions hold cut into passages again, so that it is found under each of them:
/// older versions kept those of the first one alone.
pub(crate) fn offer_shared(connection: &Connection) -> rusqlite::Result<()> {
    for name in checksum::scopes(connection)? {
        let Some(mut ledger) = ScopeChecksum::find(connection, &name)? else { continue };
        let shared: Vec<i64> = connection
            .prepare(
                "SELECT id FROM message WHERE scope = ?1 AND indexed = 1 AND raw NOT NULL
                 AND (SELECT count(*) FROM held
                      WHERE held.scope = message.scope AND held.blob = message.text) > 1",
            )?
            .query_map([ledger.scope], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for &message in &shared {
            ledger.change(connection, &MESSAGE, message, "indexed = 0", &[])?;
        }
        if !shared.is_empty() {
            connection.execute("UPDATE scope SET indexed = 0 WHERE id = ?1", [ledger.scope])?;
        }
        ledger.save(connection)?;
    }
    Ok(())
}

/// A text that a session holds.
pub(crate) struct HeldText<'a> {
    pub(crate) id: ContentId,
    /// Where it came from, where it is an original.
    pub(crate) source: Option<&'a str>,
    pub(crate) text: &'a str,
}

/// Adds a text, held by a session. A source makes it an original, also where it was known without
/// one.
pub(crate) fn put(
    connection: &Connection,
    ledger: &mut ScopeChecksum,
    session: SessionRowId,
    held: &HeldText<'_>,
) -> rusqlite::Result<()> {
    let HeldText { id, source, text } = *held;
    ledger.insert(connection, &HELD, params![id.0, session], &[])?;
    if ledger.insert(connection, &BLOB, params![id.0, source], params![text])? || source.is_none() {
        return Ok(());
    }
    let nameless: Option<i64> = connection
        .prepare_cached("SELECT rowid FROM blob WHERE scope = ?1 AND id = ?2 AND source IS NULL")?
        .query_row(params![ledger.scope, id.0], |row| row.get(0))
        .optional()?;
    match nameless {
        Some(row) => ledger.change(connection, &BLOB, row, "source = ?2", params![source]),
        None => Ok(()),
    }
}

/// A text by its address.
pub(crate) fn text(connection: &Connection, scope: i64, id: ContentId) -> Result<String, Fail> {
    let found: Option<String> = connection
        .prepare_cached("SELECT text FROM blob WHERE scope = ?1 AND id = ?2")?
        .query_row(params![scope, id.0], |row| row.get(0))
        .optional()?;
    match found {
        Some(text) if ContentId::for_text(&text) == id => Ok(text),
        Some(_) => Err(Fail::damaged(format!("the text {id} is not what was kept"))),
        None => Err(Fail::damaged(format!("the text {id} is missing"))),
    }
}

/// The originals that only sessions in the trash hold.
pub(crate) fn trashed(
    connection: &Connection,
    scope: i64,
) -> rusqlite::Result<FxHashSet<ContentId>> {
    let any: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM session WHERE scope = ?1 AND trashed)")?
        .query_row([scope], |row| row.get(0))?;
    if !any {
        return Ok(FxHashSet::default());
    }
    connection
        .prepare_cached(
            "SELECT held.blob FROM held JOIN session ON session.id = held.session
             WHERE held.scope = ?1 AND session.trashed
             EXCEPT SELECT held.blob FROM held LEFT JOIN session ON session.id = held.session
             WHERE held.scope = ?1 AND NOT coalesce(session.trashed, 0)",
        )?
        .query_map([scope], |row| row.get(0).map(ContentId))?
        .collect()
}

/// The originals whose ids begin so, but for those that only sessions in the trash hold.
pub(crate) fn originals(
    connection: &Connection,
    scope: &str,
    prefix: &Prefix<'_>,
) -> Result<Vec<StoredText>, Fail> {
    let range = prefix.range();
    let found = connection
        .prepare_cached(
            "SELECT blob.id, source, text FROM blob JOIN scope ON scope.id = blob.scope
             WHERE scope.name = ?1 AND blob.id BETWEEN ?2 AND ?3 AND source IS NOT NULL
             AND (blob.scope, blob.id) NOT IN (
                 SELECT held.scope, held.blob FROM held JOIN session ON session.id = held.session
                 WHERE held.scope = scope.id AND held.blob BETWEEN ?2 AND ?3 AND session.trashed
                 EXCEPT SELECT held.scope, held.blob FROM held
                 LEFT JOIN session ON session.id = held.session
                 WHERE held.scope = scope.id AND held.blob BETWEEN ?2 AND ?3
                 AND NOT coalesce(session.trashed, 0))",
        )?
        .query_map(params![scope, range.start().0, range.end().0], |row| {
            Ok(StoredText { id: ContentId(row.get(0)?), source: row.get(1)?, text: row.get(2)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(found)
}

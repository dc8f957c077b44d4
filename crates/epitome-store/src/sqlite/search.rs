//! Which passages of a scope are worth ranking.
//!
//! Invariant: what is proposed depends on the passages and the query alone. Called by the search.

use std::collections::hash_map::Entry;
use std::ops::Range;

use epitome_kernel::types::ContentId;
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use rustc_hash::FxHashMap;

use super::fail::Fail;
use super::fulltext;
use crate::passage::Kept;

/// Passages of one scope that are all ranked; of more, the full-text index proposes some.
const RANKED_WHOLE: i64 = 5_000;

/// Passages that the full-text index proposes, and the newest ones that are ranked beside them.
const PROPOSED: i64 = 2_000;
const NEWEST: i64 = 1_000;

/// The passages of a scope that are worth ranking, in the order of the conversation.
pub(crate) fn candidates(
    connection: &Connection,
    scope: &str,
    query: &str,
) -> Result<Vec<Kept>, Fail> {
    let known = connection
        .prepare_cached("SELECT id FROM scope WHERE name = ?1")?
        .query_row([scope], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(scope) = known else { return Ok(Vec::new()) };
    let count: i64 = connection
        .prepare_cached("SELECT count(*) FROM passage WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))?;
    let mut shelf = Shelf { connection, scope, texts: FxHashMap::default() };
    if count <= RANKED_WHOLE {
        return Ok(shelf.load("SELECT id FROM passage WHERE scope = ?1", params![scope])?);
    }
    let newest =
        "SELECT id FROM (SELECT id FROM passage WHERE scope = ?1 ORDER BY id DESC LIMIT ?2)";
    let found = match fulltext::rarest(connection, scope, query)? {
        None => shelf.load(newest, params![scope, NEWEST]),
        Some(expression) => shelf.load(
            &format!(
                "{newest} UNION SELECT rowid FROM (SELECT rowid FROM passage_terms
                 WHERE passage_terms MATCH ?3 ORDER BY rank LIMIT ?4)"
            ),
            params![scope, NEWEST, expression, PROPOSED],
        ),
    }?;
    Ok(found)
}

/// Reads passages of one scope; every text that holds some is read once.
struct Shelf<'a> {
    connection: &'a Connection,
    scope: i64,
    texts: FxHashMap<[u8; 16], String>,
}

impl Shelf<'_> {
    /// The passages with the ids that a query selects; `?1` is the scope.
    fn load(&mut self, chosen: &str, values: &[&dyn ToSql]) -> rusqlite::Result<Vec<Kept>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT id, original, source, holder, start, length FROM passage
             WHERE scope = ?1 AND id IN ({chosen}) ORDER BY id"
        ))?;
        let mut rows = statement.query(values)?;
        let mut kept = Vec::new();
        while let Some(row) = rows.next()? {
            let (start, length): (u32, u32) = (row.get(4)?, row.get(5)?);
            let range = start as usize..(start as usize).saturating_add(length as usize);
            let Some(text) = self.slice(row.get(3)?, range)? else { continue };
            let (order, original) = (row.get(0)?, ContentId(row.get(1)?));
            kept.push(Kept { order, original, source: row.get(2)?, text });
        }
        Ok(kept)
    }

    /// A piece of a text; `None` if the text does not reach so far.
    fn slice(&mut self, holder: [u8; 16], range: Range<usize>) -> rusqlite::Result<Option<String>> {
        let text = match self.texts.entry(holder) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(
                self.connection
                    .prepare_cached("SELECT text FROM blob WHERE scope = ?1 AND id = ?2")?
                    .query_row(params![self.scope, holder], |row| row.get(0))?,
            ),
        };
        Ok(text.get(range).map(str::to_owned))
    }
}

//! Which passages of a scope are worth ranking.
//!
//! Invariant: what is proposed depends on the passages and the query alone. Called by the search.

use std::collections::hash_map::Entry;
use std::ops::Range;

use epitome_kernel::types::ContentId;
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use rustc_hash::FxHashMap;

use super::fail::Fail;
use super::{fulltext, shelf};
use crate::passage::Kept;

/// Passages of one scope that are all ranked; of more, the full-text index proposes some.
const RANKED_WHOLE: i64 = 5_000;

/// Passages that the full-text index proposes, and the newest ones that are ranked beside them.
const PROPOSED: i64 = 2_000;
const NEWEST: i64 = 1_000;

/// Passages that hold words like those that are missed.
const VICINITY: i64 = 100;

/// The passages of a scope that are worth ranking, in the order of the conversation.
pub(crate) fn candidates(
    connection: &Connection,
    scope: &str,
    query: &str,
) -> Result<Vec<Kept>, Fail> {
    let Some((scope, count)) = size(connection, scope)? else { return Ok(Vec::new()) };
    let mut pile = Shelf { connection, scope, texts: FxHashMap::default() };
    if count <= RANKED_WHOLE {
        return pile
            .shown(|pile| pile.load("SELECT id FROM passage WHERE scope = ?1", params![scope]));
    }
    let newest =
        "SELECT id FROM (SELECT id FROM passage WHERE scope = ?1 ORDER BY id DESC LIMIT ?2)";
    let rarest = fulltext::rarest(connection, scope, query)?;
    pile.shown(|pile| match &rarest {
        None => pile.load(newest, params![scope, NEWEST]),
        Some(expression) => pile.load(
            &format!("{newest} UNION {HOLDING}"),
            params![scope, NEWEST, expression, PROPOSED],
        ),
    })
}

/// Of a scope of which not all passages are candidates: those among whose words are some that are
/// near to missed ones, as far as the index knows.
pub(crate) fn vicinity(
    connection: &Connection,
    scope: &str,
    missed: &[String],
) -> Result<Vec<Kept>, Fail> {
    let Some((scope, count)) = size(connection, scope)? else { return Ok(Vec::new()) };
    if count <= RANKED_WHOLE {
        return Ok(Vec::new());
    }
    let Some(expression) = fulltext::nearest(connection, scope, missed)? else {
        return Ok(Vec::new());
    };
    let mut pile = Shelf { connection, scope, texts: FxHashMap::default() };
    let values = params![scope, rusqlite::types::Null, expression, VICINITY];
    pile.shown(|pile| pile.load(HOLDING, values))
}

/// Passages that answer an expression of the index (`?3`), at most `?4`, the best first.
const HOLDING: &str = "SELECT rowid FROM (SELECT rowid FROM passage_terms
    WHERE passage_terms MATCH ?3 ORDER BY rank LIMIT ?4)";

/// A scope's number, and how many passages it has.
fn size(connection: &Connection, scope: &str) -> rusqlite::Result<Option<(i64, i64)>> {
    let known = connection
        .prepare_cached("SELECT id FROM scope WHERE name = ?1")?
        .query_row([scope], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(scope) = known else { return Ok(None) };
    let count = connection
        .prepare_cached("SELECT count(*) FROM passage WHERE scope = ?1")?
        .query_row([scope], |row| row.get(0))?;
    Ok(Some((scope, count)))
}

/// Reads passages of one scope; every text that holds some is read once.
struct Shelf<'a> {
    connection: &'a Connection,
    scope: i64,
    texts: FxHashMap<[u8; 16], String>,
}

impl Shelf<'_> {
    /// What `load` finds, but for what only sessions in the trash hold.
    fn shown(
        &mut self,
        load: impl FnOnce(&mut Self) -> rusqlite::Result<Vec<Kept>>,
    ) -> Result<Vec<Kept>, Fail> {
        let mut kept = load(self)?;
        let trashed = shelf::trashed(self.connection, self.scope)?;
        kept.retain(|one| !trashed.contains(&one.original));
        Ok(kept)
    }

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

//! Which passages of a scope are worth ranking.
//!
//! Invariant: what is proposed depends on the passages and the query alone. Called by the search.

use std::collections::hash_map::Entry;
use std::ops::Range;

use epitome_kernel::SessionOf;
use epitome_kernel::types::ContentId;
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use rustc_hash::FxHashMap;

use super::fail::Fail;
use super::{fulltext, passages, session};
use crate::passage::{IndexedPassage, Places};

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
) -> Result<Vec<IndexedPassage>, Fail> {
    let Some((scope, count)) = size(connection, scope)? else { return Ok(Vec::new()) };
    let mut pile = PassageReader { connection, scope, texts: FxHashMap::default() };
    pile.worth(count, "SELECT id FROM passage WHERE scope = ?1", &[], query)
}

/// The passages of one session that are worth ranking, in the order of the conversation.
pub(crate) fn candidates_of(
    connection: &Connection,
    of: SessionOf<'_>,
    query: &str,
) -> Result<Vec<IndexedPassage>, Fail> {
    let Some((scope, _)) = size(connection, of.scope)? else { return Ok(Vec::new()) };
    let Some(session) = session::number(connection, scope, of.session)? else {
        return Ok(Vec::new());
    };
    let count = connection
        .prepare_cached("SELECT count(*) FROM passage WHERE scope = ?1 AND session = ?2")?
        .query_row(params![scope, session], |row| row.get(0))?;
    let mut pile = PassageReader { connection, scope, texts: FxHashMap::default() };
    let own = "SELECT id FROM passage WHERE scope = ?1 AND session = ?2";
    pile.worth(count, own, params![session], query)
}

/// Of a scope of which not all passages are candidates: those among whose words are some that are
/// near to missed ones, as far as the index knows.
pub(crate) fn vicinity(
    connection: &Connection,
    scope: &str,
    missed: &[String],
) -> Result<Vec<IndexedPassage>, Fail> {
    let Some((scope, count)) = size(connection, scope)? else { return Ok(Vec::new()) };
    if count <= RANKED_WHOLE {
        return Ok(Vec::new());
    }
    let Some(expression) = fulltext::nearest(connection, scope, missed)? else {
        return Ok(Vec::new());
    };
    let mut pile = PassageReader { connection, scope, texts: FxHashMap::default() };
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
struct PassageReader<'a> {
    connection: &'a Connection,
    scope: i64,
    texts: FxHashMap<[u8; 16], String>,
}

impl PassageReader<'_> {
    /// Of the passages that `all` selects, so many, those that are worth ranking: all where they are
    /// few, else the newest and those that the full-text index proposes. `?1` is the scope, `more`
    /// are the values behind it.
    fn worth(
        &mut self,
        count: i64,
        all: &str,
        more: &[&dyn ToSql],
        query: &str,
    ) -> Result<Vec<IndexedPassage>, Fail> {
        let scope = self.scope;
        let mut values: Vec<&dyn ToSql> = vec![&scope];
        values.extend(more);
        if count <= RANKED_WHOLE {
            return self.shown(|pile| pile.load(all, &values));
        }
        let proposals = fulltext::proposals(self.connection, scope, query)?;
        let mut chosen = format!("SELECT id FROM ({all} ORDER BY id DESC LIMIT {NEWEST})");
        for expression in &proposals {
            values.push(expression);
            let at = values.len();
            // The sign keeps the index from being asked once for each of these ids, for each of which
            // it would count all that hold a word.
            chosen.push_str(&format!(
                " UNION SELECT rowid FROM (SELECT rowid FROM passage_terms WHERE passage_terms \
                 MATCH ?{at} AND +rowid IN ({all}) ORDER BY rank LIMIT {PROPOSED})"
            ));
        }
        self.shown(|pile| pile.load(&chosen, &values))
    }

    /// What `load` finds, but for what only sessions in the trash hold.
    fn shown(
        &mut self,
        load: impl FnOnce(&mut Self) -> rusqlite::Result<Vec<IndexedPassage>>,
    ) -> Result<Vec<IndexedPassage>, Fail> {
        let mut kept = load(self)?;
        let trashed = passages::trashed(self.connection, self.scope)?;
        kept.retain(|one| !trashed.contains(&one.original));
        Ok(kept)
    }

    /// The passages with the ids that a query selects; `?1` is the scope.
    fn load(
        &mut self,
        chosen: &str,
        values: &[&dyn ToSql],
    ) -> rusqlite::Result<Vec<IndexedPassage>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT id, original, source, holder, start, length, text_id, session,
                 (SELECT max(id) FROM passage AS before WHERE before.scope = ?1
                  AND before.session = passage.session AND before.id < passage.id)
             FROM passage WHERE scope = ?1 AND id IN ({chosen}) AND session NOT IN
                 (SELECT id FROM session WHERE scope = ?1 AND trashed) ORDER BY id"
        ))?;
        let mut rows = statement.query(values)?;
        let (mut kept, mut places) = (Vec::new(), Places::default());
        while let Some(row) = rows.next()? {
            let (start, length): (u32, u32) = (row.get(4)?, row.get(5)?);
            let range = start as usize..(start as usize).saturating_add(length as usize);
            let holder = row.get(3)?;
            let Some(text) = self.slice(holder, range.clone())? else { continue };
            let order = places.next(row.get(7)?, row.get(0)?, row.get(8)?);
            let original = ContentId(row.get(1)?);
            let span = (holder == original.0).then_some(range);
            let (id, source) = (ContentId(row.get(6)?), row.get(2)?);
            let also = Vec::new();
            kept.push(IndexedPassage { id, order, original, source, also, span, text });
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

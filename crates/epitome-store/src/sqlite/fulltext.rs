//! The full-text index of the store on disk: it proposes passages, the ranking decides.
//!
//! Invariant: every term is written as `<scope number>x<term>`, so the index is sorted by scope
//! first and a lookup cannot leave it. Called by [`crate::SqliteStore`].

use epitome_kernel::nearest_words;
use rusqlite::{Connection, OptionalExtension};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::query::Query;
use crate::terms::TermFilter;

/// Terms of a query that are looked up: the rarest decide, and each costs a pass over its hits.
const LOOKED_UP: usize = 16;

/// Terms that are near to one of a word that nothing holds.
const NEAREST: usize = 5;
/// Terms of a word that was not found which are compared with all there are.
const COMPARED: usize = 16;

/// Writes texts as the index holds them.
pub(crate) struct FulltextIndex {
    scope: i64,
    terms: TermFilter,
}

impl FulltextIndex {
    /// The index of one scope.
    pub(crate) fn new(scope: i64) -> Self {
        Self { scope, terms: TermFilter::new() }
    }

    /// The terms of a text, each followed by a space. Compounds are left to their parts.
    pub(crate) fn terms(&self, text: &str) -> String {
        let scope = self.scope.to_string();
        let mut written = String::with_capacity(2 * text.len());
        self.terms.each(text, |term| {
            if term.chars().all(char::is_alphanumeric) {
                written.extend([&scope, "x", term, " "]);
            }
        });
        written
    }
}

/// The expressions that find what holds any of the rarest known terms of a query, or where it has
/// phrases all of their terms, or any, since a phrase may have been cut in two; none if no term is
/// known.
pub(crate) fn proposals(
    connection: &Connection,
    scope: i64,
    query: &str,
) -> rusqlite::Result<Vec<String>> {
    let index = FulltextIndex::new(scope);
    let demanded = index.terms(&Query::of(query).phrases().join(" "));
    if demanded.is_empty() {
        return Ok(rarest(connection, &index.terms(query))?.into_iter().collect());
    }
    let all = expression(demanded.split_whitespace(), " AND ");
    Ok([Some(all), rarest(connection, &demanded)?].into_iter().flatten().collect())
}

/// The expression that finds what holds any of the rarest known of these terms.
fn rarest(connection: &Connection, terms: &str) -> rusqlite::Result<Option<String>> {
    let mut lookup =
        connection.prepare_cached("SELECT doc FROM passage_vocabulary WHERE term = ?1")?;
    let mut known: Vec<(i64, String)> = Vec::new();
    for word in terms.split_whitespace() {
        if let Some(documents) = lookup.query_row([word], |row| row.get(0)).optional()? {
            known.push((documents, word.to_owned()));
        }
    }
    known.sort_unstable();
    known.dedup();
    known.truncate(LOOKED_UP);
    let words = known.iter().map(|(_, word)| word.as_str());
    Ok((!known.is_empty()).then(|| expression(words, " OR ")))
}

/// Terms of the index, as it is asked for them.
fn expression<'t>(terms: impl Iterator<Item = &'t str>, joint: &str) -> String {
    terms.map(|term| format!("\"{term}\"")).collect::<Vec<_>>().join(joint)
}

/// The expression that finds what holds terms like those of some words; `None` if there are none.
pub(crate) fn nearest(
    connection: &Connection,
    scope: i64,
    words: &[String],
) -> rusqlite::Result<Option<String>> {
    let begin = format!("{scope}x");
    let mut statement = connection
        .prepare_cached("SELECT term FROM passage_vocabulary WHERE term >= ?1 AND term < ?2")?;
    let mut rows = statement.query([&begin, &format!("{scope}y")])?;
    let mut known: Vec<String> = Vec::new();
    while let Some(row) = rows.next()? {
        known.extend(row.get_ref(0)?.as_str()?.strip_prefix(&begin).map(str::to_owned));
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let mut near: Vec<String> = Vec::new();
    for word in words {
        let mut compared = 0;
        TermFilter::new().each(word, |term| {
            if compared < COMPARED {
                let terms = nearest_words(term, &known, NEAREST);
                near.extend(terms.into_iter().map(|term| format!("\"{begin}{term}\"")));
            }
            compared += 1;
        });
    }
    Ok((!near.is_empty()).then(|| near.join(" OR ")))
}

/// Whether the index holds the terms of every passage, and nothing else.
pub(crate) fn is_sound(connection: &Connection) -> rusqlite::Result<bool> {
    let mut expected: u128 = 0;
    each_passage(connection, |row, terms| {
        let mut distinct: Vec<&str> = terms.split_whitespace().collect();
        distinct.sort_unstable();
        distinct.dedup();
        for term in distinct {
            expected = expected.wrapping_add(digest(term, row));
        }
        Ok(())
    })?;
    connection.execute_batch(
        "DROP TABLE IF EXISTS temp.passage_instances;
         CREATE VIRTUAL TABLE temp.passage_instances
             USING fts5vocab(main, passage_terms, instance);",
    )?;
    let mut found: u128 = 0;
    let mut statement = connection.prepare("SELECT term, doc FROM temp.passage_instances")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found = found.wrapping_add(digest(row.get_ref(0)?.as_str()?, row.get(1)?));
    }
    Ok(found == expected)
}

/// Makes the index anew from the passages.
pub(crate) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO passage_terms (passage_terms) VALUES ('delete-all')", [])?;
    let mut insert =
        connection.prepare("INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)")?;
    each_passage(connection, |row, terms| insert.execute((row, terms)).map(|_| ()))
}

/// Calls `each` with the number and the terms of every passage.
fn each_passage(
    connection: &Connection,
    mut each: impl FnMut(i64, &str) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(
        "SELECT passage.id, passage.scope, substr(CAST(text AS BLOB), start + 1, length)
         FROM passage JOIN blob ON blob.scope = passage.scope AND blob.id = holder
         ORDER BY passage.id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(2)?.as_blob().map(String::from_utf8_lossy)?;
        each(row.get(0)?, &FulltextIndex::new(row.get(1)?).terms(&text))?;
    }
    Ok(())
}

fn digest(term: &str, row: i64) -> u128 {
    xxh3_128_with_seed(term.as_bytes(), row as u64)
}

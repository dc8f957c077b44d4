//! The full-text index of the store on disk: it proposes passages, the ranking decides.
//!
//! Invariant: every term is written as `<scope number>x<term>`, so the index is sorted by scope
//! first and a lookup cannot leave it. Called by [`crate::Sqlite`].

use rusqlite::{Connection, OptionalExtension};

use crate::terms::Terms;

/// Terms of a query that are looked up: the rarest decide, and each costs a pass over its hits.
const LOOKED_UP: usize = 16;

/// Writes texts as the index holds them.
pub(crate) struct Index {
    scope: i64,
    terms: Terms,
}

impl Index {
    /// The index of one scope.
    pub(crate) fn new(scope: i64) -> Self {
        Self { scope, terms: Terms::new() }
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

/// The expression that finds what holds any of the rarest known terms of a query; `None` if no
/// term is known.
pub(crate) fn rarest(
    connection: &Connection,
    scope: i64,
    query: &str,
) -> rusqlite::Result<Option<String>> {
    let mut lookup =
        connection.prepare_cached("SELECT doc FROM passage_vocabulary WHERE term = ?1")?;
    let mut known: Vec<(i64, String)> = Vec::new();
    for word in Index::new(scope).terms(query).split_whitespace() {
        if let Some(documents) = lookup.query_row([word], |row| row.get(0)).optional()? {
            known.push((documents, word.to_owned()));
        }
    }
    known.sort_unstable();
    known.dedup();
    known.truncate(LOOKED_UP);
    let quoted: Vec<String> = known.iter().map(|(_, word)| format!("\"{word}\"")).collect();
    Ok((!quoted.is_empty()).then(|| quoted.join(" OR ")))
}

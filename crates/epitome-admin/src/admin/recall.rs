//! What left prompts, brought back.
//!
//! Invariant: what comes back is an excerpt with its source, for the caller to use as new text; it
//! leads into no prompt by itself (RULES 2).

use epitome_kernel::{Excerpt, OriginalStore, StoreError, StoredText, TokenCounter};

use super::SessionAdmin;
use super::notes::{QueryNote, quoted};
use super::origin::{OriginFinder, PassageOrigin};
use super::several::{Answering, SharedSearch};

/// What was found.
#[derive(Clone, Debug)]
pub enum RecallResult {
    /// The original that the query is the id of.
    Original(StoredText),
    /// What a search came to.
    Answer(RecalledAnswer),
}

/// What one query or several came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecalledAnswer {
    /// What answers: query by query in their order, best first, each passage once; behind all of
    /// them what names in it led to.
    pub found: Vec<RecalledPassage>,
    /// What is to be said of queries, in their order.
    pub notes: Vec<QueryNote>,
}

/// A passage that was brought back.
#[derive(Clone, Debug, PartialEq)]
pub struct RecalledPassage {
    /// It.
    pub excerpt: Excerpt,
    /// Where it is from.
    pub origin: PassageOrigin,
    /// Which of several queries it answers, or where a word led to it, what holds that word does;
    /// empty where there is one.
    pub queries: Vec<String>,
    /// The name in what was found that led to it, where it does not answer by itself.
    pub through: Option<String>,
}

impl RecalledAnswer {
    /// All that is said beside what was found, each note with its query where there are `several`.
    pub fn note(&self, several: bool) -> Option<String> {
        let one = |QueryNote { query, note }: &QueryNote| match several {
            true => format!("{}: {note}", quoted(query)),
            false => note.clone(),
        };
        let all: Vec<String> = self.notes.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }
}

impl SessionAdmin {
    /// The original with this id in the store beside the journal, or with the only id that begins
    /// so; `catch_up` is called where it is not known yet.
    ///
    /// # Errors
    ///
    /// When there is none, more than one, or the store cannot be read.
    pub fn original(
        &self,
        store: &dyn OriginalStore,
        id: &str,
        catch_up: impl Fn(&Self),
    ) -> Result<StoredText, StoreError> {
        match self.kept(store, id) {
            Err(StoreError::Unknown { .. }) => {
                self.bring_up(catch_up)?;
                self.kept(store, id)
            }
            found => found,
        }
    }

    /// The original in the first scope that has one with this id.
    pub(super) fn kept(
        &self,
        store: &dyn OriginalStore,
        id: &str,
    ) -> Result<StoredText, StoreError> {
        let unknown = || StoreError::Unknown { id: id.to_owned() };
        let mut found = Err(unknown());
        for scope in self.scopes()? {
            found = store.original(&scope, id);
            if !matches!(found, Err(StoreError::Unknown { .. })) {
                break;
            }
        }
        found
    }

    /// Has the search know what was said in every scope that is looked through.
    fn bring_up(&self, catch_up: impl Fn(&Self)) -> Result<(), StoreError> {
        self.readers()?.iter().for_each(catch_up);
        Ok(())
    }

    /// What answers a query in at most so many tokens, or the original that it is the id of, since
    /// that is what stands in a prompt. `catch_up` is called before the search.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn recall(
        &self,
        store: &dyn OriginalStore,
        query: &str,
        most: u64,
        counter: &dyn TokenCounter,
        catch_up: impl Fn(&Self),
    ) -> Result<RecallResult, StoreError> {
        self.bring_up(catch_up)?;
        if is_id(query)
            && let Ok(blob) = self.kept(store, query)
        {
            return Ok(RecallResult::Original(blob));
        }
        let search = SharedSearch { store, most, counter };
        self.recalled(search, &[query]).map(RecallResult::Answer)
    }

    /// What answers several queries in at most so many tokens together: each gets an equal share, and
    /// what one does not need goes to the others. `catch_up` is called before the search.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn recall_several(
        &self,
        store: &dyn OriginalStore,
        queries: &[&str],
        most: u64,
        counter: &dyn TokenCounter,
        catch_up: impl Fn(&Self),
    ) -> Result<RecalledAnswer, StoreError> {
        self.bring_up(catch_up)?;
        self.recalled(SharedSearch { store, most, counter }, queries)
    }

    /// What answers, then what names in it lead to, each with where it is from.
    fn recalled(
        &self,
        search: SharedSearch<'_>,
        queries: &[&str],
    ) -> Result<RecalledAnswer, StoreError> {
        let mut direct = self.direct(search, queries)?;
        let led = self.led(search, queries, &direct.found)?;
        direct.found.extend(led);
        let mut origins = OriginFinder::new(self, search.store)?;
        let several = queries.len() > 1;
        let one = |Answering { excerpt, queries: answered, through }| {
            let named = answered.into_iter().filter(|_| several);
            let queries = named.map(|at: usize| queries[at].to_owned()).collect();
            RecalledPassage { origin: origins.find(&excerpt), excerpt, queries, through }
        };
        let found = direct.found.into_iter().map(one).collect();
        Ok(RecalledAnswer { found, notes: direct.notes })
    }
}

/// Whether a query has the form of an id, as labels and markers write it. A word that happens to
/// have it is looked for all the same.
fn is_id(query: &str) -> bool {
    (8..=32).contains(&query.len()) && query.bytes().all(|byte| byte.is_ascii_hexdigit())
}

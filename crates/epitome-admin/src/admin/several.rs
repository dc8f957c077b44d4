//! Several queries at once: one budget that they share.
//!
//! Invariant: no more comes back than is allowed, and each passage once. A query gets an equal share
//! of what those that need less leave. Called where something is recalled.

use epitome_kernel::{
    Excerpt, OriginalStore, RankedPassage, SearchAnswer, SearchRange, StoreError, TokenCounter,
};
use epitome_store::says_all;

use super::SessionAdmin;
use super::notes::{QueryNote, search_note};
use super::ranking::RankedSearch;

/// What is searched within how many tokens.
#[derive(Clone, Copy)]
pub(super) struct SharedSearch<'a> {
    pub(super) store: &'a dyn OriginalStore,
    pub(super) most: u64,
    pub(super) counter: &'a dyn TokenCounter,
}

/// An excerpt with the queries that it answers, by their places.
pub(super) struct Answering {
    pub(super) excerpt: Excerpt,
    pub(super) queries: Vec<usize>,
    /// The name that led to it.
    pub(super) through: Option<String>,
}

/// What answers queries by itself.
pub(super) struct DirectAnswer {
    pub(super) found: Vec<Answering>,
    pub(super) notes: Vec<QueryNote>,
}

impl Answering {
    fn new(excerpt: Excerpt, query: usize) -> Self {
        Self { excerpt, queries: vec![query], through: None }
    }

    /// Whether it holds a passage.
    pub(super) fn holds(&self, passage: &RankedPassage) -> bool {
        self.excerpt.id == passage.excerpt.id && says_all(&self.excerpt.text, &passage.excerpt.text)
    }
}

impl SharedSearch<'_> {
    /// How many tokens excerpts take.
    pub(super) fn used<'e>(&self, found: impl IntoIterator<Item = &'e Excerpt>) -> u64 {
        found.into_iter().map(|one| self.counter.count(&one.text)).sum()
    }
}

impl SessionAdmin {
    /// What answers queries, in their order.
    pub(super) fn direct(
        &self,
        search: SharedSearch<'_>,
        queries: &[&str],
    ) -> Result<DirectAnswer, StoreError> {
        let SharedSearch { store, most, counter } = search;
        let note = |query: &&str, answer: &SearchAnswer| {
            let query = (*query).to_owned();
            search_note(answer).map(|note| QueryNote { query, note })
        };
        if let [query] = queries {
            let answer = self.search(store, query, most, counter)?;
            let notes = note(query, &answer).into_iter().collect();
            let found = answer.found.into_iter().map(|excerpt| Answering::new(excerpt, 0));
            return Ok(DirectAnswer { found: found.collect(), notes });
        }
        let scopes = self.scopes()?;
        let (mut needs, mut notes) = (Vec::new(), Vec::new());
        for (at, query) in queries.iter().enumerate() {
            let answer = store.search_in(&scopes, query, most, counter)?;
            notes.extend(note(query, &answer));
            needs.push((search.used(&answer.found), at));
        }
        // Those that need least come first: what they leave is shared by the others.
        needs.sort_unstable();
        let found = self.shared(search, &scopes, queries, &needs)?;
        Ok(DirectAnswer { found, notes })
    }

    /// What answers several queries, each within its share; `needs` has them by what they need.
    fn shared(
        &self,
        search: SharedSearch<'_>,
        scopes: &[String],
        queries: &[&str],
        needs: &[(u64, usize)],
    ) -> Result<Vec<Answering>, StoreError> {
        let SharedSearch { store, most, counter } = search;
        let chain = self.ranking_policies();
        let (mut found, mut left): (Vec<Answering>, _) = (Vec::new(), most);
        for (turn, &(_, at)) in needs.iter().enumerate() {
            let budget = left / (needs.len() - turn) as u64;
            let range = SearchRange::Scopes(scopes);
            let search_of = RankedSearch { store, range, query: queries[at], budget, counter };
            let passages = store.passages(range, queries[at], budget, counter)?;
            let new = apart(passages, at, &mut found, search, budget);
            let excerpts = self.excerpts_of(search_of, &new, chain.as_ref());
            left = left.saturating_sub(search.used(&excerpts));
            found.extend(excerpts.into_iter().map(|excerpt| Answering::new(excerpt, at)));
        }
        for one in &mut found {
            one.queries.sort_unstable();
        }
        found.sort_by_key(|one| one.queries[0]);
        Ok(found)
    }
}

/// Of the passages that answer a query those that are not given already. What is given and would
/// come back within the budget of this one answers it, too.
fn apart(
    passages: Vec<RankedPassage>,
    query: usize,
    found: &mut [Answering],
    search: SharedSearch<'_>,
    budget: u64,
) -> Vec<RankedPassage> {
    let mut used = 0;
    let mut is_new = |passage: &RankedPassage| {
        used += search.counter.count(&passage.excerpt.text);
        let given = found.iter_mut().find(|one| one.holds(passage));
        let Some(given) = given else { return true };
        if used <= budget && !given.queries.contains(&query) {
            given.queries.push(query);
        }
        false
    };
    passages.into_iter().filter(|passage| is_new(passage)).collect()
}

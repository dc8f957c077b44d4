//! What left prompts, on disk and in memory.
//!
//! Invariant: a search looks into both at once; a disk that cannot be read is an error where the
//! memory has no answer. Called through [`OriginalStore`].

use epitome_kernel::{
    Eviction, Excerpt, OriginalStore, RankedPassage, SearchAnswer, SearchRange, SessionOf,
    StoreError, StoredText, TokenCounter,
};

use super::FallbackStore;
use crate::passage::{IndexedPassage, answer, each_ranked, excerpts, joined};

impl OriginalStore for FallbackStore {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        if self.may_write() {
            match self.disk.keep(scope, departure) {
                Err(error) if self.is_lost(&error) => {}
                done => return done,
            }
        }
        self.memory.keep(scope, departure)
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        match self.memory.original(scope, id) {
            Err(StoreError::Unknown { .. }) => self.disk.original(scope, id),
            found => found,
        }
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        Ok(self.search_in(&[scope.to_owned()], query, budget, counter)?.found)
    }

    fn search_session(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        if !self.has_away(of.scope) {
            return self.disk.search_session(of, query, budget, counter);
        }
        Ok(excerpts(&self.candidates_of(of, query)?, query, budget, counter))
    }

    fn search_in(
        &self,
        scopes: &[String],
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<SearchAnswer, StoreError> {
        if !scopes.iter().any(|scope| self.has_away(scope)) {
            return self.disk.search_in(scopes, query, budget, counter);
        }
        answer(&self.candidates(scopes, query)?, query, budget, counter, |_| Ok(Vec::new()))
    }

    fn passages(
        &self,
        range: SearchRange<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<RankedPassage>, StoreError> {
        if !self.is_away_in(range) {
            return self.disk.passages(range, query, budget, counter);
        }
        Ok(each_ranked(&self.candidates_in(range, query)?, query, budget, counter))
    }
}

impl FallbackStore {
    /// Whether something of a range is in memory alone.
    pub(super) fn is_away_in(&self, range: SearchRange<'_>) -> bool {
        match range {
            SearchRange::Scopes(scopes) => scopes.iter().any(|scope| self.has_away(scope)),
            SearchRange::Session(of) => self.has_away(of.scope),
        }
    }

    /// The passages of a range that may answer a query, of both stores.
    pub(super) fn candidates_in(
        &self,
        range: SearchRange<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        match range {
            SearchRange::Scopes(scopes) => self.candidates(scopes, query),
            SearchRange::Session(of) => self.candidates_of(of, query),
        }
    }

    /// The passages of one session that may answer a query, of both stores.
    fn candidates_of(
        &self,
        of: SessionOf<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        let away = self.memory.proposed(of.scope, Some(of.session), query)?;
        let kept = match self.disk.candidates_of(of, query) {
            Err(error) if away.is_empty() || !self.is_lost(&error) => return Err(error),
            kept => kept.unwrap_or_default(),
        };
        Ok(joined(vec![kept, away]))
    }

    /// The passages that may answer a query, of both stores.
    fn candidates(
        &self,
        scopes: &[String],
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        let away = self.memory.proposed_in(scopes, query)?;
        let mut all = match self.disk.candidates(scopes, query) {
            Err(error) if away.iter().all(Vec::is_empty) || !self.is_lost(&error) => {
                return Err(error);
            }
            kept => kept.unwrap_or_default(),
        };
        all.extend(away);
        Ok(joined(all))
    }
}

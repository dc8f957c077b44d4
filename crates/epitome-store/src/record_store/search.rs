//! What left prompts, over a log: by its id, and by a search.
//!
//! Invariant: what only sessions in the trash hold is not shown. The log proposes pieces, the
//! ranking decides. Called through [`OriginalStore`].

use epitome_kernel::types::ContentId;
use epitome_kernel::{
    Eviction, Excerpt, OriginalStore, RankedPassage, SearchAnswer, SearchRange, SessionOf,
    StoreError, StoredText, TokenCounter,
};
use rustc_hash::FxHashMap;

use super::{RecordStore, SCOPE_LINE};
use crate::log::{BlobQuery, PieceQuery, RecordLog, SearchPiece};
use crate::passage::{IndexedPassage, Places, answer, each_ranked, excerpts, joined};
use crate::prefix::Prefix;

impl<L: RecordLog> OriginalStore for RecordStore<L> {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        self.write(scope, SCOPE_LINE, |fold, draft| {
            draft.keep(fold, departure);
            Ok(())
        })
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        let prefix = Prefix::parse(id)?;
        let query = BlobQuery { line: None, ids: &[prefix.range()] };
        let mut found: Vec<(StoredText, bool)> = Vec::new();
        let (mut trash, mut wrong) = (TrashView::of(self, scope), None);
        for blob in self.log.blobs(scope, &query)? {
            if !blob.is_whole(self.log.passing_seed()) {
                wrong = Some(blob.id);
                continue;
            }
            let Some(source) = blob.source else { continue };
            let is_shown = !trash.holds(&blob.line)?;
            match found.iter_mut().find(|(known, _)| known.id == blob.id) {
                Some((_, shown)) => *shown |= is_shown,
                None => {
                    let text = String::from_utf8(blob.bytes).map_err(|_| not_kept(blob.id))?;
                    found.push((StoredText { id: blob.id, source, text }, is_shown));
                }
            }
        }
        match wrong {
            // Another session may keep the same.
            Some(id) if found.is_empty() => Err(not_kept(id)),
            _ => {
                let shown = found.into_iter().filter(|(_, shown)| *shown);
                prefix.only(shown.map(|(blob, _)| blob).collect())
            }
        }
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let kept = self.proposed(scope, None, query)?;
        Ok(excerpts(&joined(vec![kept]), query, budget, counter))
    }

    fn search_session(
        &self,
        of: SessionOf<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let kept = self.proposed(of.scope, Some(of.session), query)?;
        Ok(excerpts(&kept, query, budget, counter))
    }

    fn search_in(
        &self,
        scopes: &[String],
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<SearchAnswer, StoreError> {
        let kept = joined(self.proposed_in(scopes, query)?);
        // The nearest words are those of anything that is kept.
        answer(&kept, query, budget, counter, |_| Ok(joined(self.proposed_in(scopes, "")?)))
    }

    fn passages(
        &self,
        range: SearchRange<'_>,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<RankedPassage>, StoreError> {
        Ok(each_ranked(&self.proposed_within(range, query)?, query, budget, counter))
    }
}

impl<L: RecordLog> RecordStore<L> {
    /// The passages of a range that may answer a query.
    pub(super) fn proposed_within(
        &self,
        range: SearchRange<'_>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        match range {
            SearchRange::Scopes(scopes) => Ok(joined(self.proposed_in(scopes, query)?)),
            SearchRange::Session(of) => self.proposed(of.scope, Some(of.session), query),
        }
    }

    /// The passages that may answer a query, scope by scope.
    pub(crate) fn proposed_in(
        &self,
        scopes: &[String],
        query: &str,
    ) -> Result<Vec<Vec<IndexedPassage>>, StoreError> {
        scopes.iter().map(|scope| self.proposed(scope, None, query)).collect()
    }

    /// The passages of a scope, or of a session of it, that may answer a query.
    pub(crate) fn proposed(
        &self,
        scope: &str,
        session: Option<&str>,
        query: &str,
    ) -> Result<Vec<IndexedPassage>, StoreError> {
        let found = self.log.pieces(scope, &PieceQuery { line: session, text: query })?;
        let (mut trash, mut places) = (TrashView::of(self, scope), Places::default());
        let mut numbers: FxHashMap<String, i64> = FxHashMap::default();
        let mut kept = Vec::with_capacity(found.len());
        for (at, piece) in (0..).zip(found) {
            if trash.holds(&piece.line)? || !piece.is_whole() {
                continue;
            }
            let next = numbers.len() as i64;
            let line = match numbers.get(&piece.line) {
                Some(&known) => known,
                None => *numbers.entry(piece.line.clone()).or_insert(next),
            };
            let order = places.next(line, at, places.last(line));
            kept.push(indexed(piece, order));
        }
        Ok(kept)
    }
}

/// A piece at its place.
fn indexed(piece: SearchPiece, order: i64) -> IndexedPassage {
    let SearchPiece { id, original, source, span, text, .. } = piece;
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let span = span.map(|[from, to]| place(from)..place(to));
    IndexedPassage { id, order, original, source, also: Vec::new(), span, text }
}

/// Which lines are in the trash, each asked once.
struct TrashView<'s, L> {
    store: &'s RecordStore<L>,
    scope: &'s str,
    known: FxHashMap<String, bool>,
}

impl<'s, L: RecordLog> TrashView<'s, L> {
    fn of(store: &'s RecordStore<L>, scope: &'s str) -> Self {
        Self { store, scope, known: FxHashMap::default() }
    }

    fn holds(&mut self, line: &str) -> Result<bool, StoreError> {
        if let Some(&known) = self.known.get(line) {
            return Ok(known);
        }
        let trashed = self.store.read(self.scope, line, |fold| Ok(fold.info().trashed))?;
        self.known.insert(line.to_owned(), trashed);
        Ok(trashed)
    }
}

fn not_kept(id: ContentId) -> StoreError {
    StoreError::Damaged { what: format!("the original {id} is not what was kept") }
}

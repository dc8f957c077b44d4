//! A store that comes into being when there is something to keep.
//!
//! Invariant: a compression that fails leaves no store behind. Called by `compress`.

use std::path::PathBuf;

use epitome::{Durability, Eviction, Excerpt, OriginalStore, StoreError, StoredText, TokenCounter};

use crate::store;

/// The store at a path, opened by each use.
pub(crate) struct LazyStore {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
}

impl OriginalStore for LazyStore {
    fn keep(&self, scope: &str, departure: &Eviction) -> Result<(), StoreError> {
        store::open(&self.path, self.durability)?.keep(scope, departure)
    }

    fn original(&self, scope: &str, id: &str) -> Result<StoredText, StoreError> {
        store::open_existing(&self.path)?.original(scope, id)
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        store::open_existing(&self.path)?.search(scope, query, budget, counter)
    }
}

//! A store that comes into being when there is something to keep.
//!
//! Invariant: a compression that fails leaves no store behind. Called by `compress`.

use std::path::PathBuf;

use epitome::{
    Blob, Counter, Departure, Durability, Excerpt, MissedWord, Sqlite, Store, StoreError,
};

/// The store at a path, opened by each use.
pub(crate) struct Late {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
}

impl Store for Late {
    fn keep(&self, scope: &str, departure: &Departure) -> Result<(), StoreError> {
        Sqlite::open_with(&self.path, self.durability)?.keep(scope, departure)
    }

    fn original(&self, scope: &str, id: &str) -> Result<Blob, StoreError> {
        Sqlite::open_existing(&self.path)?.original(scope, id)
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        Sqlite::open_existing(&self.path)?.search(scope, query, budget, counter)
    }

    fn missed(&self, scopes: &[String], query: &str) -> Result<Vec<MissedWord>, StoreError> {
        Sqlite::open_existing(&self.path)?.missed(scopes, query)
    }
}

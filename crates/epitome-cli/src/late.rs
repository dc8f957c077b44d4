//! A store that comes into being when there is something to keep.
//!
//! Invariant: a compression that fails leaves no store behind. Called by `compress`.

use std::path::PathBuf;

use epitome::{Blob, Counter, Departure, Excerpt, Sqlite, Store, StoreError};

/// The store at a path, opened by each use.
pub(crate) struct Late(pub(crate) PathBuf);

impl Store for Late {
    fn keep(&self, scope: &str, departure: &Departure) -> Result<(), StoreError> {
        Sqlite::open(&self.0)?.keep(scope, departure)
    }

    fn original(&self, scope: &str, id: &str) -> Result<Blob, StoreError> {
        Sqlite::open_existing(&self.0)?.original(scope, id)
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        Sqlite::open_existing(&self.0)?.search(scope, query, budget, counter)
    }
}

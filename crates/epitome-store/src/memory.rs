//! The store that forgets with its process: for tests, previews and hosts without a disk.
//!
//! Invariant: it answers exactly as [`crate::Sqlite`] does. Called through the [`Store`] port.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use epitome_kernel::types::ContentId;
use epitome_kernel::{Blob, Counter, Departure, Excerpt, Store, StoreError};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::passage::{Kept, answer, arrivals};
use crate::prefix::Prefix;

/// A store in memory.
#[derive(Debug, Default)]
pub struct Memory {
    scopes: Mutex<FxHashMap<String, Shelf>>,
}

/// What one scope holds.
#[derive(Debug, Default)]
struct Shelf {
    originals: BTreeMap<ContentId, Blob>,
    passages: Vec<Kept>,
    known: FxHashSet<ContentId>,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The scopes. A panic elsewhere cannot leave a shelf half filled in a way that matters: every
    /// insertion stands for itself.
    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Shelf>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn keep(&self, scope: &str, departure: &Departure) -> Result<(), StoreError> {
        let arrivals = arrivals(departure);
        let mut scopes = self.lock();
        let shelf = scopes.entry(scope.to_owned()).or_default();
        for blob in &departure.blobs {
            shelf.originals.entry(blob.id).or_insert_with(|| blob.clone());
        }
        for arrival in arrivals {
            if !shelf.known.insert(arrival.id) {
                continue;
            }
            if arrival.original == arrival.id && arrival.range.is_none() {
                shelf.originals.entry(arrival.id).or_insert_with(|| Blob {
                    id: arrival.id,
                    source: arrival.source.clone(),
                    text: arrival.text.to_owned(),
                });
            }
            shelf.passages.push(Kept {
                order: shelf.passages.len() as i64,
                original: arrival.original,
                source: arrival.source,
                text: arrival.text.to_owned(),
            });
        }
        Ok(())
    }

    fn original(&self, scope: &str, id: &str) -> Result<Blob, StoreError> {
        let prefix = Prefix::parse(id)?;
        let scopes = self.lock();
        let found: Vec<&Blob> = scopes
            .get(scope)
            .map(|shelf| shelf.originals.range(prefix.range()).map(|(_, blob)| blob).collect())
            .unwrap_or_default();
        prefix.only(found).cloned()
    }

    fn search(
        &self,
        scope: &str,
        query: &str,
        budget: u64,
        counter: &dyn Counter,
    ) -> Result<Vec<Excerpt>, StoreError> {
        let scopes = self.lock();
        let passages = scopes.get(scope).map_or(&[][..], |shelf| &shelf.passages);
        Ok(answer(passages, query, budget, counter))
    }
}

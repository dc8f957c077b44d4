//! What left prompts, brought back.
//!
//! Invariant: what comes back is an excerpt with its source, for the caller to use as new text; it
//! leads into no prompt by itself (SPEC 2.2).

use epitome_kernel::{Blob, Counter, Excerpt, Store, StoreError};

use super::Keeper;

/// What was found.
#[derive(Clone, Debug)]
pub enum Recalled {
    /// The original that the query is the id of.
    Original(Blob),
    /// Passages, best first.
    Excerpts(Vec<Excerpt>),
}

impl Keeper {
    /// The original with this id in the store beside the journal, or with the only id that begins
    /// so; `catch_up` is called where it is not known yet.
    ///
    /// # Errors
    ///
    /// When there is none, more than one, or the store cannot be read.
    pub fn original(
        &self,
        store: &dyn Store,
        id: &str,
        catch_up: impl FnOnce(&Self),
    ) -> Result<Blob, StoreError> {
        match store.original(&self.scope, id) {
            Err(StoreError::Unknown { .. }) => {
                catch_up(self);
                store.original(&self.scope, id)
            }
            found => found,
        }
    }

    /// What answers a query in at most so many tokens, or the original that it is the id of, since
    /// that is what stands in a prompt. `catch_up` is called before the search.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn recall(
        &self,
        store: &dyn Store,
        query: &str,
        most: u64,
        counter: &dyn Counter,
        catch_up: impl FnOnce(&Self),
    ) -> Result<Recalled, StoreError> {
        catch_up(self);
        if is_id(query)
            && let Ok(blob) = store.original(&self.scope, query)
        {
            return Ok(Recalled::Original(blob));
        }
        store.search(&self.scope, query, most, counter).map(Recalled::Excerpts)
    }
}

/// Whether a query has the form of an id, as labels and markers write it. A word that happens to
/// have it is looked for all the same.
fn is_id(query: &str) -> bool {
    (8..=32).contains(&query.len()) && query.bytes().all(|byte| byte.is_ascii_hexdigit())
}

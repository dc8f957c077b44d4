//! Policies whose files change while a session goes on.
//!
//! Invariant: a request keeps the generation that it began with; what became of a change is told
//! with the next prompt. Used by a session that is watched.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_lua::{Reloaded, Watch};
use epitome_types::Happened;

use crate::Error;
use crate::policies::Loaded;

/// What became of changes since it was last asked.
pub(crate) struct Reloads {
    told: Arc<Mutex<Vec<Reloaded>>>,
    /// Ends when it falls.
    _watch: Watch,
}

impl Reloads {
    /// Watches policies.
    pub(crate) fn watch(policies: &Loaded) -> Result<Self, Error> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let teller = Arc::clone(&told);
        let watch = policies.watch(move |reloaded| {
            teller.lock().unwrap_or_else(PoisonError::into_inner).push(reloaded);
        });
        Ok(Self { told, _watch: watch.map_err(Error::Watch)? })
    }

    /// The changes that nobody was told of yet.
    pub(crate) fn take(&self) -> Vec<Happened> {
        let told = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
        let event = |reloaded: Reloaded| match reloaded.error {
            Some(cause) => Happened::PolicyError { cause },
            None => Happened::PolicyReloaded {
                policy: reloaded.policy,
                generation: reloaded.generation,
            },
        };
        told.into_iter().map(event).collect()
    }
}

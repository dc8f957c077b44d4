//! Policies whose files change while a session goes on.
//!
//! Invariant: a request keeps the generation that it began with; what became of a change is told
//! with the next prompt. Used by a session that is watched.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_lua::{PolicyReload, PolicyWatch};
use epitome_types::EventKind;

use crate::error::Error;
use epitome_extensions::policies::LoadedPolicies;

/// What became of changes since the watch began. Each session that shares it hears of all.
pub(crate) struct Reloads {
    told: Arc<Mutex<Vec<PolicyReload>>>,
    /// Ends when it falls.
    _watch: PolicyWatch,
}

impl Reloads {
    /// Watches policies.
    pub(crate) fn watch(policies: &LoadedPolicies) -> Result<Self, Error> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let teller = Arc::clone(&told);
        let watch = policies.watch(move |reloaded| {
            teller.lock().unwrap_or_else(PoisonError::into_inner).push(reloaded);
        });
        Ok(Self { told, _watch: watch.map_err(Error::Watch)? })
    }

    /// How many changes there were.
    pub(crate) fn so_far(&self) -> usize {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The changes from the `heard`th on.
    pub(crate) fn since(&self, heard: usize) -> Vec<EventKind> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = told.get(heard..).unwrap_or_default().to_vec();
        let event = |reloaded: PolicyReload| match reloaded.error {
            Some(cause) => EventKind::PolicyError { cause },
            None => EventKind::PolicyReloaded {
                policy: reloaded.policy,
                generation: reloaded.generation,
            },
        };
        told.into_iter().map(event).collect()
    }
}

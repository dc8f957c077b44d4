//! Where no policy has files: nothing is watched, and nothing changes.

use epitome_types::EventKind;

use crate::error::Error;
use epitome_extensions::plugins::ProfilePlugins;
use epitome_extensions::policies::LoadedPolicies;

/// What became of changes: there are none.
pub(crate) struct Reloads;

impl Reloads {
    /// Watches nothing.
    pub(crate) fn watch(
        _policies: &LoadedPolicies,
        _plugins: &ProfilePlugins,
    ) -> Result<Self, Error> {
        Ok(Self)
    }

    /// How many changes there were.
    pub(crate) fn so_far(&self) -> usize {
        0
    }

    /// The changes from the `heard`th on.
    pub(crate) fn since(&self, _heard: usize) -> Vec<EventKind> {
        Vec::new()
    }
}

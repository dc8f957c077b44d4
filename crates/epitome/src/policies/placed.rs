//! Where a policy was found.
//!
//! Invariant: data alone; nothing of it has run. Made by the shelves.

use std::path::PathBuf;

use epitome_lua::FoundPolicy;

use crate::extensions::ExtensionOrigin;

/// A policy, where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacedPolicy {
    pub(crate) found: FoundPolicy,
    pub(crate) origin: ExtensionOrigin,
    /// The folder of policies that it stands in, where that needs to be trusted first.
    pub(crate) foreign: Option<PathBuf>,
    /// What it hides that has its name, the next one first.
    pub(crate) hides: Vec<PlacedPolicy>,
}

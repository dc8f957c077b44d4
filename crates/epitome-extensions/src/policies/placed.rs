//! Where a policy was found.
//!
//! Invariant: data alone; nothing of it has run. Made by the shelves.

use std::path::PathBuf;

use epitome_lua::FoundPolicy;

use crate::origin::ExtensionOrigin;

/// A policy, where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedPolicy {
    /// What is loaded of it.
    pub found: FoundPolicy,
    /// Where it is from.
    pub origin: ExtensionOrigin,
    /// The folder of policies that it stands in, where that needs to be trusted first.
    pub foreign: Option<PathBuf>,
    /// What it hides that has its name, the next one first.
    pub hides: Vec<PlacedPolicy>,
}

//! Where a policy was found.
//!
//! Invariant: data alone; nothing of it has run. Made by the shelves.

use std::path::PathBuf;

use epitome_lua::Found;

use crate::rack::Origin;

/// A policy, where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) found: Found,
    pub(crate) origin: Origin,
    /// The folder of policies that it stands in, where that needs to be trusted first.
    pub(crate) foreign: Option<PathBuf>,
    /// What it hides that has its name, the next one first.
    pub(crate) hides: Vec<Placed>,
}

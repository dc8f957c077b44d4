//! Policies: where they are found, which of them a profile asks, and what they are told.
//!
//! Invariant: everything up to the loading is data, so that a conversation that needs no
//! compression starts no virtual machine; nothing is shared between profiles that were not cloned
//! from each other. Called by the configuration and by profiles.

mod content;
mod extends;
mod link;
mod load;
mod reference;
mod shelf;
mod shipped;
#[cfg(test)]
mod tests;

pub(crate) use self::extends::extends;
pub use self::link::Link;
pub use self::load::Loaded;
pub(crate) use self::load::Policies;
pub use self::reference::PolicyRef;
pub(crate) use self::reference::Stated;
#[cfg(test)]
pub(crate) use self::shelf::LIBRARY;
pub(crate) use self::shelf::{DEFAULT, FILE, Shelves};

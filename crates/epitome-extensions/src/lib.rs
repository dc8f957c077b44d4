//! Extensions: policies and plugins that a profile names, found, trusted, loaded and watched.
//!
//! Everything up to the loading is data: a profile is resolved, listed and shown without running any of
//! them. What somebody else may have written runs only once the user trusts it.
//!
//! Invariant: the first folder that holds a name decides; nothing is shared between profiles that were
//! not cloned from each other. Called by the configuration, and by sessions through their profile.

#[cfg(feature = "find")]
pub mod folders;
#[cfg(feature = "find")]
pub mod lock;
#[cfg(feature = "find")]
mod name;
mod origin;
pub mod plugins;
pub mod policies;
pub mod problem;
pub mod project;
pub mod stated;
#[cfg(feature = "find")]
pub mod toml_file;
mod trust;

pub use self::origin::ExtensionOrigin;

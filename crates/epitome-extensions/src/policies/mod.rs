//! Policies: where they are found, which of them a profile asks, and what they are told.
//!
//! Invariant: everything up to the loading is data, so that a conversation that needs no
//! compression starts no virtual machine; nothing is shared between profiles that were not cloned
//! from each other. Called by the configuration and by profiles.

mod content;
mod extends;
#[cfg(feature = "find")]
mod folders;
mod link;
mod load;
#[cfg(feature = "lua")]
mod lua;
#[cfg(not(feature = "lua"))]
#[path = "no_lua.rs"]
mod lua;
mod placed;
mod reference;
#[cfg(feature = "find")]
mod shipped;

pub use self::extends::extends;
#[cfg(feature = "find")]
pub use self::folders::{PolicyFolders, is_shipped};
pub use self::link::ChainLink;
pub use self::load::{LoadedPolicies, ProfilePolicies};
pub use self::placed::PlacedPolicy;
pub use self::reference::PolicyRef;

/// The folder of shared modules, which is no policy.
pub const LIBRARY: &str = "lib";

/// The name of what is built in, and of the shipped policy that says the same in Lua.
pub const DEFAULT: &str = "default";

/// The file that makes a folder a policy.
pub const FILE: &str = "policy.lua";

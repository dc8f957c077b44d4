//! Native plugins: where they are found, which of them a profile asks for what, and how they stand
//! behind the ports.
//!
//! A profile names those that digest (`digests`, by tool in `digests_by_tool`) and puts those that
//! answer hooks into its chain of policies (`policies = ["plugin:NAME"]`).
//!
//! Invariant: up to the first call everything is data; no program is started to find out what a
//! profile asks. A plugin that fails is passed over, and that is told. Called by the configuration,
//! by profiles and by sessions.

#[cfg(all(feature = "plugins", feature = "find", feature = "lua"))]
mod content;
mod digest_runner;
#[cfg(feature = "plugins")]
mod folder_plugin;
#[cfg(feature = "find")]
mod folders;
mod generation;
mod hooks;
#[cfg(feature = "plugins")]
mod launch;
mod load;
mod manifest;
mod old_names;
pub mod pattern;
mod placed;
mod reference;
mod shipped;
mod text;
#[cfg(all(feature = "plugins", feature = "find", feature = "lua"))]
mod watch;
#[cfg(all(feature = "lua", not(all(feature = "plugins", feature = "find"))))]
#[path = "no_watch.rs"]
mod watch;

pub use self::digest_runner::{DigestRunner, ExtensionFailures};
#[cfg(feature = "find")]
pub use self::folders::PluginFolders;
pub use self::generation::PluginGeneration;
#[cfg(feature = "lua")]
pub use self::generation::PluginReload;
pub use self::hooks::PluginPolicy;
#[cfg(feature = "plugins")]
pub use self::launch::PluginLaunch;
pub use self::load::{LoadedPlugin, ProfilePlugins};
pub use self::placed::{FoundPlugin, PluginForm};
pub use self::reference::PluginRef;
#[cfg(feature = "find")]
pub use self::shipped::is_shipped;

/// What stands before the name of a plugin in a chain of policies.
pub const PREFIX: &str = "plugin:";

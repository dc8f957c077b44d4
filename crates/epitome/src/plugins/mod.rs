//! Native plugins: where they are found, which of them a profile asks for what, and how they stand
//! behind the ports.
//!
//! A profile names those that digest (`digests`, by tool in `digest_tools`) and puts those that
//! answer hooks into its chain of policies (`policies = ["plugin:NAME"]`).
//!
//! Invariant: up to the first call everything is data; no program is started to find out what a
//! profile asks. A plugin that fails is passed over, and that is told. Called by the configuration,
//! by profiles and by sessions.

mod digest_runner;
#[cfg(feature = "config")]
mod folders;
mod hooks;
#[cfg(feature = "plugins")]
mod launch;
mod load;
mod manifest;
mod pattern;
mod placed;
mod reference;
mod shipped;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use self::digest_runner::{DigestRunner, ExtensionFailures};
#[cfg(feature = "config")]
pub(crate) use self::folders::PluginFolders;
pub(crate) use self::hooks::Hooked;
pub(crate) use self::load::{LoadedPlugin, Plugins};
pub use self::reference::PluginRef;
#[cfg(feature = "config")]
pub(crate) use self::shipped::is_shipped;

/// What stands before the name of a plugin in a chain of policies.
pub(crate) const PREFIX: &str = "plugin:";

//! Plugins from outside, asked over the protocol: programs, and modules of WebAssembly where the
//! feature `wasm` is on.
//!
//! A program runs in its own folder and process group, with `PATH` and the variables that the user
//! granted and no others. On Linux the kernel keeps it from writing files and from the network, unless
//! it says that it needs that; it may read what its user may read. A module sees nothing but what it is asked, so it can run everywhere and
//! harm nothing.
//!
//! Invariant: whatever a plugin does, the host gets an answer or an error that says what happens
//! now. Used by hosts.

mod asked;
mod child;
#[cfg(target_os = "linux")]
mod confine;
mod confinement;
mod error;
mod failures;
#[cfg(unix)]
mod group;
mod hosted;
mod launch;
mod lines;
#[cfg(feature = "wasm")]
mod module;
mod process;

pub use self::confinement::ProcessConfinement;
pub use self::error::{PluginError, PluginErrorCause, PluginErrorEffect};
pub use self::hosted::{HostedPlugin, ProtocolPlugin};
pub use self::launch::{LaunchOptions, ProcessLimits, ProcessNeeds};
#[cfg(feature = "wasm")]
pub use self::module::{ModuleLimits, PluginModule};
pub use self::process::PluginProcess;

/// What this kernel keeps programs from.
#[must_use]
pub fn confinement() -> ProcessConfinement {
    #[cfg(target_os = "linux")]
    return confine::confinement().unwrap_or_default();
    #[cfg(not(target_os = "linux"))]
    ProcessConfinement::default()
}
